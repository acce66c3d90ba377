//! Nodes found by label or by a condition, pulled from the source piece by piece.

use std::ops::Bound;

use model::index_scan::{IndexBatch, IndexCursor, IndexScan, KeyRange};
use model::limits::BATCH_ROWS;
use model::schema::Subject;
use model::store::NodeCursor;
use model::{Column, KeyOrder, Map, NodeBatch, NodeId, NodeScan, PropertyKeyId, Result, Taken, Value};

use super::Shared;
use super::view::SourceView;
use crate::connector::{Condition, Question, StreamId, Test, Which};
use crate::keys::{self, NO_KEY};

/// Rows of the first pull, so that a query that wants few nodes waits for few; later ones are larger each.
pub(super) const FIRST_ROWS: usize = 128;
/// Growth of later pulls.
pub(super) const GROWTH: usize = 8;
/// Rows of a pull, at most.
pub(super) const ROWS_MAX: usize = 8 * BATCH_ROWS;

/// A question that is read piece by piece, of a kind of nodes.
struct Pull<'a> {
    view: &'a SourceView,
    asked: KindScan,
    stream: Option<StreamId>,
    rows_next: usize,
    /// Rows so far.
    scanned: usize,
}

impl<'a> Pull<'a> {
    fn new(view: &'a SourceView, asked: KindScan) -> Pull<'a> {
        Pull { view, asked, stream: None, rows_next: FIRST_ROWS, scanned: 0 }
    }

    /// The next nodes with their properties; `None` at the end.
    fn next(&mut self) -> Result<Option<(Vec<NodeId>, Vec<Column>)>> {
        loop {
            let stream = match self.stream {
                Some(stream) => stream,
                None => *self.stream.insert(self.view.link.start(&self.asked.nodes())?),
            };
            let Some(mut rows) = self.view.link.more(stream, self.rows_next, &self.asked.nodes())? else {
                return Ok(None);
            };
            self.rows_next = (self.rows_next * GROWTH).min(ROWS_MAX);
            if rows.len() != 1 + self.asked.properties.len() {
                let expected = 1 + self.asked.properties.len();
                return Err(model::error!(
                    Internal,
                    "a connector gave {} columns, {expected} were asked for",
                    rows.len()
                ));
            }
            let mut numbers = Vec::new();
            self.view.shared.keys.encode(self.asked.kind, &rows[0], &mut numbers)?;
            let mut columns = rows.split_off(1);
            if numbers.contains(&NO_KEY) {
                let kept: Vec<u32> = (0..numbers.len() as u32).filter(|&row| numbers[row as usize] != NO_KEY).collect();
                columns = columns.iter().map(|column| column.gather(&kept)).collect();
                numbers.retain(|&number| number != NO_KEY);
            }
            self.scanned += numbers.len();
            self.view.keep_scanned(self.asked.kind, &self.asked.properties, &numbers, &columns, self.scanned)?;
            let base = keys::id_base(self.view.shared.layout.member, self.asked.kind);
            if !numbers.is_empty() {
                return Ok(Some((numbers.into_iter().map(|number| NodeId(base | number)).collect(), columns)));
            }
        }
    }
}

impl Drop for Pull<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            self.view.link.stop(stream);
        }
    }
}

/// A scan as one kind of nodes is asked for it.
#[derive(Default)]
pub(super) struct KindScan {
    pub(super) kind: usize,
    /// Properties to bring along, ascending.
    pub(super) properties: Vec<usize>,
    pub(super) conditions: Vec<Condition>,
    pub(super) order: Vec<(usize, KeyOrder)>,
    pub(super) limit: Option<u64>,
    /// For each condition of the scan, whether the source tests it.
    taken: Vec<bool>,
    /// True if the source gives but the first nodes, where only these are asked for.
    is_cut: bool,
}

/// The scans of all kinds that may have nodes of a scan.
pub(super) fn kind_scans(shared: &Shared, scan: &NodeScan) -> Vec<KindScan> {
    let kinds = shared.layout.kinds_of(&scan.labels).into_iter();
    kinds.filter_map(|kind| KindScan::of(shared, kind, scan)).collect()
}

