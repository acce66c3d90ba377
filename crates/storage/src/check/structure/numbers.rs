//! The numbers of a section's edges: below the bound, and each once.

use model::{Interrupt, Result};

use super::Problems;
use crate::partition::Section;
use crate::partition::numbers::NumberForm;
use crate::version::Version;

/// Edges whose numbers are read at a time.
const EDGES: u64 = 16_384;
/// Numbers that are marked in one pass, in a bitmap of 16 MiB.
const WINDOW: u64 = 1 << 27;

pub(super) fn check(
    section: &Section,
    version: &Version,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Result<()> {
    let bound = version.manifest().edge_number_bound;
    let path = section.file().path();
    let (mut least, mut end) = (u64::MAX, 0);
    each(section, interrupt, &mut |numbers| {
        least = numbers.iter().copied().fold(least, u64::min);
        end = numbers.iter().map(|&number| number + 1).fold(end, u64::max);
    })?;
    if end > bound {
        problems.add(path, 0, format!("an edge has the number {}, the manifest's bound is {bound}", end - 1));
        return Ok(());
    }
    if matches!(section.number_form(), NumberForm::Consecutive(_)) {
        return Ok(());
    }
    for start in (least..end).step_by(WINDOW as usize) {
        let length = WINDOW.min(end - start);
        let mut marks = vec![0u64; length.div_ceil(64) as usize];
        let mut twice = None;
        each(section, interrupt, &mut |numbers| {
            for number in numbers.iter().filter(|number| (start..start + length).contains(number)) {
                let (word, bit) = ((number - start) as usize / 64, 1 << ((number - start) % 64));
                if marks[word] & bit != 0 {
                    twice = Some(*number);
                }
                marks[word] |= bit;
            }
        })?;
        if let Some(number) = twice {
            problems.add(path, 0, format!("two edges have the number {number}"));
        }
    }
    Ok(())
}

/// Calls `take` with all numbers, some at a time.
fn each(section: &Section, interrupt: &Interrupt, take: &mut dyn FnMut(&[u64])) -> Result<()> {
    for start in (0..section.edge_count()).step_by(EDGES as usize) {
        interrupt.check()?;
        take(&section.number_range(start..(start + EDGES).min(section.edge_count()))?);
    }
    Ok(())
}
