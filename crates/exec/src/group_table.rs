//! A hash table from rows of key columns to numbers 0, 1, 2, … in order of first appearance.
//!
//! Keys are equal as in grouping and `DISTINCT`: null equals null, `1` equals `1.0`. They are kept in columns, never
//! boxed; a batch is hashed column by column. Strings that are coded are numbered first, a column of keys by itself: a
//! string is looked up once for each batch, and rows are compared by numbers.

use std::sync::Arc;

use model::{Bitmap, Column, ColumnData, Fixed, StringColumn, Value, each_fixed, each_vector, each_vector_pair};

use crate::prefetch::prefetch;
use crate::size::column_bytes;

/// Marks a free place of the table.
const FREE: u32 = u32::MAX;

/// Marks a string whose group is looked for.
const MARKED: u32 = u32::MAX - 1;

/// Codes of strings must come so often on the average to be looked up once each.
const CODED_SHARE: usize = 2;

/// Number of rows by which the slot of a row is prefetched ahead; its group is prefetched half as many rows ahead.
const AHEAD: usize = 16;

/// Tables of fewer places stay in the processor's cache.
const PLACES_NEAR: usize = 1 << 14;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct GroupTable {
    /// Open addressing with linear probing; a power of two.
    places: Vec<u32>,
    /// The hash of each group.
    hashes: Vec<u64>,
    /// One column for each key, with the groups of all batches before this one.
    keys: Vec<Column>,
    stored: usize,
    /// Approximate bytes of the keys.
    key_bytes: usize,
    /// For each of several keys, the strings that its numbers stand for; `None` where the values are themselves the keys.
    dictionaries: Vec<Option<GroupTable>>,
    /// The groups of the strings of the dictionary that came last.
    known: Option<KnownGroups>,
}

/// The groups of the strings of a dictionary, as far as they came.
#[derive(Debug)]
struct KnownGroups {
    strings: Arc<StringColumn>,
    /// For each code its group, or `FREE`; last that of null.
    groups: Vec<u32>,
}

