//! Runs and passes that there was no time for, in sentences.

use super::Regime;
use crate::operations::{Operation, Way};
use crate::subject::Choice;

/// Operations that a sentence names.
const NAMED_MAX: usize = 4;

/// Calls of an operation in one regime that were not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Operation that was to be performed.
    pub operation: Operation,
    /// Way in which it was to be asked for.
    pub way: Way,
    /// State of the caches.
    pub regime: Regime,
    /// Choice of the starts.
    pub choice: Choice,
}

/// Runs and passes that were left out or ended because the time was over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Runs that were not begun.
    pub left_out: Vec<LeftOut>,
    /// The scan before warm calls did not come to its end.
    pub is_scan_ended: bool,
    /// Working sets were left out of the sweep.
    pub is_sweep_ended: bool,
}

impl Cut {
    /// Number of runs that were left out.
    pub fn count(&self) -> usize {
        self.left_out.len() + usize::from(self.is_sweep_ended)
    }

    /// Sentences that tell of it, one for each kind.
    pub fn sentences(&self) -> Vec<String> {
        let mut told = Vec::new();
        for choice in [Choice::Uniform, Choice::ByDegree] {
            for regime in Regime::ALL {
                let of = self.left_out.iter().filter(|held| (held.regime, held.choice) == (regime, choice));
                let of: Vec<&LeftOut> = of.collect();
                if of.is_empty() {
                    continue;
                }
                let starts = if choice == Choice::ByDegree { " from starts by degree" } else { "" };
                let name = |held: &&LeftOut| format!("{} ({})", held.operation, held.way.name());
                let names: Vec<String> = of.iter().take(NAMED_MAX).map(name).collect();
                let more = of.len() - names.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                told.push(format!("{} calls{starts} of {}{more} were left out", regime.name(), names.join(", ")));
            }
        }
        if self.is_sweep_ended {
            told.push("the larger working sets were left out".to_owned());
        }
        if self.is_scan_ended {
            told.push("the scan before warm calls was ended: caches hold what it had read until then".to_owned());
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use model::Direction;

    use super::{Cut, LeftOut};
    use crate::measure::Regime;
    use crate::operations::{Operation, Way};
    use crate::subject::Choice;

    #[test]
    fn what_was_cut_is_told() {
        let left_out = |operation: Operation, choice: Choice| LeftOut {
            operation,
            way: Way::Api,
            regime: if choice == Choice::Uniform { Regime::Cold } else { Regime::Hot },
            choice,
        };
        let mut cut = Cut { is_scan_ended: true, ..Cut::default() };
        cut.left_out = (1..=6).map(|hops| left_out(Operation::Hops(Direction::Out, hops), Choice::Uniform)).collect();
        cut.left_out.push(left_out(Operation::NodeById, Choice::ByDegree));
        let expected = [
            "cold calls of 1-hop out (api), 2-hop out (api), 3-hop out (api), 4-hop out (api) and 2 more were left out",
            "hot calls from starts by degree of node by id (api) were left out",
            "the scan before warm calls was ended: caches hold what it had read until then",
        ];
        assert_eq!((cut.sentences(), cut.count()), (expected.map(str::to_owned).to_vec(), 7));
        assert_eq!((Cut::default().sentences(), Cut::default().count()), (vec![], 0));
    }
}
