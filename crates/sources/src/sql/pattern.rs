//! Patterns as one statement: the rows of nodes and edges joined, and grouped if that is asked, by the database.
//!
//! A statement is made only if the database computes what Cypher would: with conditions that it answers alone, keys that it
//! takes for equal when Cypher does, values that it puts in the same order. Where values of several types may lie in a
//! column, it counts those of other types than the column's beside ([`Rest::none_of`](crate::sql::Rest::none_of)).
//!
//! Joins are written as a list of rows with conditions, which every planner puts in an order of its own.

use model::pattern_query::{FirstRows, PatternColumn, PatternTest};
use model::{KeyOrder, PropertyKind, Result, error};

use crate::connector::{Condition, KindPattern};
use crate::definition::{EdgeKind, End, EndNode, NodeKind, Property};
use crate::sql::conditions::{add_conditions, compared, is_compared_alike, order_of, property, term_of, terms_of_null};
use crate::sql::draft::Draft;
use crate::sql::rows::{all_rows, meets, rows_name};
use crate::sql::{ColumnFacts, RowsFacts, Statement, Writer, quote};

/// The statement of a pattern query; fails with `UNSUPPORTED` if the database would not compute it as Cypher does.
pub(super) fn rows<'q>(writer: &Writer<'_>, asked: &KindPattern) -> Result<Statement<'q>> {
    let nodes = asked.nodes.iter().enumerate().map(|(at, node)| NodeRows::of(writer, at, node.of));
    let mut statement = Joining {
        writer,
        nodes: nodes.collect::<Result<_>>()?,
        draft: Draft::new(writer.dialect),
        from: Vec::new(),
        is_grouped: asked.is_grouped,
        guards: Vec::new(),
    };
    for (at, node) in asked.nodes.iter().enumerate() {
        if !asked.tests.iter().any(|test| test.inner == at) {
            statement.add_node(at, &node.conditions)?;
        }
    }
    let mut edges = Vec::with_capacity(asked.edges.len());
    for (at, edge) in asked.edges.iter().enumerate() {
        edges.push(statement.add_edge(at, edge.of, [edge.source, edge.target])?);
    }
    for &(one, other) in &asked.distinct {
        statement.add_difference(&edges[one], &edges[other])?;
    }
    for (at, test) in asked.tests.iter().enumerate() {
        statement.add_test(edges.len() + at, test, &asked.nodes[test.inner].conditions)?;
    }
    let terms = asked.columns.iter().map(|column| statement.add_column(column)).collect::<Result<Vec<_>>>()?;
    statement.finish(asked.first.as_ref(), &terms)
}

fn not_alike(what: &str) -> model::Error {
    error!(Unsupported, "the database does not compute with {what} as Cypher does")
}

/// The rows of a kind of nodes in the statement.
struct NodeRows<'a> {
    node: &'a NodeKind,
    facts: &'a RowsFacts,
    alias: String,
    /// The table, or the kind, as messages name it.
    name: String,
}

impl<'a> NodeRows<'a> {
    fn of(writer: &Writer<'a>, at: usize, kind: usize) -> Result<NodeRows<'a>> {
        let node = writer.definition.nodes.get(kind);
        let node = node.ok_or_else(|| error!(Internal, "kind {kind} of nodes is asked for, and is not there"))?;
        let name = rows_name(&node.name, &node.rows);
        Ok(NodeRows { node, facts: writer.catalog.node(kind), alias: format!("n{at}"), name })
    }
}

/// The rows of a kind of edges in the statement: their own, or those of the node that has the foreign key.
struct EdgeRows<'a> {
    kind: usize,
    edge: &'a EdgeKind,
    facts: &'a RowsFacts,
    alias: String,
    /// The columns that tell a row from others; none if nothing does.
    key: &'a [String],
}

/// A column of the answer, as an order may name it.
enum Term<'a> {
    /// An expression.
    Expression { text: String, is_nullable: bool },
    /// A column of a property.
    Column(String, &'a Property, &'a ColumnFacts),
    /// None that the database orders as Cypher does.
    Unordered,
}

/// The statement, as far as it is made.
struct Joining<'a, 'w, 'q> {
    writer: &'w Writer<'a>,
    nodes: Vec<NodeRows<'a>>,
    draft: Draft<'q>,
    from: Vec<String>,
    is_grouped: bool,
    /// Expressions that count values of other types than their column's.
    guards: Vec<String>,
}

