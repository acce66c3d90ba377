//! The division of the memory that a run may hold: the lengths of intervals and columns, and the sizes of buffers.

use model::error::Result;

use crate::graph::Graph;
use crate::held::Held;
use crate::program::shards::{Layout, Position};
use crate::program::vertex::VertexProgram;
use crate::program::{Context, Plain};
use crate::scratch::{Spot, WHAT};

/// Bytes of a buffer, at the least and at the most.
pub(crate) const BUFFER_BYTES: (usize, usize) = (64, 256 << 10);
/// Columns to be had, so that threads have something to take; not by the number of threads, so that sums over columns
/// are added in the same order for any.
const COLUMNS_MIN: usize = 32;
/// Bytes of the table of parts for each: where it begins, and where what was sent over it lies.
const PART_BYTES: usize = size_of::<Position>() + size_of::<Spot>();
/// Less memory than this is asked for in any case.
const BYTES_MIN: usize = 4 << 10;
/// More than this is not needed besides what grows with the graph.
const BYTES_FIXED: usize = 16 << 20;
/// Upper bound of the number of rows for which several threads write files of one row at a time.
const ROWS_OF_MANY_FILES: usize = 32;

/// The memory of a run, divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// All of it.
    pub(crate) bytes: usize,
    pub(crate) layout: Layout,
    /// Buffers of a part of a row whose nodes send.
    pub(crate) send_buffer: usize,
    /// Buffers of each part that a column receives from.
    pub(crate) receive_buffer: usize,
    /// Threads that write the values of one row.
    pub(crate) send_threads: usize,
    /// Threads that each work on a column.
    pub(crate) threads: usize,
}

/// Sizes of what a program keeps, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// A state, in memory or in a file, whichever is more.
    pub(crate) state: usize,
    /// A node that receives: its state before and after, and what gathers.
    pub(crate) receiver: usize,
    /// An edge while it is sorted.
    pub(crate) edge: usize,
    /// True if edges are sent over both ways.
    pub(crate) is_both_ways: bool,
}

impl Sizes {
    fn of<P: VertexProgram>(is_undirected: bool) -> Sizes {
        let state = size_of::<P::State>().max(P::State::BYTES);
        Sizes {
            state,
            receiver: 2 * state + 6,
            edge: if P::USES_WEIGHTS { 16 } else { 8 },
            is_both_ways: P::BOTH_WAYS && !is_undirected,
        }
    }
}

impl Plan {
    /// Divides what is free, and takes it.
    pub(crate) fn of<'a, P: VertexProgram>(graph: &Graph<'_>, context: &Context<'a>) -> Result<(Plan, Held<'a>)> {
        Plan::sized(Sizes::of::<P>(graph.is_undirected()), graph, context)
    }

    /// The same for what keeps so much.
    pub(crate) fn sized<'a>(sizes: Sizes, graph: &Graph<'_>, context: &Context<'a>) -> Result<(Plan, Held<'a>)> {
        let (nodes, edges) = (graph.node_count(), graph.edge_count() as usize);
        let wanted = BYTES_FIXED
            .saturating_add(nodes.saturating_mul(4 * (sizes.state + 5)))
            .saturating_add(edges.saturating_mul(4 * sizes.edge));
        let free = context.workspace.bytes_free();
        let share = if context.is_on_disk() { free / 4 * 3 } else { free / 4 };
        let threads = context.threads.max(1);
        let mut plan = Plan::new(wanted.min(share), threads, nodes, sizes)?;
        loop {
            // Memory that was free may be taken by now: then less is used, as long as it suffices.
            match Held::take(context.workspace, WHAT, plan.bytes) {
                Ok(held) => return Ok((plan, held)),
                Err(refused) => plan = Plan::new(plan.bytes / 2, threads, nodes, sizes).map_err(|_| refused)?,
            }
        }
    }

    /// Divides `bytes` bytes; fails if they are too few for `nodes` nodes.
    fn new(bytes: usize, threads: usize, nodes: usize, sizes: Sizes) -> Result<Plan> {
        let side_count = if sizes.is_both_ways { 2 } else { 1 };
        // A quarter is for the table of all parts; the rest for nodes that send and their buffers, then for nodes that
        // receive, before and after, and two buffers of each part that they receive from.
        let (table, half) = (bytes / 4, bytes / 8 * 3);
        let row_shift = log2(half / (sizes.state + 5)).min(nodes.next_power_of_two().ilog2());
        let rows = nodes.div_ceil(1 << row_shift);
        let send_threads = if rows * side_count > ROWS_OF_MANY_FILES { 1 } else { threads };
        let send_buffer = half / (5 * send_threads);
        let column_nodes = 1 << log2(half / (threads * sizes.receiver)).min(row_shift);
        let piece_shift = log2(column_nodes / 4);
        let receive_buffer = half / (2 * threads * rows.max(1) * side_count);
        let columns_max = table / (rows * side_count * PART_BYTES + size_of::<u64>()).max(1);
        // As full as they may be, columns have at least three quarters of their nodes; but intervals end them too.
        let columns = nodes.div_ceil(column_nodes) * 4 / 3 + rows;
        let is_enough = bytes >= BYTES_MIN && columns < columns_max;
        if !is_enough || receive_buffer < BUFFER_BYTES.0 || send_buffer < BUFFER_BYTES.0 {
            return Err(model::error!(Limit, "{bytes} bytes of memory are too few for windows over {nodes} nodes")
                .with_remedy("raise the memory limit (--memory-limit, --query-memory), or name fewer labels"));
        }
        let layout = Layout {
            node_count: nodes,
            row_shift,
            piece_shift,
            column_nodes_max: column_nodes,
            columns_min: ((columns_max - columns) / 2).clamp(1, COLUMNS_MIN),
            is_both_ways: sizes.is_both_ways,
            has_degrees: true,
        };
        let (send_buffer, receive_buffer) = (send_buffer.min(BUFFER_BYTES.1), receive_buffer.min(BUFFER_BYTES.1));
        Ok(Plan { bytes, layout, send_buffer, receive_buffer, send_threads, threads })
    }

    /// Bytes for nodes that send, and as much again for those that receive.
    pub(crate) fn half(&self) -> usize {
        self.bytes / 8 * 3
    }
}

/// The exponent of the largest power of two that is no more than that; 0 for 0.
fn log2(count: usize) -> u32 {
    count.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::{Plan, Sizes};

    #[test]
    fn a_million_nodes_fit_where_their_states_do_not() {
        let sizes = Sizes { state: 8, receiver: 22, edge: 8, is_both_ways: true };
        for (bytes, nodes, rows) in [
            (8 << 10, 100, 1),
            (64 << 10, 8000, 8),
            (64 << 20, 1 << 20, 1),
            (4 << 20, 1 << 20, 16),
            (64 << 20, 1 << 24, 16),
        ] {
            let plan = Plan::new(bytes, 2, nodes, sizes).unwrap();
            assert_eq!(plan.layout.row_count(), rows, "{bytes} bytes, {nodes} nodes: {plan:?}");
        }
        let error = Plan::new(10_000, 2, 1 << 20, sizes).unwrap_err();
        assert_eq!(error.message(), "10000 bytes of memory are too few for windows over 1048576 nodes");
        assert_eq!(Plan::new(1 << 20, 2, 0, sizes).unwrap().layout.row_count(), 0);
    }
}
