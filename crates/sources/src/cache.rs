//! Cache of the rows that were fetched from a source: bounded, shared by views and threads.
//!
//! Rows lie in pieces, column by column; a table's index names the piece of each. Pieces leave as a whole, those that
//! were not used since the clock's hand last passed them first. A user of rows holds their pieces, so that the rows
//! asked for are there however small the cache is.
//! Cost: about 50 bytes a node or list, 4 to 8 an edge, 8 a number; a lock a batch.

mod answer;
mod gather;
mod piece;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use model::memory::Relief;
use model::{Consumer, Map, MemoryBudget, Result};

pub(crate) use self::answer::{EdgeAnswer, NodeAnswer};
pub(crate) use self::gather::gather;
pub(crate) use self::piece::{Origin, Piece};

/// Largest number of rows up to which small pieces are put together.
const PIECE_ROWS_MAX: usize = 4096;
/// A piece takes in others that are no older, or no younger, than this.
const PIECE_AGES_NS: u64 = 1_000_000_000;

/// Position of a row that was found: the piece by its place in [`Found::pieces`], and the row.
pub(crate) type Place = (u32, u32);

/// Stands for a row that was not found.
pub(crate) const NOWHERE: Place = (u32::MAX, 0);

/// Rows that were found, with the pieces that hold them.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) pieces: Vec<Arc<Piece>>,
    /// For each key that was asked for.
    pub(crate) places: Vec<Place>,
}

impl Found {
    #[inline]
    pub(crate) fn piece(&self, place: Place) -> &Piece {
        &self.pieces[place.0 as usize]
    }
}

/// Requirements that a row must meet to be of use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Need {
    /// Properties, by number.
    pub(crate) properties: Vec<usize>,
    /// It must not have been fetched before this.
    pub(crate) since_ns: u64,
}

/// Counters of the requests to a cache and of their results.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Rows that were looked for, and those of them that were found.
    pub(crate) lookups: AtomicU64,
    pub(crate) hits: AtomicU64,
    /// The database's rows that came in, and those of them that were used at least once.
    pub(crate) fetched: AtomicU64,
    pub(crate) used: AtomicU64,
    /// The same of those that were fetched ahead.
    pub(crate) ahead_fetched: AtomicU64,
    pub(crate) ahead_used: AtomicU64,
}

/// A cache of one source.
pub(crate) struct Cache {
    inner: RwLock<Inner>,
    bytes_max: usize,
    memory: Arc<MemoryBudget>,
    /// For each table, the number of times that its rows were forgotten; changed with `inner` held.
    epochs: Vec<AtomicU64>,
    /// Number of times that something was forgotten on demand.
    forgotten: AtomicU64,
    pub(crate) counts: Arc<Counts>,
}

struct Inner {
    /// For each table, where the row of a key is: the piece in the upper half, the row in the lower.
    indexes: Vec<Map<u64, u64>>,
    pieces: Vec<Option<Arc<Piece>>>,
    free: Vec<u32>,
    /// For each table, the piece that small ones are added to.
    open: Vec<Option<u32>>,
    hand: usize,
    bytes: usize,
}

impl Cache {
    pub(crate) fn new(tables: usize, bytes_max: usize, memory: &Arc<MemoryBudget>, counts: Arc<Counts>) -> Arc<Cache> {
        let inner = Inner {
            indexes: vec![Map::default(); tables],
            pieces: Vec::new(),
            free: Vec::new(),
            open: vec![None; tables],
            hand: 0,
            bytes: 0,
        };
        let cache = Arc::new(Cache {
            inner: RwLock::new(inner),
            bytes_max,
            memory: memory.clone(),
            epochs: (0..tables).map(|_| AtomicU64::new(0)).collect(),
            forgotten: AtomicU64::new(0),
            counts,
        });
        let relief: Weak<dyn Relief> = Arc::downgrade(&cache) as Weak<dyn Relief>;
        memory.on_pressure(relief);
        cache
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.read().bytes
    }

