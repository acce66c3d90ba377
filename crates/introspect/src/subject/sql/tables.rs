//! The tables of a relational database that are the nodes and the edges of a graph: those that are named, or those that the
//! catalog shows to be so by its keys.

use database::relational::{Catalog, ColumnKind, ForeignKey, Table, TableName};
use model::{PropertyKind, Result, error};

/// Tables that a message lists.
const LISTED_MAX: usize = 20;
/// Names of tables and columns of a graph in a database without keys.
const NODES: [&str; 2] = ["node", "nodes"];
const EDGES: [&str; 2] = ["edge", "edges"];
const KEY: &str = "id";
const ENDS: [&str; 2] = ["source", "target"];

/// The way in which tables are named.
pub(super) const FORM: &str = "\"node=person(id) edge=knows(src,dst)\"";

/// The tables of a graph, and their columns that operations use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tables {
    /// Table whose rows are nodes.
    pub(super) nodes: TableName,
    /// Its column of integers that a node is known by.
    pub(super) key: String,
    /// True if no two of its rows have the same key, which an index sees to.
    pub(super) is_key_unique: bool,
    /// Another of its columns that holds integers.
    pub(super) integer: Option<String>,
    /// A column of it that holds strings.
    pub(super) string: Option<String>,
    /// Table whose rows are edges.
    pub(super) edges: TableName,
    /// Its columns of the nodes where an edge starts and ends.
    pub(super) ends: [String; 2],
    /// Its column of integers that an edge is known by.
    pub(super) edge_key: Option<String>,
    /// Another of its columns, of numbers where there are such.
    pub(super) edge_property: Option<String>,
    /// True if both ends are rows of the table of nodes; else only the first end is.
    pub(super) is_within: bool,
}

/// A table that a user names, with columns; none where the catalog is to tell them.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    table: TableName,
    columns: Vec<String>,
}

/// The tables that a user names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableChoice {
    node: Option<Named>,
    edge: Option<Named>,
}

impl TableChoice {
    /// Reads `node=TABLE(KEY) edge=TABLE(SOURCE,TARGET)`. Either may be left out, and so may the columns. Names may be quoted as in SQL.
    ///
    /// # Errors
    /// `ARGUMENT` for another text.
    pub fn parse(text: &str) -> Result<TableChoice> {
        let bad = |found: &str| {
            error!(
                Argument,
                "expected node=TABLE(KEY) or edge=TABLE(SOURCE,TARGET) in the option of tables, found '{found}'"
            )
            .with_remedy(format!("write it as {FORM}"))
        };
        let (mut choice, mut rest) = (TableChoice::default(), text.trim());
        while !rest.is_empty() {
            let (place, after) = rest.split_once('=').ok_or_else(|| bad(rest))?;
            let (table, after) = table(after).ok_or_else(|| bad(rest))?;
            let (columns, after) = match after.strip_prefix('(') {
                Some(inside) => columns(inside).ok_or_else(|| bad(rest))?,
                None => (Vec::new(), after),
            };
            if !after.is_empty() && !after.starts_with(' ') {
                return Err(bad(rest));
            }
            let (held, count) = match place {
                "node" => (&mut choice.node, 1),
                "edge" => (&mut choice.edge, 2),
                _ => return Err(bad(rest)),
            };
            if !columns.is_empty() && columns.len() != count || held.is_some() {
                return Err(bad(rest));
            }
            *held = Some(Named { table, columns });
            rest = after.trim_start();
        }
        if choice == TableChoice::default() { Err(bad(text)) } else { Ok(choice) }
    }
}

/// Signs that end a name which is not quoted; a point ends that of a schema.
const ENDS_OF_NAMES: [char; 5] = ['(', ')', ',', ' ', '"'];
const POINT: char = '.';

