//! A process of several writers, killed two hundred times while it writes, flushes and compacts: one store, opened again
//! and again.
//!
//! The child is this test binary, run again with an environment variable that says where its store is. Each of its
//! writers keeps a chain of numbered nodes, moves money between accounts that all share, and writes the number of each
//! acknowledged transaction to the standard output. `KILLS=5000 cargo test --release -p knotwork-storage kills` kills more
//! often.

use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::time::Duration;

use model::store::{EdgeIds, Expand, NewEdges, NewNodes, NodeScan};
use model::{
    Column, Constraint, Direction, EdgeBatch, ErrorCode, GraphStore, Index, Interrupt, NodeBatch, NodeId, ReadView,
    Result, Rule, Subject, Value,
};
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::apart;
use crate::directory::TestDirectory;
use crate::index_build::hook::yields;
use crate::numbered;

const PATH: &str = "KNOTWORK_TEST_KILL_STORE";
pub(crate) const WRITERS: usize = 4;
/// Nodes of a chain that are kept; older ones are deleted.
const CHAIN_MAX: i64 = 40;
/// The least kills; `KILLS` makes them more, and `FUZZ_SECONDS` goes on for that long.
const KILLS_MIN: u64 = 200;
const ACCOUNTS: u64 = 8;
const MONEY: i64 = 1_000;

pub(crate) fn options() -> OpenOptions {
    OpenOptions { memtable_bytes_max: 30_000, ..OpenOptions::create() }
}

/// The work of the child; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let store = &NativeStore::open(path.as_ref(), options(), storage::os::platform()).unwrap();
    let view = store.read().unwrap();
    let counts: Vec<i64> = (0..WRITERS).map(|writer| check_chain(&*view, writer)).collect();
    std::thread::scope(|scope| {
        for (writer, count) in counts.into_iter().enumerate() {
            scope.spawn(move || {
                let mut out = std::io::stdout();
                for number in count + 1.. {
                    commit(store, writer, number);
                    out.write_all(format!("\nacknowledged {writer} {number}\n").as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
        scope.spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(20));
                store.checkpoint(&Interrupt::new()).unwrap();
            }
        });
        scope.spawn(|| {
            loop {
                change_schema(store);
            }
        });
    });
}

/// The accounts, and the first node of each chain.
pub(crate) fn make(store: &NativeStore) {
    let mut transaction = store.write().unwrap();
    let labels = ["Account", "Head", "Link"].map(|name| transaction.label(name).unwrap());
    let keys = ["money", "count", "name", "number"].map(|name| transaction.property_key(name).unwrap());
    for name in ["NEXT", "PAID"] {
        transaction.edge_type(name).unwrap();
    }
    transaction.create_constraint(Constraint::unique("names", labels[2], keys[2]), &model::Interrupt::new()).unwrap();
    let money = [Column::constant(&Value::Int(MONEY), ACCOUNTS as usize)];
    let new = NewNodes { count: ACCOUNTS as usize, labels: &labels[..1], keys: &keys[..1], properties: &money };
    transaction.create_nodes(&new).unwrap();
    let zero = [Column::constant(&Value::Int(0), WRITERS)];
    let new = NewNodes { count: WRITERS, labels: &labels[1..2], keys: &keys[1..2], properties: &zero };
    let heads = transaction.create_nodes(&new).unwrap();
    assert_eq!(heads[0], head(0));
    transaction.commit().unwrap();
}

/// Makes, or drops if they are there, an index of links, one of the edges between them, and a constraint; the writers go on.
pub(crate) fn change_schema(store: &NativeStore) {
    if let Err(error) = try_change_schema(store) {
        assert_eq!(error.code(), ErrorCode::Conflict, "{error:?}");
    }
}

fn try_change_schema(store: &NativeStore) -> Result<()> {
    let interrupt = yields();
    let _listening = interrupt.listen();
    let mut transaction = store.write()?;
    let (link, next) = (transaction.label("Link")?, transaction.edge_type("NEXT")?);
    let (name, number) = (transaction.property_key("name")?, transaction.property_key("number")?);
    if !transaction.view().schema().indexes.is_empty() {
        transaction.drop_index("links")?;
        transaction.drop_index("steps")?;
        transaction.drop_constraint("pairs")?;
        return transaction.commit();
    }
    let index = Index { name: "links".into(), subject: Subject::Label(link), keys: vec![number] };
    transaction.create_index(index, &interrupt)?;
    let index = Index { name: "steps".into(), subject: Subject::EdgeType(next), keys: vec![number] };
    transaction.create_index(index, &interrupt)?;
    let (subject, keys) = (Subject::Label(link), vec![number, name]);
    let pairs = Constraint { name: "pairs".into(), subject, keys, rule: Rule::Unique };
    transaction.create_constraint(pairs, &interrupt)?;
    transaction.commit()
}