/// The parts of a scan that the source does for all kinds.
pub(super) fn taken(shared: &Shared, scan: &NodeScan) -> Taken {
    let kinds = kind_scans(shared, scan);
    let filter = (0..scan.filter.len()).map(|at| kinds.iter().all(|kind| kind.taken[at])).collect();
    Taken { filter, first: scan.first.is_some() && kinds.iter().all(|kind| kind.is_cut) }
}

impl KindScan {
    /// The scan of a kind; `None` if its nodes lack a property that they would need.
    fn of(shared: &Shared, kind: usize, scan: &NodeScan) -> Option<KindScan> {
        let layout = &shared.layout.nodes[kind];
        let number = |key: &PropertyKeyId| layout.properties.get(key).copied();
        let mut properties: Vec<usize> = scan.keys.iter().filter_map(number).collect();
        properties.sort_unstable();
        properties.dedup();
        let (mut conditions, mut taken) = (Vec::new(), Vec::with_capacity(scan.filter.len()));
        for condition in &scan.filter {
            let Some(condition) = condition.known(&number) else {
                taken.push(true);
                continue;
            };
            if condition.is_never() {
                return None;
            }
            let is_found = shared.connector.finds(kind, &condition);
            taken.push(is_found);
            conditions.extend(is_found.then_some(condition));
        }
        let mut found = KindScan { kind, properties, conditions, taken, ..KindScan::default() };
        if let Some(first) = &scan.first
            && found.taken.iter().all(|&taken| taken)
        {
            // A property that a kind lacks is null in all its nodes, and orders none.
            let order = first.order.iter().filter_map(|(key, order)| Some((number(key)?, *order)));
            let order: Vec<(usize, KeyOrder)> = order.collect();
            let keys: Vec<usize> = order.iter().map(|(key, _)| *key).collect();
            found.is_cut = keys.is_empty() || shared.connector.sorts(kind, &keys);
            found.limit = found.is_cut.then_some(first.limit);
            found.order = if found.is_cut { order } else { Vec::new() };
        }
        Some(found)
    }
}

impl KindScan {
    fn which(&self) -> Which<'_> {
        if self.conditions.is_empty() { Which::All } else { Which::Where(&self.conditions) }
    }

    /// The question for the nodes.
    pub(super) fn nodes(&self) -> Question<'_> {
        let (which, limit) = (self.which(), self.limit);
        Question::Nodes { kind: self.kind, which, properties: &self.properties, order: &self.order, limit }
    }

    /// The question for their number.
    pub(super) fn count(&self) -> Question<'_> {
        Question::CountNodes { kind: self.kind, which: self.which() }
    }
}

/// A cursor over the nodes of several kinds.
pub(super) struct ScanCursor<'a> {
    view: &'a SourceView,
    keys: Vec<PropertyKeyId>,
    /// Kinds to come, the next one last.
    kinds: Vec<KindScan>,
    pull: Option<Pull<'a>>,
    nodes: Vec<NodeId>,
    columns: Vec<Column>,
    position: usize,
}

