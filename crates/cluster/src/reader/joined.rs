//! Slices of neighbouring nodes, which lie in one partition, joined to be read by one request.
//!
//! Cost: no row is read that is not asked for: nodes are joined where none between them is left out, and questions for one edge type where
//! the graph has no other.

use std::ops::Bound;

use crate::tables::{Field, Row, Slice, Table};

/// A slice that answers some questions.
pub(super) struct Joined {
    pub(super) slice: Slice,
    /// Places of the questions.
    pub(super) members: Vec<usize>,
}

/// The table, the partition and the node of a question for all edges of a node, or for all of the only type.
fn place<'s>(slice: &'s Slice, is_only_type: &dyn Fn(&Field) -> bool) -> Option<(Table, &'s [Field], i64)> {
    let is_of_edges = matches!(slice.table, Table::EdgeOut | Table::EdgeIn);
    let is_whole = matches!((&slice.from, &slice.to), (Bound::Unbounded, Bound::Unbounded));
    match &slice.prefix[..] {
        [Field::Int(node), types @ ..]
            if is_of_edges && is_whole && types.len() < 2 && types.iter().all(is_only_type) =>
        {
            Some((slice.table, &slice.partition, *node))
        }
        _ => None,
    }
}

/// Slices that answer all questions, each of them one.
pub(super) fn joined(slices: &[&Slice], is_only_type: &dyn Fn(&Field) -> bool) -> Vec<Joined> {
    let alone = |at: usize| Joined { slice: slices[at].clone(), members: vec![at] };
    let (mut places, mut joined) = (Vec::new(), Vec::new());
    for (at, slice) in slices.iter().enumerate() {
        match place(slice, is_only_type) {
            Some(place) => places.push((place, at)),
            None => joined.push(alone(at)),
        }
    }
    places.sort_unstable();
    let follows = |before: i64, node: i64| node.checked_sub(before).is_some_and(|gap| gap <= 1);
    for run in places.chunk_by(|(a, _), (b, _)| (a.0, a.1) == (b.0, b.1) && follows(a.2, b.2)) {
        let (table, partition, first) = run[0].0;
        let last = run[run.len() - 1].0.2;
        if first == last {
            joined.extend(run.iter().map(|(_, at)| alone(*at)));
            continue;
        }
        let slice = Slice::new(table, partition.to_vec(), Vec::new())
            .between(Bound::Included(Field::Int(first)), Bound::Included(Field::Int(last)));
        joined.push(Joined { slice, members: run.iter().map(|(_, at)| *at).collect() });
    }
    joined
}

/// The rows of a joined slice that answer a question.
pub(super) fn rows_of<'r>(rows: &'r [Row], slice: &Slice) -> impl Iterator<Item = &'r Row> {
    let first = slice.prefix.first();
    let start = rows.partition_point(|row| row.clustering.first() < first);
    let count = rows[start..].partition_point(|row| row.clustering.first() == first);
    rows[start..start + count].iter().filter(|row| row.clustering.starts_with(&slice.prefix))
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use testing::random::{SeededRandom, seed_or};

    use super::{joined, rows_of};
    use crate::tables::{Field, Row, Slice, Table};

    fn slice(table: Table, node: i64, edge_type: Option<i64>) -> Slice {
        let prefix = [Some(node), edge_type].into_iter().flatten().map(Field::Int).collect();
        Slice::new(table, vec![Field::Int(1), Field::Int(node >> 5)], prefix)
    }

    #[test]
    fn neighbours_in_a_partition_are_read_together() {
        let nodes: Vec<Slice> = (0..100).map(|node| slice(Table::EdgeOut, node, Some(0))).collect();
        let asked: Vec<&Slice> = nodes.iter().collect();
        let of_only_type = joined(&asked, &|_| true);
        assert_eq!(of_only_type.iter().map(|held| held.members.len()).collect::<Vec<_>>(), [32, 32, 32, 4]);
        assert_eq!(joined(&asked, &|_| false).len(), 100, "other types would be read too");
        // Every other node: the rows of those between would be read too.
        assert_eq!(joined(&asked.iter().step_by(2).copied().collect::<Vec<_>>(), &|_| true).len(), 50);
        let bounded = slice(Table::EdgeOut, 1, Some(0)).between(Bound::Included(Field::Int(3)), Bound::Unbounded);
        assert_eq!(joined(&[asked[0], &bounded, asked[2]], &|_| true).len(), 3);
    }

    /// Each question gets the rows that it would get alone, once.
    #[test]
    fn answers_are_those_of_each_alone() {
        let seed = seed_or(20_261_129);
        let mut random = SeededRandom::new(seed);
        for _ in 0..300 {
            let tables = [Table::EdgeOut, Table::EdgeIn];
            let mut rows: Vec<(Table, i64, Vec<Field>)> = Vec::new();
            for _ in 0..random.index(200) {
                let (table, node) = (*random.pick(&tables), random.below(70) as i64);
                rows.push((
                    table,
                    node,
                    vec![Field::Int(node), Field::Int(random.below(2) as i64), Field::Int(rows.len() as i64)],
                ));
            }
            rows.sort_by(|a, b| a.2.cmp(&b.2));
            let read = |slice: &Slice| -> Vec<Row> {
                let is_in = |(table, node, key): &&(Table, i64, Vec<Field>)| {
                    *table == slice.table && slice.partition[1] == Field::Int(node >> 5) && slice.holds(key)
                };
                rows.iter().filter(is_in).map(|row| Row { clustering: row.2.clone(), cells: Vec::new() }).collect()
            };
            let asked: Vec<Slice> = (0..random.index(80))
                .map(|_| {
                    slice(
                        *random.pick(&tables),
                        random.below(70) as i64,
                        random.chance(50).then(|| random.below(2) as i64),
                    )
                })
                .collect();
            let is_only = random.chance(50);
            let requests = joined(&asked.iter().collect::<Vec<_>>(), &|_| is_only);
            let mut answered = vec![0; asked.len()];
            for request in &requests {
                let rows = read(&request.slice);
                for &at in &request.members {
                    answered[at] += 1;
                    let found: Vec<Row> = rows_of(&rows, &asked[at]).cloned().collect();
                    assert_eq!(found, read(&asked[at]), "seed {seed}: {:?}", asked[at]);
                }
            }
            assert!(answered.iter().all(|count| *count == 1), "seed {seed}: {answered:?}");
        }
    }
}
