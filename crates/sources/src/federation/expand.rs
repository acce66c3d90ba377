//! Edges of a batch of nodes, from all parts that may have some, in the order of the batch.
//!
//! Each part is asked for the whole batch at once: a store passes over ids that are not its own. Where one part alone can
//! have edges its batches are passed on; where there are several their rows are merged by input.

use model::limits::BATCH_ROWS;
use model::store::chosen::{Chooser, Choosing};
use model::store::{EdgeCursor, EdgeIds};
use model::{Direction, EdgeBatch, EdgeTypeId, Expand, NodeId, PropertyKeyId, Result};

use super::shared_edge;
use super::split::append;
use super::view::{Joined, with_nulls};

/// Different expansions that one view keeps.
const KEPT_MAX: usize = 256;

impl Joined {
    pub(super) fn expand_parts<'a>(
        &'a self,
        from: &'a [NodeId],
        expand: &'a Expand,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        let asked = self.asked(from, expand.types.as_deref());
        if let [0] = asked.as_slice()
            && self.map(0).is_same()
        {
            return self.parts[0].view().expand(from, expand);
        }
        if !expand.is_chosen() {
            return self.expand_asked(&asked, from, expand);
        }
        let (plain, chooser) = Chooser::new(expand);
        match self.expands.find_or_keep(KEPT_MAX, |held| is_same(held, &plain), || plain.clone()) {
            Ok(plain) => {
                let cursor = Boxed(self.expand_asked(&asked, from, plain)?);
                Ok(Box::new(Choosing::new(cursor, chooser)))
            }
            Err(plain) => {
                let cursor = Drained::of(&mut *self.expand_asked(&asked, from, &plain)?)?;
                Ok(Box::new(Choosing::new(cursor, chooser)))
            }
        }
    }

    /// The parts that may have edges of these types at one of the nodes.
    fn asked(&self, from: &[NodeId], types: Option<&[EdgeTypeId]>) -> Vec<usize> {
        let mut has_nodes = vec![false; self.parts.len()];
        from.iter().filter_map(|&node| self.part_of(node)).for_each(|part| has_nodes[part] = true);
        let is_asked = |&part: &usize| {
            let Some(types) = self.types_in(part, types) else { return false };
            has_nodes[part] || !from.is_empty() && self.crosses(part, types.as_deref())
        };
        (0..self.parts.len()).filter(is_asked).collect()
    }

    /// An expansion without ranges and top as a part is asked it; `None` if it has no such edges.
    pub(super) fn expand_in(&self, part: usize, expand: &Expand) -> Option<Expand> {
        let types = self.types_in(part, expand.types.as_deref())?;
        let known = expand.keys.iter().filter_map(|key| self.map(part).keys.to_part(key.0));
        let keys = known.map(PropertyKeyId).collect();
        let (direction, edge_ids) = (expand.direction, expand.edge_ids);
        Some(Expand { direction, types, edge_ids, keys, ..Expand::default() })
    }

    fn expand_asked<'a>(
        &'a self,
        asked: &[usize],
        from: &'a [NodeId],
        expand: &'a Expand,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        let mut cursors = Vec::with_capacity(asked.len());
        for &part in asked {
            cursors.extend(self.expand_part(part, from, expand)?);
        }
        if cursors.len() == 1
            && let Some(cursor) = cursors.pop()
        {
            return Ok(Box::new(cursor));
        }
        let both = expand.direction == Direction::Both;
        let (keys, edge_ids) = (expand.keys.len(), expand.edge_ids == EdgeIds::Include);
        Ok(Box::new(Merged { inputs: cursors.into_iter().map(Input::new).collect(), keys, edge_ids, both }))
    }

    fn expand_part<'a>(
        &'a self,
        part: usize,
        from: &'a [NodeId],
        expand: &'a Expand,
    ) -> Result<Option<PartCursor<'a>>> {
        let Some(own) = self.expand_in(part, expand) else { return Ok(None) };
        let view = self.parts[part].view();
        let crossing = self.crosses(part, own.types.as_deref());
        let cursor = match self.expands.find_or_keep(KEPT_MAX, |held| is_same(held, &own), || own.clone()) {
            Ok(own) => match self.parts[part].member_view() {
                Some(member) if crossing => member.expand_across(from, own, self)?,
                _ => view.expand(from, own)?,
            },
            Err(own) => {
                let mut cursor = match self.parts[part].member_view() {
                    Some(member) if crossing => member.expand_across(from, &own, self)?,
                    _ => view.expand(from, &own)?,
                };
                Box::new(Drained::of(&mut *cursor)?)
            }
        };
        let place = |key: &PropertyKeyId| self.map(part).keys.to_part(key.0).map(PropertyKeyId);
        let places: Vec<Option<PropertyKeyId>> = expand.keys.iter().map(place).collect();
        let places = places.iter().any(Option::is_none).then_some(places);
        Ok(Some(PartCursor { joined: self, part, cursor, places }))
    }

    /// The edges that one part has at nodes of whatever parts.
    pub(super) fn expand_part_of<'a>(
        &'a self,
        part: usize,
        from: &'a [NodeId],
        expand: &'a Expand,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        match self.expand_part(part, from, expand)? {
            Some(cursor) => Ok(Box::new(cursor)),
            None => Ok(Box::new(Drained(Vec::new()))),
        }
    }

    pub(super) fn degrees_in_parts(
        &self,
        from: &[NodeId],
        direction: Direction,
        types: Option<&[EdgeTypeId]>,
    ) -> Result<Vec<u64>> {
        let mut degrees = vec![0; from.len()];
        for part in self.asked(from, types) {
            let Some(own) = self.types_in(part, types) else { continue };
            if self.crosses(part, own.as_deref()) {
                let expand = Expand { direction, types: types.map(<[_]>::to_vec), ..Expand::default() };
                let Some(mut cursor) = self.expand_part(part, from, &expand)? else { continue };
                let mut batch = EdgeBatch::default();
                while cursor.next(&mut batch)? {
                    batch.inputs.iter().for_each(|&input| degrees[input as usize] += 1);
                }
            } else {
                let found = self.parts[part].view().degrees(from, direction, own.as_deref())?;
                degrees.iter_mut().zip(found).for_each(|(degree, more)| *degree += more);
            }
        }
        Ok(degrees)
    }
}

