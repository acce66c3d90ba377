//! The files of the ninth DIMACS challenge: `.gr` with arcs and lengths, `.co` with coordinates.
//!
//! Lines of `.gr`: `c` comment, `p sp NODES ARCS`, `a FROM TO LENGTH`. Lines of `.co`: `c` comment,
//! `p aux sp co NODES`, `v NODE X Y`, where X is the longitude and Y the latitude in millionths of a degree.

use std::ops::Range;
use std::path::Path;

use model::{Column, ColumnData, Interrupt, Result};

use super::edge_list::{Row, parse_lines, split_blanks};
use super::text::TextChunks;
use super::{Chunk, FieldType, Format, RowBatch, Table, TableColumn};

/// A `.gr` file as a table of `source`, `target`, `length`, or a `.co` file as one of `id`, `longitude`, `latitude`.
pub struct DimacsTable {
    chunks: TextChunks,
    columns: Vec<TableColumn>,
    is_graph: bool,
    /// Nodes, by the line `p sp NODES ARCS` of a graph.
    node_count: Option<u64>,
}

/// Coordinates count millionths of a degree.
const UNITS_PER_DEGREE: f64 = 1e6;

impl DimacsTable {
    /// Opens a file of one of the two formats.
    pub fn open(path: &Path, format: Format, interrupt: &Interrupt) -> Result<DimacsTable> {
        let is_graph = format == Format::DimacsGraph;
        let names = if is_graph { ["source", "target", "length"] } else { ["id", "longitude", "latitude"] };
        let columns = names.map(|name| TableColumn { name: name.into(), field_type: Some(FieldType::Int) }).to_vec();
        let chunks = TextChunks::open(path, None, interrupt)?;
        let first = chunks.next()?;
        let node_count = match &first {
            Some(Chunk::Text { bytes, .. }) if is_graph => stated_nodes(bytes),
            _ => None,
        };
        chunks.put_back(first);
        Ok(DimacsTable { chunks, columns, is_graph, node_count })
    }

    /// The reason for which an end of an arc is no node: it lies beyond those that the file says there are.
    fn beyond(&self, line: &[u8], fields: &[Range<usize>]) -> Option<String> {
        let count = self.node_count?;
        let number = |field: &Range<usize>| std::str::from_utf8(&line[field.clone()]).ok()?.parse::<u64>().ok();
        let found = fields.iter().take(2).filter_map(number).find(|&node| node == 0 || node > count)?;
        Some(format!("the node {found} is not among the {count} that the line 'p sp' states"))
    }

    fn split(&self, line: &[u8], fields: &mut Vec<Range<usize>>) -> Row {
        let letter = if self.is_graph { b'a' } else { b'v' };
        match line.trim_ascii().first() {
            None | Some(b'c' | b'p') => Row::Skipped,
            Some(&first) if first == letter => {
                split_blanks(line, fields);
                fields.remove(0);
                match self.beyond(line, fields) {
                    Some(reason) => Row::Bad(reason),
                    None => Row::Fields,
                }
            }
            Some(&other) => {
                Row::Bad(format!("expected a line of kind {}, found '{}'", letter as char, other.escape_ascii()))
            }
        }
    }
}

/// The nodes of the line `p sp NODES ARCS` that comes before the arcs.
fn stated_nodes(bytes: &[u8]) -> Option<u64> {
    let mut lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !matches!(line.first(), None | Some(b'c')))?;
    let words: Vec<&str> = std::str::from_utf8(line).ok()?.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["p", "sp", nodes, _arcs] => nodes.parse().ok(),
        _ => None,
    }
}

impl Table for DimacsTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn node_count(&self) -> Option<u64> {
        self.node_count
    }

    fn read_as(&mut self, column: usize, field_type: &FieldType, _why: &str) {
        // Nodes are numbers here; a string property holds the number as text.
        if *field_type == FieldType::String {
            self.columns[column].field_type = Some(FieldType::String);
        }
    }

    fn next_chunk(&self) -> Result<Option<Chunk>> {
        self.chunks.next()
    }

    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
        let split = |line: &[u8], fields: &mut Vec<Range<usize>>| self.split(line, fields);
        parse_lines(chunk, &self.columns, &split, &mut |mut batch: RowBatch| {
            if !self.is_graph {
                batch.columns[1..].iter_mut().for_each(to_degrees);
            }
            sink(batch)
        })
    }

    fn progress(&self) -> (u64, u64) {
        self.chunks.progress()
    }
}

fn to_degrees(column: &mut Column) {
    if let ColumnData::Int(units) = &column.data {
        column.data = ColumnData::Float(units.iter().map(|&unit| unit as f64 / UNITS_PER_DEGREE).collect());
    }
}
