//! Expressions by their text: every case runs for whole columns, for columns without a kind, row by row, and with
//! parameters in the place of columns; all four must agree.

use std::sync::Arc;

use cypher::plan::{Operator, SlotId, SubqueryKind};
use model::platform::Clock;
use model::store::{NewEdges, NewNodes};
use model::value::PathValue;
use model::{Column, ColumnData, EdgeValue, Error, GraphStore, Interrupt, Map, ReadView, Result, Value, error};
use testing::reference_store::ReferenceStore;

use crate::allocations::AllocationTracker;
use crate::chunk::{Chunk, Layout};
use crate::context::{CompileEnvironment, EvaluationContext, SubplanId, SubplanRunner};
use crate::expression::{compile, compile_all};
use crate::memory::QueryMemory;
use binding::Binder;

pub(crate) mod binding;
mod graph;
mod semantics;

/// The moment at which every test statement began: 2001-02-03T04:05:06.
const NOW_US: i64 = 981_173_106_000_000;

/// Time that stands still.
#[derive(Debug)]
struct TestClock;

impl Clock for TestClock {
    fn now_ns(&self) -> u64 {
        0
    }

    fn unix_us(&self) -> i64 {
        NOW_US
    }
}

/// A test has no subplans.
struct NoSubplans;

impl CompileEnvironment for NoSubplans {
    fn subplan(&mut self, _: SubqueryKind, _: &Operator, _: &Layout) -> Result<SubplanId> {
        Err(error!(Internal, "a test has no subplans"))
    }
}

impl SubplanRunner for NoSubplans {
    fn run(&self, _: SubplanId, _: &Chunk) -> Result<Arc<Column>> {
        Err(error!(Internal, "a test has no subplans"))
    }
}

/// A graph with columns of its nodes and edges.
pub(crate) struct Fixture {
    store: ReferenceStore,
    pub(crate) view: Arc<dyn ReadView>,
    pub(crate) nodes: Vec<Value>,
    pub(crate) edges: Vec<Value>,
    memory: QueryMemory,
    made: AllocationTracker,
}

