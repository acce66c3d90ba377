//! Bodies of transactions that were never appended: of those that conflicted, and of processes that were killed.

use model::{Result, Set};

use super::Purger;
use crate::record::TransactionId;
use crate::rows::{int, number};
use crate::settings::PurgeFault;
use crate::tables::{Change, Field, RowWrite, Slice, Table};

/// A range of names that a process wrote down.
struct Range {
    writer: u64,
    first: u64,
    end: u64,
    sequence: u64,
}

impl Purger<'_> {
    /// Purges bodies whose names were written down before the horizon and are not in the log: by the record of the horizon no
    /// transaction of such a name is appended any more.
    pub(super) fn purge_bodies(&mut self) -> Result<()> {
        let graph = Field::Int(self.log().ring.graph);
        let mut ranges = Vec::new();
        for row in self.log().ring.read_one(Slice::new(Table::Bodies, vec![graph.clone()], Vec::new()))? {
            let (writer, first) = (number(row.clustering.first())?, number(row.clustering.get(1))?);
            let (end, sequence) = (number(row.cells[0].as_ref())?, number(row.cells[1].as_ref())?);
            ranges.push(Range { writer, first, end, sequence });
        }
        if !self.has_fault(PurgeFault::TakesLiveBodies) {
            ranges.retain(|range| range.sequence < self.horizon);
        }
        let Some(oldest) = ranges.iter().map(|range| range.sequence).min() else { return Ok(()) };
        let appended = self.appended_after(oldest)?;
        for range in ranges {
            let names = (range.first..range.end).map(|number| TransactionId(range.writer, number));
            let gone: Vec<TransactionId> = names.filter(|name| !appended.contains(name)).collect();
            let delete = |table, partition, clustering| RowWrite {
                table,
                partition,
                clustering,
                timestamp: i64::MAX,
                change: Change::Delete,
            };
            let body = |name: &TransactionId| vec![graph.clone(), int(name.0), int(name.1)];
            let bodies: Vec<RowWrite> =
                gone.iter().map(|name| delete(Table::LogBody, body(name), Vec::new())).collect();
            self.log().ring.write(&bodies)?;
            self.done.bodies += gone.len() as u64;
            // Bodies of those that are in the log go with their epoch.
            let key = vec![int(range.writer), int(range.first)];
            self.log().ring.write(&[delete(Table::Bodies, vec![graph.clone()], key)])?;
        }
        Ok(())
    }

    /// Names of the transactions with bodies that the log has behind a record.
    fn appended_after(&self, after: u64) -> Result<Set<TransactionId>> {
        let (log, mut names) = (self.log(), Set::default());
        let last = log.state().sequence;
        let mut next = after + 1;
        while next <= last {
            let epoch = log.epoch(next);
            let end = (next / log.settings.epoch_records + 1) * log.settings.epoch_records - 1;
            let page = log.ring.follow(epoch, next as i64 - 1)?;
            let found: Set<u64> = page.records.iter().map(|(sequence, _)| *sequence as u64).collect();
            let mut records: Vec<_> = page.records.into_iter().map(|(_, bytes)| bytes).collect();
            if !page.is_sealed {
                // One that was appended may not have come to a majority yet.
                for missing in (next..=end.min(last)).filter(|number| !found.contains(number)) {
                    records.extend(log.ring.read_place(epoch, missing as i64)?);
                }
            }
            for bytes in records {
                let record = log.decode(&bytes)?;
                let has_body =
                    |member: &&std::sync::Arc<crate::record::Member>| member.items.parts() + member.rows.parts() > 0;
                names.extend(record.members.iter().filter(has_body).map(|member| member.transaction));
            }
            next = end + 1;
        }
        Ok(names)
    }
}