    /// Bytes it may hold.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Finds rows of a table by their keys; gives the places in `keys` of those that are not there, or lack what is needed.
    pub(crate) fn find(&self, table: usize, keys: &[u64], need: &Need, found: &mut Found) -> Vec<u32> {
        let mut missing = Vec::new();
        let mut used = [0; 2];
        let (mut last, mut last_local) = (u32::MAX, u32::MAX);
        let mut locals: Map<u32, u32> = Map::default();
        found.places.reserve(keys.len());
        let inner = self.read();
        let index = &inner.indexes[table];
        for (at, key) in keys.iter().enumerate() {
            let Some(&place) = index.get(key) else {
                found.places.push(NOWHERE);
                missing.push(at as u32);
                continue;
            };
            let (number, row) = ((place >> 32) as u32, place as u32);
            if number != last {
                last = number;
                last_local = *locals.entry(number).or_insert_with(|| {
                    let piece =
                        inner.pieces[number as usize].as_ref().expect("an index leads to pieces that are there");
                    if piece.fetched_ns < need.since_ns || !piece.has(&need.properties) {
                        return u32::MAX;
                    }
                    found.pieces.push(piece.clone());
                    found.pieces.len() as u32 - 1
                });
            }
            if last_local == u32::MAX {
                found.places.push(NOWHERE);
                missing.push(at as u32);
                continue;
            }
            let piece = &found.pieces[last_local as usize];
            if piece.note_use(row as usize) {
                used[usize::from(piece.origin == Origin::Ahead)] += piece.weight(row as usize);
            }
            found.places.push((last_local, row));
        }
        drop(inner);
        self.count_finds(keys.len(), missing.len(), used);
        missing
    }

    fn count_finds(&self, asked: usize, missing: usize, used: [u64; 2]) {
        let counts = &self.counts;
        counts.lookups.fetch_add(asked as u64, Ordering::Relaxed);
        counts.hits.fetch_add((asked - missing) as u64, Ordering::Relaxed);
        if used != [0, 0] {
            counts.used.fetch_add(used[0] + used[1], Ordering::Relaxed);
            counts.ahead_used.fetch_add(used[1], Ordering::Relaxed);
        }
        model::meter::count(|meter| {
            meter.source_hits += (asked - missing) as u64;
            meter.source_misses += missing as u64;
        });
    }

    /// Counts rows that are used at once and not kept.
    pub(crate) fn count_passed(&self, rows: u64) {
        self.counts.fetched.fetch_add(rows, Ordering::Relaxed);
        self.counts.used.fetch_add(rows, Ordering::Relaxed);
        model::meter::count(|meter| {
            meter.rows_fetched += rows;
            meter.rows_used += rows;
        });
    }

    /// The coordinates of nodes, of which these properties are the first few; `None` where they are not known.
    pub(crate) fn places_of(&self, table: usize, keys: &[u64], properties: &[usize]) -> Vec<Option<[f64; 3]>> {
        let inner = self.read();
        let place = |key: &u64| {
            let place = *inner.indexes[table].get(key)?;
            inner.pieces[(place >> 32) as usize].as_ref()?.sides((place as u32) as usize, properties)
        };
        keys.iter().map(place).collect()
    }

    /// Tells for each key if the table has a row, however old.
    pub(crate) fn which_are_there(&self, table: usize, keys: &[u64]) -> Vec<bool> {
        let inner = self.read();
        keys.iter().map(|key| inner.indexes[table].contains_key(key)).collect()
    }

    /// Marks rows of a piece that was just fetched as used.
    pub(crate) fn note_uses(&self, piece: &Piece, rows: impl Iterator<Item = usize>) {
        let used: u64 = rows.filter(|&row| piece.note_use(row)).map(|row| piece.weight(row)).sum();
        self.counts.used.fetch_add(used, Ordering::Relaxed);
        if piece.origin == Origin::Ahead {
            self.counts.ahead_used.fetch_add(used, Ordering::Relaxed);
        }
    }

    /// Number of times that the rows of a table were forgotten.
    pub(crate) fn epoch(&self, table: usize) -> u64 {
        self.epochs[table].load(Ordering::Acquire)
    }

    /// The same for all tables.
    pub(crate) fn epochs(&self) -> Vec<u64> {
        (0..self.epochs.len()).map(|table| self.epoch(table)).collect()
    }