impl<'a, 'q> Joining<'a, '_, 'q> {
    fn add_node(&mut self, at: usize, conditions: &[Condition]) -> Result<()> {
        let (dialect, rows) = (self.writer.dialect, &self.nodes[at]);
        self.from.push(all_rows(dialect, &rows.node.name, &rows.node.rows, &rows.alias)?);
        let nullable = rows.node.key.iter().filter(|name| rows.facts.column(name).is_nullable);
        let present = nullable.map(|name| format!("{} IS NOT NULL", quote::column(dialect, &rows.alias, name)));
        self.draft.conditions.extend(present);
        let of = (&*rows.node.name, &*rows.node.properties, rows.facts);
        let left = add_conditions(&mut self.draft, dialect, &rows.alias, of, conditions)?;
        if left.is_empty() { Ok(()) } else { Err(not_alike("a condition")) }
    }

    fn add_edge(&mut self, at: usize, kind: usize, ends: [usize; 2]) -> Result<EdgeRows<'a>> {
        let edge = self.writer.definition.edges.get(kind);
        let edge = edge.ok_or_else(|| error!(Internal, "kind {kind} of edges is asked for, and is not there"))?;
        let facts = self.writer.catalog.edge(kind);
        let sides = [&edge.source, &edge.target];
        // A foreign key stands in the rows of the nodes at one of its ends.
        let own = (0..2).find(|&side| {
            let node = self.nodes[ends[side]].node;
            node.rows == edge.rows && node.key == sides[side].columns && !sides[side].is_array
        });
        let (alias, key) = match own {
            Some(side) => (self.nodes[ends[side]].alias.clone(), &*self.nodes[ends[side]].node.key),
            None => {
                let alias = format!("e{at}");
                self.from.push(all_rows(self.writer.dialect, &edge.name, &edge.rows, &alias)?);
                (alias, &*edge.key)
            }
        };
        for side in (0..2).filter(|&side| own != Some(side)) {
            self.add_end((&alias, facts), sides[side], ends[side])?;
        }
        Ok(EdgeRows { kind, edge, facts, alias, key })
    }

    /// Joins the node of an end.
    fn add_end(&mut self, (alias, facts): (&str, &RowsFacts), end: &End, node: usize) -> Result<()> {
        let rows = &self.nodes[node];
        let is_of_kind = matches!(end.node, EndNode::Kind(_)) && !end.is_array;
        let kinds = |(far, near): (&String, &String)| (rows.facts.column(far).kind, facts.column(near).kind);
        let mut pairs = rows.node.key.iter().zip(&end.columns).map(kinds);
        // Columns of other types the database might not even compare.
        if !is_of_kind || pairs.any(|(far, near)| far.is_none() || far != near) {
            return Err(not_alike("an end of relationships"));
        }
        let met = meets(self.writer.dialect, (&rows.alias, rows.node, rows.facts), (alias, end));
        self.draft.conditions.extend(met);
        Ok(())
    }

    /// Adds the condition that an edge is there, or is not.
    fn add_test(&mut self, at: usize, test: &PatternTest<usize>, conditions: &[Condition]) -> Result<()> {
        let outer = (std::mem::take(&mut self.from), std::mem::take(&mut self.draft.conditions));
        self.add_node(test.inner, conditions)?;
        self.add_edge(at, test.edge.of, [test.edge.source, test.edge.target])?;
        let (from, conditions) = (self.from.join(", "), self.draft.conditions.join(" AND "));
        (self.from, self.draft.conditions) = outer;
        let not = if test.is_absent { "NOT " } else { "" };
        self.draft.conditions.push(format!("{not}EXISTS (SELECT 1 FROM {from} WHERE {conditions})"));
        Ok(())
    }

    /// Two edges are not the same.
    fn add_difference(&mut self, one: &EdgeRows<'a>, other: &EdgeRows<'a>) -> Result<()> {
        if one.kind != other.kind || one.edge.rows != other.edge.rows {
            return Ok(());
        }
        let is_key = one.key == other.key && !one.key.is_empty();
        if !is_key || one.key.iter().any(|name| one.facts.column(name).is_nullable) {
            return Err(not_alike("relationships that nothing tells apart"));
        }
        let column = |rows: &EdgeRows<'a>, name: &String| quote::column(self.writer.dialect, &rows.alias, name);
        let pairs = one.key.iter().map(|name| format!("{} = {}", column(one, name), column(other, name)));
        let pairs: Vec<String> = pairs.collect();
        self.draft.conditions.push(format!("NOT ({})", pairs.join(" AND ")));
        Ok(())
    }

    /// A property of a node, what is known of its column, and the column.
    fn column(&self, at: usize, number: usize) -> Result<(&'a Property, &'a ColumnFacts, String)> {
        let rows = &self.nodes[at];
        let property = property(&rows.node.name, &rows.node.properties, number)?;
        let facts = rows.facts.column(&property.column);
        if !is_compared_alike(property, facts) || facts.hides_nulls() || facts.is_padded() || facts.kind.is_none() {
            return Err(not_alike(&rows.name));
        }
        Ok((property, facts, quote::column(self.writer.dialect, &rows.alias, &property.column)))
    }

    fn answer(&mut self, text: String, of: (usize, &str), kind: Option<PropertyKind>) {
        let name = format!("{}.{}", self.nodes[of.0].name, of.1);
        self.draft.answer(vec![text], name, kind);
    }

    /// A property of a match, which is shown as any other.
    fn add_property(&mut self, at: usize, number: usize) -> Result<Term<'a>> {
        let rows = &self.nodes[at];
        let property = property(&rows.node.name, &rows.node.properties, number)?;
        let facts = rows.facts.column(&property.column);
        let column = quote::column(self.writer.dialect, &rows.alias, &property.column);
        self.answer(facts.selected(column.clone()), (at, &property.column), property.kind);
        Ok(Term::Column(column, property, facts))
    }

    fn add_column(&mut self, column: &PatternColumn<usize>) -> Result<Term<'a>> {
        let number = |text: String| Term::Expression { text, is_nullable: false };
        match *column {
            PatternColumn::Node(at) => self.add_node_key(at),
            PatternColumn::Key(at, property) if self.is_grouped => self.add_key(at, property),
            PatternColumn::Key(at, property) => self.add_property(at, property),
            PatternColumn::Matches => {
                self.answer("count(*)".to_owned(), (0, "*"), None);
                Ok(number("count(*)".to_owned()))
            }
            PatternColumn::DistinctNodes(at) => {
                let [key] = &*self.nodes[at].node.key else { return Err(not_alike("keys of several columns")) };
                let column = quote::column(self.writer.dialect, &self.nodes[at].alias, key);
                let text = format!("count(DISTINCT {column})");
                self.answer(text.clone(), (at, key), None);
                Ok(number(text))
            }
            PatternColumn::Count(at, of) => {
                let (property, _, column) = self.column(at, of)?;
                let text = format!("count({column})");
                self.answer(text.clone(), (at, &property.column), None);
                Ok(number(text))
            }
            PatternColumn::DistinctCount(at, of) => {
                let (property, facts, column) = self.column(at, of)?;
                let text = format!("count(DISTINCT {})", self.grouped(facts, &column)?);
                self.answer(text.clone(), (at, &property.column), None);
                Ok(number(text))
            }
            PatternColumn::Min(at, of) => self.add_extreme("min", at, of),
            PatternColumn::Max(at, of) => self.add_extreme("max", at, of),
            PatternColumn::Sum(at, of) => self.add_sum(at, of),
        }
    }

    fn add_node_key(&mut self, at: usize) -> Result<Term<'a>> {
        let rows = &self.nodes[at];
        let columns = rows.node.key.iter().map(|name| quote::column(self.writer.dialect, &rows.alias, name));
        let columns: Vec<String> = columns.collect();
        let shown =
            columns.iter().zip(&rows.node.key).map(|(held, name)| rows.facts.column(name).selected(held.clone()));
        let name = format!("{}.{}", rows.name, rows.node.key.join(", "));
        self.draft.answer_key(shown.collect(), name);
        if self.is_grouped {
            self.draft.group.extend(columns);
        }
        // Cypher orders nodes by their ids.
        Ok(Term::Unordered)
    }

    /// A column as it must stand for values to be equal as in Cypher.
    fn grouped(&self, facts: &ColumnFacts, column: &str) -> Result<String> {
        match facts.kind {
            // A database that sorts by the beginnings of strings may group by them alone.
            _ if facts.is_cut => Err(not_alike("long strings")),
            // Numbers that differ may be one when they are shown as floats.
            _ if facts.is_rounded => Err(not_alike("numbers of many digits")),
            Some(PropertyKind::String) if facts.is_loose => Ok(self.writer.dialect.by_bytes(column)),
            // Integers may lie in such a column that are one when they are shown as floats.
            Some(PropertyKind::Float) if facts.holds_any => Err(not_alike("numbers of several types")),
            Some(
                PropertyKind::String
                | PropertyKind::Integer
                | PropertyKind::Float
                | PropertyKind::Boolean
                | PropertyKind::Date
                | PropertyKind::LocalDateTime
                | PropertyKind::DateTime,
            ) => Ok(column.to_owned()),
            _ => Err(not_alike("values of this type")),
        }
    }

    fn add_key(&mut self, at: usize, number: usize) -> Result<Term<'a>> {
        let (property, facts, column) = self.column(at, number)?;
        let grouped = self.grouped(facts, &column)?;
        // Of strings that are equal byte by byte one is as good as another.
        let shown = if grouped == column { column.clone() } else { format!("min({column})") };
        self.answer(facts.selected(shown), (at, &property.column), property.kind);
        if !self.draft.group.contains(&grouped) {
            self.draft.group.push(grouped);
        }
        Ok(Term::Column(column, property, facts))
    }

    /// Counts the values of a column that are of another type than its own, if there may be such.
    fn guard(&mut self, facts: &ColumnFacts, column: &str) -> Result<()> {
        if !facts.holds_any {
            return Ok(());
        }
        let exact = facts.kind.and_then(|kind| self.writer.dialect.is_exactly(column, kind));
        let exact = exact.ok_or_else(|| not_alike("values of several types"))?;
        let guard = format!("count(CASE WHEN {column} IS NOT NULL AND NOT ({exact}) THEN 1 END)");
        if !self.guards.contains(&guard) {
            self.guards.push(guard);
        }
        Ok(())
    }

    fn add_extreme(&mut self, function: &str, at: usize, number: usize) -> Result<Term<'a>> {
        let (property, facts, column) = self.column(at, number)?;
        let is_known = matches!(
            facts.kind,
            Some(
                PropertyKind::String
                    | PropertyKind::Integer
                    | PropertyKind::Float
                    | PropertyKind::Date
                    | PropertyKind::LocalDateTime
                    | PropertyKind::DateTime
            )
        );
        let dialect = self.writer.dialect;
        let text = compared(dialect, &column, facts, facts.kind);
        // Databases have no least of these.
        if !is_known || facts.sql_type == "uuid" {
            return Err(not_alike("values of this type"));
        }
        self.guard(facts, &column)?;
        // The result has another width than the column, by which integers are told from other numbers.
        let is_integer = facts.kind == Some(PropertyKind::Integer) && !facts.holds_any;
        let kind = if is_integer { Some(PropertyKind::Integer) } else { property.kind };
        let is_by_bytes = text != column;
        let text = format!("{function}({text})");
        let shown = if is_by_bytes { dialect.string_of_bytes(text.clone()) } else { text.clone() };
        self.answer(facts.selected(shown), (at, &property.column), kind);
        Ok(Term::Expression { text, is_nullable: true })
    }

    fn add_sum(&mut self, at: usize, number: usize) -> Result<Term<'a>> {
        let (property, facts, column) = self.column(at, number)?;
        if facts.kind != Some(PropertyKind::Integer) || facts.is_wide {
            return Err(not_alike("sums of numbers that are no integers"));
        }
        self.guard(facts, &column)?;
        let text = format!("coalesce(sum({column}), 0)");
        // Sums are of a wider type than their column where columns have types.
        let kind = (!facts.holds_any).then_some(PropertyKind::Integer);
        self.answer(text.clone(), (at, &property.column), kind);
        Ok(Term::Expression { text, is_nullable: false })
    }

    fn finish(mut self, first: Option<&FirstRows>, terms: &[Term<'a>]) -> Result<Statement<'q>> {
        self.draft.from = self.from.join(", ");
        if let Some(first) = first.filter(|_| self.guards.is_empty()) {
            let order = first.order.iter().map(|&(at, goes_down)| self.order(&terms[at], goes_down));
            if let Some(order) = order.collect::<Option<Vec<_>>>() {
                self.draft.order = order.concat();
                self.draft.limit = Some(first.limit);
            }
        }
        // Groups of which nothing is asked but their keys: some databases find these by an index alone.
        if self.draft.order.is_empty() && self.draft.group == self.draft.select {
            self.draft.group.clear();
            self.draft.is_distinct = self.is_grouped;
        }
        let before = self.draft.answer.len();
        for guard in std::mem::take(&mut self.guards) {
            self.draft.answer(vec![guard], "values of other types".to_owned(), None);
        }
        let after = self.draft.answer.len();
        self.draft.rest.hidden = after - before;
        self.draft.rest.none_of = (before..after).collect();
        Ok(self.draft.finish_select())
    }

    /// The terms of an order by a column; `None` if the database would not sort as Cypher does.
    fn order(&self, term: &Term<'_>, goes_down: bool) -> Option<Vec<String>> {
        let dialect = self.writer.dialect;
        let way = if goes_down { KeyOrder::Descending } else { KeyOrder::Ascending };
        match term {
            Term::Unordered => None,
            Term::Column(column, property, facts) => order_of(dialect, column, (property, facts), way),
            Term::Expression { text, is_nullable } => {
                let mut terms = terms_of_null(dialect, text, *is_nullable, way);
                terms.push(term_of(dialect, text, way));
                Some(terms)
            }
        }
    }
}