impl GroupTable {
    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Approximate bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        let dictionaries = self.dictionaries.iter().flatten().map(GroupTable::bytes).sum::<usize>();
        let known = self.known.as_ref().map_or(0, |known| known.groups.len() * size_of::<u32>());
        self.places.len() * size_of::<u32>()
            + self.hashes.len() * size_of::<u64>()
            + self.key_bytes
            + dictionaries
            + known
    }

    /// The keys of all groups, a column each; `width` columns even without groups.
    pub(crate) fn into_keys(self, width: usize) -> Vec<Column> {
        if self.keys.is_empty() {
            return (0..width).map(|_| Column::nulls(0)).collect();
        }
        let dictionaries = self.dictionaries.into_iter().chain(std::iter::repeat_with(|| None));
        let decoded = self.keys.into_iter().zip(dictionaries).map(|(keys, dictionary)| match dictionary {
            Some(dictionary) => dictionary.decode(&keys),
            None => keys,
        });
        decoded.collect()
    }

    /// The keys with these numbers.
    fn decode(self, numbers: &Column) -> Column {
        let numbers: Vec<u32> = plain_integers(numbers).unwrap_or_default().iter().map(|&it| it as u32).collect();
        self.into_keys(1).swap_remove(0).gather(&numbers)
    }

    /// Writes the group of each row into `groups`, adding groups that are new, and the rows that made them into `new`.
    pub(crate) fn insert(&mut self, columns: &[Arc<Column>], rows: usize, groups: &mut Vec<u32>, new: &mut Vec<u32>) {
        groups.clear();
        new.clear();
        if let [column] = columns {
            match Coded::of(column) {
                Some(coded) if coded.comes_again(rows) => self.insert_coded(column, &coded, groups, new),
                _ => self.insert_rows(columns, rows, groups, new),
            }
            return;
        }
        if self.hashes.is_empty() {
            let is_numbered = |column: &Arc<Column>| Coded::of(column).is_some_and(|coded| coded.comes_again(rows));
            self.dictionaries = columns.iter().map(|column| is_numbered(column).then(GroupTable::default)).collect();
        }
        if self.dictionaries.iter().all(Option::is_none) {
            return self.insert_rows(columns, rows, groups, new);
        }
        let numbered = columns.iter().zip(&mut self.dictionaries).map(|(column, dictionary)| match dictionary {
            Some(dictionary) => {
                dictionary.insert(std::slice::from_ref(column), rows, groups, new);
                numbers(groups)
            }
            None => column.clone(),
        });
        let numbered: Vec<Arc<Column>> = numbered.collect();
        groups.clear();
        new.clear();
        self.insert_rows(&numbered, rows, groups, new);
    }

    /// The same for strings that are coded: each string of a dictionary is looked up once, as long as batches have the same.
    fn insert_coded(&mut self, column: &Arc<Column>, coded: &Coded<'_>, groups: &mut Vec<u32>, new: &mut Vec<u32>) {
        let known = self.known.take().filter(|known| Arc::ptr_eq(&known.strings, coded.dictionary));
        let mut known = known.unwrap_or_else(|| KnownGroups::none(coded.dictionary));
        let firsts = coded.firsts(&mut known.groups);
        if !firsts.is_empty() {
            let mut found = Vec::with_capacity(firsts.len());
            self.insert_rows(&[Arc::new(column.gather(&firsts))], firsts.len(), &mut found, new);
            new.iter_mut().for_each(|row| *row = firsts[*row as usize]);
            firsts.iter().zip(found).for_each(|(&row, group)| known.groups[coded.place(row as usize)] = group);
        }
        groups.extend((0..coded.codes.len()).map(|row| known.groups[coded.place(row)]));
        self.known = Some(known);
    }

    fn insert_rows(&mut self, columns: &[Arc<Column>], rows: usize, groups: &mut Vec<u32>, new: &mut Vec<u32>) {
        let hashes = hash_rows(columns, rows);
        let values: Option<Vec<&[i64]>> = columns.iter().map(|column| plain_integers(column)).collect();
        let held: Option<Vec<&[i64]>> = self.keys.iter().map(plain_integers).collect();
        if let (Some(values), Some(held)) = (values, held)
            && !values.is_empty()
        {
            let stored = self.stored;
            if let ([values], [] | [_]) = (values.as_slice(), held.as_slice()) {
                let held = held.first().copied().unwrap_or_default();
                let is_held = |group: usize, row: usize, new: &[u32], _: u64| match held.get(group) {
                    Some(&held) => held == values[row],
                    None => values[new[group - stored] as usize] == values[row],
                };
                let ask = |group: u32| {
                    if let Some(held) = held.get(group as usize) {
                        prefetch(held);
                    }
                };
                place_rows(&mut self.places, &mut self.hashes, &hashes, (groups, new), is_held, ask);
            } else {
                let is_held = |group: usize, row: usize, new: &[u32], _: u64| match group < stored {
                    true => held.iter().zip(&values).all(|(held, values)| held[group] == values[row]),
                    false => {
                        let other = new[group - stored] as usize;
                        values.iter().all(|values| values[other] == values[row])
                    }
                };
                place_rows(&mut self.places, &mut self.hashes, &hashes, (groups, new), is_held, |_| {});
            }
        } else {
            let (keys, stored) = (&self.keys, self.stored);
            let is_held = |group: usize, row: usize, new: &[u32], hash: u64| {
                hash == hashes[row] && holds(keys, stored, group, columns, row, new)
            };
            place_rows(&mut self.places, &mut self.hashes, &hashes, (groups, new), is_held, |_| {});
        }
        self.store(columns, new);
    }

    /// The group of each row, [`FREE`]-like `u32::MAX` where there is none.
    pub(crate) fn find(&self, columns: &[Arc<Column>], rows: usize) -> Vec<u32> {
        if self.places.is_empty() {
            return vec![FREE; rows];
        }
        if let [column] = columns
            && let Some(coded) = Coded::of(column)
            && coded.comes_again(rows)
        {
            let mut groups = vec![FREE; coded.dictionary.len() + 1];
            let firsts = coded.firsts(&mut groups);
            let found = self.find_rows(&[Arc::new(column.gather(&firsts))], firsts.len());
            firsts.iter().zip(found).for_each(|(&row, group)| groups[coded.place(row as usize)] = group);
            return (0..rows).map(|row| groups[coded.place(row)]).collect();
        }
        if self.dictionaries.iter().all(Option::is_none) {
            return self.find_rows(columns, rows);
        }
        // A string without a number has no group: it is a number that no key has.
        let numbered = columns.iter().zip(&self.dictionaries).map(|(column, dictionary)| match dictionary {
            Some(dictionary) => numbers(&dictionary.find(std::slice::from_ref(column), rows)),
            None => column.clone(),
        });
        self.find_rows(&numbered.collect::<Vec<_>>(), rows)
    }

    fn find_rows(&self, columns: &[Arc<Column>], rows: usize) -> Vec<u32> {
        let mask = self.places.len() - 1;
        let hashes = hash_rows(columns, rows);
        let find = |(row, &hash): (usize, &u64)| {
            let mut place = spread(hash) & mask;
            loop {
                let group = self.places[place];
                if group == FREE {
                    return FREE;
                }
                if self.hashes[group as usize] == hash
                    && holds(&self.keys, self.stored, group as usize, columns, row, &[])
                {
                    return group;
                }
                place = (place + 1) & mask;
            }
        };
        hashes.iter().enumerate().map(find).collect()
    }

    fn store(&mut self, columns: &[Arc<Column>], new: &[u32]) {
        if new.is_empty() {
            return;
        }
        let added: Vec<Column> = columns.iter().map(|column| column.gather(new)).collect();
        self.key_bytes += added.iter().map(column_bytes).sum::<usize>();
        if self.keys.is_empty() {
            self.keys = added;
        } else {
            self.keys.iter_mut().zip(&added).for_each(|(key, added)| key.append(added));
        }
        self.stored = self.hashes.len();
    }
}

