//! The Kronecker graph that examples measure on: each edge by its number, without holding others.

use storage::codec::hash::mix;

/// Edges for each node.
pub(crate) const EDGE_FACTOR: u64 = 16;

/// The ends of edge `index`, by the usual probabilities .57, .19, .19, .05, with shuffled ids.
pub(crate) fn edge(index: u64, scale: u32) -> (u64, u64) {
    let (mut source, mut target) = (0, 0);
    for level in (0..scale).step_by(4) {
        let random = mix(index.wrapping_mul(31).wrapping_add(u64::from(level)));
        for step in 0..4.min(scale - level) {
            let draw = random >> (16 * step) & 0xffff;
            let (s, t) = match draw {
                0..37_356 => (0, 0),
                37_356..49_808 => (0, 1),
                49_808..62_259 => (1, 0),
                _ => (1, 1),
            };
            source = source << 1 | s;
            target = target << 1 | t;
        }
    }
    let mask = (1 << scale) - 1;
    (shuffle(source, mask), shuffle(target, mask))
}

fn shuffle(x: u64, mask: u64) -> u64 {
    let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15 | 1) & mask;
    (x ^ (x >> 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9 | 1) & mask
}
