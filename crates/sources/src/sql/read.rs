//! Questions as statements.

use std::borrow::Cow;

use model::{Column, Direction, KeyOrder, Result, error};

use crate::connector::{Condition, Question, Which};
use crate::definition::{EdgeKind, NodeKind, Property, Rows};
use crate::sql::conditions::{add_conditions, order_of, property, tested};
use crate::sql::draft::Draft;
use crate::sql::rows::{EndOf, GIVEN, all_rows, equal, given_columns, is_empty, rows_name, unnest};
use crate::sql::which::{by_keys, in_boxes};
use crate::sql::{ColumnFacts, Dialect, RowsFacts, Statement, Writer, pattern, quote, within};

/// Stands for the key that a query by key is given, which the query need not repeat.
const GIVEN_KEY: &str = "\u{2}";
/// Keys that one statement takes where each is a query of its own.
const UNION_KEYS_MAX: usize = 200;
/// Values that one statement takes where each is a parameter.
const PARAMETERS_MAX: usize = 16_000;

pub(super) fn question<'q>(writer: &Writer<'_>, question: &Question<'q>) -> Result<Vec<Statement<'q>>> {
    let (keys, rows, arity) = match question {
        Question::Nodes { kind, which: Which::Keys(keys), .. } => {
            let node = Nodes::of(writer, *kind)?.node;
            (keys, &node.rows, node.key.len())
        }
        Question::Edges { kind, direction, of: Which::Keys(keys), .. } => {
            let edges = Edges::of(writer, *kind, *direction)?;
            (keys, &edges.edge.rows, edges.near.end.columns.len())
        }
        question => return Ok(vec![one(writer, question)?]),
    };
    let most = match rows {
        _ if writer.dialect.has_arrays() => usize::MAX,
        Rows::ByKey { .. } => UNION_KEYS_MAX,
        _ => PARAMETERS_MAX / arity.max(1),
    };
    if keys.len() <= most {
        return Ok(vec![one(writer, question)?]);
    }
    let starts = (0..keys.len()).step_by(most);
    let parts = starts.map(|start| keys.slice(start, keys.len().min(start + most)));
    parts.map(|part| Ok(one(writer, &with_keys(question, &part))?.into_owned())).collect()
}

/// The same question about other keys.
fn with_keys<'p>(question: &Question<'p>, keys: &'p Column) -> Question<'p> {
    let mut question = question.clone();
    if let Question::Nodes { which, .. } | Question::Edges { of: which, .. } = &mut question {
        *which = Which::Keys(keys);
    }
    question
}

fn one<'q>(writer: &Writer<'_>, question: &Question<'q>) -> Result<Statement<'q>> {
    match question {
        Question::Nodes { kind, which, properties, order, limit } => {
            Nodes::of(writer, *kind)?.select(which, properties, order, *limit)
        }
        Question::Edges { kind, direction, of, properties } => {
            Edges::of(writer, *kind, *direction)?.select(of, properties)
        }
        Question::CountNodes { kind, which } => Nodes::of(writer, *kind)?.count(which),
        Question::CountEdges { kind } => Edges::of(writer, *kind, Direction::Out)?.count(),
        Question::Pattern(asked) => pattern::rows(writer, asked),
    }
}

/// A condition on the columns of an answer, whose places are found one by one.
fn placed(condition: &Condition, mut place: impl FnMut(usize) -> Result<usize>) -> Result<Condition> {
    let mut failure = None;
    let placed = condition.renamed(&mut |&number| {
        place(number).unwrap_or_else(|error| {
            failure = Some(error);
            0
        })
    });
    failure.map_or(Ok(placed), Err)
}

/// Tells whether the database finds the nodes of a kind for which a condition holds.
pub(super) fn finds(writer: &Writer<'_>, kind: usize, condition: &Condition) -> Result<bool> {
    let nodes = Nodes::of(writer, kind)?;
    let of = (&*nodes.node.name, &*nodes.node.properties, nodes.facts);
    Ok(tested(&mut Draft::new(writer.dialect), writer.dialect, "n", of, condition)?.is_found())
}

/// Tells whether the database puts the nodes of a kind in the order of some properties.
pub(super) fn sorts(writer: &Writer<'_>, kind: usize, properties: &[usize]) -> Result<bool> {
    let order: Vec<(usize, KeyOrder)> = properties.iter().map(|&number| (number, KeyOrder::Ascending)).collect();
    let must_be_sorted = Nodes::of(writer, kind)?.order(&mut Draft::new(writer.dialect), &order)?;
    Ok(!must_be_sorted)
}

