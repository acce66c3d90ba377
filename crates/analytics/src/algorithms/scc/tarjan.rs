//! Depth-first search for the components of the nodes that have none yet, without recursion.

use model::error::Result;
use model::interrupt::Interrupt;

use super::NONE;

/// Nodes between two checks for cancellation.
const CHECK_NODES: usize = 1 << 14;

/// A node whose edges are being followed.
struct Frame {
    node: u32,
    next_edge: u32,
}

/// Gives every node without a component its own: the smallest number in it. Nodes that have one are not entered.
pub(super) fn finish<'a>(
    neighbors: impl Fn(u32) -> &'a [u32],
    components: &mut [u32],
    interrupt: &Interrupt,
) -> Result<()> {
    let Some(first) = components.iter().position(|&component| component == NONE) else { return Ok(()) };
    // When a node was entered, from 1, and then the earliest such moment that it is known to reach; 0 before.
    let mut low = vec![0_u32; components.len()];
    let mut moment = 0;
    let (mut calls, mut open): (Vec<Frame>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut entered_at = Vec::new();
    for root in first..components.len() {
        if root % CHECK_NODES == 0 {
            interrupt.check()?;
        }
        if components[root] != NONE {
            continue;
        }
        calls.push(Frame { node: root as u32, next_edge: 0 });
        'calls: while let Some(frame) = calls.last_mut() {
            let node = frame.node as usize;
            if frame.next_edge == 0 {
                moment += 1;
                low[node] = moment;
                entered_at.push(moment);
                open.push(frame.node);
                if (moment as usize).is_multiple_of(CHECK_NODES) {
                    interrupt.check()?;
                }
            }
            let edges = neighbors(frame.node);
            while let Some(&neighbor) = edges.get(frame.next_edge as usize) {
                frame.next_edge += 1;
                if components[neighbor as usize] != NONE {
                    continue;
                }
                if low[neighbor as usize] == 0 {
                    calls.push(Frame { node: neighbor, next_edge: 0 });
                    continue 'calls;
                }
                low[node] = low[node].min(low[neighbor as usize]);
            }
            calls.pop();
            let own = entered_at.pop().expect("a moment was kept for every frame");
            let reaches = low[node];
            if let Some(above) = calls.last() {
                low[above.node as usize] = low[above.node as usize].min(reaches);
            }
            if reaches == own {
                close(node as u32, &mut open, components);
            }
        }
    }
    Ok(())
}

/// The open nodes down to `root` are a component.
fn close(root: u32, open: &mut Vec<u32>, components: &mut [u32]) {
    let start = open.iter().rposition(|&node| node == root).expect("the root of a component is open");
    let name = *open[start..].iter().min().expect("the root is in its component");
    open.drain(start..).for_each(|node| components[node as usize] = name);
}
