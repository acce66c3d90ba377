//! A file at one moment: its columns, its rows in order or by number, and the indexes built over it.
//!
//! Invariant: what is kept of a file is used only as long as its length, its time of change and its inode are the same.
//! Cost: blocks that were read are kept, up to the limit of the definition's cache and as far as memory is left.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use model::schema::PropertyKind;
use model::{Column, ColumnBuilder, ColumnData, Consumer, Map, MemoryBudget, Reservation, Result, Value, error};

use super::index::{IndexBuilder, RowIndex};
#[cfg(feature = "parquet")]
use super::parquet::{ParquetFile, ParquetScan};
use super::text::{TextFile, TextScan};
use crate::connector::Condition;
use crate::files::{FieldType, Format, TableColumn, file_error};

/// The properties by which a change of a file is noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    changed: Option<std::time::SystemTime>,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Result<Stamp> {
        let metadata = std::fs::metadata(path).map_err(|cause| file_error(path, &cause))?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Ok(Stamp { length: metadata.len(), changed: metadata.modified().ok(), inode })
    }
}

/// A file as it was when it was opened.
pub(super) struct Version {
    path: PathBuf,
    pub(super) stamp: Stamp,
    body: Body,
    indexes: Mutex<Map<IndexKey, Arc<RowIndex>>>,
    blocks: Mutex<BlockCache>,
    memory: Arc<MemoryBudget>,
}

enum Body {
    Text(TextFile),
    #[cfg(feature = "parquet")]
    Parquet(ParquetFile),
}

/// The columns that an index is about, with what their values are converted to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct IndexKey {
    /// Column numbers.
    pub(super) columns: Vec<(usize, Option<PropertyKind>)>,
    /// True if each element of the (one) column is a key.
    pub(super) is_array: bool,
}

/// Blocks of columns that were read.
struct BlockCache {
    entries: Map<(usize, usize), (Arc<Column>, usize, u64)>,
    clock: u64,
    bytes_max: usize,
    memory: Reservation,
}

/// Rows in order.
pub(super) enum Scan {
    Text(TextScan, Vec<usize>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetScan>),
}

impl Scan {
    /// Further rows, with the number of the first; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Vec<Column>)>> {
        match self {
            Scan::Text(scan, columns) => {
                let Some((first, all)) = scan.next()? else { return Ok(None) };
                Ok(Some((first, columns.iter().map(|&column| all[column].clone()).collect())))
            }
            #[cfg(feature = "parquet")]
            Scan::Parquet(scan) => scan.next(),
        }
    }
}

