//! Rows by their keys: from the cache, and what is missing there from the source, all in one round trip.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{Column, Result};

use super::layout::ListKind;
use super::view::SourceView;
use crate::cache::{EdgeAnswer, Found, Need, NodeAnswer, Origin, Piece};
use crate::connector::{Question, Which};
use crate::keys::Keys;

/// A table of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    /// Nodes of a kind.
    Nodes(usize),
    /// Lists of edges.
    Lists(ListKind),
}

/// Rows that are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) table: Table,
    /// The numbers of their keys; may repeat.
    pub(crate) keys: Vec<u64>,
    /// The properties that must be known of them, by number.
    pub(crate) properties: Vec<usize>,
}

/// Rows that the cache lacks.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) table: Table,
    /// Ascending, each once.
    pub(crate) keys: Vec<u64>,
    /// The properties that are asked for: those wanted now, and those wanted before.
    pub(crate) properties: Vec<usize>,
}

impl SourceView {
    /// Positions of the rows wanted. Every row is found: a node that is not there as one that is noted as absent.
    pub(crate) fn load(&self, wanted: &[Wanted]) -> Result<Vec<Found>> {
        let mut founds = Vec::with_capacity(wanted.len());
        let mut gaps = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let need = Need { properties: wanted.properties.clone(), since_ns: self.since_ns };
            let mut found = Found::default();
            let table = self.table(wanted.table);
            gaps.push(self.cache_of(table).find(table, &wanted.keys, &need, &mut found));
            founds.push(found);
        }
        if gaps.iter().any(|gaps| !gaps.is_empty()) {
            let pieces = self.take_ahead(wanted, &gaps)?;
            for ((wanted, found), gaps) in wanted.iter().zip(&mut founds).zip(&mut gaps) {
                self.fill(wanted, &pieces, found, gaps);
            }
        }
        for is_last in [false, true] {
            let missing = self.missing(wanted, &gaps);
            if missing.is_empty() {
                break;
            }
            let pieces = if is_last { self.fetch(&missing)? } else { self.fetch_with_more(&missing)? };
            for ((wanted, found), gaps) in wanted.iter().zip(&mut founds).zip(&mut gaps) {
                self.fill(wanted, &pieces, found, gaps);
            }
        }
        self.work_ahead()?;
        match gaps.iter().all(Vec::is_empty) {
            true => {
                let pieces = founds.iter().flat_map(|found| &found.pieces).map(|piece| piece.fetched_ns);
                if let Some(oldest_ns) = pieces.min() {
                    self.oldest_ns.fetch_min(oldest_ns, Ordering::Relaxed);
                }
                Ok(founds)
            }
            false => Err(model::error!(Internal, "a source did not answer for all keys that it was asked")),
        }
    }

    /// The requests for the rows in `gaps`.
    fn missing(&self, wanted: &[Wanted], gaps: &[Vec<u32>]) -> Vec<Missing> {
        let mut missing: Vec<Missing> = Vec::new();
        for (wanted, gaps) in wanted.iter().zip(gaps).filter(|(_, gaps)| !gaps.is_empty()) {
            let mut keys: Vec<u64> = gaps.iter().map(|&at| wanted.keys[at as usize]).collect();
            keys.sort_unstable();
            keys.dedup();
            let mut properties = self.shared.hot.add(self.table(wanted.table), &wanted.properties);
            if let Table::Nodes(kind) = wanted.table
                && let Some(dimensions) = self.prefetcher.dimensions(kind)
            {
                // The coordinates of a node are wanted soon after the node.
                properties = self.shared.hot.add(kind, dimensions);
            }
            missing.push(Missing { table: wanted.table, keys, properties });
        }
        missing
    }

    /// Takes from pieces what is still missing.
    fn fill(&self, wanted: &Wanted, pieces: &[Arc<Piece>], found: &mut Found, gaps: &mut Vec<u32>) {
        let table = self.table(wanted.table);
        for piece in pieces.iter().filter(|piece| piece.table == table && piece.has(&wanted.properties)) {
            let local = found.pieces.len() as u32;
            let mut rows = Vec::new();
            gaps.retain(|&at| {
                let row = piece.row_of(wanted.keys[at as usize]);
                if let Some(row) = row {
                    found.places[at as usize] = (local, row as u32);
                    rows.push(row);
                }
                row.is_none()
            });
            if !rows.is_empty() {
                self.cache.note_uses(piece, rows.into_iter());
                found.pieces.push(piece.clone());
            }
        }
    }

    pub(crate) fn table(&self, table: Table) -> usize {
        match table {
            Table::Nodes(kind) => kind,
            Table::Lists(list) => self.shared.layout.list_table(list),
        }
    }

    /// Asks for rows by their keys, in one round trip; a piece for each.
    pub(crate) fn fetch(&self, missing: &[Missing]) -> Result<Vec<Arc<Piece>>> {
        let columns: Vec<Column> = missing.iter().map(|missing| self.key_column(missing)).collect();
        let questions: Vec<(Asked<'_>, Which<'_>)> =
            missing.iter().zip(&columns).map(|(missing, keys)| (Asked::of(missing), Which::Keys(keys))).collect();
        self.ask_rows(&questions)
    }

    pub(crate) fn key_column(&self, missing: &Missing) -> Column {
        let space = match missing.table {
            Table::Nodes(kind) => kind,
            Table::Lists(list) => self.shared.layout.ends(list).0,
        };
        self.shared.keys.decode(space, &missing.keys)
    }

    /// Asks questions about rows, in one round trip; a piece for each.
    pub(crate) fn ask_rows(&self, asked: &[(Asked<'_>, Which<'_>)]) -> Result<Vec<Arc<Piece>>> {
        self.ask_rows_and_send(asked, &[]).map(|(pieces, _)| pieces)
    }

    /// The same, and in the same round trip others are sent, whose answers are not waited for; whether they were.
    pub(super) fn ask_rows_and_send(
        &self,
        asked: &[(Asked<'_>, Which<'_>)],
        others: &[(Asked<'_>, Which<'_>)],
    ) -> Result<(Vec<Arc<Piece>>, bool)> {
        let clock = &self.shared.environment.clock;
        let at_ns = clock.now_ns();
        let (questions, others) = (questions(asked), questions(others));
        let mut answers = self.answers(asked);
        let is_sent = self.link.ask_and_send(&questions, &mut |number, rows| answers.push(number, rows), &others)?;
        let pieces = self.pieces(answers, asked, at_ns)?;
        if others.is_empty() {
            let rows = pieces.iter().map(|piece| piece.row_count()).sum();
            self.prefetcher.note_answer(rows, clock.now_ns().saturating_sub(at_ns));
        }
        Ok((pieces, is_sent))
    }

    /// Takes the answers to questions that were sent.
    pub(super) fn receive_rows(&self, asked: &[(Asked<'_>, Which<'_>)]) -> Result<Answers<'_>> {
        let mut answers = self.answers(asked);
        self.link.receive(&mut |number, rows| answers.push(number, rows))?;
        Ok(answers)
    }

    /// Keeps what came in answer to questions that were asked at some time; a piece for each.
    pub(super) fn pieces(
        &self,
        answers: Answers<'_>,
        asked: &[(Asked<'_>, Which<'_>)],
        at_ns: u64,
    ) -> Result<Vec<Arc<Piece>>> {
        let mut pieces: Vec<Option<Arc<Piece>>> = vec![None; asked.len()];
        let mut edges = Vec::new();
        for (number, (answer, (asked, _))) in answers.each.into_iter().zip(asked).enumerate() {
            match answer {
                Answer::Nodes(answer) => {
                    let piece = self.keep(answer.finish(asked.keys, at_ns, asked.origin))?;
                    pieces[number] = Some(piece);
                }
                Answer::Edges(answer) => edges.push((number, answer)),
            }
        }
        for (number, answer) in edges {
            let (asked, which) = &asked[number];
            let boxed = if let Which::Boxes { .. } = which { self.keys_in_boxes(asked.table, &pieces) } else { &[] };
            let keys = if boxed.is_empty() { asked.keys } else { boxed };
            let piece = self.keep(answer.finish(keys, at_ns, asked.origin))?;
            pieces[number] = Some(piece);
        }
        Ok(pieces.into_iter().flatten().collect())
    }

    /// The nodes in the boxes that were asked for along with lists: those without edges have empty ones.
    fn keys_in_boxes<'p>(&self, table: Table, pieces: &'p [Option<Arc<Piece>>]) -> &'p [u64] {
        let Table::Lists(list) = table else { return &[] };
        let near = self.shared.layout.ends(list).0;
        let is_box = |piece: &&Arc<Piece>| piece.table == near && piece.origin == Origin::Ahead;
        pieces.iter().flatten().find(is_box).map_or(&[], |piece| &piece.keys)
    }

    fn answers(&self, asked: &[(Asked<'_>, Which<'_>)]) -> Answers<'_> {
        Answers { keys: &self.shared.keys, each: asked.iter().map(|(asked, _)| self.answer(asked)).collect(), rows: 0 }
    }

    fn answer(&self, asked: &Asked<'_>) -> Answer {
        let (layout, table) = (&self.shared.layout, self.table(asked.table));
        match asked.table {
            Table::Nodes(kind) => {
                let count = layout.nodes[kind].property_count;
                Answer::Nodes(NodeAnswer::new(table, kind, count, asked.properties.to_vec()))
            }
            Table::Lists(list) => {
                let (near, far) = layout.ends(list);
                let kind = &layout.edges[list.edge];
                let spaces = [near, far, layout.edge_space(list.edge)];
                let properties = asked.properties.to_vec();
                Answer::Edges(EdgeAnswer::new(table, spaces, kind.has_keys, kind.property_count, properties))
            }
        }
    }

    /// Rows of one table, all of them.
    pub(crate) fn load_one(&self, wanted: Wanted) -> Result<Found> {
        Ok(self.load(&[wanted])?.pop().unwrap_or_default())
    }
}

