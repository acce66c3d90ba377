//! Results for all nodes in a temporary file, where memory is too short for them.
//!
//! Cost: what nodes stand for is worked out once, in the order of their ids; then each page that a batch of nodes asks for is read
//! once for the batch. Memory: a page, and what a part of the nodes takes while it is worked out.

use std::sync::{Arc, Mutex, PoisonError};

use model::{NodeId, Result};

use super::evaluation::{Evaluation, for_each_part};
use super::tables::Message;
use super::tree::Node;
use crate::memory::SpillFile;

/// Bytes that are read at a time; a message never stands on two pages.
const PAGE_BYTES: usize = 4 << 10;

/// Nodes that are worked out at a time.
const NODES: usize = 1_024;

/// Messages by the ids of their nodes, each as its numbers one after the other.
pub(super) struct Stored {
    file: SpillFile,
    /// Numbers of a message: that of its matches, then the others that are wanted.
    numbers: usize,
    nodes: u64,
}

impl Stored {
    fn on_page(&self) -> u64 {
        (PAGE_BYTES / (self.numbers * size_of::<u64>())) as u64
    }

    /// The messages of nodes.
    fn messages(&self, nodes: &[NodeId]) -> Result<Vec<Message>> {
        let mut places: Vec<(u64, u32)> = nodes.iter().zip(0..).map(|(node, place)| (node.0, place)).collect();
        places.sort_unstable();
        let mut messages = vec![Message::default(); nodes.len()];
        let (mut bytes, mut read) = (vec![0; PAGE_BYTES], None);
        for (id, place) in places.into_iter().filter(|(id, _)| *id < self.nodes) {
            let page = id / self.on_page();
            if read != Some(page) {
                self.file.read_at(page * PAGE_BYTES as u64, &mut bytes)?;
                read = Some(page);
            }
            let start = (id % self.on_page()) as usize * self.numbers;
            let number = |at: usize| {
                let own = (at < self.numbers).then(|| bytes.chunks_exact(size_of::<u64>()).nth(start + at)).flatten();
                own.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
            };
            messages[place as usize] = Message { value: number(0), rest: number(1), loops: number(2) };
        }
        Ok(messages)
    }
}

impl Evaluation<'_, '_> {
    /// The messages of nodes from a file with those of all; `None` if there is no place for one.
    pub(super) fn stored_messages(&mut self, node: &Node, nodes: &[NodeId]) -> Result<Option<Vec<Message>>> {
        match self.stored(node)? {
            Some(stored) => stored.messages(nodes).map(Some),
            None => Ok(None),
        }
    }

    fn stored(&mut self, node: &Node) -> Result<Option<Arc<Stored>>> {
        let (tables, runtime) = (self.tables, self.runtime);
        if !self.charge.memory().can_spill() {
            return Ok(None);
        }
        tables.stored[node.table].get_or_try(|| {
            self.store_below(node)?;
            let numbers = node.numbers();
            let nodes = runtime.view().view().node_id_bound();
            let stored = Stored { file: self.charge.spill_file()?, numbers, nodes };
            let on_page = stored.on_page();
            let step = on_page * (NODES as u64).div_ceil(on_page);
            let parts = (0..nodes.div_ceil(step)).map(|part| ((part * step) as usize, ())).collect();
            let stored = Mutex::new(stored);
            for_each_part(runtime, tables, parts, &|evaluation, start, ()| {
                let ids = start as u64..(start as u64 + step).min(nodes);
                let pages = evaluation.pages(node, ids, numbers, on_page as usize)?;
                let mut stored = stored.lock().unwrap_or_else(PoisonError::into_inner);
                let first = start as u64 / on_page * PAGE_BYTES as u64;
                evaluation.charge.spill_at(&mut stored.file, first, &pages)
            })?;
            Ok(Some(stored.into_inner().unwrap_or_else(PoisonError::into_inner)))
        })
    }

    /// Sees that all nodes are known that the branches of a node lead to.
    fn store_below(&mut self, node: &Node) -> Result<()> {
        for below in node.below() {
            self.find_types(below)?;
            if !below.is_only_labelled() && self.tables.wholes[below.table].get().is_none() {
                self.stored(below)?;
            }
        }
        Ok(())
    }

    /// The pages with the messages of successive nodes.
    fn pages(&mut self, node: &Node, ids: std::ops::Range<u64>, numbers: usize, on_page: usize) -> Result<Vec<u8>> {
        self.runtime.environment.interrupt.check()?;
        let first = ids.start;
        let mut pages = vec![0; ((ids.end - first) as usize).div_ceil(on_page) * PAGE_BYTES];
        let nodes = self.candidates(node, ids)?;
        let messages = self.evaluate(node, &nodes)?;
        for (it, message) in nodes.iter().zip(messages) {
            let at = (it.0 - first) as usize;
            let start = at / on_page * PAGE_BYTES + at % on_page * numbers * size_of::<u64>();
            for (number, place) in [message.value, message.rest, message.loops]
                .into_iter()
                .zip(pages[start..start + numbers * size_of::<u64>()].chunks_exact_mut(size_of::<u64>()))
            {
                place.copy_from_slice(&number.to_le_bytes());
            }
        }
        Ok(pages)
    }
}
