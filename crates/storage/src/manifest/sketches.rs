//! Sketches as bytes of the manifest, in order of ids.

use model::id::{EdgeTypeId, LabelId, PropertyKeyId};
use model::statistics::{EdgeSketch, LabelPair, ValueSketch};
use model::{Result, Sketches};

use crate::codec::bytes::{Get, Put};

/// Number in the place of the label for a pair without one.
const ANY: u32 = u32::MAX;

/// Writes what there is.
pub(crate) fn put(sketches: Option<&Sketches>, out: &mut Vec<u8>) {
    out.put_u8(u8::from(sketches.is_some()));
    let Some(sketches) = sketches else { return };
    out.put_u64(sketches.nodes);
    out.put_u64(sketches.edges);
    let mut types: Vec<_> = sketches.edge_types.iter().collect();
    types.sort_unstable_by_key(|(edge_type, _)| **edge_type);
    out.put_u32(types.len() as u32);
    types.into_iter().for_each(|(edge_type, sketch)| put_edges(*edge_type, sketch, out));
    let mut values: Vec<_> = sketches.values.iter().collect();
    values.sort_unstable_by_key(|(key, _)| **key);
    out.put_u32(values.len() as u32);
    for ((label, key), sketch) in values {
        out.put_u32(label.0);
        out.put_u32(key.0);
        [sketch.nodes, sketch.sampled, sketch.present, sketch.distinct]
            .into_iter()
            .for_each(|count| out.put_u64(count));
        let (least, largest) = sketch.numbers.unwrap_or((f64::NAN, f64::NAN));
        out.put_u64(least.to_bits());
        out.put_u64(largest.to_bits());
    }
}

fn put_edges(edge_type: EdgeTypeId, sketch: &EdgeSketch, out: &mut Vec<u8>) {
    out.put_u32(edge_type.0);
    [sketch.edges, sketch.sampled, sketch.unlisted].into_iter().for_each(|count| out.put_u64(count));
    let mut pairs: Vec<(LabelPair, u64)> = sketch.pairs.iter().map(|(&pair, &count)| (pair, count)).collect();
    pairs.sort_unstable();
    out.put_u32(pairs.len() as u32);
    for ((source, target), count) in pairs {
        [source, target].into_iter().for_each(|label| out.put_u32(label.map_or(ANY, |label| label.0)));
        out.put_u64(count);
    }
    for degrees in [&sketch.out_degrees, &sketch.in_degrees] {
        out.put_u32(degrees.len() as u32);
        degrees.iter().for_each(|&nodes| out.put_u64(nodes));
    }
}

/// Reads what `put` wrote.
pub(crate) fn get(get: &mut Get<'_>) -> Result<Option<Sketches>> {
    match get.u8()? {
        0 => return Ok(None),
        1 => {}
        other => return Err(get.damage(format!("sketches are there or not, and not {other}"))),
    }
    let mut sketches = Sketches { nodes: get.u64()?, edges: get.u64()?, ..Sketches::default() };
    for _ in 0..get.count(40)? {
        let edge_type = EdgeTypeId(get.u32()?);
        sketches.edge_types.insert(edge_type, get_edges(get)?);
    }
    for _ in 0..get.count(56)? {
        let place = (LabelId(get.u32()?), PropertyKeyId(get.u32()?));
        let (nodes, sampled, present, distinct) = (get.u64()?, get.u64()?, get.u64()?, get.u64()?);
        let (least, largest) = (f64::from_bits(get.u64()?), f64::from_bits(get.u64()?));
        let numbers = (least <= largest).then_some((least, largest));
        sketches.values.insert(place, ValueSketch { nodes, sampled, present, distinct, numbers });
    }
    Ok(Some(sketches))
}

fn get_edges(get: &mut Get<'_>) -> Result<EdgeSketch> {
    let mut sketch =
        EdgeSketch { edges: get.u64()?, sampled: get.u64()?, unlisted: get.u64()?, ..EdgeSketch::default() };
    for _ in 0..get.count(16)? {
        let label = |id: u32| (id != ANY).then_some(LabelId(id));
        let pair = (label(get.u32()?), label(get.u32()?));
        sketch.pairs.insert(pair, get.u64()?);
    }
    for degrees in [&mut sketch.out_degrees, &mut sketch.in_degrees] {
        for _ in 0..get.count(8)? {
            degrees.push(get.u64()?);
        }
    }
    Ok(sketch)
}