/// A kind of nodes that is asked about.
struct Nodes<'a> {
    writer: &'a Writer<'a>,
    kind: usize,
    node: &'a NodeKind,
    facts: &'a RowsFacts,
    /// The table, or the kind, as messages name it.
    name: String,
}

impl<'a> Nodes<'a> {
    fn of(writer: &'a Writer<'a>, kind: usize) -> Result<Nodes<'a>> {
        let count = writer.definition.nodes.len();
        let node = writer.definition.nodes.get(kind);
        let node = node.ok_or_else(|| error!(Internal, "kind {kind} of nodes is asked for, of {count}"))?;
        let name = rows_name(&node.name, &node.rows);
        Ok(Nodes { writer, kind, node, facts: writer.catalog.node(kind), name })
    }

    fn select<'q>(
        &self,
        which: &Which<'q>,
        properties: &[usize],
        order: &[(usize, KeyOrder)],
        limit: Option<u64>,
    ) -> Result<Statement<'q>> {
        if let (Rows::ByKey { sql, .. }, Which::Keys(keys)) = (&self.node.rows, which)
            && !self.writer.dialect.has_lateral()
        {
            return self.union(sql, keys, properties);
        }
        let (mut draft, keys, left) = self.rows(which)?;
        let given = keys.first().cloned().filter(|_| matches!(self.node.rows, Rows::ByKey { .. }));
        let selected = keys.into_iter().zip(&self.node.key).map(|(key, name)| self.facts.column(name).selected(key));
        draft.answer_key(selected.collect(), format!("{}.{}", self.name, self.node.key.join(", ")));
        self.answer_properties(&mut draft, properties)?;
        let mut hidden = Vec::new();
        let place = |draft: &mut Draft<'q>, hidden: &mut Vec<usize>, number: usize| -> Result<usize> {
            let all: Vec<usize> = properties.iter().chain(hidden.iter()).copied().collect();
            if let Some(at) = all.iter().position(|&held| held == number) {
                return Ok(1 + at);
            }
            self.answer_properties(draft, &[number])?;
            hidden.push(number);
            Ok(1 + all.len())
        };
        for condition in left {
            let condition = placed(&condition, |number| place(&mut draft, &mut hidden, number))?;
            draft.rest.tests.push(condition);
        }
        if !order.is_empty() && self.order(&mut draft, order)? {
            let places = order.iter().map(|&(number, way)| Ok((place(&mut draft, &mut hidden, number)?, way)));
            draft.rest.order = places.collect::<Result<_>>()?;
        }
        match draft.rest.is_done() {
            true => draft.limit = limit,
            false => draft.rest.limit = limit,
        }
        draft.rest.hidden = hidden.len();
        // A query by key need not repeat the key that it is given.
        if let Some(given) = given {
            let own = quote::column(self.writer.dialect, "n", &self.node.key[0]);
            draft.select.iter_mut().filter(|held| **held == own).for_each(|held| held.clone_from(&given));
        }
        Ok(draft.finish_select())
    }

    fn count<'q>(&self, which: &Which<'q>) -> Result<Statement<'q>> {
        let (mut draft, _, left) = self.rows(which)?;
        if left.is_empty() {
            draft.answer(vec!["count(*)".to_owned()], self.name.clone(), None);
            return Ok(draft.finish_select());
        }
        for condition in left {
            let condition = placed(&condition, |number| {
                self.answer_properties(&mut draft, &[number])?;
                Ok(draft.answer.len() - 1)
            })?;
            draft.rest.tests.push(condition);
        }
        draft.rest.is_count = true;
        Ok(draft.finish_select())
    }

    /// The rows that are asked for, the expressions of their keys, and the tests that the database does not do.
    fn rows<'q>(&self, which: &Which<'q>) -> Result<(Draft<'q>, Vec<String>, Vec<Condition>)> {
        let (dialect, node) = (self.writer.dialect, self.node);
        let mut draft = Draft::new(dialect);
        let own: Vec<String> = node.key.iter().map(|name| quote::column(dialect, "n", name)).collect();
        if let (Rows::ByKey { sql, .. }, Which::Keys(_) | Which::Within { .. }) = (&node.rows, which) {
            let given = given_columns(1);
            let rows = quote::subquery(&quote::with_key(dialect, sql, &given[0])?);
            match which {
                Which::Keys(keys) => draft.from = unnest(&mut draft, keys, &[&self.facts.parameter[0]], GIVEN)?,
                _ => draft.from = within::reached(&mut draft, self.writer, which, self.kind)?,
            }
            if !dialect.has_lateral() {
                return Err(by_key_only(&node.name));
            }
            draft.from.push_str(&format!("\nCROSS JOIN LATERAL {rows} AS n"));
            return Ok((draft, given, Vec::new()));
        }
        let rows = all_rows(dialect, &node.name, &node.rows, "n")?;
        let facts: Vec<&ColumnFacts> = node.key.iter().map(|name| self.facts.column(name)).collect();
        draft.from = rows;
        let mut left = Vec::new();
        match which {
            Which::All => {}
            Which::Keys(keys) => by_keys(&mut draft, dialect, &own, &facts, keys, self.facts.has_index[0])?,
            Which::Where(conditions) => {
                let of = (&*node.name, &*node.properties, self.facts);
                left = add_conditions(&mut draft, dialect, "n", of, conditions)?;
            }
            Which::Boxes { properties, boxes } => {
                let inside = in_boxes(&mut draft, self.writer, (self.kind, node), properties, boxes)?;
                draft.from.push_str(&inside.join);
                draft.conditions.push(inside.condition);
            }
            Which::OnCourse(_) => return Err(has_no_courses()),
            Which::Within { .. } => {
                let reached = within::reached(&mut draft, self.writer, which, self.kind)?;
                let given: Vec<String> = within::given(node.key.len());
                if dialect.has_arrays() && own.len() == 1 && self.facts.has_index[0] {
                    draft.conditions.push(format!("{} = ANY(ARRAY(SELECT {} FROM {reached}))", own[0], given[0]));
                } else {
                    draft.from = format!("{reached}\nJOIN {} ON {}", draft.from, equal(&own, &given));
                }
            }
        }
        if !matches!(which, Which::Keys(_) | Which::Within { .. }) {
            let nullable = own.iter().zip(&facts).filter(|(_, facts)| facts.is_nullable);
            let present: Vec<String> = nullable.map(|(column, _)| format!("{column} IS NOT NULL")).collect();
            draft.conditions.extend(present);
        }
        Ok((draft, own, left))
    }

    /// Rows of a query by key in a dialect that cannot join it with keys: the query as often as there are keys.
    fn union<'q>(&self, sql: &str, keys: &'q Column, properties: &[usize]) -> Result<Statement<'q>> {
        let (dialect, node) = (self.writer.dialect, self.node);
        let columns = properties.iter().map(|&number| property(&node.name, &node.properties, number));
        let columns: Vec<&Property> = columns.collect::<Result<_>>()?;
        let mut draft = Draft::new(dialect);
        let name = |held: &&Property| match node.key == [held.column.as_str()] {
            true => GIVEN_KEY.to_owned(),
            false => quote::column(dialect, "n", &held.column),
        };
        let names: Vec<String> = columns.iter().map(name).collect();
        let facts = [self.facts.column(&node.key[0])];
        let text = union_text(&mut draft, dialect, (sql, "n"), (keys, &facts), &names)?;
        draft.answer_key(vec![String::new()], format!("{}.{}", self.name, node.key.join(", ")));
        self.answer_properties(&mut draft, properties)?;
        Ok(draft.finish(&text))
    }

    fn answer_properties(&self, draft: &mut Draft<'_>, properties: &[usize]) -> Result<()> {
        let of = ("n", &*self.name, self.facts);
        answer_properties(draft, self.writer.dialect, of, &self.node.properties, properties)
    }

    /// Adds an order; true if the database would not sort as Cypher does, so that its rows must be sorted.
    fn order(&self, draft: &mut Draft<'_>, by: &[(usize, KeyOrder)]) -> Result<bool> {
        let dialect = self.writer.dialect;
        let mut terms = Vec::with_capacity(by.len());
        for &(number, way) in by {
            let property = property(&self.node.name, &self.node.properties, number)?;
            let column = quote::column(dialect, "n", &property.column);
            match order_of(dialect, &column, (property, self.facts.column(&property.column)), way) {
                Some(more) => terms.extend(more),
                None => return Ok(true),
            }
        }
        draft.order = terms;
        Ok(false)
    }
}