impl Fixture {
    /// Ann (30) and Bob, an admin, are persons; Rome is a city. Ann knows Bob since 2001 and lives in Rome.
    pub(crate) fn new() -> Fixture {
        let store = ReferenceStore::new();
        let mut transaction = store.write().unwrap();
        let [person, admin, city] = ["Person", "Admin", "City"].map(|name| transaction.label(name).unwrap());
        let [name, age] = ["name", "age"].map(|key| transaction.property_key(key).unwrap());
        let mut nodes = Vec::new();
        for (labels, properties) in [
            (vec![person], [Value::from("Ann"), Value::Int(30)]),
            (vec![person, admin], [Value::from("Bob"), Value::Null]),
            (vec![city], [Value::from("Rome"), Value::from("old")]),
        ] {
            let columns = properties.map(|value| Column::constant(&value, 1));
            let new = NewNodes { count: 1, labels: &labels, keys: &[name, age], properties: &columns };
            nodes.extend(transaction.create_nodes(&new).unwrap());
        }
        let since = transaction.property_key("since").unwrap();
        let mut edges = Vec::new();
        for (edge_type, target, value) in [("KNOWS", nodes[1], Value::Int(2001)), ("LIVES_IN", nodes[2], Value::Null)] {
            let edge_type = transaction.edge_type(edge_type).unwrap();
            let (sources, targets) = ([nodes[0]], [target]);
            let properties = [Column::constant(&value, 1)];
            let new =
                NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[since], properties: &properties };
            let id = transaction.create_edges(&new).unwrap()[0];
            edges.push(Value::Edge(EdgeValue { id, source: nodes[0], target, edge_type }));
        }
        transaction.commit().unwrap();
        let view = store.read().unwrap();
        let (memory, made) = (QueryMemory::unlimited(), AllocationTracker::default());
        Fixture { store, view, nodes: nodes.into_iter().map(Value::Node).collect(), edges, memory, made }
    }

    pub(crate) fn context<'a>(
        &'a self,
        parameters: &'a Map<Arc<str>, Value>,
        interrupt: &'a Interrupt,
    ) -> EvaluationContext<'a> {
        EvaluationContext {
            view: &*self.view,
            parameters,
            interrupt,
            now_us: NOW_US,
            transaction_us: NOW_US,
            clock: &TestClock,
            has_deleted: false,
            subplans: &NoSubplans,
            memory: &self.memory,
            made: &self.made,
        }
    }

    /// The values of an expression over columns, given as rows of a chunk.
    fn evaluate(&self, names: &[String], chunk: &Chunk, text: &str) -> Result<Vec<Value>> {
        let expression = Binder::slots(names).bind_text(text);
        let layout = Layout::new((0..names.len() as u32).map(SlotId).collect());
        let compiled = compile(&expression, &layout, &mut NoSubplans)?;
        let (parameters, interrupt) = (Map::default(), Interrupt::new());
        let column = compiled.evaluate(chunk, &self.context(&parameters, &interrupt))?;
        assert_eq!(column.len(), chunk.rows, "{text}");
        Ok(column.values().collect())
    }

    /// The value of an expression whose names are parameters.
    fn evaluate_with_parameters(&self, names: &[String], values: &[Value], text: &str) -> Result<Value> {
        let expression = Binder::parameters(names).bind_text(text);
        let compiled = compile(&expression, &Layout::default(), &mut NoSubplans)?;
        let parameters = names.iter().map(|name| Arc::from(name.as_str())).zip(values.iter().cloned()).collect();
        let interrupt = Interrupt::new();
        Ok(compiled.evaluate(&Chunk::unit(), &self.context(&parameters, &interrupt))?.value(0))
    }

    /// The value of an expression without names.
    pub(crate) fn constant(&self, text: &str) -> Result<Value> {
        self.evaluate_with_parameters(&[], &[], text)
    }

    /// The value of an expression about Bob (`n`), how Ann knows him (`r`), and the path from her to him (`p`).
    pub(crate) fn example(&self, text: &str) -> Result<Value> {
        self.evaluate_with_parameters(&["n", "r", "p"].map(str::to_owned), &self.example_values(), text)
    }

    /// Values that examples call `n`, `r` and `p`.
    pub(crate) fn example_values(&self) -> [Value; 3] {
        let (Value::Node(ann), Value::Node(bob), Value::Edge(knows)) = (&self.nodes[0], &self.nodes[1], &self.edges[0])
        else {
            panic!("the fixture has nodes and edges");
        };
        let path = PathValue { nodes: vec![*ann, *bob], edges: vec![*knows] };
        [self.nodes[1].clone(), self.edges[0].clone(), Value::Path(Arc::new(path))]
    }

    /// Checks that an expression over columns gives `expected`, a list with a value for each row.
    pub(crate) fn check(&self, columns: &[(&str, Vec<Value>)], text: &str, expected: &str) {
        let expected = shown(&items(&self.constant(expected).unwrap()));
        let outcome = self.all_ways(columns, text);
        let values = outcome.unwrap_or_else(|error| panic!("{}", error.render(text)));
        assert_eq!(shown(&values), expected, "{text} of {columns:?}");
    }

    /// Checks that an expression over columns fails: the code, the part of the text pointed at, part of the message.
    pub(crate) fn check_error(&self, columns: &[(&str, Vec<Value>)], text: &str, [code, place, part]: [&str; 3]) {
        let error = match self.all_ways(columns, text) {
            Ok(values) => panic!("{text} gives {} instead of {code}", shown(&values)),
            Err(error) => error,
        };
        assert_eq!(error.code().name(), code, "{text}: {error}");
        assert!(error.message().contains(part), "{text}: {error}");
        let span = error.span().unwrap_or_else(|| panic!("{text}: {error} has no place"));
        assert_eq!(&text[span.start as usize..span.end as usize], place, "{text}: {error}");
    }

    /// The values of an expression, computed in all ways, which must agree.
    fn all_ways(&self, columns: &[(&str, Vec<Value>)], text: &str) -> Result<Vec<Value>> {
        let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let rows = columns.first().map_or(1, |(_, values)| values.len());
        let chunk_of = |make: &dyn Fn(&[Value]) -> Column| Chunk {
            rows,
            columns: columns.iter().map(|(_, values)| Arc::new(make(values))).collect(),
        };
        let whole = self.evaluate(&names, &chunk_of(&|values| Column::from_values(values)), text);
        let mixed = self.evaluate(&names, &chunk_of(&|values| Column::new(ColumnData::Value(values.to_vec()))), text);
        agree(text, "a column without a kind", &whole, &mixed);
        let mut single = Ok(Vec::new());
        let mut constant = Ok(Vec::new());
        for row in 0..rows {
            let values: Vec<Value> = columns.iter().map(|(_, values)| values[row].clone()).collect();
            let columns = values.iter().map(|value| Arc::new(Column::from_values([value]))).collect();
            push(&mut single, self.evaluate(&names, &Chunk { rows: 1, columns }, text).map(|values| values[0].clone()));
            push(&mut constant, self.evaluate_with_parameters(&names, &values, text));
        }
        agree(text, "row by row", &whole, &single);
        agree(text, "parameters", &whole, &constant);
        self.check_predicate(&names, &chunk_of(&|values| Column::from_values(values)), text, &whole);
        whole
    }

    /// The rows that a predicate selects must be those for which its value is true.
    fn check_predicate(&self, names: &[String], chunk: &Chunk, text: &str, whole: &Result<Vec<Value>>) {
        let Ok(values) = whole else { return };
        if !values.iter().all(|value| matches!(value, Value::Null | Value::Bool(_))) {
            return;
        }
        let expression = Binder::slots(names).bind_text(text);
        let layout = Layout::new((0..names.len() as u32).map(SlotId).collect());
        let compiled = compile(&expression, &layout, &mut NoSubplans).unwrap();
        let (parameters, interrupt) = (Map::default(), Interrupt::new());
        let selected = compiled.evaluate_predicate(chunk, &self.context(&parameters, &interrupt)).unwrap();
        let is_true = |row: &u32| matches!(values[*row as usize], Value::Bool(true));
        assert_eq!(selected, (0..chunk.rows as u32).filter(is_true).collect::<Vec<_>>(), "{text}");
    }
}

