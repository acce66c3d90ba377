//! Unit costs: what a plan does, counted in units, and the nanoseconds of each. `EXPLAIN` and advice predict time by them, and by nothing
//! else.
//!
//! The nanoseconds are those of one thread of a server processor (AMD EPYC) with the store in memory and the plan in the plan cache;
//! [`Calibration`](crate::estimate::Calibration) tells by what factor a process differs. Those of reads were fitted to 204 generated
//! statements on two graphs (`WRITE=1 benchmarks/estimates.py FOLDER --fit social:1 flights:1`), by least squares of relative errors.
//! Those of indexes and of writes were measured one by one, on 20,000 rows each and without durability.
//!
//! - [`counting`]: edges that `CountMatches` follows.
//!
//! Cost: one walk over the plan, with a few lookups in the statistics of the store for each operator.

mod counting;

use std::sync::Arc;

use cypher::plan::{
    Aggregate, BinaryOperator, Expression, ExpressionKind, NewRule, Operator, OperatorId, OperatorKind, Plan, PlanMode,
    SetItem, SlotId, SlotKind,
};
use model::limits::BATCH_ROWS;
use model::{LabelId, Schema, Statistics, Value};

/// Declares the units: their names in Rust and in JSON, nanoseconds, and meanings.
macro_rules! units {
    ($($unit:ident $name:literal $ns:literal $meaning:literal)*) => {
        /// Unit of work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Unit {
            $(#[doc = $meaning] $unit,)*
        }

        /// Units with their names and nanoseconds, in the order of [`Unit`].
        pub(crate) const UNITS: &[(&str, f64)] = &[$(($name, $ns)),*];
    };
}

units! {
    Statement "statement" 1_149.0 "Start and end of a statement."
    Operator "operator" 1_575.0 "Start and end of an operator."
    ScannedNode "scannedNode" 2.4 "Node read by a scan."
    Lookup "lookup" 157.0 "Node looked up by a key or id."
    Seek "seek" 500.0 "Search in an ordered index."
    SoughtRow "soughtRow" 65.0 "Node or edge that an index gives."
    ExpandedNode "expandedNode" 90.8 "Node whose edges are looked for."
    Edge "edge" 3.9 "Edge followed."
    NumberedEdge "numberedEdge" 29.5 "Edge that is kept beside the node it leads to."
    ComparedEdge "comparedEdge" 2.9 "Edge compared with those before it in the pattern."
    PathEdge "pathEdge" 5.5 "Edge added to a path of variable length."
    SearchedEdge "searchedEdge" 15.0 "Edge looked at by a search for paths."
    Counting "counting" 9_551.0 "Start of a count of matches."
    CountedRow "countedRow" 8.5 "Row, or node on the way, from which matches are counted."
    CountedEdge "countedEdge" 5.3 "Edge followed to count matches."
    MergedEdge "mergedEdge" 40.0 "Edge told apart from others of its node to count matches."
    PropertyColumn "propertyColumn" 1_264.0 "Start of reading a property of the rows of an operator."
    Property "property" 0.8 "Property read."
    Text "text" 6.0 "Property read that is a text of its own."
    LabelTest "labelTest" 1.3 "Test of the labels of a node."
    Expression "expression" 1.6 "Comparison or other operation on one row."
    Function "function" 51.6 "Function of one row, or test of a text."
    SummedRow "summedRow" 0.4 "Row added to a figure of all rows."
    DistinctNode "distinctNode" 1.8 "Node looked up among those that came."
    Grouping "grouping" 1_184.0 "Start of a table of groups."
    GroupedRow "groupedRow" 16.1 "Row put into its group."
    Group "group" 65.0 "Group, or distinct row, that is kept."
    ComparedRow "comparedRow" 5.9 "Row compared with another to sort."
    JoinedRow "joinedRow" 15.9 "Row put into the table of a join, or looked up in it."
    Subplan "subplan" 849.0 "Start of a subplan."
    SubplanRow "subplanRow" 23.6 "Row that a subplan runs for."
    Row "row" 0.5 "Row that an operator gives."
    Cell "cell" 10.2 "Value of the result."
    Records "records" 1_266.0 "Start of reading the nodes and edges of the result."
    Record "record" 468.0 "Node or edge of the result with all its properties."
    Procedure "procedure" 10_000.0 "Call of a procedure that lists what is known."
    CreatedNode "createdNode" 130.0 "Node created."
    CreatedEdge "createdEdge" 690.0 "Edge created."
    SetProperty "setProperty" 230.0 "Property or label set or removed."
    Deleted "deleted" 500.0 "Node or edge deleted."
    Commit "commit" 60_000.0 "Commit, without the wait for the log."
    IndexEntry "indexEntry" 500.0 "Entry of an index that is made."
}