/// True if two expansions without ranges and top ask the same.
fn is_same(a: &Expand, b: &Expand) -> bool {
    (a.direction, &a.types, a.edge_ids, &a.keys) == (b.direction, &b.types, b.edge_ids, &b.keys)
        && !a.is_chosen()
        && !b.is_chosen()
}

/// The edges of one part, in the names of the whole.
struct PartCursor<'a> {
    joined: &'a Joined,
    part: usize,
    cursor: Box<dyn EdgeCursor + 'a>,
    /// For each key asked for, its key in the part; `None` if all are there.
    places: Option<Vec<Option<PropertyKeyId>>>,
}

impl EdgeCursor for PartCursor<'_> {
    fn limit_batches(&mut self, rows: usize) {
        self.cursor.limit_batches(rows);
    }

    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        if !self.cursor.next(out)? {
            return Ok(false);
        }
        let types = &self.joined.map(self.part).types;
        if !types.is_same() {
            out.types.iter_mut().for_each(|of| *of = EdgeTypeId(types.shared(of.0)));
        }
        if self.part != 0 {
            out.edges.iter_mut().for_each(|edge| *edge = shared_edge(*edge));
        }
        if let Some(places) = &self.places {
            out.properties = with_nulls(places, std::mem::take(&mut out.properties), out.neighbors.len());
        }
        Ok(true)
    }
}

/// A cursor in a box is a cursor.
struct Boxed<'a>(Box<dyn EdgeCursor + 'a>);

impl EdgeCursor for Boxed<'_> {
    fn limit_batches(&mut self, rows: usize) {
        self.0.limit_batches(rows);
    }

    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        self.0.next(out)
    }
}

/// All edges of a cursor that cannot live as long as its reader, the last batch first.
struct Drained(Vec<EdgeBatch>);

impl Drained {
    fn of(cursor: &mut (dyn EdgeCursor + '_)) -> Result<Drained> {
        let (mut batches, mut batch) = (Vec::new(), EdgeBatch::default());
        while cursor.next(&mut batch)? {
            batches.push(std::mem::take(&mut batch));
        }
        batches.reverse();
        Ok(Drained(batches))
    }
}

impl EdgeCursor for Drained {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        *out = self.0.pop().unwrap_or_default();
        Ok(!out.is_empty())
    }
}

