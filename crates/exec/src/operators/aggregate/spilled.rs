//! Aggregation of more groups than fit: the groups so far are put away, parted by the hash of their keys, as often as
//! memory is short; at the end the groups of each part are put together, and parted again if even these do not fit. What one group
//! holds cannot be parted by its key: its values are put aside, as far as its functions allow ([`super::values`]).
//!
//! Invariant: results and their order are those of aggregation in memory, except for the rounding of floating sums.

use model::{Interrupt, Result};

use super::Aggregate;
use super::state::{GROUPS, State};
use super::values::Room;
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::memory::floor_bytes;
use crate::pushing::push_in_batches;
use crate::runtime::{Flow, Scope, Sink};
use crate::spill::{LEVELS_MAX, Partition, Partitions, in_order};

/// Limits below which memory is looked at for every batch.
const SMALL_LIMIT: usize = 1 << 20;
/// Fewest rows between two looks at what the states hold, under larger limits, if they hold little.
const LOOK_ROWS: usize = 8_192;
/// Part of the limit that states may take between two looks, as they have grown since the last one.
const LOOK_SHARE: usize = 16;

/// Groups being gathered.
pub(super) struct Gathering<'m> {
    pub(super) state: State<'m>,
    pub(super) charge: Charge<'m>,
    pub(super) put_away: Option<Partitions<'m>>,
    level: u32,
    rows_since: usize,
    rows_until: usize,
    /// Bytes that the states held at the last look.
    bytes: usize,
}

impl<'m> Gathering<'m> {
    /// No groups.
    pub(super) fn new(aggregate: &Aggregate, charge: Charge<'m>, level: u32) -> Result<Gathering<'m>> {
        let state = State::new(aggregate)?;
        Ok(Gathering { state, charge, put_away: None, level, rows_since: 0, rows_until: 0, bytes: 0 })
    }

    /// To be called after rows were taken in: looks now and then at what is held.
    #[inline]
    pub(super) fn account(&mut self, aggregate: &Aggregate, rows: usize, interrupt: &Interrupt) -> Result<()> {
        self.rows_since += rows;
        if self.rows_since < self.rows_until { Ok(()) } else { self.look(aggregate, interrupt) }
    }

    /// The same between pieces of states, where groups must stay where they are: values may be put aside.
    fn account_within(&mut self, rows: usize) -> Result<()> {
        self.rows_since += rows;
        if self.rows_since < self.rows_until {
            return Ok(());
        }
        self.rows_since = 0;
        let (bytes, floor) = (self.state.bytes(), floor_bytes(self.charge.memory().limit()));
        if self.charge.try_hold(bytes).is_err() && bytes > floor {
            self.state.shed(&self.charge)?;
            let left = self.state.bytes();
            // States that cannot be spilled may still be too many, which the next check finds.
            if left <= floor {
                self.charge.count(left);
            }
        }
        Ok(())
    }

    /// Puts the rest of the values aside where others were: finishing needs the room.
    pub(super) fn make_room(&mut self) -> Result<()> {
        if self.state.has_aside() {
            self.state.shed(&self.charge)?;
            self.charge.count(self.state.bytes());
        }
        Ok(())
    }

    /// Accounts for what is held, and puts it away if that is too much.
    pub(super) fn look(&mut self, aggregate: &Aggregate, interrupt: &Interrupt) -> Result<()> {
        let limit = self.charge.memory().limit();
        let bytes = self.state.bytes();
        let row_bytes = bytes.saturating_sub(self.bytes) / self.rows_since.max(1);
        (self.rows_since, self.bytes) = (0, bytes);
        // A look may cost a step for each group.
        let rows = LOOK_ROWS.max(self.state.group_count() / 4).min(limit / LOOK_SHARE / row_bytes.max(1));
        self.rows_until = if limit < SMALL_LIMIT { 0 } else { rows };
        // Several groups whose values were put aside are parted again: finishing all of them at once needs room for their results.
        let has_aside = self.state.has_keys() && self.state.has_aside();
        let is_parted = has_aside && self.level <= LEVELS_MAX && self.state.group_count() > 1;
        if !is_parted && self.charge.try_hold(bytes).is_ok() {
            return Ok(());
        }
        let may_stay = !self.state.has_keys() || self.level > 0;
        if may_stay && !is_parted && bytes <= floor_bytes(limit) {
            self.charge.count(bytes);
            return Ok(());
        }
        if !self.state.has_keys() || self.level > LEVELS_MAX || (self.level > 0 && self.state.group_count() == 1) {
            self.state.shed(&self.charge)?;
            self.bytes = self.state.bytes();
            return self.charge.hold(self.bytes).map_err(|refusal| aggregate.refuse(refusal));
        }
        let parts = match &mut self.put_away {
            Some(parts) => parts,
            None => self.put_away.insert(Partitions::new(self.charge.another(), self.level)?),
        };
        self.state.put_away(aggregate, parts, interrupt)?;
        self.charge.count(0);
        self.bytes = 0;
        Ok(())
    }
}

impl Aggregate {
    /// The refusal of more memory, with the place of the function whose result holds all values, if there is one.
    fn refuse(&self, refusal: model::Error) -> model::Error {
        match self.functions.iter().find(|function| &*function.name == "collect") {
            Some(function) => refusal.within(&format!("{}()", function.name)).at(function.span),
            None => refusal,
        }
    }