/// Nanoseconds by which a write of an entry takes longer, for each property of an index; and an edge, for a sort key.
pub(crate) const WRITE_ENTRY_NS: f64 = 1_500.0;
pub(crate) const WRITE_SORTED_NS: f64 = 150.0;
/// Nanoseconds to sort an edge by a new sort key.
pub(crate) const SORT_EDGE_NS: f64 = 250.0;

impl Unit {
    /// Nanoseconds of one.
    pub(crate) fn ns(self) -> f64 {
        UNITS[self as usize].1
    }
}

/// Labels whose sketches of a property are looked at.
const LABELS_LOOKED_AT: usize = 64;
/// Different values of a property from which on it may be text without a dictionary.
const OWN_TEXTS_MIN: u64 = 1_000;

/// An amount of work, by units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Work([f64; UNITS.len()]);

impl Default for Work {
    fn default() -> Work {
        Work([0.0; UNITS.len()])
    }
}

impl Work {
    /// Adds a number of a unit.
    pub(crate) fn add(&mut self, unit: Unit, count: f64) {
        self.0[unit as usize] += count;
    }

    /// Adds other work.
    pub(crate) fn merge(&mut self, other: &Work) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }

    /// Nanoseconds on one thread.
    pub(crate) fn ns(&self) -> f64 {
        self.0.iter().zip(UNITS).map(|(count, (_, ns))| count * ns).sum()
    }

    /// Units of which there are any, with how many.
    pub(crate) fn units(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        UNITS.iter().zip(self.0).map(|((name, _), count)| (*name, count)).filter(|(_, count)| *count > 0.0)
    }
}

/// The rows that the operators of a plan give.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'r> {
    /// As the planner expects: those of a subplan for one row.
    Expected,
    /// As they came: those of a subplan in all.
    Came(&'r dyn Fn(OperatorId) -> f64),
}

/// The store that a plan is for.
#[derive(Clone, Copy)]
pub(crate) struct Sizes<'s> {
    /// Its names.
    pub(crate) schema: &'s Schema,
    /// Its counts.
    pub(crate) statistics: &'s Statistics,
}

impl Sizes<'_> {
    /// Nodes that carry all of the labels, at most.
    fn nodes(&self, labels: &[Arc<str>]) -> f64 {
        let count = |label: &Arc<str>| self.schema.label(label).map_or(0, |id| self.statistics.label(id));
        labels.iter().map(count).min().unwrap_or(self.statistics.nodes) as f64
    }

    /// True if a property of nodes is text that seldom comes twice, as far as sketches tell: no numbers, and too many values for
    /// dictionaries. Times of which each is another look the same.
    fn is_own_text(&self, key: &str) -> bool {
        let (Some(key), Some(sketches)) = (self.schema.property_key(key), &self.statistics.sketches) else {
            return false;
        };
        let labels = (0..self.schema.labels.len().min(LABELS_LOOKED_AT) as u32).map(LabelId);
        let of_key = labels.filter_map(|label| sketches.values.get(&(label, key)));
        let most = of_key.max_by_key(|values| values.present);
        most.is_some_and(|values| values.numbers.is_none() && values.distinct > OWN_TEXTS_MIN.max(values.present / 2))
    }

    /// Entries of an index on a label or an edge type.
    fn entries(&self, rule: &NewRule) -> f64 {
        let count = match rule.on_edges {
            true => self.schema.edge_type(&rule.subject).map_or(0, |id| self.statistics.edge_type(id)),
            false => self.schema.label(&rule.subject).map_or(0, |id| self.statistics.label(id)),
        };
        (count * rule.keys.len() as u64) as f64
    }
}

