//! `IN`: whether a list has an element, in three-valued logic.

use std::sync::{Arc, Mutex};

use model::interrupt::work;
use model::value::Nested;
use model::{Result, Set, Value, error};

use super::evaluate::truths;
use crate::allocations::weight;
use crate::vector::Vector;

/// Number of elements from which a list that is the same for all rows is searched by hash.
const HASHED_LIST_ELEMENTS_MIN: usize = 8;

/// The elements of the list last asked for, as a set.
#[derive(Debug, Default)]
pub(crate) struct SetCache(Mutex<Option<Arc<Elements>>>);

#[derive(Debug)]
struct Elements {
    list: Nested<Vec<Value>>,
    /// Elements that equal only what hashes alike.
    set: Set<Value>,
    has_null: bool,
}

/// `element IN list` for each row.
pub(crate) fn evaluate(element: &Vector, list: &Vector, rows: usize, cache: &SetCache) -> Result<Vector> {
    let Some(value) = list.constant() else { return in_each(element, list, rows, cache) };
    if let Value::List(items) = value
        && items.len() >= HASHED_LIST_ELEMENTS_MIN
        && let Some(elements) = cache.elements(items)?
    {
        return truths(rows, |row| elements.contain(&element.value(row)));
    }
    if let Some(element) = element.constant() {
        return Ok(Vector::Constant(super::comparison::truth(contains(element, value)?)));
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
    /// The set of a list, made once for each list; `None` if some element cannot be found by hash.
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
        let mut set = Set::default();
        for item in list.iter().filter(|item| !item.is_null()) {
            work(1)?;
            set.insert(item.clone());
        }
        let has_null = list.iter().any(Value::is_null);
        let elements = Arc::new(Elements { list: list.clone(), set, has_null });
        *held = Some(elements.clone());
        Ok(Some(elements))
    }
}

impl Elements {
    fn contain(&self, element: &Value) -> Result<Option<bool>> {
        if element.is_null() {
            return Ok(None);
        }
        if !is_hashable(element) {
            return any_equal(element, &self.list);
        }
        Ok(match (self.set.contains(element), self.has_null) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
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
