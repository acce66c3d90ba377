//! What a search comes to on its course, found by a script in the server: one round trip for many nodes.

use model::{Column, Result, StringColumn, error};
use redis::Value as Reply;
use serde_json::json;

use super::connection::{Commands, Link};
use super::fetch::{resolve, unexpected};
use super::plan::{NodePlace, Plan};
use super::text::key_text;
use super::within::{Output, columns_of, output_of};
use crate::connector::OnCourse;

/// Kilometres of a degree of latitude.
const KM_PER_DEGREE: f64 = 111.195;
/// Steps, in cost, from the beginning of a course to its end: nodes within a step are followed in any order.
const STEPS: f64 = 1000.0;

/// Follows the edges of the nodes that come first on the course, and reads the place of each node that is met. Errors of
/// single commands stand among the replies, as they do in a pipeline.
const SCRIPT: &str = r"
local ask = cjson.decode(ARGV[1])
local pcall, floor, sqrt = redis.pcall, math.floor, math.sqrt
local list, place, stride, flat = ask.list, ask.place, ask.stride, ask.flat
local list_rest, first = list.rest, ask.place[1]
local at_y, at_x, scale = ask.latitude, ask.longitude, ask.scale
local y1, x1, y2, x2 = ask.from[1], ask.from[2] * scale, ask.to[1], ask.to[2] * scale
local cost, estimate, step = ask.cost, ask.estimate, ask.step
local seen, steps, low, top = {}, {}, math.huge, -math.huge
local function put(id, order)
  local at = floor(order / step)
  local waiting = steps[at]
  if not waiting then waiting = {}; steps[at] = waiting end
  waiting[#waiting + 1] = id
  if at < low then low = at end
  if at > top then top = at end
end
for _, id in ipairs(ask.known) do seen[id] = true end
for i, id in ipairs(ask.starts) do seen[id] = true; put(id, ask.orders[i]) end
local met, places, n, p = {}, {}, 0, 0
local followed, lists, m = {}, {}, 0
while m < ask.limit do
  local waiting = steps[low]
  while not waiting and low < top do low = low + 1; waiting = steps[low] end
  if not waiting then break end
  local id = table.remove(waiting)
  if #waiting == 0 then steps[low] = nil end
  local found = pcall(list.name, list.before .. id .. list.after, unpack(list_rest))
  m = m + 1
  followed[m], lists[m] = id, found
  if type(found) == 'table' and not found.err then
    for i = 1, #found, stride do
      local far = found[i]
      if not seen[far] then
        seen[far] = true
        n = n + 1
        met[n] = far
        local values
        if flat then
          values = {}
          for at, command in ipairs(place) do
            values[at] = pcall(command.name, command.before .. far .. command.after)
            p = p + 1
            places[p] = values[at]
          end
        else
          values = pcall(first.name, first.before .. far .. first.after, unpack(first.rest))
          p = p + 1
          places[p] = values
        end
        local y, x = tonumber(values[at_y] or nil), tonumber(values[at_x] or nil)
        if y and x then
          x = x * scale
          local dy1, dx1, dy2, dx2 = y - y1, x - x1, y - y2, x - x2
          put(far, cost * sqrt(dy1 * dy1 + dx1 * dx1) + estimate * sqrt(dy2 * dy2 + dx2 * dx2))
        end
      end
    end
  end
end
return {met, places, '', followed, lists, ''}
";

/// Asks for what a search comes to: the columns of the nodes met, with properties of which two are their place; and those of
/// the edges followed, with properties.
pub(super) fn on_course(
    plan: &Plan,
    on: &OnCourse<'_>,
    (node_properties, edge_properties): (&[usize], &[usize]),
    link: &mut Link,
) -> Result<(Vec<Column>, Vec<Column>)> {
    let (edge, direction) = on.along;
    let kind = &plan.nodes[on.kind];
    let texts = |keys: &Column| -> StringColumn {
        let mut texts = StringColumn::default();
        keys.values().filter_map(|key| key_text(&key, kind.key_kind)).for_each(|text| texts.push(&text));
        texts
    };
    let (starts, known) = (texts(on.starts), texts(on.known));
    if starts.len() != on.orders.len() {
        return Err(error!(Internal, "{}: {} starts have {} orders", kind.name, starts.len(), on.orders.len()));
    }
    resolve(super::fetch::adjacency_of(&plan.edges[edge], direction), &starts, link)?;
    let nodes = Output::Nodes(on.kind, node_properties.to_vec());
    let edges = Output::Edges(edge, direction, edge_properties.to_vec());
    let (place, list) = (output_of(plan, &nodes), output_of(plan, &edges));
    let list = &list["commands"][0];
    let is_pair =
        list["name"] == "HGETALL" || list["rest"].as_array().is_some_and(|rest| rest.contains(&json!("WITHSCORES")));
    // Where among the values that a command gives the coordinates stand, from 1.
    let fields = || node_properties.iter().filter(|&&p| !kind.properties[p].is_key);
    let at = |property: usize| fields().position(|&p| p == property).map_or(0, |at| at + 1);
    let course = on.course;
    let scale = f64::midpoint(course.from[0], course.to[0]).to_radians().cos();
    let steps =
        course.order_at(course.from[0], course.from[1]).max(course.order_at(course.to[0], course.to[1])) / STEPS;
    let ask = json!({
        "starts": starts.iter().collect::<Vec<_>>(), "orders": on.orders, "known": known.iter().collect::<Vec<_>>(),
        "limit": on.limit, "list": list, "stride": if is_pair { 2 } else { 1 }, "place": place["commands"],
        "flat": matches!(kind.place, NodePlace::Flat(_)), "latitude": at(on.properties[0]),
        "longitude": at(on.properties[1]), "scale": scale, "from": course.from, "to": course.to,
        "cost": course.cost_per_km * KM_PER_DEGREE, "estimate": course.estimate_per_km * KM_PER_DEGREE,
        "step": if steps > 0.0 { steps } else { 1.0 },
    });
    let mut commands = Commands::default();
    commands.push(&["EVAL", SCRIPT, "0", &ask.to_string()]);
    let mut replies = link.exchange(&commands).map_err(|failure| failure.within("lookahead"))?;
    let parts = match replies.pop() {
        Some(Reply::Array(parts)) if parts.len() == 6 => parts,
        Some(reply) => return Err(unexpected(link.name(), "EVAL", &reply)),
        None => return Err(error!(Internal, "a script had no reply")),
    };
    let [Reply::Array(met), Reply::Array(places), _, Reply::Array(followed), Reply::Array(lists), _] = &parts[..]
    else {
        return Err(error!(Source, "{}: EVAL: expected ids and replies", link.name()));
    };
    let nodes = columns_of(plan, &nodes, super::within::texts(met, link)?, places, link)?;
    let edges = columns_of(plan, &edges, super::within::texts(followed, link)?, lists, link)?;
    Ok((nodes, edges))
}
