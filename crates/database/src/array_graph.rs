//! Algorithms on a graph that lies in arrays, for callers who have edges and no store.

use std::sync::{Arc, OnceLock};

use analytics::ViewCache;
use model::platform::{Clock, Platform};
use model::procedure::{GraphAccess, ProcedureContext, Procedures, Unaccounted};
use model::store::Direction;
use model::{Column, Interrupt, MemoryBudget, Result, Value, error};

/// A graph in arrays, with the algorithms that can be called on it. What they read of it is kept from call to call.
///
/// ```
/// # fn main() -> database::Result<()> {
/// let graph = database::ArrayGraph::new(3, &[0, 1], &[1, 2], None)?;
/// let columns = graph.call("algo.wcc", &database::Value::map([]), 1, &database::Interrupt::new())?;
/// assert_eq!(columns[1].1.len(), 3);
/// # Ok(())
/// # }
/// ```
pub struct ArrayGraph {
    graph: analytics::ArrayGraph,
    procedures: Procedures,
    platform: Platform,
}

impl ArrayGraph {
    /// A graph of `nodes` nodes, numbered from 0, with an edge for each row of `sources` and `targets`, and its weight, if
    /// there are weights, as the property `weight`.
    pub fn new(nodes: usize, sources: &[u32], targets: &[u32], weights: Option<&[f64]>) -> Result<ArrayGraph> {
        let graph = analytics::ArrayGraph::new(nodes, sources, targets, weights)?;
        let mut procedures = Procedures::default();
        let views = ViewCache::new(budget().clone());
        analytics::procedures_with(views, None).into_iter().for_each(|procedure| procedures.register(procedure));
        Ok(ArrayGraph { graph, procedures, platform: storage::os::platform() })
    }

    /// Calls an algorithm with its map of settings: what it yields, each column with its name.
    pub fn call(
        &self,
        name: &str,
        settings: &Value,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<(&'static str, Column)>> {
        let Some(procedure) = self.procedures.find(name) else {
            return Err(error!(UnknownProcedure, "no algorithm is named {name}"));
        };
        let yields = procedure.signature().yields;
        let mut columns: Vec<Column> = Vec::new();
        let mut context = ProcedureContext {
            graph: GraphAccess::Read(&self.graph),
            interrupt,
            threads,
            clock: &*self.platform.clock,
            workspace: &Unaccounted,
        };
        procedure.call(&mut context, std::slice::from_ref(settings), &mut |batch| {
            if columns.is_empty() {
                columns = batch;
            } else {
                columns.iter_mut().zip(&batch).for_each(|(all, more)| all.append(more));
            }
            Ok(true)
        })?;
        columns.resize_with(yields.len(), || Column::constant(&Value::Null, 0));
        Ok(yields.iter().map(|spec| spec.name).zip(columns).collect())
    }
}

impl ArrayGraph {
    /// The numbers of the nodes of a path of fewest edges from one node to another, in either direction unless it
    /// `is_directed`; `None` if there is none.
    pub fn shortest_path(&self, source: u32, target: u32, is_directed: bool) -> Result<Option<Vec<u32>>> {
        self.graph.shortest_path(source, target, if is_directed { Direction::Out } else { Direction::Both })
    }

    /// The clock by which calls are given a deadline.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.platform.clock.clone()
    }
}

/// The memory that all graphs in arrays may keep views in.
fn budget() -> &'static Arc<MemoryBudget> {
    static BUDGET: OnceLock<Arc<MemoryBudget>> = OnceLock::new();
    BUDGET.get_or_init(|| MemoryBudget::new(storage::os::memory_limit()))
}
