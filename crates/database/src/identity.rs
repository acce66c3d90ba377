//! Edges in the parameters of a statement, which have their numbers as ids, as results give them.

use std::borrow::Cow;

use exec::identity::{collect, located, renamed};
use model::{ReadView, Result};

use crate::Parameters;

/// The parameters of a statement, with the edges in them as its view knows them.
pub(crate) fn of_view<'p>(parameters: &'p Parameters, view: &dyn ReadView) -> Result<Cow<'p, Parameters>> {
    let mut edges = Vec::new();
    parameters.values().for_each(|value| collect(value, &mut edges));
    if edges.is_empty() {
        return Ok(Cow::Borrowed(parameters));
    }
    let here = located(&edges, view)?;
    Ok(Cow::Owned(parameters.iter().map(|(name, value)| (name.clone(), renamed(value, &here))).collect()))
}
