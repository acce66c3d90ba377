//! A batch of ids by the part that they belong to, and what the parts said of them as one answer.

use std::borrow::Cow;

use model::{Bitmap, Column};

/// Ids of a batch that belong to one part.
pub(super) struct Group<'a, T: Copy> {
    pub(super) part: usize,
    /// Their rows in the batch; `None` if they are the batch.
    rows: Option<Vec<u32>>,
    /// The ids as the part knows them.
    pub(super) ids: Cow<'a, [T]>,
}

/// Splits a batch. `own` tells the part of an id and what it is called there; ids of no part are left out.
pub(super) fn split<'a, T: Copy + PartialEq>(
    ids: &'a [T],
    parts: usize,
    own: impl Fn(T) -> Option<(usize, T)>,
) -> Vec<Group<'a, T>> {
    if let Some(part) = ids.first().and_then(|&id| own(id)).map(|(part, _)| part)
        && ids.iter().all(|&id| own(id).is_some_and(|(other, _)| other == part))
    {
        let is_same = ids.iter().all(|&id| own(id).is_some_and(|(_, known)| known == id));
        let ids = if is_same {
            Cow::Borrowed(ids)
        } else {
            Cow::Owned(ids.iter().filter_map(|&id| own(id)).map(|(_, known)| known).collect())
        };
        return vec![Group { part, rows: None, ids }];
    }
    let mut groups: Vec<(Vec<u32>, Vec<T>)> = vec![(Vec::new(), Vec::new()); parts];
    for (row, &id) in ids.iter().enumerate() {
        if let Some((part, known)) = own(id) {
            groups[part].0.push(row as u32);
            groups[part].1.push(known);
        }
    }
    let groups = groups.into_iter().enumerate().filter(|(_, (rows, _))| !rows.is_empty());
    groups.map(|(part, (rows, ids))| Group { part, rows: Some(rows), ids: Cow::Owned(ids) }).collect()
}

impl<T: Copy> Group<'_, T> {
    /// Writes what was said of the group to its rows of the batch.
    pub(super) fn scatter<V>(&self, said: impl IntoIterator<Item = V>, to: &mut [V]) {
        match &self.rows {
            None => to.iter_mut().zip(said).for_each(|(place, value)| *place = value),
            Some(rows) => rows.iter().zip(said).for_each(|(&row, value)| to[row as usize] = value),
        }
    }

    /// Sets the bits of the rows of which it is so.
    pub(super) fn scatter_bits(&self, said: &Bitmap, to: &mut Bitmap) {
        for at in 0..said.len() {
            if said.get(at) {
                to.set(self.rows.as_ref().map_or(at, |rows| rows[at] as usize), true);
            }
        }
    }
}

/// The columns of a batch of `rows` rows from those of its groups, `count` of each; null in rows of no group.
pub(super) fn join_columns<T: Copy>(
    rows: usize,
    count: usize,
    mut answers: Vec<(&Group<'_, T>, Vec<Column>)>,
) -> Vec<Column> {
    if let [(Group { rows: None, .. }, _)] = answers.as_slice() {
        return answers.swap_remove(0).1;
    }
    let known: usize = answers.iter().map(|(group, _)| group.ids.len()).sum();
    // A row that no group has is taken from one row behind all of them.
    let mut places = vec![known as u32; rows];
    let mut next = 0;
    for (group, _) in &answers {
        group.scatter(next..next + group.ids.len() as u32, &mut places);
        next += group.ids.len() as u32;
    }
    let joined = |at: usize| {
        let mut columns = answers.iter().map(|(_, columns)| &columns[at]);
        let mut all = columns.next().cloned().unwrap_or_else(|| Column::nulls(0));
        columns.for_each(|column| append(&mut all, column));
        if known < rows {
            append(&mut all, &Column::nulls(1));
        }
        all.gather(&places)
    };
    (0..count).map(joined).collect()
}

/// Appends rows; a column of nulls takes the kind of what follows it.
pub(super) fn append(to: &mut Column, more: &Column) {
    if to.is_empty() { to.clone_from(more) } else { to.append(more) }
}

#[cfg(test)]
mod tests {
    use model::{Column, Value};

    use super::{join_columns, split};

    /// Ids from 100 on belong to part 1, where they are called by what is over; 999 belongs to none.
    fn own(id: u32) -> Option<(usize, u32)> {
        match id {
            999 => None,
            0..100 => Some((0, id)),
            _ => Some((1, id - 100)),
        }
    }

    #[test]
    fn answers_stand_where_the_questions_stood() {
        for ids in [vec![], vec![1, 2], vec![101, 102], vec![5, 103, 999, 6, 104], vec![999]] {
            let groups = split(&ids, 2, own);
            let ask = |part: usize, ids: &[u32]| {
                let value = |&id: &u32| if part == 0 { Value::Int(i64::from(id)) } else { Value::string("text") };
                vec![Column::from_values(&ids.iter().map(value).collect::<Vec<_>>())]
            };
            let answers = groups.iter().map(|group| (group, ask(group.part, &group.ids))).collect();
            let found: Vec<Value> = join_columns(ids.len(), 1, answers)[0].values().collect();
            let expected: Vec<Value> = ids
                .iter()
                .map(|&id| match own(id) {
                    None => Value::Null,
                    Some((0, id)) => Value::Int(i64::from(id)),
                    Some(_) => Value::string("text"),
                })
                .collect();
            assert_eq!(found, expected, "{ids:?}");
        }
    }
}