fn head(writer: usize) -> NodeId {
    NodeId(ACCOUNTS + writer as u64)
}

/// Commits a transaction of a writer, again and again while others were first.
pub(crate) fn commit(store: &NativeStore, writer: usize, number: i64) {
    loop {
        match try_commit(store, writer, number) {
            Ok(()) => return,
            Err(error) if error.code() == ErrorCode::Conflict => {}
            Err(error) => panic!("writer {writer}, transaction {number}: {error:?}"),
        }
    }
}

/// Adds a link to the chain, takes the oldest from it, counts, and moves money from one account to another.
fn try_commit(store: &NativeStore, writer: usize, number: i64) -> Result<()> {
    let mut transaction = store.write()?;
    let link = transaction.label("Link")?;
    let (next, paid) = (transaction.edge_type("NEXT")?, transaction.edge_type("PAID")?);
    let [money, count, name, key] = ["money", "count", "name", "number"].map(|name| transaction.property_key(name));
    let (money, count, name, key) = (money?, count?, name?, key?);
    let text = Value::from(format!("{writer}/{number} {}", "x".repeat(number as usize % 50)));
    let values = [Column::from_values(&[text]), Column::from_values(&[Value::Int(number)])];
    let new = NewNodes { count: 1, labels: &[link], keys: &[name, key], properties: &values };
    let made = transaction.create_nodes(&new)?[0];
    let new = NewEdges {
        edge_type: next,
        sources: &[head(writer)],
        targets: &[made],
        keys: &[key],
        properties: &[Column::from_values(&[Value::Int(number)])],
    };
    transaction.create_edges(&new)?;
    transaction.set_node_properties(&[head(writer)], count, &Column::from_values(&[Value::Int(number)]))?;
    let chain = chain(transaction.view(), writer)?;
    let old: Vec<_> = chain.into_iter().filter(|(found, ..)| *found <= number - CHAIN_MAX).collect();
    transaction.delete_edges(&old.iter().map(|(_, _, edge)| *edge).collect::<Vec<_>>())?;
    transaction.delete_nodes(&old.iter().map(|(_, node, _)| *node).collect::<Vec<_>>())?;
    let mut random = SeededRandom::new(writer as u64 * 1_000_003 + number as u64);
    let (from, to) = (NodeId(random.below(ACCOUNTS)), NodeId(random.below(ACCOUNTS)));
    if from != to {
        let have = transaction.view().node_properties(&[from, to], &[money])?.swap_remove(0);
        let amount = random.below(10) as i64;
        let after = [int(&have.value(0)) - amount, int(&have.value(1)) + amount].map(Value::Int);
        transaction.set_node_properties(&[from, to], money, &Column::from_values(&after))?;
        if random.chance(20) {
            let new = NewEdges { edge_type: paid, sources: &[from], targets: &[to], keys: &[], properties: &[] };
            transaction.create_edges(&new)?;
        }
    }
    transaction.commit()
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("a number is expected, found {other:?}"),
    }
}

/// The links of a writer's chain: number, node, edge.
fn chain(view: &dyn ReadView, writer: usize) -> Result<Vec<(i64, NodeId, model::EdgeId)>> {
    let schema = view.schema();
    let key = schema.property_key("number").expect("it was made");
    let expand = Expand {
        direction: Direction::Out,
        types: schema.edge_type("NEXT").map(|next| vec![next]),
        edge_ids: EdgeIds::Include,
        keys: vec![key],
        ranges: Vec::new(),
        top: None,
    };
    let (from, mut batch, mut links) = ([head(writer)], EdgeBatch::default(), Vec::new());
    let mut cursor = view.expand(&from, &expand)?;
    while cursor.next(&mut batch)? {
        for row in 0..batch.len() {
            links.push((int(&batch.properties[0].value(row)), batch.neighbors[row], batch.edges[row]));
        }
    }
    Ok(links)
}

/// Number of transactions of a writer; each of them is whole.
fn check_chain(view: &dyn ReadView, writer: usize) -> i64 {
    let schema = view.schema();
    let key = |name| schema.property_key(name).expect("it was made");
    let count = int(&view.node_properties(&[head(writer)], &[key("count")]).unwrap()[0].value(0));
    let mut links = chain(view, writer).unwrap();
    links.sort_unstable();
    let numbers: Vec<i64> = links.iter().map(|(number, ..)| *number).collect();
    let expected: Vec<i64> = ((count - CHAIN_MAX).max(0) + 1..=count).collect();
    assert_eq!(numbers, expected, "the chain of writer {writer}");
    let nodes: Vec<NodeId> = links.iter().map(|(_, node, _)| *node).collect();
    let columns = view.node_properties(&nodes, &[key("number"), key("name")]).unwrap();
    let names: Vec<Value> = numbers
        .iter()
        .map(|number| Value::from(format!("{writer}/{number} {}", "x".repeat(*number as usize % 50))))
        .collect();
    assert_eq!(columns[0].values().map(|value| int(&value)).collect::<Vec<_>>(), numbers, "numbers of links");
    assert_eq!(columns[1].values().collect::<Vec<_>>(), names, "names of links");
    let label = schema.label("Link").expect("it was made");
    let found = view.lookup(label, key("name"), &Column::from_values(&names)).unwrap();
    assert_eq!(model::store::nodes_of(&found), nodes.iter().copied().map(Some).collect::<Vec<_>>(), "links by name");
    count
}