impl Version {
    /// Opens a file. Of JSON only these columns are read, and CSV is read with these types.
    pub(super) fn open(
        path: &Path,
        format: Format,
        columns: &[String],
        types: &[(String, FieldType)],
        bytes_max: usize,
        memory: &Arc<MemoryBudget>,
    ) -> Result<Version> {
        let stamp = Stamp::of(path)?;
        let body = match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => Body::Parquet(ParquetFile::open(path)?),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {
                return Err(error!(Unsupported, "{}: this build cannot read Parquet", path.display())
                    .with_remedy("build it with the feature parquet: cargo build --features parquet"));
            }
            text => Body::Text(TextFile::open(path, text, columns, types, memory.clone())?),
        };
        let blocks =
            BlockCache { entries: Map::default(), clock: 0, bytes_max, memory: memory.empty(Consumer::SourceCache) };
        let (indexes, blocks, memory) = (Mutex::default(), Mutex::new(blocks), memory.clone());
        Ok(Version { path: path.to_owned(), stamp, body, indexes, blocks, memory })
    }

    /// Fails if the file is no longer what it was.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        if Stamp::of(&self.path)? == self.stamp {
            return Ok(());
        }
        Err(error!(Source, "{}: the file was changed while it was read", self.path.display())
            .with_remedy("run the query again; replace files by renaming, rather than writing into them"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn columns(&self) -> &[TableColumn] {
        match &self.body {
            Body::Text(file) => file.columns(),
            #[cfg(feature = "parquet")]
            Body::Parquet(file) => file.columns(),
        }
    }

    /// The number of a column.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// The number of a column; fails with `DEFINITION` if there is none.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        self.find(name).ok_or_else(|| {
            let known: Vec<&str> = self.columns().iter().map(|column| column.name.as_str()).collect();
            let path = self.path.display();
            error!(Definition, "{path}: there is no column '{name}', only {}", known.join(", "))
        })
    }

    /// The number of a property's column. Of JSON lines a key that does not come is null in all rows.
    pub(super) fn property(&self, name: &str) -> Result<Option<usize>> {
        match &self.body {
            Body::Text(file) if file.is_keyed() => Ok(self.find(name)),
            _ => self.column(name).map(Some),
        }
    }

    /// Begins to read columns of all rows, or at least of those that meet conditions on columns given by number.
    pub(super) fn scan(&self, columns: &[usize], conditions: &[Condition]) -> Result<Scan> {
        match &self.body {
            Body::Text(file) => {
                let _ = conditions;
                Ok(Scan::Text(file.scan()?, columns.to_vec()))
            }
            #[cfg(feature = "parquet")]
            Body::Parquet(file) => Ok(Scan::Parquet(Box::new(file.scan(columns, conditions)?))),
        }
    }

    /// Approximate number of rows.
    pub(super) fn rows_about(&self) -> Result<u64> {
        match &self.body {
            Body::Text(file) => file.rows_about(),
            #[cfg(feature = "parquet")]
            Body::Parquet(file) => Ok(u64::from(file.rows())),
        }
    }

    /// Rows none of whose values in these columns is null, if the file says so by itself.
    pub(super) fn rows_without_nulls(&self, columns: &[usize]) -> Option<u64> {
        match &self.body {
            Body::Text(_) => None,
            #[cfg(feature = "parquet")]
            Body::Parquet(file) => {
                columns.iter().all(|&column| file.nulls(column) == Some(0)).then(|| u64::from(file.rows()))
            }
        }
    }

    /// The reason why single rows of the file are expensive, if they are.
    pub(super) fn slow_rows(&self) -> Option<&'static str> {
        match &self.body {
            Body::Text(file) if file.is_compressed() => {
                Some("single rows of a compressed text are found only by keeping all of it in memory")
            }
            Body::Text(_) => None,
            #[cfg(feature = "parquet")]
            Body::Parquet(file) if file.group_count() == 1 && file.rows() > 4_000_000 => {
                Some("all rows lie in one row group, so that no condition passes over any")
            }
            #[cfg(feature = "parquet")]
            Body::Parquet(_) => None,
        }
    }

    /// Columns of some rows, given in ascending order.
    pub(super) fn gather(&self, rows: &[u32], columns: &[usize]) -> Result<Vec<Column>> {
        let mut found: Option<Vec<Column>> = None;
        let mut rest = rows;
        while let Some(&row) = rest.first() {
            let (block, first, end) = match &self.body {
                Body::Text(file) => file.block_of(row)?,
                #[cfg(feature = "parquet")]
                Body::Parquet(file) => file.block_of(row),
            };
            let count = rest.partition_point(|&row| row < end);
            let local: Vec<u32> = rest[..count].iter().map(|row| row - first).collect();
            rest = &rest[count..];
            let block = self.block(block, columns)?;
            super::text::append(&mut found, block.iter().map(|column| column.gather(&local)).collect());
        }
        Ok(found.unwrap_or_else(|| vec![Column::nulls(0); columns.len()]))
    }

    /// Columns of a block, from the cache as far as they are there.
    fn block(&self, number: usize, columns: &[usize]) -> Result<Vec<Arc<Column>>> {
        let mut cache = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Option<Arc<Column>>> = columns.iter().map(|&column| cache.get(number, column)).collect();
        if found.iter().any(Option::is_none) {
            // Others may read meanwhile; a block that two read at once is read twice.
            drop(cache);
            let missing: Vec<usize> =
                columns.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(&column, _)| column).collect();
            let read: Vec<(usize, Arc<Column>)> = match &self.body {
                Body::Text(file) => file.read_block(number)?.into_iter().map(Arc::new).enumerate().collect(),
                #[cfg(feature = "parquet")]
                Body::Parquet(file) => {
                    missing.iter().copied().zip(file.read_block(number, &missing)?.into_iter().map(Arc::new)).collect()
                }
            };
            cache = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            for (column, data) in read {
                columns.iter().zip(&mut found).filter(|(wanted, _)| **wanted == column).for_each(|(_, found)| {
                    *found = Some(data.clone());
                });
                cache.put(number, column, data);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The rows by the values of columns, built at the first need. With `unique` two rows that have the same are an error.
    pub(super) fn index(&self, key: &IndexKey, is_unique: bool) -> Result<Arc<RowIndex>> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(key) {
            return Ok(index.clone());
        }
        let numbers: Vec<usize> = key.columns.iter().map(|(column, _)| *column).collect();
        let mut builder = IndexBuilder::new(self.memory.empty(Consumer::SourceCache));
        let mut scan = self.scan(&numbers, &[])?;
        while let Some((first, columns)) = scan.next()? {
            let keys = key_column(&self.converted(columns, key.columns.iter().map(|(_, kind)| *kind))?);
            if key.is_array {
                for (row, value) in keys.values().enumerate() {
                    for element in elements(&value) {
                        builder.push_key(first + row as u32, element)?;
                    }
                }
            } else {
                builder.push(first, &keys)?;
            }
        }
        let index = builder.finish();
        if is_unique {
            self.check_unique(&index, key)?;
        }
        self.check_unchanged()?;
        let index = Arc::new(index);
        indexes.insert(key.clone(), index.clone());
        Ok(index)
    }

    /// Fails if two rows have one key.
    fn check_unique(&self, index: &RowIndex, key: &IndexKey) -> Result<()> {
        let numbers: Vec<usize> = key.columns.iter().map(|(column, _)| *column).collect();
        for mut rows in index.shared() {
            rows.sort_unstable();
            let keys = self.converted(self.gather(&rows, &numbers)?, key.columns.iter().map(|(_, kind)| *kind))?;
            let keys: Vec<Value> = key_column(&keys).values().collect();
            for (later, value) in keys.iter().enumerate() {
                if let Some(earlier) = keys[..later].iter().position(|other| other == value) {
                    let (path, a, b) = (self.path.display(), rows[earlier] + 1, rows[later] + 1);
                    let names: Vec<&str> = numbers.iter().map(|&number| self.columns()[number].name.as_str()).collect();
                    let names = names.join(", ");
                    return Err(error!(Definition, "{path}: rows {a} and {b} have the same key {value} ({names})")
                        .with_remedy("name columns as the key that tell the rows apart, or mend the file"));
                }
            }
        }
        Ok(())
    }

    /// Columns converted to kinds; a value that does not convert is an error.
    pub(super) fn converted(
        &self,
        columns: Vec<Column>,
        kinds: impl Iterator<Item = Option<PropertyKind>>,
    ) -> Result<Vec<Column>> {
        let convert = |(column, kind): (Column, Option<PropertyKind>)| match kind {
            Some(kind) => converted(column, kind).map_err(|found| {
                error!(Definition, "{}: expected {}, found {found}", self.path.display(), kind.name())
                    .with_remedy("mend the value, or the property's kind in the definition")
            }),
            None => Ok(column),
        };
        columns.into_iter().zip(kinds).map(convert).collect()
    }
}

