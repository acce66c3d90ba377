//! Catalogs as short strings, and the definitions that are inferred from them.

use model::schema::PropertyKind;

use crate::catalog::{Catalog, ColumnKind, ForeignKey, Table, TableColumn, TableName};
use crate::definition::{End, EndNode, GraphDefinition, Property, Rows};

/// A table on each line: `name: *key, column, nullable?, foreign -> table.column`. `(a b) -> table.(c d)` has several columns,
/// `!unique` is a column whose values are unique; `view name:` is a view.
fn catalog(text: &str) -> Catalog {
    let names =
        |text: &str| -> Vec<String> { text.trim_matches(['(', ')']).split_whitespace().map(str::to_owned).collect() };
    let mut tables = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, columns) = line.split_once(':').unwrap();
        let (is_view, name) = name.strip_prefix("view ").map_or((false, name), |name| (true, name));
        let mut table = Table { name: table_name(name), is_view, ..Table::default() };
        for item in columns.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (own, refers) = item.split_once(" -> ").map_or((item, None), |(own, refers)| (own, Some(refers)));
            let marked = names(own);
            let own: Vec<String> = marked.iter().map(|name| name.trim_matches(['*', '!', '?']).to_owned()).collect();
            if let Some((to, referred)) = refers.and_then(|refers| refers.rsplit_once('.')) {
                let (columns, referred) = (own.clone(), names(referred));
                table.foreign_keys.push(ForeignKey { columns, table: table_name(to), referred });
            }
            for (marked, name) in marked.iter().zip(own) {
                if marked.starts_with('*') {
                    table.primary_key.push(name.clone());
                }
                if marked.starts_with('!') {
                    table.unique.push(vec![name.clone()]);
                }
                if table.column(&name).is_none() {
                    let kind = ColumnKind::One(PropertyKind::Integer);
                    let is_nullable = marked.ends_with('?');
                    table.columns.push(TableColumn { name, declared: "int".into(), kind, is_nullable });
                }
            }
        }
        table.arrange();
        tables.push(table);
    }
    Catalog { tables, ..Catalog::default() }
}

fn table_name(text: &str) -> TableName {
    match text.split_once('.') {
        Some((schema, name)) => TableName { schema: Some(schema.into()), name: name.into() },
        None => TableName::of(text),
    }
}

/// Nodes and edges a line each, and notes.
fn render(text: &str) -> String {
    let inferred = super::definition(&catalog(text), &|name| format!("\"{name}\""));
    let definition = &inferred.definition;
    definition.check().unwrap_or_else(|failure| panic!("{failure}"));
    let json = definition.to_json();
    assert_eq!(GraphDefinition::from_json(&json).unwrap(), *definition, "{json}");
    let place = |rows: &Rows| match rows {
        Rows::Table { schema, name } => TableName { schema: schema.clone(), name: name.clone() }.to_string(),
        Rows::Query(sql) => sql.clone(),
        other => panic!("{other:?}"),
    };
    let list = |of: &[Property]| of.iter().map(|property| &*property.name).collect::<Vec<_>>().join(" ");
    let end = |end: &End| match end.node {
        EndNode::Kind(number) => format!("{}({})", definition.nodes[number].name, end.columns.join(" ")),
        EndNode::Foreign { .. } => panic!("no end of what is inferred is foreign"),
    };
    let nodes = definition.nodes.iter().map(|kind| {
        format!("{}: {} key({}) [{}]", kind.name, place(&kind.rows), kind.key.join(" "), list(&kind.properties))
    });
    let edges = definition.edges.iter().map(|kind| {
        let name = if kind.name == kind.edge_type { String::new() } else { format!("{} = ", kind.name) };
        let (source, target) = (end(&kind.source), end(&kind.target));
        let key = kind.key.join(" ");
        format!(
            "{name}{source} {} {target}: {} key({key}) [{}]",
            kind.edge_type,
            place(&kind.rows),
            list(&kind.properties)
        )
    });
    nodes.chain(edges).chain(inferred.notes.iter().map(|note| format!("note: {note}"))).collect::<Vec<_>>().join("\n")
}

fn check(catalog: &str, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(render(catalog).lines().collect::<Vec<_>>(), expected, "{catalog}");
}

#[test]
fn tables_are_nodes_and_foreign_keys_edges() {
    check(
        "customers: *customer_id, name?
         orders: *order_id, customer_id? -> customers.customer_id, ship_via? -> shippers.shipper_id, placed
         shippers: *shipper_id
         invoices: *id, customer_id -> customers.customer_id",
        "Customer: customers key(customer_id) [customer_id name]
         Order: orders key(order_id) [order_id placed]
         Shipper: shippers key(shipper_id) [shipper_id]
         Invoice: invoices key(id) [id]
         Order_HAS_CUSTOMER = Order(order_id) HAS_CUSTOMER Customer(customer_id): orders key() []
         Order(order_id) SHIP_VIA Shipper(ship_via): orders key() []
         Invoice_HAS_CUSTOMER = Invoice(id) HAS_CUSTOMER Customer(customer_id): invoices key() []",
    );
}