impl<'a> ScanCursor<'a> {
    pub(super) fn new(view: &'a SourceView, scan: &NodeScan) -> ScanCursor<'a> {
        let mut kinds = kind_scans(&view.shared, scan);
        kinds.reverse();
        let keys = scan.keys.clone();
        ScanCursor { view, keys, kinds, pull: None, nodes: Vec::new(), columns: Vec::new(), position: 0 }
    }

    /// Pulls the next nodes; false at the end.
    fn pull(&mut self) -> Result<bool> {
        let layout = &self.view.shared.layout;
        loop {
            if self.pull.is_none() {
                let Some(asked) = self.kinds.pop() else { return Ok(false) };
                self.pull = Some(Pull::new(self.view, asked));
            }
            let Some(pull) = &mut self.pull else { return Ok(false) };
            if let Some((nodes, columns)) = pull.next()? {
                let column = |key: &PropertyKeyId| {
                    let number = layout.nodes[pull.asked.kind].properties.get(key)?;
                    Some(columns[pull.asked.properties.iter().position(|other| other == number)?].clone())
                };
                let columns = self.keys.iter().map(|key| column(key).unwrap_or_else(|| Column::nulls(nodes.len())));
                self.columns = columns.collect();
                (self.nodes, self.position) = (nodes, 0);
                return Ok(true);
            }
            self.pull = None;
        }
    }
}

impl NodeCursor for ScanCursor<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        out.clear();
        if self.position == self.nodes.len() && !self.pull()? {
            return Ok(false);
        }
        let end = self.nodes.len().min(self.position + BATCH_ROWS);
        out.nodes.extend_from_slice(&self.nodes[self.position..end]);
        if self.position == 0 && end == self.nodes.len() {
            out.properties = std::mem::take(&mut self.columns);
        } else {
            out.properties = self.columns.iter().map(|column| column.slice(self.position, end)).collect();
        }
        self.position = end;
        Ok(true)
    }
}

/// Finds nodes by a property, as an ordered index does.
pub(super) fn index_scan<'a>(view: &'a SourceView, scan: &IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
    let layout = &view.shared.layout;
    // The name may be one that a larger graph gave it.
    let is_same = |held: &model::Index| held.subject == scan.index.subject && held.keys == scan.index.keys;
    let is_known = layout.schema.searchable.iter().any(is_same);
    let (Subject::Label(label), [key], true) = (scan.index.subject, &scan.index.keys[..], is_known) else {
        return Err(model::error!(SchemaRule, "{} has no index {}", view.shared.connector.name(), scan.index.name));
    };
    let kinds = layout.kinds_of(&[label]).into_iter();
    let kinds: Vec<(usize, usize)> =
        kinds.filter_map(|kind| Some((kind, *layout.nodes[kind].properties.get(key)?))).collect();
    if let Some(equal) = scan.equal.first() {
        return by_values(view, &kinds, equal);
    }
    let range = test_of(&scan.range);
    let pulls = kinds.into_iter().map(|(kind, property)| {
        let (conditions, order) = (vec![Condition::is(property, range.clone())], vec![(property, scan.order)]);
        let properties = vec![property];
        Pull::new(view, KindScan { kind, properties, conditions, order, ..KindScan::default() })
    });
    let pulls: Vec<Pull<'a>> = pulls.collect();
    if pulls.len() > 1 {
        return merged(pulls, scan);
    }
    Ok(Box::new(OrderedCursor {
        pulls,
        range: scan.range.clone(),
        rows: scan.rows as u32,
        nodes: Vec::new(),
        position: 0,
        all: Vec::new(),
        row: 0,
    }))
}

/// The condition of a range.
pub(super) fn test_of(range: &KeyRange) -> Test {
    match range {
        KeyRange::All | KeyRange::Between(Bound::Unbounded, Bound::Unbounded) => Test::Present,
        KeyRange::Between(lower, upper) => Test::Between(lower.clone(), upper.clone()),
        KeyRange::StartsWith(prefix) => Test::StartsWith(prefix.to_string()),
    }
}

/// The nodes of several kinds, in one order.
fn merged<'a>(pulls: Vec<Pull<'a>>, scan: &IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
    let mut found: Vec<(Value, NodeId)> = Vec::new();
    for mut pull in pulls {
        while let Some((nodes, columns)) = pull.next()? {
            let rows = nodes.into_iter().enumerate().map(|(row, node)| (columns[0].value(row), node));
            found.extend(rows.filter(|(value, _)| !value.is_null() && scan.range.holds(value)));
        }
    }
    found.sort();
    if scan.order == KeyOrder::Descending {
        found.reverse();
    }
    let rows = 0..scan.rows as u32;
    let found = rows.flat_map(|row| found.iter().map(move |&(_, node)| (row, node))).collect();
    Ok(Box::new(FoundCursor { found, position: 0 }))
}