/// The edges of several parts, merged by input.
struct Merged<'a> {
    inputs: Vec<Input<'a>>,
    keys: usize,
    edge_ids: bool,
    both: bool,
}

struct Input<'a> {
    cursor: PartCursor<'a>,
    batch: EdgeBatch,
    /// The first row of the batch that was not taken.
    at: usize,
    is_done: bool,
}

impl<'a> Input<'a> {
    fn new(cursor: PartCursor<'a>) -> Input<'a> {
        Input { cursor, batch: EdgeBatch::default(), at: 0, is_done: false }
    }

    /// Reads on if all rows were taken.
    fn fill(&mut self) -> Result<()> {
        if self.at == self.batch.len() && !self.is_done {
            self.at = 0;
            self.is_done = !self.cursor.next(&mut self.batch)?;
        }
        Ok(())
    }

    /// The input that the next row belongs to.
    fn next_input(&self) -> Option<u32> {
        self.batch.inputs.get(self.at).copied()
    }
}

impl EdgeCursor for Merged<'_> {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        for input in &mut self.inputs {
            input.fill()?;
        }
        // Rows of each batch are taken from where it stands on; which follows which is in `order`.
        let starts: Vec<usize> = self.inputs.iter().map(|input| input.at).collect();
        let mut order: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
        let mut rows = 0;
        while rows < BATCH_ROWS {
            let waiting = self.inputs.iter().enumerate().filter_map(|(at, input)| Some((input.next_input()?, at)));
            let Some((first, at)) = waiting.clone().min() else { break };
            let others = waiting.filter(|&(_, other)| other != at).min();
            let input = &mut self.inputs[at];
            let rest = &input.batch.inputs[input.at..];
            // Rows of the same input stand together, those of the first part first.
            let taken = match others {
                None => rest.len(),
                Some((next, _)) => rest.partition_point(|&row| row < next || row == first),
            };
            order.push((at, input.at..input.at + taken));
            input.at += taken;
            rows += taken;
            if input.at == input.batch.len() {
                break;
            }
        }
        self.gather(&starts, &order, out);
        Ok(!out.is_empty())
    }
}

impl Merged<'_> {
    /// Puts the rows that were taken into `out`, in that order.
    fn gather(&self, starts: &[usize], order: &[(usize, std::ops::Range<usize>)], out: &mut EdgeBatch) {
        if let [(at, range)] = order {
            let rows: Vec<u32> = (range.start as u32..range.end as u32).collect();
            *out = self.inputs[*at].batch.gather(&rows);
            return;
        }
        // The starts of the taken rows of each part, once the parts are laid end to end.
        let mut bases = Vec::with_capacity(self.inputs.len());
        let mut base = 0;
        for (input, start) in self.inputs.iter().zip(starts) {
            bases.push(base);
            base += input.at - start;
        }
        for (at, range) in order {
            let batch = &self.inputs[*at].batch;
            out.inputs.extend_from_slice(&batch.inputs[range.clone()]);
            out.neighbors.extend_from_slice(&batch.neighbors[range.clone()]);
            out.types.extend_from_slice(&batch.types[range.clone()]);
            if self.edge_ids {
                out.edges.extend_from_slice(&batch.edges[range.clone()]);
            }
            if self.both {
                out.reversed.extend_from_slice(&batch.reversed[range.clone()]);
            }
        }
        if self.keys == 0 {
            return;
        }
        let place = |(at, range): &(usize, std::ops::Range<usize>)| {
            let first = bases[*at] + range.start - starts[*at];
            first as u32..(first + range.len()) as u32
        };
        let places: Vec<u32> = order.iter().flat_map(place).collect();
        for key in 0..self.keys {
            let mut all = model::Column::nulls(0);
            for (input, &start) in self.inputs.iter().zip(starts).filter(|(input, start)| input.at > **start) {
                append(&mut all, &input.batch.properties[key].slice(start, input.at));
            }
            out.properties.push(all.gather(&places));
        }
    }
}
