//! Compares a definition with a relational database: what is missing, what does not fit, what is slow.

use model::suggestion::nearest;
use model::{Map, Result};

use super::{Finding, Severity};
use crate::catalog::{Catalog, ColumnKind, Inspect, Table, TableColumn, TableName};
use crate::definition::{
    EdgeKind, End, EndNode, GraphDefinition, NodeKind, Prefetch, Property, Rows, around_parameters,
};
use crate::sql::digits;

/// Everything that is found. Counts rows, so it reads whole tables where no key or foreign key says enough.
pub fn findings(definition: &GraphDefinition, source: &mut dyn Inspect) -> Result<Vec<Finding>> {
    let catalog = source.catalog()?;
    let mut check = Check { definition, catalog: &catalog, source, nodes: Map::default(), findings: Vec::new() };
    for (number, kind) in definition.nodes.iter().enumerate() {
        check.node(number, kind)?;
    }
    for kind in &definition.edges {
        check.edge(kind)?;
    }
    check.prefetch();
    let mut findings = check.findings;
    findings.sort_by_key(|finding| finding.severity);
    Ok(findings)
}

struct Check<'a> {
    definition: &'a GraphDefinition,
    catalog: &'a Catalog,
    source: &'a mut dyn Inspect,
    /// The rows of each kind of nodes, where they are there.
    nodes: Map<usize, Seen<'a>>,
    findings: Vec<Finding>,
}

/// Rows that are there.
#[derive(Clone)]
struct Seen<'a> {
    /// The table, if it is one.
    table: Option<&'a Table>,
    columns: Vec<TableColumn>,
    /// The SQL after `FROM`; none for queries by key.
    from: Option<String>,
}

impl Seen<'_> {
    fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    fn has_all(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.column(name).is_some())
    }
}

impl<'a> Check<'a> {
    fn node(&mut self, number: usize, kind: &NodeKind) -> Result<()> {
        let place = format!("nodes.{}", kind.name);
        let Some(seen) = self.see(&place, &kind.rows)? else { return Ok(()) };
        if seen.from.is_none() {
            self.add(Severity::Warning, &place, "there is no `scan`: nodes are found by their keys only", "");
        }
        // The result of a query by key need not repeat the key.
        let is_by_key = matches!(kind.rows, Rows::ByKey { .. });
        let key_is_there = is_by_key || self.columns(&format!("{place}.key"), &seen, &kind.key);
        self.properties(&place, &seen, &kind.properties, if is_by_key { &kind.key } else { &[] });
        if key_is_there && seen.has_all(&kind.key) {
            self.key(&format!("{place}.key"), kind, &seen)?;
        }
        self.nodes.insert(number, seen);
        Ok(())
    }

    fn edge(&mut self, kind: &EdgeKind) -> Result<()> {
        let place = format!("edges.{}", kind.name);
        let Some(seen) = self.see(&place, &kind.rows)? else { return Ok(()) };
        if let Rows::ByKey { reverse, scan, .. } = &kind.rows {
            if reverse.is_none() {
                self.add(
                    Severity::Warning,
                    &place,
                    "there is no `reverse`: edges are followed in their direction only",
                    "",
                );
            }
            if scan.is_none() {
                self.add(Severity::Warning, &place, "there is no `scan`: edges are found from their nodes only", "");
            }
        }
        self.columns(&format!("{place}.key"), &seen, &kind.key);
        self.properties(&place, &seen, &kind.properties, &[]);
        let is_given =
            |which: &str| matches!(&kind.rows, Rows::ByKey { reverse: None, scan: None, .. }) && which == "source";
        for (which, end) in [("source", &kind.source), ("target", &kind.target)] {
            let place = format!("{place}.{which}");
            if !is_given(which) && self.columns(&place, &seen, &end.columns) {
                self.end(&place, &seen, end)?;
            }
        }
        Ok(())
    }

