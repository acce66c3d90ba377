//! The nodes that a search comes to on its course, found by a script in the server: one round trip for many nodes.

use model::{Column, Direction, Result, Set, StringColumn, error};
use redis::Value as Reply;
use serde_json::json;

use super::connection::{Commands, Link};
use super::fetch::{EdgeFetch, NodeFetch, resolve, unexpected};
use super::packed::Packed;
use super::plan::{NodePlace, Plan};
use super::scan::keys_of;
use super::text::key_text;
use super::within::{Output, output_of};
use crate::connector::OnCourse;

/// Kilometres of a degree of latitude.
const KM_PER_DEGREE: f64 = 111.195;
/// Steps, in cost, from the beginning of a course to its end: nodes within a step are followed in any order.
const STEPS: f64 = 1000.0;

/// Follows the edges of the nodes that come first on the course, and reads the place of each node that is met. A key
/// that cannot be read is passed over: it was not asked for, and a later reader that needs it will ask, and get the
/// error.
/// The result is packed into one string (see [`Packed`]): for each node that was followed its id, the number of items
/// of its list, and these; then for each node that was met its id and its fields. Most of the time goes into the
/// script's own steps, not into the commands: so no functions where operators do, and no table that can be done
/// without.
const SCRIPT: &str = r"
local ask = cjson.decode(ARGV[1])
local pcall, tonumber, concat = redis.pcall, tonumber, table.concat
local name, before, after, rest, stride = ask.name, ask.before, ask.after, ask.rest, ask.stride
local place, flat, width = ask.place, ask.flat, ask.width
local get, ahead, behind, fields = place[1].name, place[1].before, place[1].after, place[1].rest
local field_1, field_2 = fields[1], fields[2]
local at_y, at_x, scale = ask.latitude, ask.longitude, ask.scale
local y1, x1, y2, x2 = ask.from[1], ask.from[2] * scale, ask.to[1], ask.to[2] * scale
local cost, estimate, limit = ask.cost / ask.step, ask.estimate / ask.step, ask.limit
local nothing, nothings, sizes = '\255', 0, {}
if #rest == 0 then rest = nil end
local seen, steps, low, top = {}, {}, math.huge, -math.huge
for _, id in ipairs(ask.known) do seen[id] = true end
local orders = ask.orders
for i, id in ipairs(ask.starts) do
  local at = orders[i]
  local waiting = steps[at]
  if waiting then waiting[#waiting + 1] = id else steps[at] = {id} end
  seen[id] = true
  if at < low then low = at end
  if at > top then top = at end
end
local lists, nodes, n, p, m = {}, {}, 0, 0, 0
while m < limit do
  local waiting = steps[low]
  while not waiting and low < top do low = low + 1; waiting = steps[low] end
  if not waiting then break end
  local last = #waiting
  local id = waiting[last]
  if last == 1 then steps[low] = nil else waiting[last] = nil end
  local found
  if rest then found = pcall(name, before .. id .. after, unpack(rest)) else found = pcall(name, before .. id .. after) end
  if not found.err then
    local size = #found
    m = m + 1
    local written = sizes[size]
    if not written then written = tostring(size); sizes[size] = written end
    lists[n + 1], lists[n + 2] = id, written
    n = n + 2
    for i = 1, size do lists[n + i] = found[i] end
    n = n + size
    for i = 1, size, stride do
      local far = found[i]
      if not seen[far] then
        seen[far] = true
        local values
        if flat then
          values = {}
          for at = 1, width do
            local value = pcall('GET', place[at].before .. far .. place[at].after)
            if type(value) == 'table' then values.err = true end
            values[at] = value
          end
        elseif width == 2 then
          values = pcall(get, ahead .. far .. behind, field_1, field_2)
        else
          values = pcall(get, ahead .. far .. behind, unpack(fields))
        end
        if not values.err then
          local y, x = values[at_y], values[at_x]
          nodes[p + 1] = far
          for at = 1, width do
            local value = values[at]
            if not value then value = nothing; nothings = nothings + 1 end
            nodes[p + 1 + at] = value
          end
          p = p + 1 + width
          y, x = y and tonumber(y), x and tonumber(x)
          if y and x then
            x = x * scale
            local dy1, dx1, dy2, dx2 = y - y1, x - x1, y - y2, x - x2
            local at = cost * (dy1 * dy1 + dx1 * dx1) ^ 0.5 + estimate * (dy2 * dy2 + dx2 * dx2) ^ 0.5
            at = at - at % 1
            local waiting = steps[at]
            if waiting then waiting[#waiting + 1] = far else steps[at] = {far} end
            if at < low then low = at end
            if at > top then top = at end
          end
        end
      end
    end
  end
end
return concat({n, p, nothings, concat(lists, '\0'), concat(nodes, '\0')}, '\0')
";

/// The nodes and edges that were asked for, and their properties.
pub(super) struct Asked {
    kind: usize,
    along: (usize, Direction),
    nodes: Vec<usize>,
    edges: Vec<usize>,
    /// Ids of nodes whose edges the answer must have.
    needed: Vec<String>,
}

impl Asked {
    /// Takes what a course leads over, and the properties of nodes and of edges that are wanted.
    pub(super) fn new(on: &OnCourse<'_>, nodes: Vec<usize>, edges: Vec<usize>) -> Asked {
        Asked { kind: on.kind, along: on.along, nodes, edges, needed: Vec::new() }
    }

    /// The command that asks for what a search comes to.
    pub(super) fn command(&mut self, plan: &Plan, on: &OnCourse<'_>, link: &mut Link) -> Result<Commands> {
        let (edge, direction) = self.along;
        let kind = &plan.nodes[self.kind];
        let texts = |keys: &Column| -> StringColumn {
            let mut texts = StringColumn::default();
            keys.values().filter_map(|key| key_text(&key, kind.key_kind)).for_each(|text| texts.push(&text));
            texts
        };
        let (starts, known) = (texts(on.starts), texts(on.known));
        if starts.len() != on.orders.len() {
            return Err(error!(Internal, "{}: {} starts have {} orders", kind.name, starts.len(), on.orders.len()));
        }
        let is_needed = |(id, order): (&str, &f64)| (*order == 0.0).then(|| id.to_owned());
        self.needed = starts.iter().zip(on.orders).filter_map(is_needed).collect();
        let fields: Vec<usize> = self.nodes.iter().copied().filter(|&p| !kind.properties[p].is_key).collect();
        // The position of the coordinates among the values that a command gives, from 1.
        let at = |property: usize| fields.iter().position(|&p| p == property).map(|at| at + 1);
        let (Some(latitude), Some(longitude)) = (at(on.properties[0]), at(on.properties[1])) else {
            return Err(error!(Definition, "{}: latitude and longitude are no fields of the nodes", kind.name));
        };
        resolve(super::fetch::adjacency_of(&plan.edges[edge], direction), &starts, link)?;
        let place = output_of(plan, &Output::Nodes(self.kind, self.nodes.clone()));
        let list = output_of(plan, &Output::Edges(edge, direction, self.edges.clone()));
        let list = &list["commands"][0];
        let is_pair = list["name"] == "HGETALL"
            || list["rest"].as_array().is_some_and(|rest| rest.contains(&json!("WITHSCORES")));
        let course = on.course;
        let order = course.order();
        let scale = f64::midpoint(course.from[0], course.to[0]).to_radians().cos();
        let farthest = order.at(course.from[0], course.from[1]).max(order.at(course.to[0], course.to[1]));
        let step = if farthest > 0.0 { farthest / STEPS } else { 1.0 };
        let steps: Vec<i64> = on.orders.iter().map(|order| (order / step).floor() as i64).collect();
        let ask = json!({
            "starts": starts.iter().collect::<Vec<_>>(), "orders": steps, "known": known.iter().collect::<Vec<_>>(),
            "limit": on.limit, "name": list["name"], "before": list["before"], "after": list["after"],
            "rest": list["rest"], "stride": if is_pair { 2 } else { 1 }, "place": place["commands"],
            "flat": matches!(kind.place, NodePlace::Flat(_)), "width": fields.len(), "latitude": latitude,
            "longitude": longitude, "scale": scale, "from": course.from, "to": course.to,
            "cost": course.cost_per_km * KM_PER_DEGREE, "estimate": course.estimate_per_km * KM_PER_DEGREE,
            "step": step,
        });
        let mut commands = Commands::default();
        commands.push(&["EVAL", SCRIPT, "0", &ask.to_string()]);
        Ok(commands)
    }

    /// The columns of the nodes met, and those of the edges followed.
    pub(super) fn read(
        &self,
        plan: &Plan,
        reply: Option<Reply>,
        link: &mut Link,
    ) -> Result<(Vec<Column>, Vec<Column>)> {
        let bytes = match reply {
            Some(Reply::BulkString(bytes)) => bytes,
            Some(reply) => return Err(unexpected(link.name(), "EVAL", &reply)),
            None => return Err(error!(Internal, "a script had no reply")),
        };
        let kind = &plan.nodes[self.kind];
        let width = self.nodes.iter().filter(|&&p| !kind.properties[p].is_key).count();
        let garbled = || error!(Definition, "{}: EVAL: what was found cannot be packed", link.name());
        let [lists, nodes] = Packed::both(&bytes).ok_or_else(garbled)?;
        let followed = ids(lists, None).ok_or_else(garbled)?;
        let met = ids(nodes, Some(width)).ok_or_else(garbled)?;
        if !self.needed.is_empty() {
            let followed: Set<&str> = followed.iter().collect();
            if let Some(id) = self.needed.iter().find(|id| !followed.contains(id.as_str())) {
                return Err(error!(Definition, "{}: EVAL: the edges of '{id}' could not be read", link.name()));
            }
        }
        let keys = keys_of(&met, kind.reading(), &kind.name, link.name())?;
        let fetch = NodeFetch { plan: kind, ids: met, keys, properties: self.nodes.clone() };
        let met = fetch.read_packed(nodes, link)?;
        let (edge, direction) = self.along;
        let edges = &plan.edges[edge];
        let near = if direction == Direction::In { &edges.target } else { &edges.source };
        let keys = keys_of(&followed, near.reading(), &edges.name, link.name())?;
        let fetch = EdgeFetch { plan: edges, direction, ids: followed, keys, properties: self.edges.clone() };
        Ok((met, fetch.read_packed(lists, link)?))
    }
}

/// The ids in a list, each of which `width` pieces follow; or, if that is `None`, as many as the next piece says.
fn ids(mut packed: Packed<'_>, width: Option<usize>) -> Option<StringColumn> {
    let mut ids = StringColumn::default();
    let mut left = packed.count;
    while left > 0 {
        ids.push(std::str::from_utf8(packed.piece()?).ok()?);
        let (count, taken) = match width {
            Some(width) => (width, 1),
            None => (packed.size()?, 2),
        };
        for _ in 0..count {
            packed.piece()?;
        }
        left = left.checked_sub(count + taken)?;
    }
    Some(ids)
}