/// Work of a whole plan.
pub(crate) fn of_plan(plan: &Plan, rows: Rows<'_>, sizes: Sizes<'_>) -> Work {
    let mut all = Work::default();
    all.add(Unit::Statement, 1.0);
    each(plan, rows, sizes, &mut |_, work| all.merge(work));
    all
}

/// Shows the work of each operator of a plan. That of giving the result is the root's.
pub(crate) fn each(plan: &Plan, rows: Rows<'_>, sizes: Sizes<'_>, show: &mut dyn FnMut(OperatorId, &Work)) {
    let mut walk = Walk { rows, sizes, plan, show };
    let given = walk.rows(&plan.root, 1.0);
    let mut result = Work::default();
    result.add(Unit::Cell, given * plan.columns.len() as f64);
    let records = plan.columns.iter().filter(|(_, slot)| kind(plan, *slot) != SlotKind::Any).count();
    if records > 0 {
        result.add(Unit::Records, given.min(1.0));
        result.add(Unit::Record, given * records as f64);
    }
    if plan.mode != PlanMode::Read {
        result.add(Unit::Commit, 1.0);
    }
    (walk.show)(plan.root.id, &result);
    walk.operator(&plan.root, Times { runs: 1.0, share: 1.0 });
}

fn kind(plan: &Plan, slot: SlotId) -> SlotKind {
    plan.slots.get(slot.0 as usize).map_or(SlotKind::Any, |info| info.kind)
}

/// Number of times that an operator runs, and the share of its rows that is asked for.
#[derive(Clone, Copy)]
struct Times {
    runs: f64,
    share: f64,
}

struct Walk<'w> {
    rows: Rows<'w>,
    sizes: Sizes<'w>,
    plan: &'w Plan,
    show: &'w mut dyn FnMut(OperatorId, &Work),
}