    /// The rows of a kind, if they are there.
    fn see(&mut self, place: &str, rows: &Rows) -> Result<Option<Seen<'a>>> {
        let sql = match rows {
            Rows::Table { schema, name } => return self.see_table(place, schema.as_deref(), name),
            Rows::Query(sql) | Rows::ByKey { scan: Some(sql), .. } => sql.clone(),
            Rows::ByKey { sql, .. } => around_parameters(sql).join("NULL"),
            Rows::Keys(_) | Rows::File { .. } => {
                self.add(Severity::Error, place, "keys and files are not in a relational database", "");
                return Ok(None);
            }
        };
        let sql = sql.trim().trim_end_matches(';').trim_end().to_owned();
        match self.source.columns(&sql) {
            Ok(columns) => {
                let is_by_key = matches!(rows, Rows::ByKey { scan: None, .. });
                let from = (!is_by_key).then(|| format!("({sql}\n)"));
                Ok(Some(Seen { table: None, columns, from }))
            }
            Err(failure) if failure.code() == model::ErrorCode::Definition => {
                self.add(Severity::Error, place, failure.message(), failure.remedy());
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    fn see_table(&mut self, place: &str, schema: Option<&str>, name: &str) -> Result<Option<Seen<'a>>> {
        let catalog = self.catalog;
        let Some(table) = catalog.find(schema, name) else {
            let wanted = TableName { schema: schema.map(str::to_owned), name: name.to_owned() };
            // The catalog shows what may be read. What the database says of the table tells whether it is there.
            let from = wanted.in_sql(|name| self.source.quote(name));
            match self.source.columns(&format!("SELECT * FROM {from}")) {
                Err(failure) if failure.code() != model::ErrorCode::Definition => {
                    self.add(Severity::Error, &format!("{place}.table"), failure.message(), failure.remedy());
                    return Ok(None);
                }
                _ => {}
            }
            let names: Vec<String> = catalog.tables.iter().map(|table| table.name.to_string()).collect();
            let near = nearest(&wanted.to_string(), names.iter().map(String::as_str));
            let remedy = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
            self.add(Severity::Error, &format!("{place}.table"), &format!("there is no table `{wanted}`"), &remedy);
            return Ok(None);
        };
        let from = Some(table.name.in_sql(|name| self.source.quote(name)));
        Ok(Some(Seen { table: Some(table), columns: table.columns.clone(), from }))
    }

    /// True if all columns are there; reports those that are not.
    fn columns(&mut self, place: &str, seen: &Seen<'_>, names: &[String]) -> bool {
        for name in names.iter().filter(|name| seen.column(name).is_none()) {
            let near = nearest(name, seen.columns.iter().map(|column| &*column.name));
            let remedy = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
            self.add(Severity::Error, place, &format!("there is no column `{name}`"), &remedy);
        }
        seen.has_all(names)
    }

    fn properties(&mut self, place: &str, seen: &Seen<'_>, properties: &[Property], given: &[String]) {
        for property in properties.iter().filter(|property| !given.contains(&property.column)) {
            let place = format!("{place}.properties.{}", property.name);
            if !self.columns(&place, seen, std::slice::from_ref(&property.column)) {
                continue;
            }
            let column = seen.column(&property.column).map(|column| (column.kind, column.declared.clone()));
            match (column, property.kind) {
                (Some((from, declared)), Some(kind)) if !from.converts_to(kind) => {
                    let message =
                        format!("`{}` is {declared}, which does not convert to {}", property.column, kind.name());
                    self.add(Severity::Error, &place, &message, "leave `type` out, or convert it in a query (`sql`)");
                }
                (Some((ColumnKind::Decimal, declared)), None) if digits::are_rounded(digits::declared(&declared)) => {
                    let declared = declared.trim_end_matches(" COLLATE");
                    let message =
                        format!("`{}` is {declared}, whose numbers are shown as floats, rounded", property.column);
                    let remedy = "give it `\"type\": \"STRING\"` to have all digits, or `\"FLOAT\"` if floats will do";
                    self.add(Severity::Warning, &place, &message, remedy);
                }
                _ => {}
            }
        }
    }

    /// The key of nodes: unique, never null, found by an index.
    fn key(&mut self, place: &str, kind: &NodeKind, seen: &Seen<'_>) -> Result<()> {
        let Some(from) = &seen.from else { return Ok(()) };
        let is_primary = seen.table.is_some_and(|table| !table.is_view && table.primary_key == kind.key);
        let is_unique = is_primary || seen.table.is_some_and(|table| table.is_unique(&kind.key));
        let may_be_null = |name: &String| seen.column(name).is_none_or(|column| column.is_nullable);
        let quoted = self.quoted("", &kind.key);
        // A primary key can hold nulls in SQLite; such rows are no nodes.
        if kind.key.iter().any(may_be_null) {
            let nulls = some_null(&quoted);
            let count = self.source.number(&format!("SELECT count(*) FROM {from} t WHERE {nulls}"))?;
            if count > 0 {
                let message = format!("{} without a key, left out of the graph", rows(count, "is", "are"));
                self.add(Severity::Warning, place, &message, "give them keys, or choose columns that are never null");
            }
        }
        if is_unique {
            return Ok(());
        }
        let (list, nulls) = (quoted.join(", "), some_null(&quoted));
        let count = self.source.number(&format!(
            "SELECT count(*) FROM (SELECT {list} FROM {from} t WHERE NOT ({nulls}) GROUP BY {list} HAVING count(*) > 1) d"
        ))?;
        if count > 0 {
            let what = if count == 1 { "1 key names".to_owned() } else { format!("{count} keys name") };
            let message = format!("{what} more than one row, but a key names one node");
            self.add(Severity::Error, place, &message, "choose columns whose values together are unique");
        } else if let Some(table) = seen.table.filter(|table| !table.is_view && !table.is_indexed(&kind.key)) {
            let remedy = self.index(table, &kind.key, true);
            self.add(Severity::Slow, place, "no index finds nodes by their keys", &remedy);
        }
        Ok(())
    }

    /// An end of edges: of the key's type, found by an index, and with a node for each.
    fn end(&mut self, place: &str, seen: &Seen<'_>, end: &End) -> Result<()> {
        if let Some(table) = seen.table.filter(|table| !table.is_view)
            && !table.is_indexed(&end.columns)
        {
            let remedy = self.index(table, &end.columns, false);
            self.add(Severity::Slow, place, "no index finds edges by this end", &remedy);
        }
        let EndNode::Kind(number) = end.node else { return Ok(()) };
        let (kind, Some(node)) = (&self.definition.nodes[number], self.nodes.get(&number).cloned()) else {
            return Ok(());
        };
        if !node.has_all(&kind.key) || !self.types_agree(place, seen, end, kind, &node) || end.is_array {
            return Ok(());
        }
        let (Some(edges), Some(nodes)) = (&seen.from, &node.from) else { return Ok(()) };
        let refers = |(table, to): (&Table, &Table)| {
            table.name == to.name && end.columns == kind.key || table.refers(&end.columns, &to.name)
        };
        if seen.table.zip(node.table).is_some_and(refers) {
            return Ok(());
        }
        let (near, far) = (self.quoted("e.", &end.columns), self.quoted("n.", &kind.key));
        let same: Vec<String> = near.iter().zip(&far).map(|(near, far)| format!("{far} = {near}")).collect();
        let count = self.source.number(&format!(
            "SELECT count(*) FROM {edges} e WHERE NOT ({}) AND NOT EXISTS (SELECT 1 FROM {nodes} n WHERE {})",
            some_null(&near),
            same.join(" AND ")
        ))?;
        if count > 0 {
            let message = format!("{} to no `{}`; such edges are left out", rows(count, "refers", "refer"), kind.name);
            self.add(Severity::Warning, place, &message, "mend the rows, and add a foreign key that keeps them right");
        }
        Ok(())
    }

    /// True if an end's columns have the types of the key that they hold.
    fn types_agree(&mut self, place: &str, seen: &Seen<'_>, end: &End, kind: &NodeKind, node: &Seen<'_>) -> bool {
        let mut agree = true;
        for (near, far) in end.columns.iter().zip(&kind.key) {
            let (Some(near), Some(far)) = (seen.column(near), node.column(far)) else { continue };
            if !are_alike(near.kind, far.kind, end.is_array) {
                agree = false;
                let message = format!(
                    "`{}` is {}, but the key `{}` of `{}` is {}",
                    near.name, near.declared, far.name, kind.name, far.declared
                );
                self.add(Severity::Error, place, &message, "convert one of them in a query (`sql`)");
            }
        }
        agree
    }

    /// The properties of a block of nodes that are fetched together.
    fn prefetch(&mut self) {
        let definition = self.definition;
        if let Some(reason) = cannot_prefetch(definition) {
            self.add(Severity::Slow, "prefetch", reason, NAME_TABLES);
        }
        let Prefetch::Block { properties, .. } = &definition.prefetch else { return };
        for name in properties {
            let holds = |kind: &NodeKind| kind.properties.iter().any(|property| property.name == *name);
            if !definition.nodes.iter().any(holds) {
                self.add(Severity::Error, "prefetch.block", &format!("no nodes have the property `{name}`"), "");
            }
        }
        for (number, kind) in definition.nodes.iter().enumerate() {
            let column = |name| kind.properties.iter().find(|property| property.name == name);
            let columns: Option<Vec<String>> =
                properties.iter().map(|name| column(name.clone()).map(|property| property.column.clone())).collect();
            let table = self.nodes.get(&number).and_then(|seen| seen.table).filter(|table| !table.is_view);
            if let (Some(columns), Some(table)) = (columns.filter(|columns| !columns.is_empty()), table)
                && !table.is_indexed(&columns[..1])
            {
                let remedy = self.index(table, &columns, false);
                self.add(
                    Severity::Slow,
                    "prefetch.block",
                    &format!("no index finds blocks of `{}`", kind.name),
                    &remedy,
                );
            }
        }
    }

    /// The statement that makes an index.
    fn index(&self, table: &Table, columns: &[String], is_unique: bool) -> String {
        let name = format!("{}_{}_index", table.name.name, columns.join("_"));
        let quote = |name: &str| self.source.quote(name);
        let list: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        let unique = if is_unique { "UNIQUE " } else { "" };
        format!("CREATE {unique}INDEX {} ON {} ({})", quote(&name), table.name.in_sql(quote), list.join(", "))
    }

    fn quoted(&self, alias: &str, columns: &[String]) -> Vec<String> {
        columns.iter().map(|column| format!("{alias}{}", self.source.quote(column))).collect()
    }

    fn add(&mut self, severity: Severity, place: &str, message: &str, remedy: &str) {
        self.findings.push(Finding::new(severity, place, message).with_remedy(remedy));
    }
}

fn some_null(columns: &[String]) -> String {
    columns.iter().map(|column| format!("{column} IS NULL")).collect::<Vec<_>>().join(" OR ")
}

fn rows(count: u64, one: &str, several: &str) -> String {
    if count == 1 { format!("1 row {one}") } else { format!("{count} rows {several}") }
}

/// Says of definitions of queries by key only that nothing is fetched ahead for them, though it is asked for.
pub(crate) fn cannot_prefetch(definition: &GraphDefinition) -> Option<&'static str> {
    let is_by_key = |rows: &Rows| matches!(rows, Rows::ByKey { .. });
    let all_by_key = !definition.edges.is_empty() && definition.edges.iter().all(|kind| is_by_key(&kind.rows));
    (all_by_key && definition.prefetch != Prefetch::None)
        .then_some("all edges come from queries by key, one node at a time, so that nothing can be fetched ahead")
}

/// The remedy for that.
pub(crate) const NAME_TABLES: &str = "name the tables instead (`table`), or say `\"prefetch\": \"none\"`";

/// True if values of two columns can be equal.
fn are_alike(near: ColumnKind, far: ColumnKind, is_array: bool) -> bool {
    use model::PropertyKind as P;
    let near = match (near, is_array) {
        (ColumnKind::List(kind), true) => ColumnKind::One(kind),
        (ColumnKind::Any | ColumnKind::Json, true) => ColumnKind::Any,
        (_, true) => return false,
        (near, false) => near,
    };
    let is_number = |kind| matches!(kind, ColumnKind::Decimal | ColumnKind::One(P::Integer | P::Float));
    let is_text = |kind| matches!(kind, ColumnKind::Other | ColumnKind::One(P::String));
    near == far
        || [near, far].contains(&ColumnKind::Any)
        || is_number(near) && is_number(far)
        || is_text(near) && is_text(far)
}