pub(super) fn questions<'q>(asked: &'q [(Asked<'_>, Which<'_>)]) -> Vec<Question<'q>> {
    asked.iter().map(|(asked, which)| asked.question(which.clone())).collect()
}

/// The rows that have come in answer to some questions.
pub(super) struct Answers<'a> {
    keys: &'a Keys,
    each: Vec<Answer>,
    /// Rows, of all.
    pub(super) rows: u64,
}

impl Answers<'_> {
    fn push(&mut self, number: usize, columns: Vec<Column>) -> Result<bool> {
        self.rows += columns.first().map_or(0, Column::len) as u64;
        match &mut self.each[number] {
            Answer::Nodes(answer) => answer.push(self.keys, columns)?,
            Answer::Edges(answer) => answer.push(self.keys, columns)?,
        }
        Ok(true)
    }
}

enum Answer {
    Nodes(NodeAnswer),
    Edges(EdgeAnswer),
}

/// The request to a table, without the choice of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) table: Table,
    pub(crate) properties: &'a [usize],
    /// The keys that the answer must tell about, even if there are no rows for them.
    pub(crate) keys: &'a [u64],
    pub(crate) origin: Origin,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(missing: &'a Missing) -> Asked<'a> {
        Asked { table: missing.table, properties: &missing.properties, keys: &missing.keys, origin: Origin::Asked }
    }

    pub(super) fn question<'q>(&self, which: Which<'q>) -> Question<'q>
    where
        'a: 'q,
    {
        let properties = self.properties;
        match self.table {
            Table::Nodes(kind) => Question::Nodes { kind, which, properties, order: &[], limit: None },
            Table::Lists(list) => {
                Question::Edges { kind: list.edge, direction: list.direction(), of: which, properties }
            }
        }
    }
}
