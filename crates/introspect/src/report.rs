//! A measurement as text, as JSON and as a page of HTML.
//!
//! - `text`: tables and sentences for people.
//! - `json`: the form `knotwork-bench/1`.
//! - `stored`: measurements read back from that form.
//! - `html`: one or several of them as a page with charts.

mod html;
mod json;
mod stored;
mod text;

use model::{Error, ErrorCode};

use crate::cost_model::{self, Fit, Judged, Judgement, Prediction};
use crate::findings::{self, Finding};
use crate::machine::MachineLimits;
use crate::measure::{Measurements, Regime, disagreements};
use crate::operations::Operation;

pub use html::to_html;
pub use json::{SCHEMA, to_json};
pub(crate) use json::{machine, rounded};
pub use stored::{Limits, Stored, StoredJudgement, StoredPrediction, StoredRun, tell_apart};
pub(crate) use text::table;
pub use text::to_text;

/// A measurement with all that follows from it.
#[derive(Clone, Debug)]
pub struct Report {
    /// Limits of the machine.
    pub machine: MachineLimits,
    /// Times.
    pub measurements: Measurements,
    /// Times predicted from the layer below.
    pub predictions: Vec<Prediction>,
    /// Fitted costs.
    pub fits: Vec<Fit>,
    /// Errors of the fitted costs on starts that they were not fitted to.
    pub judgements: Vec<Judgement>,
    /// Another subject, predicted with the costs of this one.
    pub elsewhere: Option<Elsewhere>,
    /// Sentences.
    pub findings: Vec<Finding>,
    /// Operations of which calls and statements gave different answers, with the number of starts.
    pub disagreements: Vec<(Operation, usize)>,
}

/// Another subject, predicted with costs of the one that is reported.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Place of its data.
    pub place: String,
    /// Errors of the fitted costs on it.
    pub judgements: Vec<Judgement>,
    /// Its times predicted from the layer below of the one that is reported.
    pub predictions: Vec<Prediction>,
}

impl Report {
    /// The first error of files for which something could not be measured: of a full disk, or of rights that calls lack. The limits of
    /// a disk that may not be written are no such thing.
    pub fn unmeasured(&self) -> Option<Error> {
        let of = |told: &str, code: ErrorCode| {
            told.strip_prefix(code.name()).map(|told| Error::new(code, told.trim_start_matches(": ").to_owned()))
        };
        let disk = self.machine.disk.as_ref().err().and_then(|told| of(told, ErrorCode::DiskFull));
        let of_runs = self.measurements.runs.iter().filter_map(|run| run.error.as_deref()).find_map(|told| {
            [ErrorCode::DiskFull, ErrorCode::Io, ErrorCode::File].into_iter().find_map(|code| of(told, code))
        });
        disk.or(of_runs)
    }

    /// Models what was measured. Costs also predict the measurement of another subject, if one is given.
    pub fn new(machine: MachineLimits, measurements: Measurements, other: Option<&Measurements>) -> Report {
        let predictions = cost_model::compose(&measurements);
        let fits: Vec<Fit> =
            Regime::ALL.into_iter().filter_map(|regime| cost_model::fit(&measurements, regime)).collect();
        let judge = |found: &Measurements, judged: Judged| -> Vec<Judgement> {
            fits.iter().flat_map(|fit| cost_model::judge(fit, found, judged)).collect()
        };
        let judgements = judge(&measurements, Judged::HeldOut);
        let elsewhere = other.map(|found| Elsewhere {
            place: found.description.place.clone(),
            judgements: judge(found, Judged::All),
            predictions: cost_model::compose_from(&measurements, found),
        });
        let findings = findings::find(&measurements, &predictions, &judgements);
        let disagreements = disagreements(&measurements);
        Report { machine, measurements, predictions, fits, judgements, elsewhere, findings, disagreements }
    }
}