/// The nodes whose property equals the value of each row: all rows in one question.
fn by_values<'a>(view: &SourceView, kinds: &[(usize, usize)], equal: &Column) -> Result<Box<dyn IndexCursor + 'a>> {
    let mut rows_of: Map<Value, Vec<u32>> = Map::default();
    for (row, value) in equal.values().enumerate() {
        if value.equals(&value) == Some(true) {
            rows_of.entry(value).or_default().push(row as u32);
        }
    }
    let mut values: Vec<Value> = rows_of.keys().cloned().collect();
    values.sort_unstable();
    let mut found = Vec::new();
    if !values.is_empty() {
        let conditions: Vec<[Condition; 1]> =
            kinds.iter().map(|&(_, property)| [Condition::is(property, Test::OneOf(values.clone()))]).collect();
        let properties: Vec<[usize; 1]> = kinds.iter().map(|&(_, property)| [property]).collect();
        let questions = kinds.iter().zip(&conditions).zip(&properties).map(|((&(kind, _), conditions), properties)| {
            Question::Nodes { kind, which: Which::Where(conditions), properties, order: &[], limit: None }
        });
        let questions: Vec<Question<'_>> = questions.collect();
        let member = view.shared.layout.member;
        view.link.ask(&questions, &mut |question, rows| {
            let (kind, mut numbers) = (kinds[question].0, Vec::new());
            view.shared.keys.encode(kind, &rows[0], &mut numbers)?;
            view.keep_scanned(kind, &properties[question], &numbers, &rows[1..], numbers.len())?;
            for (row, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != NO_KEY) {
                let inputs = rows_of.get(&rows[1].value(row)).map_or(&[][..], Vec::as_slice);
                found.extend(inputs.iter().map(|&input| (input, keys::node_id(member, kind, number))));
            }
            Ok(true)
        })?;
    }
    found.sort_unstable();
    Ok(Box::new(FoundCursor { found, position: 0 }))
}

/// Nodes of one kind in the order in which the source gives them.
struct OrderedCursor<'a> {
    /// One pull, or none.
    pulls: Vec<Pull<'a>>,
    range: KeyRange,
    /// Number of rows that ask the same; the nodes are kept for those after the first.
    rows: u32,
    nodes: Vec<NodeId>,
    position: usize,
    all: Vec<NodeId>,
    row: u32,
}

impl IndexCursor for OrderedCursor<'_> {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        out.clear();
        while self.position == self.nodes.len() {
            self.position = 0;
            self.nodes.clear();
            let pulled =
                if self.row == 0 { self.pulls.first_mut().map(Pull::next).transpose()?.flatten() } else { None };
            match pulled {
                Some((nodes, columns)) => {
                    // A value that the source takes for smaller, or for equal, need not be so here.
                    let holds = |row: usize| !columns[0].is_null(row) && self.range.holds(&columns[0].value(row));
                    let kept = nodes.iter().enumerate().filter(|(row, _)| holds(*row)).map(|(_, &node)| node);
                    self.nodes = kept.collect();
                    if self.rows > 1 {
                        self.all.extend_from_slice(&self.nodes);
                    }
                }
                None => {
                    self.row += 1;
                    if self.row >= self.rows {
                        return Ok(false);
                    }
                    self.nodes.clone_from(&self.all);
                    if self.nodes.is_empty() {
                        return Ok(false);
                    }
                }
            }
        }
        let end = self.nodes.len().min(self.position + BATCH_ROWS);
        out.nodes.extend_from_slice(&self.nodes[self.position..end]);
        out.inputs.resize(out.nodes.len(), self.row);
        self.position = end;
        Ok(true)
    }
}

/// Nodes that were all found before.
struct FoundCursor {
    found: Vec<(u32, NodeId)>,
    position: usize,
}

impl IndexCursor for FoundCursor {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        out.clear();
        let end = self.found.len().min(self.position + BATCH_ROWS);
        for &(input, node) in &self.found[self.position..end] {
            out.inputs.push(input);
            out.nodes.push(node);
        }
        self.position = end;
        Ok(!out.inputs.is_empty())
    }
}