#[test]
fn join_tables_are_edges_with_their_other_columns() {
    check(
        "playlist: *id
         track: *id
         playlist_tracks: *playlist_id -> playlist.id, *track_id -> track.id
         track_details: *track_id -> track.id, *playlist_id -> playlist.id, price
         likes: id, who -> playlist.id, what -> track.id
         numbered: *id, who -> playlist.id, what -> track.id
         optional: *id, who -> playlist.id, what? -> track.id
         line: *id, who -> playlist.id, what -> track.id, price
         referred: *who -> playlist.id, *what -> track.id
         refers: *id, (who what) -> referred.(who what)",
        "Playlist: playlist key(id) [id]
         Track: track key(id) [id]
         Optional: optional key(id) [id]
         Line: line key(id) [id price]
         Referred: referred key(who what) [who what]
         Refer: refers key(id) [id]
         Optional_HAS_WHO = Optional(id) HAS_WHO Playlist(who): optional key() []
         Optional_HAS_WHAT = Optional(id) HAS_WHAT Track(what): optional key() []
         Line_HAS_WHO = Line(id) HAS_WHO Playlist(who): line key() []
         Line_HAS_WHAT = Line(id) HAS_WHAT Track(what): line key() []
         Referred_HAS_WHO = Referred(who what) HAS_WHO Playlist(who): referred key() []
         Referred_HAS_WHAT = Referred(who what) HAS_WHAT Track(what): referred key() []
         Refer(id) HAS_REFERRED Referred(who what): refers key() []
         Playlist(playlist_id) HAS_TRACK Track(track_id): playlist_tracks key(playlist_id track_id) []
         Track(track_id) TRACK_DETAILS Playlist(playlist_id): track_details key(track_id playlist_id) [price]
         Playlist(who) LIKES Track(what): likes key() [id]
         Playlist(who) NUMBERED Track(what): numbered key(id) [id]",
    );
}

#[test]
fn a_table_may_refer_to_itself_and_twice_to_another() {
    check(
        "people: *id, reports_to? -> people.id, manager_id? -> people.id
         follows: *a -> people.id, *b -> people.id
         trip: *id, from_station -> station.id, to_station -> station.id, station_id -> station.id, station_no -> station.id
         station: *id",
        "Person: people key(id) [id]
         Trip: trip key(id) [id]
         Station: station key(id) [id]
         Person(id) REPORTS_TO Person(reports_to): people key() []
         Person(id) HAS_MANAGER Person(manager_id): people key() []
         Trip(id) FROM_STATION Station(from_station): trip key() []
         Trip(id) TO_STATION Station(to_station): trip key() []
         Trip(id) HAS_STATION Station(station_id): trip key() []
         Trip(id) HAS_STATION_2 Station(station_no): trip key() []
         Person(a) FOLLOWS Person(b): follows key(a b) []",
    );
}

#[test]
fn keys_may_have_several_columns_and_lie_in_several_schemas() {
    check(
        "city: (*country *name), mayor
         flight: *id, day, (from_country from_name) -> city.(country name), (to_name to_country) -> city.(name country)
         sales.city: *id, (country name) -> city.(country name)
         sister: (*a_country *a_name) -> city.(country name), (*b_country *b_name) -> city.(country name)",
        "City: city key(country name) [country name mayor]
         Flight: flight key(id) [id day]
         SalesCity: sales.city key(id) [id]
         Flight(id) FROM_CITY City(from_country from_name): flight key() []
         Flight(id) TO_CITY City(to_country to_name): flight key() []
         SalesCity(id) HAS_CITY City(country name): sales.city key() []
         City(a_country a_name) SISTER City(b_country b_name): sister key(a_country a_name b_country b_name) []",
    );
}

#[test]
fn what_cannot_be_a_part_of_the_graph_is_noted() {
    check(
        "log: at, line, who -> user.id
         user: *id, !email, who -> gone.id
         mail: *id, address -> user.email
         keyless: !code, name
         view totals: day, sum",
        r#"User: user key(id) [id email]
         Mail: mail key(id) [id]
         Keyless: keyless key(code) [code name]
         Mail(source_1) HAS_ADDRESS User(target_1): SELECT a."id" AS "source_1", b."id" AS "target_1" FROM "mail" a JOIN "user" b ON a."address" = b."email" key() []
         note: log: skipped, it has no primary key
         note: views are skipped, they have no keys: totals
         note: user(who): skipped, gone is not among the nodes"#,
    );
}