/// A name as the option has it: quoted where it would end elsewhere.
fn written(name: &str) -> String {
    if name.contains(ENDS_OF_NAMES) || name.contains(POINT) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

/// The name of a table that a text begins with, after that of its schema and a point if there is one, and what follows it.
fn table(text: &str) -> Option<(TableName, &str)> {
    let (schema, after) = name(text, |sign| sign == POINT || ENDS_OF_NAMES.contains(&sign))?;
    let Some(after) = after.strip_prefix(POINT) else { return Some((TableName::of(&schema), after)) };
    let (name, after) = name(after, |sign| ENDS_OF_NAMES.contains(&sign))?;
    Some((TableName { schema: Some(schema), name }, after))
}

/// The name that a text begins with, in quotes or up to a sign that ends it, and what follows it.
fn name(text: &str, ends: impl Fn(char) -> bool) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let (name, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
        return (!name.is_empty()).then(|| (name.to_owned(), rest));
    };
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(further) => {
                name.push('"');
                rest = further;
            }
            None => return (!name.is_empty()).then_some((name, after)),
        }
    }
}

/// The names of columns up to the parenthesis that closes them, and what follows it.
fn columns(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut names, mut rest) = (Vec::new(), text.trim_start());
    if let Some(after) = rest.strip_prefix(')') {
        return Some((names, after));
    }
    loop {
        let (name, after) = name(rest, |sign| ENDS_OF_NAMES.contains(&sign))?;
        names.push(name);
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix(')') {
            return Some((names, after));
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

impl Tables {
    /// The tables that are named, or that the catalog shows: edges are the table of two foreign keys, else of that name.
    ///
    /// # Errors
    /// `ARGUMENT` with a list of the tables if there are none, or some that cannot be used.
    pub(super) fn find(catalog: &Catalog, choice: &TableChoice) -> Result<Tables> {
        if catalog.tables.is_empty() {
            return Err(error!(Argument, "there are no tables, or none that this user may read")
                .with_remedy("fill it first, or grant the right to read its tables"));
        }
        let found = Found { catalog, choice };
        let (edges, ends) = found.edges()?;
        let (nodes, key) = found.nodes(edges, &ends)?;
        let is_of_nodes = |end: &String| refers(edges, end).is_none_or(|held| held.table == nodes.name);
        if !is_of_nodes(&ends[0]) {
            let message = format!("edges of {} start at {} in another table than {}", edges.name, ends[0], nodes.name);
            return Err(
                error!(Argument, "{message}").with_remedy("name the table that its first column refers to as nodes")
            );
        }
        for (table, column) in [(nodes, &key), (edges, &ends[0]), (edges, &ends[1])] {
            found.check_integers(table, column)?;
        }
        let edge_key = match &edges.primary_key[..] {
            [key] if !ends.contains(key) && is_integer(edges, key) => Some(key.clone()),
            _ => None,
        };
        let is_used = |name: &str| ends.iter().chain(&edge_key).any(|used| used == name);
        let first = |table: &Table, is_wanted: &dyn Fn(&str, ColumnKind) -> bool| {
            table.columns.iter().find(|column| is_wanted(&column.name, column.kind)).map(|column| column.name.clone())
        };
        let integer = first(nodes, &|name, kind| name != key && kind == ColumnKind::One(PropertyKind::Integer));
        let string = first(nodes, &|name, kind| name != key && kind == ColumnKind::One(PropertyKind::String));
        let edge_property = first(edges, &|name, kind| !is_used(name) && is_number(kind))
            .or_else(|| first(edges, &|name, kind| !is_used(name) && matches!(kind, ColumnKind::One(_))));
        let is_within = is_of_nodes(&ends[1]);
        let is_key_unique = nodes.is_unique(std::slice::from_ref(&key));
        let (nodes, edges) = (nodes.name.clone(), edges.name.clone());
        Ok(Tables { nodes, key, is_key_unique, integer, string, edges, ends, edge_key, edge_property, is_within })
    }

    /// The columns of edges whose values are keys of nodes.
    pub(super) fn node_ends(&self) -> &[String] {
        if self.is_within { &self.ends } else { &self.ends[..1] }
    }

    /// The tables as the option names them.
    pub(super) fn described(&self) -> String {
        let [source, target] = self.ends.each_ref().map(|end| written(end));
        let [nodes, edges] = [&self.nodes, &self.edges].map(|table| table.in_sql(written));
        format!("node={nodes}({}) edge={edges}({source},{target})", written(&self.key))
    }
}

/// A catalog in which tables are looked for.
struct Found<'a> {
    catalog: &'a Catalog,
    choice: &'a TableChoice,
}

impl<'a> Found<'a> {
    fn table(&self, name: &TableName) -> Result<&'a Table> {
        self.catalog.find_in_any_case(name.schema.as_deref(), &name.name).ok_or_else(|| {
            let message = format!("there is no table {name} that this user may read");
            error!(Argument, "{message}").with_remedy(self.listed())
        })
    }

    fn nodes(&self, edges: &'a Table, ends: &[String; 2]) -> Result<(&'a Table, String)> {
        let referred = refers(edges, &ends[0]);
        let table = match (&self.choice.node, referred) {
            (Some(named), _) => self.table(&named.table)?,
            (None, Some(key)) => self.table(&key.table)?,
            (None, None) => self.by_name(&NODES, &[KEY]).ok_or_else(|| {
                let message = format!("no foreign key says which table {} of {} refers to", ends[0], edges.name);
                error!(Argument, "{message}")
                    .with_remedy(format!("name the table of nodes too, as {FORM}; {}", self.listed()))
            })?,
        };
        let named = self.choice.node.as_ref().and_then(|named| named.columns.first());
        let of_reference = referred.filter(|key| key.table == table.name).map(|key| &key.referred[0]);
        let key = match (named.or(of_reference), &table.primary_key[..]) {
            (Some(name), _) => column_name(table, name),
            (None, [key]) => key.clone(),
            (None, _) if table.column_in_any_case(KEY).is_some() => column_name(table, KEY),
            (None, _) => {
                let message = format!("the table {} has no primary key of one column", table.name);
                return Err(error!(Argument, "{message}").with_remedy(format!("name its key, as {FORM}")));
            }
        };
        Ok((table, key))
    }

    fn edges(&self) -> Result<(&'a Table, [String; 2])> {
        if let Some(named) = &self.choice.edge {
            let table = self.table(&named.table)?;
            if let [source, target] = &named.columns[..] {
                return Ok((table, [source, target].map(|end| column_name(table, end))));
            }
            return ends(table).or_else(|| named_ends(table)).map(|ends| (table, ends)).ok_or_else(|| {
                let message =
                    format!("the table {} has no two foreign keys, which would be the ends of its edges", table.name);
                error!(Argument, "{message}").with_remedy(format!("name the two columns, as {FORM}"))
            });
        }
        let nodes = self.choice.node.as_ref().map(|named| self.table(&named.table)).transpose()?;
        let starts_right = |table: &Table, ends: &[String; 2]| match nodes {
            Some(nodes) => refers(table, &ends[0]).is_some_and(|key| key.table == nodes.name),
            None => true,
        };
        let candidates = self.catalog.tables.iter().filter_map(|table| Some((table, ends(table)?)));
        let candidates = candidates.filter(|(table, ends)| starts_right(table, ends));
        // A table of just two foreign keys, both to one table, is most likely edges; of several such the largest.
        let rank = |(table, ends): &(&Table, [String; 2])| {
            let referred = ends.clone().map(|end| refers(table, &end).map(|key| &key.table));
            (table.foreign_keys.len() == 2, referred[0] == referred[1], table.rows)
        };
        let best =
            candidates.max_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| other.0.name.cmp(&one.0.name)));
        let by_name = || self.by_name(&EDGES, &ENDS).and_then(|table| Some((table, named_ends(table)?)));
        best.or_else(by_name).ok_or_else(|| {
            let message = "no table is seen to be edges: none has two foreign keys, and none is called edge with columns source \
                           and target";
            error!(Argument, "{message}").with_remedy(format!("name the tables, as --tables {FORM}; {}", self.listed()))
        })
    }

    fn by_name(&self, names: &[&str], columns: &[&str]) -> Option<&'a Table> {
        let mut found = names.iter().filter_map(|name| self.catalog.find_in_any_case(None, name));
        found.find(|table| columns.iter().all(|column| table.column_in_any_case(column).is_some()))
    }

    fn check_integers(&self, table: &Table, column: &str) -> Result<()> {
        let Some(held) = table.column(column) else {
            let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
            let message = format!("the table {} has no column {column}", table.name);
            return Err(error!(Argument, "{message}").with_remedy(format!("name one of {}", names.join(", "))));
        };
        if is_integer(table, column) {
            return Ok(());
        }
        let message =
            format!("{column} of the table {} is {}, and nodes are known by integers", table.name, held.declared);
        Err(error!(Argument, "{message}").with_remedy(format!("name tables whose keys are integers, as {FORM}")))
    }

    /// The tables with their columns.
    fn listed(&self) -> String {
        let of = |table: &Table| {
            let columns: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
            format!("{}({})", table.name, columns.join(","))
        };
        let listed: Vec<String> = self.catalog.tables.iter().take(LISTED_MAX).map(of).collect();
        let more = self.catalog.tables.len().saturating_sub(LISTED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("there are {}{more}", listed.join(", "))
    }
}