impl BlockCache {
    fn get(&mut self, block: usize, column: usize) -> Option<Arc<Column>> {
        self.clock += 1;
        let (data, _, used) = self.entries.get_mut(&(block, column))?;
        *used = self.clock;
        Some(data.clone())
    }

    fn put(&mut self, block: usize, column: usize, data: Arc<Column>) {
        let bytes = bytes_of(&data);
        if bytes > self.bytes_max || self.entries.contains_key(&(block, column)) {
            return;
        }
        while self.memory.bytes() + bytes > self.bytes_max || self.memory.grow(bytes).is_err() {
            let oldest = self.entries.iter().min_by_key(|(_, (_, _, used))| *used).map(|(key, _)| *key);
            let Some((_, freed, _)) = oldest.and_then(|oldest| self.entries.remove(&oldest)) else { return };
            self.memory.resize(self.memory.bytes() - freed);
        }
        self.entries.insert((block, column), (data, bytes, self.clock));
    }
}

/// Approximate bytes that a column holds.
fn bytes_of(column: &Column) -> usize {
    let rows = column.len();
    match &column.data {
        ColumnData::Null(_) => 16,
        ColumnData::Bool(_) => rows,
        ColumnData::String(texts) => texts.byte_count() + 8 * rows,
        ColumnData::Value(_) => 48 * rows,
        ColumnData::Int(_) | ColumnData::Float(_) => 8 * rows,
        _ => 24 * rows,
    }
}

