//! Costs of cheapest paths over rows that are streamed: rounds in which the edges of nodes whose cost fell are relaxed,
//! reading only what those nodes touch.
//!
//! A node whose cost falls during a round has its edges relaxed with the new cost if they come later in the same round, so
//! that rounds are few; costs are least sums over paths, the same in whatever order they are found.
//! Cost: 8 bytes a node and 2 bits; at most as many rounds as a cheapest path has edges.
//! After: Bellman, "On a routing problem", 1958; Ford, "Network flow theory", 1956.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::column::Bitmap;
use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph::{Rows, Side};
use crate::graph_view::Sides;
use crate::huge;
use crate::rows::pass::map_pass;

/// For each node, the cost of a cheapest path from the source; infinite without one.
pub(super) fn run(rows: &dyn Rows, source: u32, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let node_count = rows.node_count();
    // The bits of numbers that are not negative sort as the numbers do.
    let costs: Vec<AtomicU64> = huge::collect((0..node_count).map(|_| AtomicU64::new(f64::INFINITY.to_bits())));
    costs[source as usize].store(0.0_f64.to_bits(), Ordering::Relaxed);
    let mut frontier = Bitmap::filled(node_count, false);
    frontier.set(source as usize, true);
    let (mut round, mut fell) = (0, true);
    while fell {
        interrupt.step(round, 0)?;
        round += 1;
        let next: Vec<AtomicU64> = (0..node_count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let any = AtomicBool::new(false);
        let done = map_pass((rows, Sides::Forward), threads, (0..rows.part_count(Side::Forward)).collect(), |part| {
            rows.scan_part(Side::Forward, part, Some(&frontier), &mut |block| {
                interrupt.check()?;
                for row in 0..block.len() {
                    let node = block.first as usize + row;
                    if !frontier.get(node) {
                        continue;
                    }
                    let cost = f64::from_bits(costs[node].load(Ordering::Relaxed));
                    for (&neighbor, weight) in block.neighbors(row).iter().zip(block.weights(row)) {
                        let (offered, held) = ((cost + weight).to_bits(), &costs[neighbor as usize]);
                        if offered < held.load(Ordering::Relaxed)
                            && offered < held.fetch_min(offered, Ordering::Relaxed)
                        {
                            next[neighbor as usize / 64].fetch_or(1 << (neighbor % 64), Ordering::Relaxed);
                            any.store(true, Ordering::Relaxed);
                        }
                    }
                }
                Ok(())
            })
        });
        done.into_iter().collect::<Result<()>>()?;
        frontier = Bitmap::from_words(next.into_iter().map(AtomicU64::into_inner).collect(), node_count);
        fell = any.into_inner();
    }
    Ok(costs.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect())
}
