//! `COPY name FROM (query)`: the query that makes a node or an edge of each row of another.

use model::{Constraint, Result, Span, error};

use crate::ast::{
    Arrow, Clause, ClauseKind, CopyOption, EdgePattern, Expression, ExpressionKind, Imports, LabelExpression,
    LabelExpressionKind, MapEntry, MatchClause, Name, NodePattern, PathPattern, PatternStep, Projection,
    ProjectionItem, Query, SingleQuery, SubqueryClause,
};
use crate::catalog::CompileContext;

/// A column of the rows that are copied: its variable, and the property that it becomes.
struct Column {
    variable: String,
    key: Name,
}

/// `CALL () { query } CREATE (:name {…})`, or with the labels of the ends
/// `CALL () { query } OPTIONAL MATCH (a:from {key: first}) OPTIONAL MATCH (b:to {key: second}) CREATE (a)-[:name {…}]->(b)`.
pub(super) fn into_graph(
    text: &str,
    name: &Name,
    query: &Query,
    options: &[CopyOption],
    context: &CompileContext<'_>,
) -> Result<Query> {
    let span = query.span;
    let columns = columns_of(text, query)?;
    let ends = ends(name, &columns, options, context)?;
    let imports = Imports::Listed(Vec::new());
    let rows = SubqueryClause { optional: false, imports, query: query.clone(), batches: None };
    let clause = |kind| Clause { span, kind };
    let mut clauses = vec![clause(ClauseKind::Subquery(rows))];
    let properties = |used: &[usize]| {
        let entries = columns.iter().enumerate().filter(|(at, _)| !used.contains(at));
        let entries = entries.map(|(_, column)| MapEntry { key: column.key.clone(), value: variable(column, span) });
        Expression::new(span, ExpressionKind::Map(entries.collect()))
    };
    let mut pattern = path(node(None, None, None, span), span);
    match &ends {
        None => {
            pattern.start = node(None, Some(name), Some(properties(&[])), span);
        }
        Some(ends) => {
            let names = ["from node", "to node"].map(|text| Name { text: text.to_owned(), span });
            for (end, name) in ends.iter().zip(&names) {
                let key = MapEntry { key: end.key.clone(), value: variable(&columns[end.column], span) };
                let key = Expression::new(span, ExpressionKind::Map(vec![key]));
                let patterns = vec![path(node(Some(name), Some(&end.label), Some(key), span), span)];
                let found = MatchClause { optional: true, mode: None, patterns, hints: Vec::new(), predicate: None };
                clauses.push(clause(ClauseKind::Match(found)));
            }
            pattern.start = node(Some(&names[0]), None, None, span);
            let edge = edge(name, properties(&ends.each_ref().map(|end| end.column)), span);
            pattern.steps.push(PatternStep { edge, node: node(Some(&names[1]), None, None, span) });
        }
    }
    clauses.push(clause(ClauseKind::Create(vec![pattern])));
    clauses.push(clause(ClauseKind::Return(counts(ends.is_some(), span))));
    Ok(Query { span, first: SingleQuery { span, clauses }, unions: Vec::new() })
}

/// One end of the edges.
struct End {
    label: Name,
    /// The property by which its nodes are found.
    key: Name,
    /// The column that holds the values.
    column: usize,
}

/// The ends of edges, if the options name them.
fn ends(
    name: &Name,
    columns: &[Column],
    options: &[CopyOption],
    context: &CompileContext<'_>,
) -> Result<Option<[End; 2]>> {
    const KNOWN: [&str; 4] = ["from", "to", "source", "target"];
    let is = |option: &CopyOption, known: &str| option.name.text.eq_ignore_ascii_case(known);
    if let Some(option) = options.iter().find(|option| !KNOWN.iter().any(|known| is(option, known))) {
        return Err(error!(Argument, "COPY has no option {} here", option.name.text)
            .at(option.name.span)
            .with_remedy("from a query: from, to, source, target"));
    }
    let text = |known: &str| match options.iter().find(|option| is(option, known)) {
        None => Ok(None),
        Some(CopyOption { value, .. }) => match &value.kind {
            ExpressionKind::String(text) => Ok(Some(Name { text: text.clone(), span: value.span })),
            _ => Err(error!(Type, "expected a text for the option {known}").at(value.span)),
        },
    };
    let Some([from, to]) = labels_of_ends(name, [text("from")?, text("to")?], !options.is_empty(), context)? else {
        return Ok(None);
    };
    if columns.len() < 2 {
        let found = columns.len();
        return Err(error!(Argument, "relationships need two columns with keys, found {found}").at(name.span));
    }
    let end = |label: Name, option: &str, default: usize| {
        let column = match text(option)? {
            None => default,
            Some(wanted) => columns
                .iter()
                .position(|column| column.key.text == wanted.text)
                .ok_or_else(|| error!(Argument, "the query returns no column {}", wanted.text).at(wanted.span))?,
        };
        Ok(End { key: key_of(&label, context)?, label, column })
    };
    Ok(Some([end(from, "source", 0)?, end(to, "target", 1)?]))
}