impl KnownGroups {
    fn none(strings: &Arc<StringColumn>) -> KnownGroups {
        KnownGroups { strings: strings.clone(), groups: vec![FREE; strings.len() + 1] }
    }
}

/// A column of strings that are codes, with the rows that are not null.
struct Coded<'c> {
    codes: &'c [u32],
    dictionary: &'c Arc<StringColumn>,
    validity: Option<&'c Bitmap>,
}

impl<'c> Coded<'c> {
    fn of(column: &'c Column) -> Option<Coded<'c>> {
        let ColumnData::String(strings) = &column.data else { return None };
        let (codes, dictionary) = (strings.codes()?.0, strings.dictionary()?);
        Some(Coded { codes, dictionary, validity: column.validity.as_ref() })
    }

    /// True if strings come often enough to be looked up once each.
    fn comes_again(&self, rows: usize) -> bool {
        self.dictionary.len() * CODED_SHARE <= rows
    }

    /// The place of a row's string among the groups of the dictionary. Null has the one behind the strings.
    #[inline]
    fn place(&self, row: usize) -> usize {
        let is_null = self.validity.is_some_and(|validity| !validity.get(row));
        if is_null { self.dictionary.len() } else { self.codes[row] as usize }
    }

    /// The rows that are the first with strings that have no group yet; those are marked.
    fn firsts(&self, groups: &mut [u32]) -> Vec<u32> {
        let mut firsts = Vec::new();
        for row in 0..self.codes.len() {
            let group = &mut groups[self.place(row)];
            if *group == FREE {
                *group = MARKED;
                firsts.push(row as u32);
            }
        }
        firsts
    }
}

/// A column of these numbers.
fn numbers(numbers: &[u32]) -> Arc<Column> {
    Arc::new(Column::new(ColumnData::Int(numbers.iter().map(|&number| i64::from(number)).collect())))
}

/// Finds or makes the group of each row of a batch. Whether a group has the key of a row is told from their numbers, the
/// rows that made new groups, and the hash of the group. An integer is compared itself rather than its hash. What the
/// comparison with a group reads is asked for by `ask`.
#[inline]
fn place_rows(
    places: &mut Vec<u32>,
    group_hashes: &mut Vec<u64>,
    hashes: &[u64],
    (groups, new): (&mut Vec<u32>, &mut Vec<u32>),
    is_held: impl Fn(usize, usize, &[u32], u64) -> bool,
    ask: impl Fn(u32),
) {
    for (row, &hash) in hashes.iter().enumerate() {
        if places.len() >= PLACES_NEAR {
            let place =
                |ahead: usize| hashes.get(row + ahead).and_then(|&hash| places.get(spread(hash) & (places.len() - 1)));
            if let Some(place) = place(AHEAD) {
                prefetch(place);
            }
            if let Some(&group) = place(AHEAD / 2) {
                ask(group);
            }
        }
        if (group_hashes.len() + 1) * 8 > places.len() * 7 {
            grow(places, group_hashes);
        }
        let mask = places.len() - 1;
        let mut place = spread(hash) & mask;
        let group = loop {
            let group = places[place];
            if group == FREE {
                let group = group_hashes.len() as u32;
                places[place] = group;
                group_hashes.push(hash);
                new.push(row as u32);
                break group;
            }
            if is_held(group as usize, row, new, group_hashes[group as usize]) {
                break group;
            }
            place = (place + 1) & mask;
        };
        groups.push(group);
    }
}

/// True if the key of a group equals a row of the batch. Groups made by the batch itself are compared within it.
#[inline]
fn holds(keys: &[Column], stored: usize, group: usize, columns: &[Arc<Column>], row: usize, new: &[u32]) -> bool {
    if group < stored {
        keys.iter().zip(columns).all(|(key, column)| rows_equal(key, group, column, row))
    } else {
        let other = new[group - stored] as usize;
        columns.iter().all(|column| rows_equal(column, other, column, row))
    }
}

/// Doubles a table of groups with these hashes.
fn grow(places: &mut Vec<u32>, group_hashes: &[u64]) {
    let size = (places.len() * 2).max(16);
    *places = vec![FREE; size];
    for (group, &hash) in group_hashes.iter().enumerate() {
        let mut place = spread(hash) & (size - 1);
        while places[place] != FREE {
            place = (place + 1) & (size - 1);
        }
        places[place] = group as u32;
    }
}

/// The values of a column of integers without nulls.
fn plain_integers(column: &Column) -> Option<&[i64]> {
    match (&column.data, &column.validity) {
        (ColumnData::Int(values), None) => Some(values),
        _ => None,
    }
}

/// The place of a hash in a table, before it is cut to its size.
#[inline]
fn spread(hash: u64) -> usize {
    (hash >> 32 ^ hash) as usize
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Folds the product of 128 bits. Words of small integers are those of floats, which differ in their upper bits alone: the lower
/// half of a product would keep them there, and whole groups of a table would share their places.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

/// Hash of a null.
const NULL_WORD: u64 = 0x5bd1_e995;

/// One hash for each row. Values that are equal hash alike whatever the kind of their column.
pub(crate) fn hash_rows(columns: &[Arc<Column>], rows: usize) -> Vec<u64> {
    let mut hashes = vec![MULTIPLIER; rows];
    columns.iter().for_each(|column| hash_column(column, &mut hashes));
    hashes
}

fn hash_column(column: &Column, hashes: &mut [u64]) {
    macro_rules! each {
        ($word:expr) => {
            match &column.validity {
                None => hashes.iter_mut().enumerate().for_each(|(row, hash)| *hash = mix(*hash, $word(row))),
                Some(validity) => hashes
                    .iter_mut()
                    .enumerate()
                    .for_each(|(row, hash)| *hash = mix(*hash, if validity.get(row) { $word(row) } else { NULL_WORD })),
            }
        };
    }
    each_vector!(&column.data, {
        ColumnData::Null(_) => hashes.iter_mut().for_each(|hash| *hash = mix(*hash, NULL_WORD)),
        ColumnData::String(values) => match values.codes() {
            Some((codes, texts)) if texts.len() < codes.len() => {
                let words: Vec<u64> = texts.iter().map(text_word).collect();
                each!(|row: usize| words[codes[row] as usize])
            }
            _ => each!(|row: usize| text_word(values.get(row))),
        },
        ColumnData::Value(values) => each!(|row: usize| value_word(&values[row])),
    }, values => each!(|row: usize| values[row].word()));
}

fn value_word(value: &Value) -> u64 {
    use std::hash::{Hash, Hasher};
    each_fixed!(value, {
        Value::Null => NULL_WORD,
        Value::Node(node) => node.word(),
        Value::Edge(edge) => edge.word(),
        Value::String(text) => text_word(text),
    }, x => x.word(), _ => {
        let mut hasher = std::hash::DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    })
}

/// Without a copy of the last bytes: they are read together with some of those before them.
fn text_word(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let length = bytes.len() as u64;
    let half = |at: usize| {
        bytes.get(at..at + 4).map_or(0, |half| u64::from(u32::from_le_bytes([half[0], half[1], half[2], half[3]])))
    };
    match bytes {
        [] => mix(0, 0),
        [a] => mix(length, u64::from(*a)),
        [a, b] => mix(length, u64::from(*a) | u64::from(*b) << 8),
        [a, b, c] => mix(length, u64::from(*a) | u64::from(*b) << 8 | u64::from(*c) << 16),
        _ => {
            let (words, rest) = bytes.as_chunks::<8>();
            let hash = words.iter().fold(length, |hash, word| mix(hash, u64::from_le_bytes(*word)));
            match rest.len() {
                0 => hash,
                1..=4 => mix(hash, half(bytes.len() - 4)),
                _ => mix(hash, half(bytes.len() - rest.len()) | half(bytes.len() - 4) << 32),
            }
        }
    }
}

/// True if two rows are equal as in grouping.
#[inline]
pub(crate) fn rows_equal(a: &Column, i: usize, b: &Column, j: usize) -> bool {
    match (a.is_null(i), b.is_null(j)) {
        (false, false) => {}
        (left, right) => return left && right,
    }
    each_vector_pair!((&a.data, &b.data), ColumnData, ColumnData, {
        (ColumnData::String(a), ColumnData::String(b)) => a.get(i) == b.get(j),
        (ColumnData::Value(a), ColumnData::Value(b)) => a[i] == b[j],
    }, (a, b) => a[i].order(&b[j]).is_eq(), _ => a.value(i) == b.value(j))
}

#[cfg(test)]
mod tests {
    use super::GroupTable;
    use model::{Bitmap, Column, ColumnData, Map, StringColumn, Value};
    use std::sync::Arc;
    use testing::random::{SeededRandom, seed_or};

    #[test]
    fn equal_values_of_different_kinds_share_a_group() {
        let mut table = GroupTable::default();
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        let mut insert = |values: &[Value], expected: &[u32]| {
            let column = Arc::new(Column::from_values(values));
            table.insert(&[column], values.len(), &mut groups, &mut new);
            assert_eq!(groups, expected, "{values:?}");
        };
        insert(&[Value::Int(1), Value::Null, Value::Int(1), Value::Int(2)], &[0, 1, 0, 2]);
        insert(&[Value::Float(2.0), Value::Float(-0.0), Value::Float(0.5), Value::Null], &[2, 3, 4, 1]);
        insert(&[Value::Int(0), Value::string("a"), Value::list(vec![Value::Int(1)])], &[3, 5, 6]);
        insert(&[Value::list(vec![Value::Float(1.0)]), Value::string("a"), Value::Float(f64::NAN)], &[6, 5, 7]);
        insert(&[Value::Float(-f64::NAN)], &[7]);
        assert_eq!(table.len(), 8);
    }

    #[test]
    fn integers_mix_with_other_keys() {
        let mut table = GroupTable::default();
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        let large = 9_007_199_254_740_993;
        for (values, expected) in [
            (vec![Value::Int(5), Value::Int(large), Value::Int(large - 1), Value::Int(5)], vec![0, 1, 2, 0]),
            (vec![Value::Int(large - 1), Value::Int(7), Value::Int(large), Value::Int(7)], vec![2, 3, 1, 3]),
            (vec![Value::Null, Value::Int(7), Value::Float(5.0)], vec![4, 3, 0]),
            (vec![Value::Int(7), Value::Int(8), Value::Int(5)], vec![3, 5, 0]),
            (vec![Value::string("7"), Value::Int(8)], vec![6, 5]),
            (vec![Value::Int(-1), Value::Int(8)], vec![7, 5]),
        ] {
            table.insert(&[Arc::new(Column::from_values(&values))], values.len(), &mut groups, &mut new);
            assert_eq!(groups, expected, "{values:?}");
        }
    }

    /// Strings, some of them null, coded or not.
    fn strings(random: &mut SeededRandom, rows: usize, is_coded: bool) -> Column {
        let names: Vec<String> = (0..5).map(|name| format!("name {name}")).collect();
        let mut validity = Bitmap::default();
        let mut plain = StringColumn::default();
        let codes: Vec<u32> = (0..rows).map(|_| random.below(5) as u32).collect();
        codes.iter().for_each(|&code| plain.push(&names[code as usize]));
        (0..rows).for_each(|_| validity.push(random.chance(80)));
        let mut dictionary = StringColumn::default();
        names.iter().for_each(|name| dictionary.push(name));
        let data = if is_coded { StringColumn::coded(Arc::new(dictionary), codes) } else { plain };
        let data = ColumnData::String(data);
        if random.chance(50) { Column::with_validity(data, validity) } else { Column::new(data) }
    }

    /// Groups of several keys, of which strings come coded or not, are those of a map of values.
    #[test]
    fn several_keys_are_grouped_as_values_are() {
        let seed = seed_or(20_261_127);
        let mut random = SeededRandom::new(seed);
        for round in 0..200 {
            let mut table = GroupTable::default();
            let mut known: Map<Vec<String>, u32> = Map::default();
            let (mut groups, mut new) = (Vec::new(), Vec::new());
            let mut all: Vec<Vec<Value>> = Vec::new();
            let width = 2 + round % 2;
            for _ in 0..1 + random.below(4) {
                let rows = 1 + random.index(40);
                let (first, second) = (random.chance(60), random.chance(60));
                let ages = ColumnData::Int((0..rows).map(|_| random.below(3) as i64).collect());
                let columns = [
                    Arc::new(strings(&mut random, rows, first)),
                    Arc::new(strings(&mut random, rows, second)),
                    Arc::new(Column::new(ages)),
                ];
                let columns = &columns[..width];
                let row_of = |row: usize| columns.iter().map(|column| column.value(row)).collect::<Vec<_>>();
                let found = table.find(columns, rows);
                table.insert(columns, rows, &mut groups, &mut new);
                for row in 0..rows {
                    let text: Vec<String> = row_of(row).iter().map(Value::to_string).collect();
                    let before = known.get(&text).copied().unwrap_or(u32::MAX);
                    assert!(
                        found[row] == before || found[row] == u32::MAX && before as usize >= all.len(),
                        "seed {seed}"
                    );
                    let next = known.len() as u32;
                    assert_eq!(groups[row], *known.entry(text).or_insert(next), "seed {seed}, round {round}");
                }
                all.extend(new.iter().map(|&row| row_of(row as usize)));
                assert_eq!(table.find(columns, rows), groups, "seed {seed}, round {round}");
            }
            assert_eq!(table.len(), all.len());
            let keys = table.into_keys(width);
            let decoded: Vec<Vec<Value>> =
                (0..all.len()).map(|group| keys.iter().map(|key| key.value(group)).collect()).collect();
            assert_eq!(decoded, all, "seed {seed}, round {round}");
        }
    }

    /// Keys as they come lie near their places: small integers, alone and together, strings with numbers, dates.
    #[test]
    fn keys_are_spread() {
        let numbers = |count: i64, step: i64| (0..count).map(move |at| Value::Int(at * step)).collect::<Vec<_>>();
        let strings = |count: i64| (0..count).map(|at| Value::string(&format!("name {at}"))).collect::<Vec<_>>();
        let pairs = |a: Vec<Value>, b: Vec<Value>| {
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a.clone(), b.clone())));
            let (left, right): (Vec<Value>, Vec<Value>) = pairs.unzip();
            vec![left, right]
        };
        let floats = (0..20_000).map(|at| Value::Float(at as f64 / 8.0)).collect();
        for (name, keys) in [
            ("integers", vec![numbers(50_000, 1)]),
            ("few integers", vec![numbers(200, 1)]),
            ("multiples", vec![numbers(20_000, 4_096)]),
            ("large integers", vec![numbers(20_000, 1 << 40)]),
            ("floats", vec![floats]),
            ("strings", vec![strings(20_000)]),
            ("pairs of integers", pairs(numbers(200, 1), numbers(200, 1))),
            ("integers and strings", pairs(numbers(100, 10), strings(150))),
        ] {
            let rows = keys[0].len();
            let columns: Vec<Arc<Column>> = keys.iter().map(|key| Arc::new(Column::from_values(key))).collect();
            let mut table = GroupTable::default();
            table.insert(&columns, rows, &mut Vec::new(), &mut Vec::new());
            let mask = table.places.len() - 1;
            let away = |(place, &group): (usize, &u32)| match group {
                super::FREE => 0,
                group => place.wrapping_sub(super::spread(table.hashes[group as usize])) & mask,
            };
            let away = table.places.iter().enumerate().map(away).sum::<usize>() as f64 / rows as f64;
            assert!(away < 4.0, "{name}: keys are {away} places away from theirs on the average");
        }
    }

    #[test]
    fn many_groups_survive_growth() {
        let mut table = GroupTable::default();
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        for start in [0, 5_000, 2_500] {
            let values: Vec<Value> = (start..start + 10_000).map(Value::Int).collect();
            let column = [Arc::new(Column::from_values(&values))];
            table.insert(&column, values.len(), &mut groups, &mut new);
            let expected: Vec<u32> = (start as u32..start as u32 + 10_000).collect();
            assert_eq!(groups, expected);
            assert_eq!(table.find(&column, values.len()), expected);
        }
        assert_eq!(table.len(), 15_000);
    }
}