    /// Takes memory for a piece that was fetched, and keeps it if it may. Fails if there is not even room to use it. With
    /// `epoch` it is not kept if its table was forgotten since: its rows may be as they were before.
    pub(crate) fn keep(&self, mut piece: Piece, epoch: Option<u64>) -> Result<Arc<Piece>> {
        let rows = piece.row_count();
        self.counts.fetched.fetch_add(rows, Ordering::Relaxed);
        if piece.origin == Origin::Ahead {
            self.counts.ahead_fetched.fetch_add(rows, Ordering::Relaxed);
        }
        model::meter::count(|meter| meter.rows_fetched += rows);
        let bytes = piece.bytes();
        piece.hold(self.memory.reserve(Consumer::SourceCache, bytes)?);
        let piece = Arc::new(piece);
        if bytes <= self.bytes_max / 2 && !piece.is_scanned && !piece.keys.is_empty() {
            let mut inner = self.write();
            if epoch.is_none_or(|epoch| epoch == self.epoch(piece.table)) {
                if !inner.add_to_open(&piece) {
                    inner.insert(piece.clone(), bytes);
                }
                inner.shrink(self.bytes_max);
            }
        }
        Ok(piece)
    }

    /// Forgets all rows of some tables.
    pub(crate) fn forget(&self, tables: impl Iterator<Item = usize>) {
        let mut inner = self.write();
        for table in tables {
            for number in 0..inner.pieces.len() {
                if inner.pieces[number].as_ref().is_some_and(|piece| piece.table == table) {
                    inner.drop_piece(number);
                }
            }
            inner.indexes[table] = Map::default();
            self.epochs[table].fetch_add(1, Ordering::Release);
        }
        // Only now, so that nobody takes what was there before for what is there after.
        self.forgotten.fetch_add(1, Ordering::Release);
    }

    /// Number of times that something was forgotten on demand.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Acquire)
    }
}

impl Relief for Cache {
    fn give_back(&self, bytes: usize) -> usize {
        let mut inner = self.write();
        let before = inner.bytes;
        let target = before.saturating_sub(bytes);
        inner.shrink(target);
        before - inner.bytes
    }
}

impl Inner {
    /// Adds the rows of a small piece to the piece of its table that is open, if that takes it.
    fn add_to_open(&mut self, piece: &Piece) -> bool {
        let Some(number) = self.open[piece.table] else { return false };
        let Some(open) = self.pieces[number as usize].as_mut().and_then(Arc::get_mut) else { return false };
        let before = open.keys.len();
        let fits = before + piece.keys.len() <= PIECE_ROWS_MAX && open.takes(piece);
        if !fits || open.fetched_ns.abs_diff(piece.fetched_ns) > PIECE_AGES_NS {
            return false;
        }
        let bytes = open.bytes();
        open.append(piece);
        self.bytes += open.bytes() - bytes;
        for (row, &key) in piece.keys.iter().enumerate() {
            self.indexes[piece.table].insert(key, u64::from(number) << 32 | (before + row) as u64);
        }
        true
    }

    fn insert(&mut self, piece: Arc<Piece>, bytes: usize) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.pieces.push(None);
            self.pieces.len() as u32 - 1
        });
        for (row, &key) in piece.keys.iter().enumerate() {
            self.indexes[piece.table].insert(key, u64::from(number) << 32 | row as u64);
        }
        self.bytes += bytes;
        if piece.keys.len() < PIECE_ROWS_MAX / 2 {
            self.open[piece.table] = Some(number);
        }
        self.pieces[number as usize] = Some(piece);
    }

    /// Drops pieces that were not used lately until no more bytes are held than these.
    fn shrink(&mut self, bytes_max: usize) {
        let mut passes = 2 * self.pieces.len();
        while self.bytes > bytes_max && passes > 0 {
            passes -= 1;
            self.hand = (self.hand + 1) % self.pieces.len();
            if self.pieces[self.hand].as_ref().is_some_and(|piece| !piece.take_recent()) {
                self.drop_piece(self.hand);
            }
        }
    }

    fn drop_piece(&mut self, number: usize) {
        let Some(piece) = self.pieces[number].take() else { return };
        let index = &mut self.indexes[piece.table];
        for (row, key) in piece.keys.iter().enumerate() {
            // The row of a key may have been fetched again since.
            if index.get(key) == Some(&((number as u64) << 32 | row as u64)) {
                index.remove(key);
            }
        }
        if index.capacity() > 64 && index.len() < index.capacity() / 8 {
            index.shrink_to_fit();
        }
        if self.open[piece.table] == Some(number as u32) {
            self.open[piece.table] = None;
        }
        self.bytes -= piece.bytes();
        self.free.push(number as u32);
    }
}