    /// Pushes the results of groups that were gathered in several places, in the order of their first rows: the rows of
    /// each place come after those of the places before it.
    pub(super) fn push_spilled(
        &self,
        scope: Scope<'_, '_>,
        places: Vec<Gathering<'_>>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let width = self.keys.len() + self.functions.len();
        let mut sources = Vec::with_capacity(places.len());
        let mut offset = 0;
        for mut place in places {
            let rows = place.state.rows_before();
            let mut parts = match place.put_away.take() {
                Some(parts) => parts,
                None => Partitions::new(place.charge.another(), 0)?,
            };
            place.state.put_away(self, &mut parts, interrupt)?;
            sources.push((parts, offset));
            offset += rows;
        }
        let charge = scope.runtime.charge("Aggregate");
        in_order(scope, "Aggregate", width, sink, &mut |sink| {
            let mut push = |chunk: Chunk| push_in_batches(scope, chunk, sink).map(|_| ());
            self.gather_parts(&sources, &charge, interrupt, &mut push)?;
            sources.clear();
            Ok(Flow::Continue)
        })
    }

    /// Gives the results of all parts.
    fn gather_parts(
        &self,
        sources: &[(Partitions<'_>, i64)],
        charge: &Charge<'_>,
        interrupt: &Interrupt,
        push: &mut dyn FnMut(Chunk) -> Result<()>,
    ) -> Result<()> {
        let Some((first, _)) = sources.first() else { return Ok(()) };
        for part in 0..first.count() {
            let mut gathering = Gathering::new(self, charge.another(), first.level() + 1)?;
            for (source, offset) in sources {
                self.gather_part(&source.part(part), *offset, &mut gathering, interrupt)?;
            }
            match gathering.put_away.take() {
                None => {
                    gathering.make_room()?;
                    let Gathering { state, charge, .. } = gathering;
                    push(state.finish_numbered(self, Room { charge: &charge, interrupt })?)?;
                }
                Some(mut parts) => {
                    gathering.state.put_away(self, &mut parts, interrupt)?;
                    drop(gathering);
                    self.gather_parts(&[(parts, 0)], charge, interrupt, push)?;
                }
            }
        }
        Ok(())
    }

    /// Takes in what was put away of one part.
    fn gather_part(
        &self,
        part: &Partition<'_>,
        offset: i64,
        gathering: &mut Gathering<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut groups = Vec::new();
        part.for_each(interrupt, &mut |tag, chunk| {
            if tag == GROUPS {
                // Only here no states follow that name groups by their place.
                gathering.look(self, interrupt)?;
                groups = gathering.state.absorb_groups(chunk, offset);
            } else {
                gathering.state.absorb(tag, &chunk, &groups)?;
                gathering.account_within(chunk.rows)?;
            }
            Ok(Flow::Continue)
        })?;
        gathering.look(self, interrupt)
    }
}