/// A kind of edges that are followed.
struct Edges<'a> {
    writer: &'a Writer<'a>,
    edge: &'a EdgeKind,
    facts: &'a RowsFacts,
    near: EndOf<'a>,
    far: EndOf<'a>,
    /// The table, or the kind, as messages name it.
    name: String,
}

impl<'a> Edges<'a> {
    fn of(writer: &'a Writer<'a>, kind: usize, direction: Direction) -> Result<Edges<'a>> {
        let count = writer.definition.edges.len();
        let edge = writer.definition.edges.get(kind);
        let edge = edge.ok_or_else(|| error!(Internal, "kind {kind} of edges is asked for, of {count}"))?;
        let facts = writer.catalog.edge(kind);
        let (near, far) = EndOf::of(edge, direction);
        let (near, far) = (near.found(writer, edge, facts), far.found(writer, edge, facts));
        let name = rows_name(&edge.name, &edge.rows);
        Ok(Edges { writer, edge, facts, near, far, name })
    }

    fn select<'q>(&self, which: &Which<'q>, properties: &[usize]) -> Result<Statement<'q>> {
        let dialect = self.writer.dialect;
        if let (Some(sql), Which::Keys(keys)) = (self.by_key(which)?, which)
            && !dialect.has_lateral()
        {
            return self.union(sql, keys, properties);
        }
        let mut draft = self.rows(which)?;
        self.answer(&mut draft, self.near_columns(which)?, properties)?;
        if let Which::Where(conditions) = which {
            let of = (&*self.edge.name, &*self.edge.properties, self.facts);
            let left = add_conditions(&mut draft, dialect, "e", of, conditions)?;
            for condition in left {
                let condition = placed(&condition, |number| {
                    if let Some(at) = properties.iter().position(|&held| held == number) {
                        return Ok(3 + at);
                    }
                    self.answer_properties(&mut draft, &[number])?;
                    draft.rest.hidden += 1;
                    Ok(draft.answer.len() - 1)
                })?;
                draft.rest.tests.push(condition);
            }
        }
        Ok(draft.finish_select())
    }

    fn count<'q>(&self) -> Result<Statement<'q>> {
        let mut draft = self.rows(&Which::All)?;
        draft.answer(vec!["count(*)".to_owned()], self.name.clone(), None);
        Ok(draft.finish_select())
    }

    /// The query by key that answers, if it does.
    fn by_key(&self, which: &Which<'_>) -> Result<Option<&'a str>> {
        let Rows::ByKey { sql, reverse, .. } = &self.edge.rows else { return Ok(None) };
        if matches!(which, Which::All | Which::Where(_)) {
            return Ok(None);
        }
        if self.near.side == 0 {
            return Ok(Some(sql));
        }
        let reverse = reverse.as_deref().map(Some);
        reverse.ok_or_else(|| {
            error!(Definition, "edges of {} cannot be followed against their direction", self.edge.name)
                .with_remedy("add a query by the key of the node where they end (reverse) to its definition")
        })
    }

    fn near_columns(&self, which: &Which<'_>) -> Result<Vec<String>> {
        Ok(match (self.by_key(which)?, which) {
            (None, _) => self.near.expressions(self.writer.dialect),
            (Some(_), Which::Boxes { .. }) => {
                let (_, node) = self.near.node(self.writer, &self.edge.name)?;
                node.key.iter().map(|name| quote::column(self.writer.dialect, "n", name)).collect()
            }
            (Some(_), _) => given_columns(1),
        })
    }

    /// The rows that are asked for, except conditions on their own properties.
    fn rows<'q>(&self, which: &Which<'q>) -> Result<Draft<'q>> {
        let dialect = self.writer.dialect;
        let mut draft = Draft::new(dialect);
        let near = self.near_columns(which)?;
        // The value that the near end is compared with, and how it is reached.
        let (before, given) = self.near_rows(&mut draft, which)?;
        match self.by_key(which)? {
            Some(sql) => {
                if !dialect.has_lateral() {
                    return Err(by_key_only(&self.edge.name));
                }
                let rows = quote::subquery(&quote::with_key(dialect, sql, &given[0])?);
                draft.from = format!("{before}\nCROSS JOIN LATERAL {rows} AS e");
            }
            None => {
                let rows = all_rows(dialect, &self.edge.name, &self.edge.rows, "e")?;
                let items = self.near.items(dialect, self.facts);
                draft.from = match (before.is_empty(), self.near.has_items()) {
                    (true, _) => format!("{rows}{items}"),
                    (false, false) => format!("{before}\nJOIN {rows} ON {}", equal(&near, &given)),
                    (false, true) => format!("{rows}{items}\nJOIN {before} ON {}", equal(&near, &given)),
                };
                self.near_keys(&mut draft, which, &near)?;
                if matches!(which, Which::All | Which::Where(_)) {
                    draft.conditions.extend(self.near.present(dialect, self.facts));
                }
            }
        }
        draft.from.push_str(&self.far.items(dialect, self.facts));
        draft.conditions.extend(self.far.present(dialect, self.facts));
        Ok(draft)
    }

    /// The near end's column, if PostgreSQL finds many of its values best by going through an index with an array of them:
    /// a join it might do by reading the whole table, as it does not know how few there are.
    fn near_through_index(&self, which: &Which<'_>) -> Result<Option<String>> {
        let is_plain = self.near.end.columns.len() == 1 && !self.near.end.is_array && self.by_key(which)?.is_none();
        let has_index = self.facts.has_index[self.near.side];
        let serves = self.writer.dialect.has_arrays() && is_plain && has_index;
        Ok(serves.then(|| self.near.expressions(self.writer.dialect).swap_remove(0)))
    }

    /// Rows of near nodes that edges are joined with, and the columns of their keys; none where conditions say it all.
    fn near_rows<'q>(&self, draft: &mut Draft<'q>, which: &Which<'q>) -> Result<(String, Vec<String>)> {
        let dialect = self.writer.dialect;
        match which {
            Which::All | Which::Where(_) => Ok((String::new(), Vec::new())),
            Which::Keys(keys) if self.by_key(which)?.is_some() => {
                let parameter = &self.facts.parameter[self.near.side];
                Ok((unnest(draft, keys, &[parameter], GIVEN)?, given_columns(1)))
            }
            Which::Keys(_) => Ok((String::new(), Vec::new())),
            Which::Boxes { properties, boxes } => {
                let (kind, node) = self.near.node(self.writer, &self.edge.name)?;
                let rows = all_rows(dialect, &node.name, &node.rows, "n")?;
                let inside = in_boxes(draft, self.writer, (kind, node), properties, boxes)?;
                let rows = format!("{rows}{}", inside.join);
                let inside = inside.condition;
                let keys: Vec<String> = node.key.iter().map(|name| quote::column(dialect, "n", name)).collect();
                if let Some(near) = self.near_through_index(which)? {
                    let condition = format!("{near} = ANY(ARRAY(SELECT {} FROM {rows} WHERE {inside}))", keys[0]);
                    draft.conditions.push(condition);
                    return Ok((String::new(), Vec::new()));
                }
                draft.conditions.push(inside);
                Ok((rows, keys))
            }
            Which::OnCourse(_) => Err(has_no_courses()),
            Which::Within { .. } => {
                let (kind, node) = self.near.node(self.writer, &self.edge.name)?;
                let reached = within::reached(draft, self.writer, which, kind)?;
                let given = within::given(node.key.len());
                if let Some(near) = self.near_through_index(which)? {
                    draft.conditions.push(format!("{near} = ANY(ARRAY(SELECT {} FROM {reached}))", given[0]));
                    return Ok((String::new(), Vec::new()));
                }
                Ok((reached, given))
            }
        }
    }

    fn near_keys<'q>(&self, draft: &mut Draft<'q>, which: &Which<'q>, near: &[String]) -> Result<()> {
        let Which::Keys(keys) = which else { return Ok(()) };
        let dialect = self.writer.dialect;
        let facts: Vec<Cow<'_, ColumnFacts>> = (0..near.len()).map(|at| self.near.facts(self.facts, at)).collect();
        if self.near.end.is_array && dialect.has_arrays() && !is_empty(keys) {
            // An index of arrays finds those that share an element.
            let array = quote::column(dialect, "e", &self.near.end.columns[0]);
            let shared = draft.array(Cow::Borrowed(*keys), &facts[0].sql_type);
            draft.conditions.push(format!("{array} && {shared}"));
        }
        let facts: Vec<&ColumnFacts> = facts.iter().map(|facts| &**facts).collect();
        by_keys(draft, dialect, near, &facts, keys, self.facts.has_index[self.near.side])
    }

    /// Edges of a query by key in a dialect that cannot join it with keys.
    fn union<'q>(&self, sql: &str, keys: &'q Column, properties: &[usize]) -> Result<Statement<'q>> {
        let dialect = self.writer.dialect;
        let mut columns = Draft::new(dialect);
        self.answer(&mut columns, Vec::new(), properties)?;
        let mut draft = Draft::new(dialect);
        let items = self.far.items(dialect, self.facts);
        let mut facts = vec![self.facts.column(&self.near.end.columns[0])];
        if let Ok((kind, node)) = self.near.node(self.writer, &self.edge.name) {
            facts.push(self.writer.catalog.node(kind).column(&node.key[0]));
        }
        let mut text = union_text(&mut draft, dialect, (sql, &format!("e{items}")), (keys, &facts), &columns.select)?;
        let present = self.far.present(dialect, self.facts);
        if !present.is_empty() {
            text = text.replace("\nUNION ALL", &format!(" WHERE {}\nUNION ALL", present.join(" AND ")));
            text.push_str(&format!(" WHERE {}", present.join(" AND ")));
        }
        self.answer(&mut draft, vec![String::new()], properties)?;
        Ok(draft.finish(&text))
    }

    fn answer(&self, draft: &mut Draft<'_>, near: Vec<String>, properties: &[usize]) -> Result<()> {
        let (dialect, name) = (self.writer.dialect, &self.name);
        for (end, expressions) in [(&self.near, near), (&self.far, self.far.expressions(dialect))] {
            let (selected, name) =
                (end.selected(self.facts, expressions), format!("{name}.{}", end.end.columns.join(", ")));
            // Nodes of other parts of the graph are found by what their property shows.
            match end.is_of_kind() {
                true => draft.answer_key(selected, name),
                false => draft.answer(selected, name, None),
            }
        }
        let select = |column: &String| self.facts.column(column).selected(quote::column(dialect, "e", column));
        let key = self.edge.key.iter().map(select).collect();
        draft.answer_key(key, format!("{name}.{}", self.edge.key.join(", ")));
        self.answer_properties(draft, properties)
    }

    fn answer_properties(&self, draft: &mut Draft<'_>, properties: &[usize]) -> Result<()> {
        let of = ("e", &*self.name, self.facts);
        answer_properties(draft, self.writer.dialect, of, &self.edge.properties, properties)
    }
}

