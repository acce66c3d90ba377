//! Columns of ids that lie in several files, read file by file.

use model::{Column, Result};

/// Reads a column for ids that lie in several groups: one read for each group, the rows put back in order.
pub(crate) fn grouped<G: Copy + Ord>(
    count: usize,
    place_of: impl Fn(usize) -> (G, u64),
    mut read: impl FnMut(G, &[u64]) -> Result<Column>,
) -> Result<Column> {
    if count == 0 {
        return Ok(Column::nulls(0));
    }
    let (group, _) = place_of(0);
    if (1..count).all(|row| place_of(row).0 == group) {
        let positions: Vec<u64> = (0..count).map(|row| place_of(row).1).collect();
        return read(group, &positions);
    }
    let order = order_by_group(count, |row| place_of(row).0);
    let mut all = Column::nulls(0);
    for rows in order.chunk_by(|&a, &b| place_of(a as usize).0 == place_of(b as usize).0) {
        let positions: Vec<u64> = rows.iter().map(|&row| place_of(row as usize).1).collect();
        let part = read(place_of(rows[0] as usize).0, &positions)?;
        all.append_range(&part, 0, part.len());
    }
    let mut places = vec![0u32; count];
    order.iter().enumerate().for_each(|(at, &row)| places[row as usize] = at as u32);
    Ok(all.gather(&places))
}

/// Largest number of groups that are found by looking through them.
const GROUPS_FEW: usize = 16;

/// The rows, those of each group together and otherwise in order.
fn order_by_group<G: Copy + Ord>(count: usize, group_of: impl Fn(usize) -> G) -> Vec<u32> {
    let mut groups: Vec<(G, u32)> = Vec::new();
    let mut numbers: Vec<u8> = Vec::with_capacity(count);
    let mut last = 0;
    for row in 0..count {
        let group = group_of(row);
        if groups.get(last).is_none_or(|(of, _)| *of != group) {
            last = groups.iter().position(|(of, _)| *of == group).unwrap_or(groups.len());
        }
        if last == groups.len() {
            if last == GROUPS_FEW {
                let mut order: Vec<u32> = (0..count as u32).collect();
                order.sort_by_key(|&row| group_of(row as usize));
                return order;
            }
            groups.push((group, 0));
        }
        groups[last].1 += 1;
        numbers.push(last as u8);
    }
    let mut start = 0;
    for (_, rows) in &mut groups {
        start += std::mem::replace(rows, start);
    }
    let mut order = vec![0; count];
    for (row, &number) in numbers.iter().enumerate() {
        let at = &mut groups[usize::from(number)].1;
        order[*at as usize] = row as u32;
        *at += 1;
    }
    order
}
