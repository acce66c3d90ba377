//! A piece of a cache: rows of one table, fetched together, whose properties lie column by column.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::{Bitmap, Column, ColumnData, Reservation, each_vector};

/// Numbers of keys, in four bytes each where they fit.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// Stands in narrow numbers for [`crate::keys::NO_KEY`].
const NARROW_NO_KEY: u32 = u32::MAX;

impl Numbers {
    pub(crate) fn new(numbers: Vec<u64>) -> Numbers {
        if numbers.iter().all(|&number| number < u64::from(NARROW_NO_KEY) || number == crate::keys::NO_KEY) {
            // The cast keeps the low bits, so that what stands for no key does so in both widths.
            Numbers::Narrow(numbers.iter().map(|&number| number as u32).collect())
        } else {
            Numbers::Wide(numbers)
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        match self {
            Numbers::Narrow(numbers) if numbers[at] == NARROW_NO_KEY => crate::keys::NO_KEY,
            Numbers::Narrow(numbers) => u64::from(numbers[at]),
            Numbers::Wide(numbers) => numbers[at],
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Numbers::Narrow(numbers) => numbers.len(),
            Numbers::Wide(numbers) => numbers.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }

    fn append(&mut self, other: &Numbers) {
        if let (Numbers::Narrow(mine), Numbers::Narrow(theirs)) = (&mut *self, other) {
            return mine.extend_from_slice(theirs);
        }
        let mut wide: Vec<u64> = self.iter().collect();
        wide.extend(other.iter());
        *self = Numbers::Wide(wide);
    }

    fn bytes(&self) -> usize {
        match self {
            Numbers::Narrow(numbers) => numbers.len() * 4,
            Numbers::Wide(numbers) => numbers.len() * 8,
        }
    }
}

/// The edges of the rows of a piece, if these are lists of edges.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    /// For each row, where its edges end; they start where those of the row before it end.
    pub(crate) ends: Vec<u32>,
    /// For each edge, the number of the key of its far node; ascending within a row.
    pub(crate) far: Numbers,
    /// For each edge, the number of its own key, where the kind has keys.
    pub(crate) edge_keys: Option<Numbers>,
}

impl Lists {
    /// The edges of a row.
    #[inline]
    pub(crate) fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start as usize..self.ends[row] as usize
    }
}

/// Why a piece was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was asked for.
    Asked,
    /// It was fetched ahead.
    Ahead,
}

/// Rows that were fetched together: nodes, or lists of the edges of a node each.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The table whose rows they are.
    pub(crate) table: usize,
    /// The number of each row's key; ascending in a piece that was just fetched.
    pub(crate) keys: Vec<u64>,
    /// For nodes, which of them there are; `None` if all.
    pub(crate) exists: Option<Bitmap>,
    /// For lists, the edges.
    pub(crate) lists: Option<Lists>,
    /// By number of property: a row for each node, or each edge; `None` for what was not fetched.
    pub(crate) columns: Vec<Option<Column>>,
    /// When it was fetched, by the clock.
    pub(crate) fetched_ns: u64,
    pub(crate) origin: Origin,
    /// It is of a scan too long to be kept.
    pub(crate) is_scanned: bool,
    /// For each row, whether it was ever used.
    used: Vec<AtomicU64>,
    /// For each row of lists, whether all its far nodes are known to be there.
    sure: Vec<AtomicU64>,
    /// For each row of lists, whether its far nodes were looked for.
    known: Vec<AtomicU64>,
    /// True if a row was used since the clock's hand last passed.
    recent: AtomicBool,
    /// The reservation that counts its bytes.
    held: Option<Reservation>,
}

