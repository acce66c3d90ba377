//! `IN`: whether a list has an element, in three-valued logic.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock};

use model::interrupt::work;
use model::value::Nested;
use model::{ColumnData, Result, Set, Value, error};

use super::evaluate::truths;
use crate::allocations::weight;
use crate::vector::{Vector, View, map, map_texts, validity_of};

/// Number of elements from which a list that is the same for all rows is searched by hash.
const HASHED_LIST_ELEMENTS_MIN: usize = 8;

/// The elements of the list last asked for, as a set.
#[derive(Debug, Default)]
pub(crate) struct SetCache(Mutex<Option<Arc<Elements>>>);

#[derive(Debug)]
struct Elements {
    list: Nested<Vec<Value>>,
    has_null: bool,
    /// The elements without nulls, if all are of one of the kinds that columns hold most.
    alike: Option<Alike>,
    /// The elements without nulls, of any kinds; made once one is asked for that `alike` cannot tell.
    set: OnceLock<Set<Value>>,
}

#[derive(Debug)]
enum Alike {
    Texts(Among<Box<str>>),
    Integers(Among<i64>),
}

/// Values to look for: few are compared one by one, which is faster than by hash.
#[derive(Debug)]
enum Among<T> {
    Few(Vec<T>),
    Many(Set<T>),
}

/// `element IN list` for each row.
pub(crate) fn evaluate(element: &Vector, list: &Vector, rows: usize, cache: &SetCache) -> Result<Vector> {
    let Some(value) = list.constant() else { return in_each(element, list, rows, cache) };
    if let Some(element) = element.constant() {
        return Ok(Vector::Constant(super::comparison::truth(has(element, value, cache)?)));
    }
    if let Value::List(items) = value
        && let Some(elements) = cache.elements(items)?
    {
        if let Some(found) = elements.found(element, rows)? {
            return Ok(found);
        }
        if items.len() >= HASHED_LIST_ELEMENTS_MIN {
            return truths(rows, |row| elements.contain(&element.value(row)));
        }
    }
    truths(rows, |row| contains(&element.value(row), value))
}

/// The same for a list of each row. One that comes again in the next row is searched by hash from then on.
fn in_each(element: &Vector, list: &Vector, rows: usize, cache: &SetCache) -> Result<Vector> {
    let mut last: Option<Nested<Vec<Value>>> = None;
    let mut hashed: Option<Arc<Elements>> = None;
    truths(rows, |row| {
        let (element, list) = (element.value(row), list.value(row));
        let Value::List(items) = &list else { return contains(&element, &list) };
        if items.len() < HASHED_LIST_ELEMENTS_MIN {
            return any_equal(&element, items);
        }
        if let Some(elements) = hashed.as_ref().filter(|elements| elements.list.is_same(items)) {
            return elements.contain(&element);
        }
        if last.replace(items.clone()).is_some_and(|last| last.is_same(items)) {
            hashed = cache.elements(items)?;
            if let Some(elements) = &hashed {
                return elements.contain(&element);
            }
        }
        any_equal(&element, items)
    })
}

/// The same for one element: by hash where the list is long.
fn has(element: &Value, list: &Value, cache: &SetCache) -> Result<Option<bool>> {
    match list {
        Value::List(items) if items.len() >= HASHED_LIST_ELEMENTS_MIN => match cache.elements(items)? {
            Some(elements) => elements.contain(element),
            None => any_equal(element, items),
        },
        _ => contains(element, list),
    }
}

fn contains(element: &Value, list: &Value) -> Result<Option<bool>> {
    match list {
        Value::Null => Ok(None),
        Value::List(items) => any_equal(element, items),
        other => Err(error!(Type, "the right side of IN is {}: expected a list", other.type_name())),
    }
}

fn any_equal(element: &Value, items: &[Value]) -> Result<Option<bool>> {
    let mut known = Some(false);
    for item in items {
        work(1 + weight(item))?;
        match element.equals(item) {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => known = None,
        }
    }
    Ok(known)
}

impl SetCache {
    /// The elements of a list, made once for each list; `None` if some element cannot be found by hash.
    fn elements(&self, list: &Nested<Vec<Value>>) -> Result<Option<Arc<Elements>>> {
        let mut held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(elements) = held.as_ref()
            && elements.list.is_same(list)
        {
            return Ok(Some(elements.clone()));
        }
        if !list.iter().all(|item| item.is_null() || is_hashable(item)) {
            return Ok(None);
        }
        work(list.len())?;
        let has_null = list.iter().any(Value::is_null);
        let elements = Elements { list: list.clone(), has_null, alike: Alike::of(list), set: OnceLock::new() };
        let elements = Arc::new(elements);
        *held = Some(elements.clone());
        Ok(Some(elements))
    }
}

impl Elements {
    /// The answer for each row of a column of the kind of all elements; `None` for another column.
    fn found(&self, element: &Vector, rows: usize) -> Result<Option<Vector>> {
        let Some(alike) = &self.alike else { return Ok(None) };
        work(rows)?;
        let found = match (alike, element.view()) {
            (Alike::Texts(among), View::String(texts)) => map_texts(rows, texts, |text| among.has(text)),
            (Alike::Integers(among), View::Int(numbers)) => map(rows, numbers, |number| among.has(&number)),
            _ => return Ok(None),
        };
        if self.has_null {
            return truths(rows, |row| Ok((found[row] && !element.is_null(row)).then_some(true))).map(Some);
        }
        Ok(Some(Vector::of(ColumnData::Bool(found), validity_of(element))))
    }

