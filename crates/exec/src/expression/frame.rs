//! Frames: the rows under evaluation, and what is known of them so far.
//!
//! The first frame stands on a chunk. A narrower frame stands on some rows of another (each may come often), and
//! takes columns from there when they are first read. Properties of variables are columns too, read on first use.

use std::cell::OnceCell;
use std::sync::Arc;

use model::{Result, Span};

use crate::chunk::Chunk;
use crate::context::EvaluationContext;
use crate::property;
use crate::vector::Vector;

/// The contents of a frame's positions.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// For each position, where its vector comes from.
    pub(crate) places: Vec<Place>,
    /// Properties that are read together.
    pub(crate) groups: Vec<PropertyGroup>,
}

/// The source of a position's vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A column of the chunk.
    Column(usize),
    /// The variable of a comprehension, set in the frame of its body.
    Local,
    /// A property, by group.
    Property(usize),
}

/// Properties of one variable.
#[derive(Debug)]
pub(crate) struct PropertyGroup {
    /// The position of the variable.
    pub(crate) base: usize,
    /// The property keys.
    pub(crate) keys: Vec<Arc<str>>,
    /// The position of each.
    pub(crate) positions: Vec<usize>,
    /// Position of the first of them in the query.
    pub(crate) span: Span,
    /// True if every row needs them, so that more may join.
    pub(crate) is_unconditional: bool,
}

/// Rows under evaluation.
pub(crate) struct Frame<'a> {
    rows: usize,
    source: Source<'a>,
    cells: Vec<OnceCell<Vector>>,
    /// The positions that were given values here.
    set: Vec<usize>,
    program: &'a Program,
    context: &'a EvaluationContext<'a>,
}

enum Source<'a> {
    Chunk(&'a Chunk),
    Rows { outer: &'a Frame<'a>, rows: &'a [u32] },
}

impl<'a> Frame<'a> {
    /// All rows of a chunk.
    pub(crate) fn of_chunk(chunk: &'a Chunk, program: &'a Program, context: &'a EvaluationContext<'a>) -> Frame<'a> {
        let cells = vec![OnceCell::new(); program.places.len()];
        Frame { rows: chunk.rows, source: Source::Chunk(chunk), cells, set: Vec::new(), program, context }
    }

    /// The rows at `rows` of a frame, in that order; a row may come often or never.
    pub(crate) fn of_rows(outer: &'a Frame<'a>, rows: &'a [u32]) -> Frame<'a> {
        let cells = vec![OnceCell::new(); outer.program.places.len()];
        let source = Source::Rows { outer, rows };
        Frame { rows: rows.len(), source, cells, set: Vec::new(), program: outer.program, context: outer.context }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The surroundings of the evaluation.
    pub(crate) fn context(&self) -> &'a EvaluationContext<'a> {
        self.context
    }

    /// Gives a variable of a comprehension its values: one for each row.
    pub(crate) fn set(&mut self, position: usize, vector: Vector) {
        self.cells[position] = OnceCell::from(vector);
        self.set.push(position);
    }

    /// The vector of a position.
    pub(crate) fn read(&self, position: usize) -> Result<Vector> {
        if let Some(vector) = self.cells[position].get() {
            return Ok(vector.clone());
        }
        match (self.program.places[position], &self.source) {
            (Place::Column(column), Source::Chunk(chunk)) => Ok(Vector::Column(chunk.columns[column].clone())),
            (Place::Property(group), _) if self.should_read(position, &self.program.groups[group]) => {
                self.read_properties(&self.program.groups[group])?;
                Ok(self.cells[position].get().expect("the group holds this position").clone())
            }
            (_, Source::Rows { outer, rows }) => {
                let vector = outer.read(position)?.gather(rows);
                Ok(self.cells[position].get_or_init(|| vector).clone())
            }
            (place, Source::Chunk(_)) => {
                Err(model::error!(Internal, "position {position} ({place:?}) was read before it was set"))
            }
        }
    }

    /// True if properties are to be read for the rows of this frame, not taken from the frame around it: where the
    /// variable was set, and where there are fewer rows than outside and outside they were not read yet.
    fn should_read(&self, position: usize, group: &PropertyGroup) -> bool {
        match &self.source {
            Source::Chunk(_) => true,
            Source::Rows { .. } if self.set.contains(&group.base) => true,
            Source::Rows { outer, .. } => self.rows < outer.rows && !self.is_known_outside(position),
        }
    }

    /// True if a frame around this one has the vector already.
    fn is_known_outside(&self, position: usize) -> bool {
        match &self.source {
            Source::Chunk(_) => false,
            Source::Rows { outer, .. } => outer.cells[position].get().is_some() || outer.is_known_outside(position),
        }
    }

    fn read_properties(&self, group: &PropertyGroup) -> Result<()> {
        let base = self.read(group.base)?;
        property::check_alive(&base, self.rows, self.context).map_err(|e| e.at(group.span))?;
        let found = property::read(&base, &group.keys, self.rows, self.context.view).map_err(|e| e.at(group.span))?;
        for (&position, vector) in group.positions.iter().zip(found) {
            // A member may have been taken from outside before; both are the same.
            let _ = self.cells[position].set(vector);
        }
        Ok(())
    }
}