/// The name of a column as the table has it, or as it is named where there is none.
fn column_name(table: &Table, name: &str) -> String {
    table.column_in_any_case(name).map_or_else(|| name.to_owned(), |column| column.name.clone())
}

/// The foreign key that is just this column.
fn refers<'a>(table: &'a Table, column: &str) -> Option<&'a ForeignKey> {
    table.foreign_keys.iter().find(|key| key.columns == [column])
}

/// The columns of the first two foreign keys of one column.
fn ends(table: &Table) -> Option<[String; 2]> {
    let mut single = table.foreign_keys.iter().filter(|key| key.columns.len() == 1).map(|key| key.columns[0].clone());
    Some([single.next()?, single.next()?])
}

fn named_ends(table: &Table) -> Option<[String; 2]> {
    let is_there = |name: &&str| table.column_in_any_case(name).is_some();
    ENDS.iter().all(is_there).then(|| ENDS.map(|name| column_name(table, name)))
}

fn is_integer(table: &Table, column: &str) -> bool {
    let kind = table.column(column).map(|column| column.kind);
    matches!(kind, Some(ColumnKind::One(PropertyKind::Integer) | ColumnKind::Any))
}

fn is_number(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::One(PropertyKind::Integer | PropertyKind::Float) | ColumnKind::Decimal)
}