    fn contain(&self, element: &Value) -> Result<Option<bool>> {
        if element.is_null() {
            return Ok(None);
        }
        if !is_hashable(element) {
            return any_equal(element, &self.list);
        }
        let found = match (&self.alike, element) {
            (Some(Alike::Texts(among)), Value::String(text)) => among.has(&**text),
            (Some(Alike::Integers(among)), Value::Int(number)) => among.has(number),
            _ => self.set()?.contains(element),
        };
        Ok(match (found, self.has_null) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    fn set(&self) -> Result<&Set<Value>> {
        if self.set.get().is_none() {
            work(self.list.len())?;
        }
        Ok(self.set.get_or_init(|| self.list.iter().filter(|item| !item.is_null()).cloned().collect()))
    }
}

impl Alike {
    /// The elements of a list, unless all are null, or of several kinds.
    fn of(list: &[Value]) -> Option<Alike> {
        let known = || list.iter().filter(|item| !item.is_null());
        known().next()?;
        let text = |item: &Value| if let Value::String(text) = item { Some(Box::from(&**text)) } else { None };
        let integer = |item: &Value| if let Value::Int(number) = item { Some(*number) } else { None };
        match known().map(text).collect() {
            Some(texts) => Some(Alike::Texts(Among::of(texts))),
            None => known().map(integer).collect::<Option<_>>().map(|numbers| Alike::Integers(Among::of(numbers))),
        }
    }
}

impl<T: Eq + Hash> Among<T> {
    fn of(values: Vec<T>) -> Among<T> {
        match values.len() < HASHED_LIST_ELEMENTS_MIN {
            true => Among::Few(values),
            false => Among::Many(values.into_iter().collect()),
        }
    }

    #[inline]
    fn has<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        match self {
            Among::Few(values) => values.iter().any(|held| held.borrow() == value),
            Among::Many(values) => values.contains(value),
        }
    }
}

/// True if `=` and the equality of grouping agree on the value, whatever it is compared with.
fn is_hashable(value: &Value) -> bool {
    match value {
        Value::Float(x) => !x.is_nan(),
        Value::Null | Value::List(_) | Value::Map(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{Column, ColumnData, StringColumn, Value};
    use testing::random::{SeededRandom, seed_or};

    use super::{SetCache, contains, evaluate};
    use crate::expression::comparison::truth;
    use crate::vector::Vector;

    /// A value of one of a few kinds; of one kind alone if `kind` is given.
    fn value(random: &mut SeededRandom, kind: Option<u64>) -> Value {
        let small = random.below(12) as i64;
        match kind.unwrap_or_else(|| random.below(5)) {
            0 => Value::Int(small),
            1 => Value::string(&format!("t{small}")),
            2 => Value::Float(small as f64 / 2.0),
            3 => Value::Bool(small % 2 == 0),
            _ => Value::Null,
        }
    }

    /// Columns of one kind are tested as each of their values is, whatever the list holds.
    #[test]
    fn columns_are_tested_as_their_values_are() {
        let seed = seed_or(20_261_129);
        let mut random = SeededRandom::new(seed);
        for _ in 0..2_000 {
            let kind = |random: &mut SeededRandom| random.chance(80).then(|| random.below(3));
            let (of_list, of_column) = (kind(&mut random), kind(&mut random));
            let mut items: Vec<Value> = (0..random.below(20)).map(|_| value(&mut random, of_list)).collect();
            if random.chance(20) {
                items.push(Value::Null);
            }
            let list = Value::List(items.into());
            let held: Vec<Value> = (0..1 + random.below(40))
                .map(|_| if random.chance(10) { Value::Null } else { value(&mut random, of_column) })
                .collect();
            let mut columns = vec![Vector::from_values(&held)];
            if held.iter().all(|value| matches!(value, Value::String(_))) {
                columns.push(coded(&held));
            }
            let expected: Vec<Value> =
                held.iter().map(|value| truth(contains(value, &list).expect("it is a list"))).collect();
            for column in columns {
                let found = evaluate(&column, &Vector::Constant(list.clone()), held.len(), &SetCache::default());
                let found = found.expect("it is a list");
                let found: Vec<Value> = (0..held.len()).map(|row| found.value(row)).collect();
                assert_eq!(found, expected, "seed {seed}: {held:?} in {list}");
            }
        }
    }

    /// Texts with a dictionary.
    fn coded(texts: &[Value]) -> Vector {
        let (mut dictionary, mut codes) = (StringColumn::default(), Vec::new());
        let mut known: Vec<&Value> = Vec::new();
        for value in texts {
            let code = known.iter().position(|held| *held == value).unwrap_or(known.len());
            if let (true, Value::String(text)) = (code == known.len(), value) {
                dictionary.push(text);
                known.push(value);
            }
            codes.push(code as u32);
        }
        Vector::new(Column::new(ColumnData::String(StringColumn::coded(Arc::new(dictionary), codes))))
    }
}
