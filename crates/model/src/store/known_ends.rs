//! Labels at the ends of the edges of a type, as they were found out of one state of a store.

use std::sync::{Mutex, PoisonError};

use crate::Map;
use crate::id::{EdgeTypeId, LabelId};
use crate::store::Direction;

/// Answers that are kept, at most: those of a few hundred types.
const ANSWERS_MAX: usize = 4_096;

/// The cases in which edges of a type lead to nodes with a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// All of them do; there may be none.
    Always,
    /// None does.
    Never,
    /// Neither is so, or neither is known.
    Sometimes,
}

/// Ends of the edges of a type, followed in a direction, as to whether they are nodes with a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The cases in which they are.
    pub leads: Leads,
    /// Number of edges that lead to such nodes, if it is known; of an edge that is followed both ways there is none.
    pub edges: Option<u64>,
}

/// Answers found out of one state of a store about the labels that edges lead to. They go with that state, so that
/// nobody has to mend them.
#[derive(Debug, Default)]
pub struct KnownEnds {
    answers: Mutex<Map<(EdgeTypeId, Direction, LabelId), Ends>>,
}

impl KnownEnds {
    /// The edges of a type, followed in a direction, that lead to nodes with the label; `None` if nobody has found out.
    pub fn get(&self, edge_type: EdgeTypeId, direction: Direction, label: LabelId) -> Option<Ends> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(&(edge_type, direction, label)).copied()
    }

    /// Keeps an answer that holds of the whole state, while there is room.
    pub fn keep(&self, edge_type: EdgeTypeId, direction: Direction, label: LabelId, ends: Ends) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() < ANSWERS_MAX {
            answers.insert((edge_type, direction, label), ends);
        }
    }
}
