//! Progress of the purge of dead rows, as the records of the log tell it, and what is left to purge.
//!
//! Invariant: nothing that a view at the horizon or later sees is purged.

use model::Result;
use model::codec::bytes::{Get, Put};

/// Progress of the purge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Purge {
    /// Rows that were dead as of this record may be gone, so that older views end.
    pub(crate) horizon: u64,
    /// Nanoseconds for which processes go on after they looked for a new horizon; the same in all of them.
    pub(crate) lease_ns: u64,
    /// Rows that were dead as of this record are gone.
    pub(crate) purged: u64,
    /// A sweep of all tables that is under way.
    pub(crate) sweep: Option<Sweep>,
}

/// A sweep of all tables, for graphs whose log no longer tells what died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// Rows that were dead as of this record are purged.
    pub(crate) upto: u64,
    /// Number of the table that comes next, in the order of the sweep.
    pub(crate) table: u8,
    /// Place of the next partition in it.
    pub(crate) position: u64,
    /// Rows that were counted as dead then.
    pub(crate) dead: u64,
}

/// A step of a purge: a new horizon, or rows that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PurgeStep {
    /// Progress behind the step.
    pub(crate) purge: Purge,
    /// Dead rows that are no longer counted.
    pub(crate) gone: u64,
    /// Dropped indexes whose entries are gone.
    pub(crate) indexes: Vec<u32>,
}

/// Dead rows that are left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dead {
    /// Rows that no new view sees.
    pub(crate) rows: u64,
    /// Indexes that were dropped, each with the record that did.
    pub(crate) indexes: Vec<(u32, u64)>,
}

impl Purge {
    fn encode(&self, out: &mut Vec<u8>) {
        [self.horizon, self.lease_ns, self.purged].into_iter().for_each(|number| out.put_u64(number));
        out.put_u8(u8::from(self.sweep.is_some()));
        if let Some(Sweep { upto, table, position, dead }) = self.sweep {
            out.put_u64(upto);
            out.put_u8(table);
            out.put_u64(position);
            out.put_u64(dead);
        }
    }

    fn decode(get: &mut Get<'_>) -> Result<Purge> {
        let (horizon, lease_ns, purged) = (get.u64()?, get.u64()?, get.u64()?);
        let has_sweep = get.u8()? == 1;
        let sweep = |get: &mut Get<'_>| {
            Ok(Sweep { upto: get.u64()?, table: get.u8()?, position: get.u64()?, dead: get.u64()? })
        };
        let sweep = if has_sweep { Some(sweep(get)?) } else { None };
        Ok(Purge { horizon, lease_ns, purged, sweep })
    }
}

impl PurgeStep {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        self.purge.encode(out);
        out.put_u64(self.gone);
        out.put_u32(self.indexes.len() as u32);
        self.indexes.iter().for_each(|number| out.put_u32(*number));
    }

    pub(super) fn decode(get: &mut Get<'_>) -> Result<PurgeStep> {
        let (purge, gone) = (Purge::decode(get)?, get.u64()?);
        let indexes = (0..get.count(4)?).map(|_| get.u32()).collect::<Result<_>>()?;
        Ok(PurgeStep { purge, gone, indexes })
    }
}

impl Dead {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.rows);
        out.put_u32(self.indexes.len() as u32);
        for (number, sequence) in &self.indexes {
            out.put_u32(*number);
            out.put_u64(*sequence);
        }
    }

    pub(super) fn decode(get: &mut Get<'_>) -> Result<Dead> {
        let rows = get.u64()?;
        let indexes = (0..get.count(12)?).map(|_| Ok((get.u32()?, get.u64()?))).collect::<Result<_>>()?;
        Ok(Dead { rows, indexes })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::codec::bytes::Get;

    use super::{Dead, Purge, PurgeStep, Sweep};

    #[test]
    fn steps_read_back() {
        for sweep in [None, Some(Sweep { upto: 7, table: 3, position: 1 << 40, dead: 2 })] {
            let purge = Purge { horizon: 9, lease_ns: 20, purged: 5, sweep };
            let step = PurgeStep { purge, gone: 11, indexes: vec![4, 8] };
            let mut bytes = Vec::new();
            step.encode(&mut bytes);
            assert_eq!(PurgeStep::decode(&mut Get::new(&bytes, Path::new("step"), 0)).unwrap(), step);
        }
        let dead = Dead { rows: 3, indexes: vec![(1, 2)] };
        let mut bytes = Vec::new();
        dead.encode(&mut bytes);
        assert_eq!(Dead::decode(&mut Get::new(&bytes, Path::new("dead"), 0)).unwrap(), dead);
    }
}