fn bits(rows: usize) -> Vec<AtomicU64> {
    (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// Sets a bit; true if it was clear.
#[inline]
fn set(bits: &[AtomicU64], row: usize) -> bool {
    let (word, mask) = (&bits[row / 64], 1 << (row % 64));
    word.load(Ordering::Relaxed) & mask == 0 && word.fetch_or(mask, Ordering::Relaxed) & mask == 0
}

impl Piece {
    pub(crate) fn new(table: usize, keys: Vec<u64>, columns: Vec<Option<Column>>, at_ns: u64, origin: Origin) -> Piece {
        let rows = keys.len();
        Piece {
            table,
            keys,
            exists: None,
            lists: None,
            columns,
            fetched_ns: at_ns,
            origin,
            is_scanned: false,
            used: bits(rows),
            sure: bits(rows),
            known: bits(rows),
            recent: AtomicBool::new(true),
            held: None,
        }
    }

    pub(crate) fn hold(&mut self, held: Reservation) {
        self.held = Some(held);
    }

    /// True if a node is there; true for lists.
    #[inline]
    pub(crate) fn is_there(&self, row: usize) -> bool {
        self.exists.as_ref().is_none_or(|bits| bits.get(row))
    }

    /// The row of a key in a piece that was just fetched.
    pub(crate) fn row_of(&self, key: u64) -> Option<usize> {
        self.keys.binary_search(&key).ok()
    }

    /// The database's rows that a row stands for.
    #[inline]
    pub(crate) fn weight(&self, row: usize) -> u64 {
        match &self.lists {
            Some(lists) => lists.range(row).len() as u64,
            None => u64::from(self.is_there(row)),
        }
    }

    /// The database's rows in it.
    pub(crate) fn row_count(&self) -> u64 {
        match (&self.lists, &self.exists) {
            (Some(lists), _) => lists.far.len() as u64,
            (None, Some(exists)) => exists.count_ones() as u64,
            (None, None) => self.keys.len() as u64,
        }
    }

    /// Notes that a row is used; true for the first time.
    #[inline]
    pub(crate) fn note_use(&self, row: usize) -> bool {
        if !self.recent.load(Ordering::Relaxed) {
            self.recent.store(true, Ordering::Relaxed);
        }
        set(&self.used, row)
    }

    /// True if a row was used since the last time this was asked.
    pub(crate) fn take_recent(&self) -> bool {
        self.recent.swap(false, Ordering::Relaxed)
    }

    /// True if all far nodes of a row are known to be there.
    #[inline]
    pub(crate) fn is_sure(&self, row: usize) -> bool {
        self.sure[row / 64].load(Ordering::Relaxed) >> (row % 64) & 1 == 1
    }

    pub(crate) fn make_sure(&self, row: usize) {
        set(&self.sure, row);
    }

    /// Notes that the far nodes of a row were looked for; true for the first time.
    #[inline]
    pub(crate) fn note_known(&self, row: usize) -> bool {
        set(&self.known, row)
    }

    /// The values of properties of a node as coordinates, if they are there and are numbers.
    pub(crate) fn sides(&self, row: usize, properties: &[usize]) -> Option<[f64; 3]> {
        let mut sides = [0.0; 3];
        for (side, &property) in sides.iter_mut().zip(properties) {
            let column = self.columns[property].as_ref().filter(|column| !column.is_null(row))?;
            *side = match &column.data {
                ColumnData::Float(rows) => rows[row],
                ColumnData::Int(rows) => rows[row] as f64,
                _ => return None,
            };
        }
        Some(sides)
    }

    /// True if all these properties were fetched.
    #[inline]
    pub(crate) fn has(&self, properties: &[usize]) -> bool {
        properties.iter().all(|&property| self.columns[property].is_some())
    }

    /// Approximate bytes that it takes in memory, with its entries in the index of its table.
    pub(crate) fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().flatten().map(column_bytes).sum();
        let lists = self.lists.as_ref().map_or(0, |lists| {
            lists.ends.len() * 4 + lists.far.bytes() + lists.edge_keys.as_ref().map_or(0, Numbers::bytes)
        });
        size_of::<Piece>() + self.keys.len() * ROW_BYTES + columns + lists
    }

    /// True if the rows of another piece may be added to this one.
    pub(crate) fn takes(&self, other: &Piece) -> bool {
        let same = |(mine, theirs): (&Option<Column>, &Option<Column>)| mine.is_some() == theirs.is_some();
        let edges = |piece: &Piece| piece.lists.as_ref().map(|lists| lists.edge_keys.is_some());
        self.table == other.table
            && self.origin == other.origin
            && edges(self) == edges(other)
            && self.columns.iter().zip(&other.columns).all(same)
    }

    /// Adds the rows of another piece that it takes. Both keep the older one's age.
    pub(crate) fn append(&mut self, other: &Piece) {
        let before = self.keys.len();
        let rows = before + other.keys.len();
        self.keys.extend_from_slice(&other.keys);
        if self.exists.is_some() || other.exists.is_some() {
            let bits = self.exists.get_or_insert_with(|| Bitmap::filled(before, true));
            (0..other.keys.len()).for_each(|row| bits.push(other.is_there(row)));
        }
        if let (Some(mine), Some(theirs)) = (&mut self.lists, &other.lists) {
            let base = mine.far.len() as u32;
            mine.ends.extend(theirs.ends.iter().map(|end| base + end));
            mine.far.append(&theirs.far);
            if let (Some(mine), Some(theirs)) = (&mut mine.edge_keys, &theirs.edge_keys) {
                mine.append(theirs);
            }
        }
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.append(theirs);
            }
        }
        for bits in [&mut self.used, &mut self.sure, &mut self.known] {
            bits.resize_with(rows.div_ceil(64), || AtomicU64::new(0));
        }
        for row in 0..other.keys.len() {
            if other.used[row / 64].load(Ordering::Relaxed) >> (row % 64) & 1 == 1 {
                set(&self.used, before + row);
            }
            if other.is_sure(row) {
                set(&self.sure, before + row);
            }
        }
        self.fetched_ns = self.fetched_ns.min(other.fetched_ns);
        let bytes = self.bytes();
        if let Some(held) = &mut self.held {
            held.resize(bytes);
        }
    }
}

/// A row's key, its bits, and its entry in the index.
const ROW_BYTES: usize = 8 + 1 + 32;

/// Approximate bytes that a column takes in memory.
pub(crate) fn column_bytes(column: &Column) -> usize {
    let rows = column.len();
    let data = each_vector!(&column.data, {
        ColumnData::Null(_) => 0,
        ColumnData::String(texts) => rows * 8 + texts.byte_count(),
        ColumnData::Value(values) => values.iter().map(|value| 24 + boxed_bytes(value)).sum(),
    }, values => size_of_val(&values[..]));
    data + column.validity.as_ref().map_or(0, |bits| bits.len() / 8)
}

fn boxed_bytes(value: &model::Value) -> usize {
    match value {
        model::Value::String(text) => text.len() + 16,
        model::Value::Bytes(bytes) => bytes.len() + 16,
        model::Value::List(items) => 32 + items.iter().map(|item| 24 + boxed_bytes(item)).sum::<usize>(),
        model::Value::Map(map) => map.values().map(|item| 64 + boxed_bytes(item)).sum(),
        _ => 0,
    }
}
