//! Records of the log: the transactions that one append commits together.
//!
//! Invariant: no two records are equal, so that a record found in the log tells whose it is.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use model::codec::bytes::{Get, Put};
use model::{Result, error};

use crate::items::Items;
use crate::ring::Ring;
use crate::rows::{blob, int, number};
use crate::state::Delta;
pub(crate) use crate::state::TransactionId;
use crate::tables::{Change, RowWrite, Slice, Table};

/// Bytes that stand in the record itself; longer ones are in rows of their own.
const INLINE_BYTES_MAX: usize = 4 << 10;
/// Bytes of such a row.
const PART_BYTES: usize = 256 << 10;

const INLINE: u8 = 0;
const PARTS: u8 = 1;

/// Bytes that belong to a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// In the record.
    Inline(Arc<[u8]>),
    /// In rows of the transaction, from the first on.
    Parts { first: u32, count: u32 },
}

/// A transaction in a record.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) transaction: TransactionId,
    pub(crate) delta: Delta,
    pub(crate) items: Stored,
    pub(crate) rows: Stored,
    loaded: OnceLock<Arc<Items>>,
}

/// A record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The process that appended it.
    pub(crate) writer: u64,
    /// The number of the attempt, of that process.
    pub(crate) attempt: u64,
    /// Records in an epoch, about which all processes must agree.
    pub(crate) epoch_records: u64,
    pub(crate) members: Vec<Arc<Member>>,
}

impl Stored {
    /// True if bytes take rows of their own.
    pub(crate) fn is_long(bytes: &[u8]) -> bool {
        bytes.len() > INLINE_BYTES_MAX
    }

    /// Bytes as they will stand in the record, and the rows that have to be written before.
    pub(crate) fn new(
        bytes: &Arc<[u8]>,
        graph: i64,
        transaction: TransactionId,
        first: u32,
    ) -> (Stored, Vec<RowWrite>) {
        if !Stored::is_long(bytes) {
            return (Stored::Inline(bytes.clone()), Vec::new());
        }
        let row = |(part, body): (u32, &[u8])| RowWrite {
            table: Table::LogBody,
            partition: vec![crate::tables::Field::Int(graph), int(transaction.0), int(transaction.1)],
            clustering: vec![int(u64::from(part))],
            timestamp: 1,
            change: Change::Put(vec![(0, crate::rows::bytes(body))]),
        };
        let rows: Vec<RowWrite> = (first..).zip(bytes.chunks(PART_BYTES)).map(row).collect();
        (Stored::Parts { first, count: rows.len() as u32 }, rows)
    }

    /// The bytes, read if need be.
    pub(crate) fn load(&self, ring: &Ring, transaction: TransactionId) -> Result<Arc<[u8]>> {
        let (first, count) = match self {
            Stored::Inline(bytes) => return Ok(bytes.clone()),
            Stored::Parts { first, count } => (*first, *count),
        };
        let partition = vec![crate::tables::Field::Int(ring.graph), int(transaction.0), int(transaction.1)];
        let rows = ring.read_one(Slice::new(Table::LogBody, partition, Vec::new()))?;
        let mut bytes = Vec::new();
        let mut expected = u64::from(first);
        for row in rows {
            if number(row.clustering.first())? == expected && expected < u64::from(first + count) {
                bytes.extend_from_slice(blob(row.cells[0].as_ref())?);
                expected += 1;
            }
        }
        if expected < u64::from(first + count) {
            let Ring { graph, .. } = ring;
            return Err(error!(Corrupt, "graph {graph}: a part of transaction {transaction:?} is not in log_body"));
        }
        Ok(Arc::from(bytes))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Stored::Inline(bytes) => {
                out.put_u8(INLINE);
                out.put_u32(bytes.len() as u32);
                out.extend_from_slice(bytes);
            }
            Stored::Parts { first, count } => {
                out.put_u8(PARTS);
                out.put_u32(*first);
                out.put_u32(*count);
            }
        }
    }

    fn decode(get: &mut Get<'_>) -> Result<Stored> {
        match get.u8()? {
            INLINE => Ok(Stored::Inline(Arc::from(get.bytes()?))),
            PARTS => Ok(Stored::Parts { first: get.u32()?, count: get.u32()? }),
            tag => Err(get.damage(format!("no bytes of a transaction have the tag {tag}"))),
        }
    }

    /// Number of rows of its own.
    pub(crate) fn parts(&self) -> u32 {
        match self {
            Stored::Inline(_) => 0,
            Stored::Parts { count, .. } => *count,
        }
    }
}

impl Member {
    /// A transaction whose items are known.
    pub(crate) fn new(
        transaction: TransactionId,
        delta: Delta,
        items: Stored,
        rows: Stored,
        known: Arc<Items>,
    ) -> Member {
        Member { transaction, delta, items, rows, loaded: OnceLock::from(known) }
    }

    /// The same without its rows, for comparisons.
    fn without_rows(&self) -> Member {
        let (transaction, delta, items) = (self.transaction, self.delta.clone(), self.items.clone());
        Member { transaction, delta, items, rows: Stored::Parts { first: 0, count: 0 }, loaded: self.loaded.clone() }
    }

    /// The items, read once.
    pub(crate) fn items(&self, ring: &Ring) -> Result<Arc<Items>> {
        if let Some(items) = self.loaded.get() {
            return Ok(items.clone());
        }
        let items = Arc::new(Items::decode(&self.items.load(ring, self.transaction)?)?);
        Ok(self.loaded.get_or_init(|| items).clone())
    }
}

impl Record {
    /// The same without the rows of its transactions, which are written: only to be compared.
    pub(crate) fn without_rows(&self) -> Record {
        let members = self.members.iter().map(|member| Arc::new(member.without_rows())).collect();
        Record { members, ..*self }
    }

    /// True if a bulk load begins or ends with it.
    pub(crate) fn is_of_load(&self) -> bool {
        self.members.iter().any(|member| member.delta.load.is_some())
    }

    /// The record as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        [self.writer, self.attempt, self.epoch_records].into_iter().for_each(|number| out.put_u64(number));
        out.put_u32(self.members.len() as u32);
        for member in &self.members {
            out.put_u64(member.transaction.0);
            out.put_u64(member.transaction.1);
            member.delta.encode(&mut out);
            member.items.encode(&mut out);
            member.rows.encode(&mut out);
        }
        out
    }

    /// Reads a record; fails if it was written by a process that cuts the log into other epochs.
    pub(crate) fn decode(bytes: &[u8], epoch_records: u64) -> Result<Record> {
        let mut get = Get::new(bytes, Path::new("record of the log"), 0);
        let (writer, attempt, found) = (get.u64()?, get.u64()?, get.u64()?);
        if found != epoch_records {
            return Err(error!(
                Version,
                "the log has {found} records an epoch, this process takes it for {epoch_records}"
            )
            .with_remedy("open the graph with the settings of the other processes"));
        }
        let member = |get: &mut Get<'_>| {
            let transaction = TransactionId(get.u64()?, get.u64()?);
            let delta = Delta::decode(get)?;
            let (items, rows) = (Stored::decode(get)?, Stored::decode(get)?);
            Ok(Arc::new(Member { transaction, delta, items, rows, loaded: OnceLock::new() }))
        };
        let members = (0..get.count(1)?).map(|_| member(&mut get)).collect::<Result<_>>()?;
        Ok(Record { writer, attempt, epoch_records, members })
    }
}