impl Walk<'_> {
    fn rows(&self, operator: &Operator, runs: f64) -> f64 {
        match self.rows {
            Rows::Expected => operator.estimated_rows * runs,
            Rows::Came(rows) => rows(operator.id),
        }
    }

    /// Shows the work of an operator and of those below it.
    fn operator(&mut self, operator: &Operator, times: Times) {
        let inputs = operator.inputs();
        // A row that came was asked for.
        let share = if matches!(self.rows, Rows::Came(_)) { 1.0 } else { times.share };
        let first = inputs.first().map_or(0.0, |input| self.rows(input, times.runs)) * share;
        let out = self.rows(operator, times.runs) * share;
        let mut work = Work::default();
        // One to which no row comes does not begin.
        let began = if inputs.is_empty() { 1.0 } else { first.min(1.0) };
        work.add(Unit::Operator, began);
        self.add_own(&mut work, operator, (first, out));
        let expressions = operator.expressions();
        let evaluated = rows_evaluated(&operator.kind, first, out);
        for expression in &expressions {
            add_expression(&mut work, expression, evaluated, self.sizes);
        }
        (self.show)(operator.id, &work);
        self.below(operator, &inputs, times, first);
        let runs = Times { runs: evaluated, share: 1.0 };
        expressions.iter().for_each(|expression| self.subqueries(expression, runs));
    }

    /// Shows the work of the inputs and subplans.
    fn below(&mut self, operator: &Operator, inputs: &[&Operator], times: Times, first: f64) {
        let share = match &operator.kind {
            OperatorKind::Limit { input, .. } => {
                let (wanted, given) = (self.rows(operator, times.runs), self.rows(input, times.runs));
                (times.share * (wanted + BATCH_ROWS as f64) / given.max(1.0)).min(times.share)
            }
            kind if reads_all(kind) => 1.0,
            _ => times.share,
        };
        let runs_by_row = matches!(
            operator.kind,
            OperatorKind::Apply { .. }
                | OperatorKind::Optional { .. }
                | OperatorKind::SemiApply { .. }
                | OperatorKind::Merge { .. }
                | OperatorKind::ForEach { .. }
        );
        for (place, input) in inputs.iter().enumerate() {
            match place {
                0 => self.operator(input, Times { share, ..times }),
                _ if runs_by_row => self.operator(input, Times { runs: self.runs(input, first), share: 1.0 }),
                _ => self.operator(input, Times { share: 1.0, ..times }),
            }
        }
    }

    /// Different nodes that a slot holds, at most: as many as the scan and the filters above it give that bring them.
    fn nodes_in(&self, slot: SlotId) -> f64 {
        let mut least = f64::INFINITY;
        self.plan.root.each(&mut |operator| {
            let mut bottom = operator;
            while let OperatorKind::Filter { input, .. } = &bottom.kind {
                bottom = input;
            }
            let brings = match &bottom.kind {
                OperatorKind::NodeScan { slot, .. }
                | OperatorKind::NodeLookup { slot, .. }
                | OperatorKind::IndexSeek { slot, .. }
                | OperatorKind::NodeById { slot, .. } => *slot,
                _ => return,
            };
            if brings == slot {
                least = least.min(self.rows(operator, 1.0));
            }
        });
        least
    }

    /// Number of runs of a subplan for a number of rows: one whose input is a single node runs once for each different node at most.
    fn runs(&self, subplan: &Operator, rows: f64) -> f64 {
        let mut is_of_one = false;
        subplan.each(&mut |operator| {
            is_of_one |= matches!(&operator.kind, OperatorKind::Argument { slots } if slots.len() == 1);
        });
        if is_of_one { rows.min(self.sizes.statistics.nodes as f64) } else { rows }
    }

    fn subqueries(&mut self, expression: &Expression, times: Times) {
        if let ExpressionKind::Subquery { plan, .. } = &expression.kind {
            self.operator(plan, times);
        }
        expression.operands().into_iter().for_each(|operand| self.subqueries(operand, times));
    }

    /// Adds the work of an operator besides its expressions, by the rows of its first input and those that it gives.
    fn add_own(&self, work: &mut Work, operator: &Operator, (first, out): (f64, f64)) {
        use OperatorKind as Kind;
        match &operator.kind {
            Kind::NodeScan { labels, choice, .. } if choice.is_some() && matches!(self.rows, Rows::Came(_)) => {
                // It reads all nodes, however many a condition within it leaves.
                work.add(Unit::ScannedNode, out.max(self.sizes.nodes(labels) * first));
            }
            Kind::NodeScan { .. } | Kind::NodeUnionScan { .. } => work.add(Unit::ScannedNode, out),
            Kind::NodeLookup { .. } | Kind::NodeById { .. } => work.add(Unit::Lookup, first.max(out)),
            Kind::IndexSeek { .. } => {
                work.add(Unit::Seek, first);
                work.add(Unit::SoughtRow, out);
            }
            Kind::Expand { distinct_from, edge, .. } => {
                work.add(Unit::ExpandedNode, first);
                work.add(if edge.is_some() { Unit::NumberedEdge } else { Unit::Edge }, out);
                work.add(Unit::ComparedEdge, out * distinct_from.len() as f64);
            }
            Kind::Intersect { legs, .. } => {
                work.add(Unit::ExpandedNode, first * legs.len() as f64);
                work.add(Unit::Edge, out);
            }
            Kind::VariableExpand { from, into, types, direction, max, .. } => {
                work.add(Unit::ExpandedNode, first);
                // Of paths to a certain node most lead elsewhere; those from one node are looked for once.
                let starts = first.min(self.nodes_in(*from));
                let others = if *into { starts * self.sizes.within(types, *direction, *max) } else { 0.0 };
                work.add(Unit::PathEdge, out.max(others));
            }
            Kind::ShortestPath { .. } | Kind::PathSearch { .. } => {
                // A search from both ends meets after about the root of what it could reach.
                let edges = self.sizes.statistics.edges as f64;
                work.add(Unit::ExpandedNode, first);
                work.add(Unit::SearchedEdge, first * edges.sqrt() + out);
            }
            Kind::CountMatches { trees, .. } => {
                let counted = counting::counted(trees, first, self.sizes);
                work.add(Unit::Counting, first.min(1.0));
                work.add(Unit::CountedRow, counted.nodes);
                work.add(Unit::CountedEdge, counted.edges);
                work.add(Unit::MergedEdge, counted.merged);
                work.merge(&counted.tests);
            }
            Kind::Aggregate { keys, aggregates, .. } => {
                self.add_aggregates(work, (keys.is_empty(), aggregates), (first, out))
            }
            Kind::Distinct { slots, .. } => self.add_distinct(work, slots, (first, out)),
            Kind::PartialAggregate { .. } => work.add(Unit::GroupedRow, first),
            Kind::Sort { .. } => work.add(Unit::ComparedRow, first * first.max(2.0).log2()),
            // Most rows are compared with the last of those kept alone.
            Kind::Top { .. } => work.add(Unit::ComparedRow, first + out * out.max(2.0).log2()),
            Kind::HashJoin { left, right, .. } => {
                work.add(Unit::JoinedRow, self.rows(left, 1.0) + self.rows(right, 1.0));
                work.add(Unit::Row, out);
            }
            Kind::Apply { .. } | Kind::Optional { .. } | Kind::SemiApply { .. } => {
                work.add(Unit::Subplan, first.min(1.0));
                work.add(Unit::SubplanRow, first);
                work.add(Unit::Row, out);
            }
            Kind::Call { .. } => {
                work.add(Unit::Procedure, first);
                work.add(Unit::Row, out);
            }
            Kind::Unit | Kind::Argument { .. } | Kind::Filter { .. } => {}
            kind if self.add_writes(work, kind, first) => {}
            _ => work.add(Unit::Row, out),
        }
    }

    /// Adds what it takes to make rows distinct.
    fn add_distinct(&self, work: &mut Work, slots: &[SlotId], (first, out): (f64, f64)) {
        let is_node = |slot: &SlotId| kind(self.plan, *slot) == SlotKind::Node;
        if let [slot] = slots
            && is_node(slot)
        {
            work.add(Unit::DistinctNode, first);
            return;
        }
        work.add(Unit::Grouping, first.min(1.0));
        work.add(Unit::GroupedRow, first);
        work.add(Unit::Group, out);
    }

    /// Adds what it takes to aggregate rows, of groups or as a whole.
    fn add_aggregates(&self, work: &mut Work, (is_whole, all): (bool, &[Aggregate]), (first, out): (f64, f64)) {
        for aggregate in all {
            match aggregate.arguments.first().map(|argument| &argument.kind) {
                Some(ExpressionKind::Slot(slot)) if aggregate.distinct => {
                    self.add_distinct(work, &[*slot], (first, 0.0))
                }
                Some(_) if aggregate.distinct => work.add(Unit::GroupedRow, first),
                _ => work.add(Unit::SummedRow, first),
            }
        }
        if !is_whole {
            work.add(Unit::Grouping, first.min(1.0));
            work.add(Unit::GroupedRow, first);
            work.add(Unit::Group, out);
        }
    }

    /// Adds what an operator writes; false if it writes nothing.
    fn add_writes(&self, work: &mut Work, kind: &OperatorKind, rows: f64) -> bool {
        match kind {
            OperatorKind::Create { nodes, edges, .. } | OperatorKind::Merge { nodes, edges, .. } => {
                work.add(Unit::CreatedNode, rows * nodes.len() as f64);
                work.add(Unit::CreatedEdge, rows * edges.len() as f64);
                let of_nodes = nodes.iter().filter_map(|node| node.properties.as_ref());
                let maps = of_nodes.chain(edges.iter().filter_map(|edge| edge.properties.as_ref()));
                work.add(Unit::SetProperty, rows * maps.map(entries_of).sum::<f64>());
            }
            OperatorKind::Set { items, .. } => {
                // Nodes and edges that are there are changed once more at the commit.
                work.add(Unit::SetProperty, 2.0 * rows * items.iter().map(set).sum::<f64>());
            }
            OperatorKind::Delete { expressions, .. } => work.add(Unit::Deleted, rows * expressions.len() as f64),
            OperatorKind::ForEach { .. } => work.add(Unit::SubplanRow, rows),
            OperatorKind::CreateRule { rule, .. } => work.add(Unit::IndexEntry, self.sizes.entries(rule)),
            _ => return false,
        }
        true
    }
}