#[cfg(test)]
mod tests {
    use database::relational::{Catalog, ColumnKind, ForeignKey, Table, TableColumn, TableName};
    use model::PropertyKind;

    use super::{TableChoice, Tables};

    fn table(name: &str, columns: &[(&str, PropertyKind)], keys: &[(&str, &str)], rows: u64) -> Table {
        let column = |(name, kind): &(&str, PropertyKind)| TableColumn {
            name: (*name).to_owned(),
            declared: kind.name().to_lowercase(),
            kind: ColumnKind::One(*kind),
            is_nullable: false,
        };
        let key = |(column, table): &(&str, &str)| ForeignKey {
            columns: vec![(*column).to_owned()],
            table: TableName::of(table),
            referred: vec!["id".to_owned()],
        };
        Table {
            name: TableName::of(name),
            columns: columns.iter().map(column).collect(),
            primary_key: columns.iter().filter(|(name, _)| *name == "id").map(|(name, _)| (*name).to_owned()).collect(),
            foreign_keys: keys.iter().map(key).collect(),
            rows: Some(rows),
            ..Table::default()
        }
    }

    fn shop() -> Catalog {
        use PropertyKind::{Integer as I, String as S};
        let tables = vec![
            table("person", &[("id", I), ("name", S), ("age", I)], &[], 9),
            table("city", &[("id", I), ("name", S)], &[], 3),
            table(
                "knows",
                &[("id", I), ("src", I), ("dst", I), ("since", I)],
                &[("src", "person"), ("dst", "person")],
                5,
            ),
            table("lives", &[("who", I), ("place", I)], &[("who", "person"), ("place", "city")], 90),
            table("tag", &[("word", S)], &[], 1),
            table("friend", &[("a", I), ("b", I)], &[], 9),
        ];
        Catalog { default_schema: "public".to_owned(), tables }
    }