/// The labels of both ends: as they are given, or as they are declared of the type. `None` for nodes.
fn labels_of_ends(
    name: &Name,
    given: [Option<Name>; 2],
    has_options: bool,
    context: &CompileContext<'_>,
) -> Result<Option<[Name; 2]>> {
    let (from, to) = match given {
        [Some(from), Some(to)] => return Ok(Some([from, to])),
        [from, to] => (from, to),
    };
    if !has_options && !context.schema.means_edges(&name.text) {
        return Ok(None);
    }
    let label = |given: &Option<Name>| given.as_ref().map(|name| name.text.clone());
    let declared = context.schema.declared_ends(&name.text, label(&from).as_deref(), label(&to).as_deref());
    match declared.map_err(|failure| failure.at(name.span))? {
        Some(labels) => Ok(Some(labels.map(|label| Name { text: label.to_owned(), span: name.span }))),
        None => Err(error!(Argument, "COPY of a query into relationships needs the labels of both ends")
            .at(name.span)
            .with_remedy("write (from = 'Label', to = 'Label') behind the query, or CREATE REL TABLE before")),
    }
}

/// The property by which nodes of a label are found.
fn key_of(label: &Name, context: &CompileContext<'_>) -> Result<Name> {
    let schema = context.schema;
    let of = schema.label(&label.text);
    let mut keys = schema.constraints.iter().filter_map(Constraint::lookup_key);
    match keys.find(|(label, _)| Some(*label) == of) {
        Some((_, key)) => Ok(Name { text: schema.property_key_name(key).to_owned(), span: label.span }),
        None => Err(error!(Argument, "nodes of {} have no unique property by which they could be found", label.text)
            .at(label.span)
            .with_remedy(format!("CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE, or MATCH … CREATE"))),
    }
}

/// The columns that a query returns.
fn columns_of(text: &str, query: &Query) -> Result<Vec<Column>> {
    let Some(Clause { kind: ClauseKind::Return(projection), .. }) = query.first.clauses.last() else {
        return Err(error!(Semantic, "expected RETURN at the end of the query to copy from").at(query.span));
    };
    if let Some(star) = projection.star {
        return Err(error!(Semantic, "expected the names of the columns to copy, found *").at(star));
    }
    let column = |item: &ProjectionItem| {
        let Span { start, end } = item.expression.span;
        let written = text.get(start as usize..end as usize).unwrap_or_default().trim().to_owned();
        let name = |text: &str| Name { text: text.to_owned(), span: item.span };
        match (&item.alias, &item.expression.kind) {
            (Some(alias), _) => Ok(Column { variable: alias.text.clone(), key: alias.clone() }),
            (None, ExpressionKind::Variable(text)) => Ok(Column { variable: text.clone(), key: name(text) }),
            (None, ExpressionKind::Property { key, .. }) => Ok(Column { variable: written, key: key.clone() }),
            (None, _) => Err(error!(Semantic, "the column {written} has no name that a property could have")
                .at(item.span)
                .with_remedy("name it with AS")),
        }
    };
    projection.items.iter().map(column).collect()
}

fn variable(column: &Column, span: Span) -> Expression {
    Expression::new(span, ExpressionKind::Variable(column.variable.clone()))
}

fn label(name: &Name) -> LabelExpression {
    LabelExpression { span: name.span, kind: LabelExpressionKind::Name(name.clone()) }
}

fn node(variable: Option<&Name>, of: Option<&Name>, properties: Option<Expression>, span: Span) -> NodePattern {
    NodePattern { span, variable: variable.cloned(), labels: of.map(label), properties, predicate: None }
}

fn edge(name: &Name, properties: Expression, span: Span) -> EdgePattern {
    EdgePattern {
        span,
        arrow: Arrow::Right,
        variable: None,
        types: Some(label(name)),
        length: None,
        repetition: None,
        group: None,
        properties: Some(properties),
        predicate: None,
    }
}

fn path(start: NodePattern, span: Span) -> PathPattern {
    PathPattern {
        span,
        variable: None,
        shortest: None,
        selector: None,
        mode: None,
        start,
        steps: Vec::new(),
        predicate: None,
    }
}

/// Projection of the numbers of nodes and relationships created, which `COPY` from files returns too.
fn counts(are_edges: bool, span: Span) -> Projection {
    let name = |text: &str| Name { text: text.to_owned(), span };
    // Of no rows too it is 0, where a number would give no row.
    let nothing = || ExpressionKind::Function {
        name: vec![name("count")],
        distinct: false,
        arguments: vec![Expression::new(span, ExpressionKind::Null)],
    };
    let count = |is_counted| if is_counted { ExpressionKind::CountStar } else { nothing() };
    let item = |(text, kind): (&str, ExpressionKind)| ProjectionItem {
        span,
        expression: Expression::new(span, kind),
        alias: Some(name(text)),
    };
    let items = [("nodes", count(!are_edges)), ("relationships", count(are_edges))].map(item).to_vec();
    Projection { items, ..Projection::default() }
}
