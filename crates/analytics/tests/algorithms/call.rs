//! Calls a procedure by name on a store, as the database does.

use std::sync::Arc;

use model::platform::Clock;
use model::procedure::{GraphAccess, ProcedureContext, ProcedureMode, Procedures, Workspace};
use model::{GraphStore, Interrupt, NodeId, Result, Value};

use testing::workspace::Limited;

/// A clock that moves on by a millisecond each time it is asked.
#[derive(Debug, Default)]
struct StepClock(std::sync::atomic::AtomicU64);

impl Clock for StepClock {
    fn now_ns(&self) -> u64 {
        self.0.fetch_add(1_000_000, std::sync::atomic::Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// Settings as a map value.
pub(crate) fn settings(entries: &[(&str, Value)]) -> Value {
    Value::map(entries.iter().map(|(key, value)| (Arc::from(*key), value.clone())))
}

/// The rows of a call, each with a value for each column. What it writes is committed.
pub(crate) fn call(
    store: &dyn GraphStore,
    name: &str,
    entries: &[(&str, Value)],
    threads: usize,
) -> Result<Vec<Vec<Value>>> {
    call_interrupted(store, name, entries, threads, &Interrupt::new())
}

/// The same with an interrupt of one's own.
pub(crate) fn call_interrupted(
    store: &dyn GraphStore,
    name: &str,
    entries: &[(&str, Value)],
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<Vec<Value>>> {
    call_within(store, name, entries, threads, interrupt, &Limited::new(usize::MAX / 2, usize::MAX / 2))
}

/// The same with a workspace of one's own.
pub(crate) fn call_within(
    store: &dyn GraphStore,
    name: &str,
    entries: &[(&str, Value)],
    threads: usize,
    interrupt: &Interrupt,
    workspace: &dyn Workspace,
) -> Result<Vec<Vec<Value>>> {
    let mut procedures = Procedures::default();
    analytics::procedures().into_iter().for_each(|procedure| procedures.register(procedure));
    let procedure = procedures.find(name).unwrap_or_else(|| panic!("no procedure is called {name}"));
    let width = procedure.signature().yields.len();
    let clock = StepClock::default();
    let mut rows = Vec::new();
    let mut sink = |columns: Vec<model::Column>| {
        assert_eq!(columns.len(), width, "{name} yields as many columns as its signature says");
        let count = columns.first().map_or(0, model::Column::len);
        assert!(columns.iter().all(|column| column.len() == count), "{name} yields columns of one length");
        rows.extend((0..count).map(|row| columns.iter().map(|column| column.value(row)).collect()));
        Ok(true)
    };
    let argument = [settings(entries)];
    match procedure.signature().mode {
        ProcedureMode::Read => {
            let view = store.read()?;
            let graph = GraphAccess::Read(&*view);
            procedure.call(
                &mut ProcedureContext { graph, interrupt, threads, clock: &clock, workspace },
                &argument,
                &mut sink,
            )?;
        }
        ProcedureMode::Write => {
            let mut transaction = store.write()?;
            let graph = GraphAccess::Write(&mut *transaction);
            procedure.call(
                &mut ProcedureContext { graph, interrupt, threads, clock: &clock, workspace },
                &argument,
                &mut sink,
            )?;
            transaction.commit()?;
        }
    }
    Ok(rows)
}

/// The value of each node, by number, in rows of node and value; null where a node has no row.
pub(crate) fn by_number(rows: &[Vec<Value>], ids: &[NodeId]) -> Vec<Value> {
    let find =
        |id: &NodeId| rows.iter().find(|row| row[0] == Value::Node(*id)).map_or(Value::Null, |row| row[1].clone());
    if rows.len() < 100 {
        return ids.iter().map(find).collect();
    }
    let values: model::Map<Value, Value> = rows.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    ids.iter().map(|id| values.get(&Value::Node(*id)).cloned().unwrap_or_default()).collect()
}

/// Values of a property of each node, by number.
pub(crate) fn property(store: &dyn GraphStore, ids: &[NodeId], name: &str) -> Vec<Value> {
    let view = store.read().expect("a store in memory can be read");
    let key = view.schema().property_key(name).unwrap_or_else(|| panic!("no property is called {name}"));
    view.node_properties(ids, &[key]).expect("a store in memory can be read")[0].values().collect()
}

/// A value as a number; infinite for null.
pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::Null => f64::INFINITY,
        Value::Int(x) => *x as f64,
        Value::Float(x) => *x,
        other => panic!("{other} is not a number"),
    }
}