/// Keys of columns: the column itself, or lists of the values of several; null where one of them is.
pub(super) fn key_column(columns: &[Column]) -> Column {
    if let [only] = columns {
        return only.clone();
    }
    let rows = columns.first().map_or(0, Column::len);
    let mut keys = ColumnBuilder::default();
    for row in 0..rows {
        let parts: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
        keys.push(&if parts.iter().any(Value::is_null) { Value::Null } else { Value::list(parts) });
    }
    keys.finish()
}

/// The elements of an array, those that are null passed over; none of null.
pub(super) fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    let items: &[Value] = match value {
        Value::List(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    items.iter().filter(|item| !item.is_null())
}

/// A column converted to a kind, or what does not convert.
fn converted(column: Column, kind: PropertyKind) -> Result<Column, String> {
    let is_of_kind = match (&column.data, kind) {
        (ColumnData::Null(_), _) => true,
        (ColumnData::Int(_), PropertyKind::Integer)
        | (ColumnData::Float(_), PropertyKind::Float)
        | (ColumnData::String(_), PropertyKind::String)
        | (ColumnData::Bool(_), PropertyKind::Boolean)
        | (ColumnData::Date(_), PropertyKind::Date) => true,
        (ColumnData::Int(numbers), PropertyKind::Float) => {
            let floats = numbers.iter().map(|&number| number as f64).collect();
            return Ok(Column { data: ColumnData::Float(floats), validity: column.validity });
        }
        _ => false,
    };
    if is_of_kind {
        return Ok(column);
    }
    let mut builder = ColumnBuilder::default();
    for value in column.values() {
        builder.push(&convert(&value, kind).ok_or_else(|| value.to_string())?);
    }
    Ok(builder.finish())
}

fn convert(value: &Value, kind: PropertyKind) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Null),
        value if kind.holds(value) => Some(value.clone()),
        // Of arrays each element is converted.
        Value::List(items) => items.iter().map(|item| convert(item, kind)).collect::<Option<Vec<_>>>().map(Value::list),
        Value::Int(number) if kind == PropertyKind::Float => Some(Value::Float(*number as f64)),
        Value::Float(number) if kind == PropertyKind::Integer && number.trunc() == *number && number.abs() < 9e15 => {
            Some(Value::Int(*number as i64))
        }
        Value::String(text) => field_type(kind).parse(text, b';'),
        other if kind == PropertyKind::String => Some(Value::string(&other.to_string())),
        _ => None,
    }
}

/// The type of a field whose values are of a kind.
pub(super) fn field_type(kind: PropertyKind) -> FieldType {
    FieldType::of_kind(kind)
}