fn push(to: &mut Result<Vec<Value>>, value: Result<Value>) {
    match (to, value) {
        (Ok(values), Ok(value)) => values.push(value),
        (to @ Ok(_), Err(error)) => *to = Err(error),
        _ => {}
    }
}

fn agree(text: &str, way: &str, whole: &Result<Vec<Value>>, other: &Result<Vec<Value>>) {
    let describe = |outcome: &Result<Vec<Value>, Error>| match outcome {
        Ok(values) => shown(values),
        Err(error) => format!("{} at {:?}", error.code().name(), error.span()),
    };
    assert_eq!(describe(whole), describe(other), "{text}: {way}");
}

/// Values as text: unlike `==`, this tells 1 from 1.0.
pub(crate) fn shown(values: &[Value]) -> String {
    Value::list(values.to_vec()).to_string()
}

fn items(list: &Value) -> Vec<Value> {
    match list {
        Value::List(items) => items.to_vec(),
        other => panic!("{other} is no list"),
    }
}

/// Columns written as lists.
pub(crate) fn columns<'c>(fixture: &Fixture, texts: &[(&'c str, &str)]) -> Vec<(&'c str, Vec<Value>)> {
    texts.iter().map(|(name, text)| (*name, items(&fixture.constant(text).unwrap()))).collect()
}

#[test]
fn expressions_compiled_together_read_properties_once() {
    let fixture = Fixture::new();
    let names = ["n".to_owned()];
    let expressions: Vec<_> =
        ["n.name", "n.age", "n.name + 1"].iter().map(|text| Binder::slots(&names).bind_text(text)).collect();
    let compiled = compile_all(&expressions, &Layout::new(vec![SlotId(0)]), &mut NoSubplans).unwrap();
    let chunk = Chunk { rows: 3, columns: vec![Arc::new(Column::from_values(&fixture.nodes))] };
    let (parameters, interrupt) = (Map::default(), Interrupt::new());
    let calls_before = fixture.store.call_count();
    let found = compiled.evaluate(&chunk, &fixture.context(&parameters, &interrupt)).unwrap();
    assert_eq!(fixture.store.call_count() - calls_before, 1);
    let rows: Vec<String> = found.iter().map(|column| shown(&column.values().collect::<Vec<_>>())).collect();
    assert_eq!(rows, ["['Ann', 'Bob', 'Rome']", "[30, null, 'old']", "['Ann1', 'Bob1', 'Rome1']"]);
}