fn answer_properties(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    (alias, rows, facts): (&str, &str, &RowsFacts),
    all: &[Property],
    properties: &[usize],
) -> Result<()> {
    for &number in properties {
        let property = property(rows, all, number)?;
        let column = facts.column(&property.column).selected(quote::column(dialect, alias, &property.column));
        draft.answer(vec![column], format!("{rows}.{}", property.column), property.kind);
    }
    Ok(())
}

/// `SELECT ? AS key_0, columns FROM (query of ?) AS alias UNION ALL ...`, once for each key that could be there by what is
/// known of the columns that it is compared with.
fn union_text<'q>(
    draft: &mut Draft<'q>,
    dialect: &'static dyn Dialect,
    (sql, alias): (&str, &str),
    (keys, facts): (&'q Column, &[&ColumnFacts]),
    columns: &[String],
) -> Result<String> {
    let mut parts = Vec::with_capacity(keys.len());
    for key in keys.values() {
        if !dialect.may_equal(&key, facts) {
            continue;
        }
        let is_integer = matches!(key, model::Value::Int(_));
        let key = draft.value(key, facts.first().map_or("", |facts| &facts.sql_type));
        let rows = quote::subquery(&quote::with_key(dialect, sql, &key)?);
        let shown = dialect.selected(key, is_integer);
        let names: Vec<&str> = columns.iter().map(|name| if name == GIVEN_KEY { &*shown } else { name }).collect();
        let select = [&[&*format!("{shown} AS key_0")], &names[..]].concat().join(", ");
        parts.push(format!("SELECT {select} FROM {rows} AS {alias}"));
    }
    if parts.is_empty() {
        let nulls = vec!["NULL"; columns.len() + 1].join(", ");
        return Ok(format!("SELECT {nulls} WHERE 1 = 0"));
    }
    Ok(parts.join("\nUNION ALL "))
}

fn by_key_only(kind: &str) -> model::Error {
    error!(Unsupported, "{kind} has a query by key, which this database can only be asked with keys")
        .with_remedy("name a table, or add a query for all rows (scan) to its definition")
}

fn has_no_courses() -> model::Error {
    error!(Unsupported, "a relational database cannot be asked for what lies on a course: it finds places by boxes")
}