/// Number of transactions of each writer; money was neither made nor lost.
pub(crate) fn check(view: &dyn ReadView) -> Vec<i64> {
    let schema = view.schema();
    let (money, account) = (schema.property_key("money").unwrap(), schema.label("Account").unwrap());
    let (mut batch, mut sum) = (NodeBatch::default(), 0);
    let mut cursor = view.scan(&NodeScan { labels: vec![account], keys: vec![money], ..NodeScan::default() }).unwrap();
    while cursor.next(&mut batch).unwrap() {
        sum += batch.properties[0].values().map(|value| int(&value)).sum::<i64>();
    }
    assert_eq!(sum, MONEY * ACCOUNTS as i64, "a transfer is whole or absent");
    let counts: Vec<i64> = (0..WRITERS).map(|writer| check_chain(view, writer)).collect();
    let nodes = ACCOUNTS as i64 + WRITERS as i64 + counts.iter().map(|count| count.min(&CHAIN_MAX)).sum::<i64>();
    assert_eq!(view.statistics().nodes, nodes as u64);
    counts
}

pub(crate) fn start(directory: &TestDirectory) -> Child {
    apart::command("kills::child", &[(PATH, directory.path().as_os_str())]).spawn().unwrap()
}

/// Runs the child and kills it some time after its start, or after its first commit; the last number of each writer that it
/// acknowledged.
fn run_and_kill(directory: &TestDirectory, is_under_load: bool, delay: Duration) -> Vec<i64> {
    let mut child = start(directory);
    let out = BufReader::new(child.stdout.take().unwrap());
    let (first, has_committed) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut acknowledged = vec![0; WRITERS];
        for line in out.lines().map_while(std::result::Result::ok) {
            let mut words = line.split(' ');
            // The last line may be cut off in the middle of its number only if the pipe is: each is written at once.
            if let (Some("acknowledged"), Some(writer), Some(number)) = (words.next(), words.next(), words.next()) {
                acknowledged[writer.parse::<usize>().unwrap()] = number.parse().unwrap();
                first.send(()).unwrap_or_default();
            }
        }
        acknowledged
    });
    if is_under_load {
        has_committed.recv().unwrap();
    }
    std::thread::sleep(delay);
    assert_eq!(child.try_wait().unwrap(), None, "the child writes until it is killed");
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
fn two_hundred_kills_under_load_lose_nothing_acknowledged() {
    let seed = seed_or(77);
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("it is a number"));
    let kills = number("KILLS").unwrap_or(KILLS_MIN).max(KILLS_MIN);
    let (clock, seconds) = (storage::os::platform().clock, number("FUZZ_SECONDS").unwrap_or(0));
    let start = clock.now_ns();
    let mut random = SeededRandom::new(seed);
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    make(&store);
    drop(store);
    let mut found = vec![0; WRITERS];
    let mut round = 0;
    while round < kills || clock.now_ns() - start < seconds * 1_000_000_000 {
        // Some are killed while they open, most under load.
        let is_under_load = !random.chance(15);
        let delay = Duration::from_micros(random.below(if is_under_load { 60_000 } else { 15_000 }));
        let acknowledged = run_and_kill(&directory, is_under_load, delay);
        let store = directory.open_with(options());
        let before = std::mem::replace(&mut found, check(&*store.read().unwrap()));
        drop(store);
        let place =
            format!("seed {seed}, round {round}: before {before:?}, acknowledged {acknowledged:?}, found {found:?}");
        for writer in 0..WRITERS {
            let least = acknowledged[writer].max(before[writer]);
            assert!([least, least + 1].contains(&found[writer]), "writer {writer}, {place}");
        }
        if round % 10 == 0 {
            numbered::check_files(&directory.platform(), directory.path());
        }
        round += 1;
    }
    eprintln!("{round} kills, transactions of each writer: {found:?}");
    assert!(round >= KILLS_MIN, "only {round} kills");
    assert!(found.iter().sum::<i64>() > round as i64, "the children committed something");
}