    #[test]
    fn keys_and_names_show_the_tables() {
        let check = |catalog: &Catalog, text: &str, expected: &str| {
            let choice = if text.is_empty() {
                TableChoice::default()
            } else {
                TableChoice::parse(text).expect("it can be read")
            };
            let found = Tables::find(catalog, &choice);
            let found = found.map_or_else(|error| format!("{error} {}", error.remedy()), |tables| tables.described());
            assert!(
                found.starts_with(expected) || found.contains(expected) && !expected.starts_with("node="),
                "{found}"
            );
        };
        let shop = shop();
        check(&shop, "", "node=person(id) edge=knows(src,dst)");
        check(&shop, "edge=lives", "node=person(id) edge=lives(who,place)");
        check(&shop, "node=person edge=friend(a, b)", "node=person(id) edge=friend(a,b)");
        check(&shop, "node=PERSON(ID) edge=Public.Lives(Who,Place)", "node=person(id) edge=lives(who,place)");
        check(&shop, "node=person(age)", "node=person(age) edge=knows(src,dst)");
        check(&shop, "node=city(id) edge=knows(src,dst)", "start at src in another table than city");
        check(&shop, "edge=friend(a,b)", "no foreign key says which table a of friend refers to");
        check(&shop, "edge=friend", "has no two foreign keys");
        check(
            &shop,
            "edge=nothing",
            "there are person(id,name,age), city(id,name), knows(id,src,dst,since), lives(who,place)",
        );
        check(&shop, "node=tag edge=friend(a,b)", "the table tag has no primary key of one column");
        check(&shop, "node=tag(word) edge=friend(a,b)", "word of the table tag is string");
        check(&shop, "node=person(no) edge=friend(a,b)", "has no column no");
        let plain = [
            table("nodes", &[("id", PropertyKind::Integer)], &[], 1),
            table("edge", &[("source", PropertyKind::Integer), ("target", PropertyKind::Integer)], &[], 1),
        ];
        let named = Catalog { tables: plain.to_vec(), ..shop };
        check(&named, "", "node=nodes(id) edge=edge(source,target)");
        check(&named, "node=no", "there is no table no");
        let integers = |names: [&'static str; 2]| names.map(|name| (name, PropertyKind::Integer));
        let odd = [
            table("my \"own\" nodes", &integers(["The Id", "x"])[..1], &[], 1),
            table("a.b", &integers(["from (", "to,"]), &[], 1),
        ];
        let odd = Catalog { tables: odd.to_vec(), ..named.clone() };
        let text = r#"node="my ""own"" nodes"("The Id") edge="a.b"("from (" , "to,")"#;
        check(&odd, text, &text.replace(" , ", ","));
        check(&Catalog { tables: plain[..1].to_vec(), ..named }, "", "no table is seen to be edges");
        check(&Catalog::default(), "", "there are no tables");
    }

    #[test]
    fn columns_are_chosen_by_their_types() {
        let found = Tables::find(&shop(), &TableChoice::default()).expect("there are tables");
        assert_eq!((found.integer.as_deref(), found.string.as_deref()), (Some("age"), Some("name")));
        assert_eq!((found.edge_key.as_deref(), found.edge_property.as_deref()), (Some("id"), Some("since")));
        let lives = TableChoice::parse("edge=lives").expect("it can be read");
        let lives = Tables::find(&shop(), &lives).expect("there are tables");
        assert!(found.is_within && !lives.is_within);
        assert_eq!((lives.edge_key, lives.edge_property), (None, None));
    }

    #[test]
    fn other_options_are_refused() {
        for text in [
            "", "person", "node=", "node=a(b", "node=a(b,c)", "edge=a(b)", "edge=a(,b)", "nodes=a", "node=a node=b",
            "node=\"a", "node=\"\"", "node=a(b)c", "node=a(\"b)",
        ] {
            let refused = TableChoice::parse(text).expect_err(text).to_string();
            assert!(refused.contains("expected node=TABLE(KEY)"), "{refused}");
        }
    }
}