/// True if an operator reads all rows of its input before it gives one.
fn reads_all(kind: &OperatorKind) -> bool {
    matches!(
        kind,
        OperatorKind::Aggregate { .. }
            | OperatorKind::Sort { .. }
            | OperatorKind::Top { .. }
            | OperatorKind::Create { .. }
            | OperatorKind::Merge { .. }
            | OperatorKind::Set { .. }
            | OperatorKind::Delete { .. }
            | OperatorKind::ForEach { .. }
            | OperatorKind::PushedPattern { .. }
    )
}

/// The rows for which an operator computes its expressions.
fn rows_evaluated(kind: &OperatorKind, first: f64, out: f64) -> f64 {
    match kind {
        OperatorKind::Limit { .. } | OperatorKind::Skip { .. } => 1.0,
        // Conditions on edges are asked of all of them.
        OperatorKind::VariableExpand { .. } | OperatorKind::ShortestPath { .. } | OperatorKind::PathSearch { .. } => {
            out
        }
        // Its trees count their own.
        OperatorKind::CountMatches { .. } | OperatorKind::PushedPattern { .. } => 0.0,
        OperatorKind::HashJoin { .. } | OperatorKind::CrossProduct { .. } => first.max(out),
        _ => first,
    }
}

/// Adds the evaluation of an expression for a number of rows.
fn add_expression(work: &mut Work, expression: &Expression, rows: f64, sizes: Sizes<'_>) {
    match &expression.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Parameter(_) | ExpressionKind::Slot(_) => return,
        ExpressionKind::Property { key, .. } => {
            work.add(Unit::PropertyColumn, rows.min(1.0));
            work.add(if sizes.is_own_text(key) { Unit::Text } else { Unit::Property }, rows);
        }
        ExpressionKind::HasLabels { .. } => work.add(Unit::LabelTest, rows),
        ExpressionKind::And(_) => {}
        ExpressionKind::Function { .. } => work.add(Unit::Function, rows),
        ExpressionKind::Binary { operator, .. } if tests_text(*operator) => work.add(Unit::Function, rows),
        _ => work.add(Unit::Expression, rows),
    }
    expression.operands().into_iter().for_each(|operand| add_expression(work, operand, rows, sizes));
}

fn tests_text(operator: BinaryOperator) -> bool {
    use BinaryOperator::{Contains, EndsWith, Matches, StartsWith};
    matches!(operator, Contains | EndsWith | Matches | StartsWith)
}

/// Entries of a map of properties; of one whose keys are not written out, one.
fn entries_of(map: &Expression) -> f64 {
    match &map.kind {
        ExpressionKind::Map(entries) => entries.len() as f64,
        ExpressionKind::Literal(Value::Map(entries)) => entries.len() as f64,
        _ => 1.0,
    }
}

fn set(item: &SetItem) -> f64 {
    match item {
        SetItem::Replace { value, .. } | SetItem::Merge { value, .. } => entries_of(value),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
