//! Changes of the state, and the state itself, as bytes: in records of the log, and in checkpoints.

use std::path::Path;
use std::sync::Arc;

use model::codec::bytes::{Get, Put};
use model::codec::rules;
use model::{EdgeTypeId, LabelId, Map, PropertyKeyId, Result, Schema, SortKey};

use super::{Counts, Dead, Delta, Ids, LoadStep, Loading, NameKind, NewName, PurgeStep, Rules, State, TransactionId};

const HAS_RULES: u8 = 1;
const HAS_DATA: u8 = 2;
const HAS_EDGES: u8 = 4;
const HAS_EDGE_PROPERTIES: u8 = 8;
const BEGINS_LOAD: u8 = 16;
const ENDS_LOAD: u8 = 32;
const HAS_DEAD: u8 = 64;
const HAS_PURGE: u8 = 128;

fn put_rules(of: &Rules, out: &mut Vec<u8>) {
    out.put_u32(of.constraints.len() as u32);
    of.constraints.iter().for_each(|constraint| rules::put_constraint(constraint, out));
    out.put_u32(of.indexes.len() as u32);
    of.indexes.iter().for_each(|index| rules::put_index(index, out));
    out.put_u32(of.sort_keys.len() as u32);
    for sort_key in &of.sort_keys {
        out.put_u32(sort_key.edge_type.0);
        rules::put_keys(&sort_key.keys, out);
    }
    out.put_u32(of.numbers.len() as u32);
    for (name, number) in &of.numbers {
        out.put_text(name);
        out.put_u32(*number);
    }
    out.put_u32(of.next_index);
}

fn get_rules(get: &mut Get<'_>) -> Result<Rules> {
    let constraints = (0..get.count(1)?).map(|_| rules::constraint(get)).collect::<Result<_>>()?;
    let indexes = (0..get.count(1)?).map(|_| rules::index(get)).collect::<Result<_>>()?;
    let sort_key = |get: &mut Get<'_>| -> Result<SortKey> {
        let edge_type = EdgeTypeId(get.u32()?);
        let keys: Vec<PropertyKeyId> = rules::keys(get)?;
        Ok(SortKey { edge_type, keys })
    };
    let sort_keys = (0..get.count(1)?).map(|_| sort_key(get)).collect::<Result<_>>()?;
    let number = |get: &mut Get<'_>| Ok((Arc::from(get.text()?), get.u32()?));
    let numbers = (0..get.count(1)?).map(|_| number(get)).collect::<Result<_>>()?;
    Ok(Rules { constraints, indexes, sort_keys, numbers, next_index: get.u32()? })
}

fn put_counts(counts: &Counts, out: &mut Vec<u8>) {
    out.put_u64(counts.nodes as u64);
    out.put_u64(counts.edges as u64);
    let lists = [
        counts.labels.iter().map(|(label, count)| (label.0, *count)).collect::<Vec<_>>(),
        counts.types.iter().map(|(edge_type, count)| (edge_type.0, *count)).collect(),
    ];
    for list in lists {
        out.put_u32(list.len() as u32);
        for (id, count) in list {
            out.put_u32(id);
            out.put_u64(count as u64);
        }
    }
}

fn get_counts(get: &mut Get<'_>) -> Result<Counts> {
    let (nodes, edges) = (get.u64()? as i64, get.u64()? as i64);
    let mut list = || (0..get.count(12)?).map(|_| Ok((get.u32()?, get.u64()? as i64))).collect::<Result<Vec<_>>>();
    let labels = list()?.into_iter().map(|(id, count)| (LabelId(id), count)).collect();
    let types = list()?.into_iter().map(|(id, count)| (EdgeTypeId(id), count)).collect();
    Ok(Counts { nodes, edges, labels, types })
}

fn kind_of(get: &mut Get<'_>) -> Result<NameKind> {
    let number = get.u8()?;
    let kind = NameKind::ALL.get(usize::from(number)).copied();
    kind.ok_or_else(|| get.damage(format!("no kind of names has the number {number}")))
}

impl Delta {
    /// Adds the change to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.put_u8(
            flag(self.rules.is_some(), HAS_RULES)
                | flag(self.has_data, HAS_DATA)
                | flag(self.has_edges, HAS_EDGES)
                | flag(self.has_edge_properties, HAS_EDGE_PROPERTIES)
                | flag(matches!(self.load, Some(LoadStep::Begin(_))), BEGINS_LOAD)
                | flag(matches!(self.load, Some(LoadStep::End(_))), ENDS_LOAD)
                | flag(self.dead > 0, HAS_DEAD)
                | flag(self.purge.is_some(), HAS_PURGE),
        );
        out.put_u32(self.names.len() as u32);
        for NewName { kind, number, name } in &self.names {
            out.put_u8(NameKind::ALL.iter().position(|other| other == kind).unwrap_or_default() as u8);
            out.put_u32(*number);
            out.put_text(name);
        }
        if let Some(rules) = &self.rules {
            put_rules(rules, out);
        }
        put_counts(&self.counts, out);
        out.put_u64(self.block.nodes);
        out.put_u64(self.block.edges);
        if let Some(LoadStep::Begin(id) | LoadStep::End(id)) = self.load {
            out.put_u64(id.0);
            out.put_u64(id.1);
        }
        if self.dead > 0 {
            out.put_u64(self.dead);
        }
        if let Some(step) = &self.purge {
            step.encode(out);
        }
    }

    /// Reads a change.
    pub(crate) fn decode(get: &mut Get<'_>) -> Result<Delta> {
        let flags = get.u8()?;
        let name =
            |get: &mut Get<'_>| Ok(NewName { kind: kind_of(get)?, number: get.u32()?, name: Arc::from(get.text()?) });
        let names = (0..get.count(9)?).map(|_| name(get)).collect::<Result<_>>()?;
        let rules = if flags & HAS_RULES != 0 { Some(get_rules(get)?) } else { None };
        let (counts, block) = (get_counts(get)?, Ids { nodes: get.u64()?, edges: get.u64()? });
        let load = match flags & (BEGINS_LOAD | ENDS_LOAD) {
            BEGINS_LOAD => Some(LoadStep::Begin(TransactionId(get.u64()?, get.u64()?))),
            ENDS_LOAD => Some(LoadStep::End(TransactionId(get.u64()?, get.u64()?))),
            _ => None,
        };
        Ok(Delta {
            names,
            rules,
            counts,
            block,
            has_data: flags & HAS_DATA != 0,
            has_edges: flags & HAS_EDGES != 0,
            has_edge_properties: flags & HAS_EDGE_PROPERTIES != 0,
            load,
            dead: if flags & HAS_DEAD != 0 { get.u64()? } else { 0 },
            purge: if flags & HAS_PURGE != 0 { Some(PurgeStep::decode(get)?) } else { None },
        })
    }
}

/// All rules of a schema.
pub(crate) fn rules_of(schema: &Schema, numbers: &Map<Arc<str>, u32>, next_index: u32) -> Rules {
    let mut numbers: Vec<(Arc<str>, u32)> = numbers.iter().map(|(name, number)| (name.clone(), *number)).collect();
    numbers.sort_unstable();
    Rules {
        constraints: schema.constraints.clone(),
        indexes: schema.indexes.clone(),
        sort_keys: schema.sort_keys.clone(),
        numbers,
        next_index,
    }
}

impl State {
    /// The whole state as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        [self.sequence, self.edges_changed, self.edge_properties_changed]
            .into_iter()
            .for_each(|number| out.put_u64(number));
        let names = NameKind::ALL.into_iter().flat_map(|kind| {
            let names = kind.of(&self.schema).iter().enumerate();
            names.map(move |(number, name)| NewName { kind, number: number as u32, name: name.clone() })
        });
        let whole = Delta {
            names: names.collect(),
            rules: Some(rules_of(&self.schema, &self.indexes, self.next_index)),
            counts: super::difference(&Default::default(), &self.statistics),
            block: self.next,
            load: self.loading.map(|loading| LoadStep::Begin(loading.id)),
            purge: Some(PurgeStep { purge: self.purge.clone(), ..PurgeStep::default() }),
            ..Delta::default()
        };
        whole.encode(&mut out);
        if let Some(Loading { since, first, end, .. }) = self.loading {
            [since, first.nodes, first.edges, end.nodes, end.edges].into_iter().for_each(|number| out.put_u64(number));
        }
        self.dead.encode(&mut out);
        out
    }

    fn dead_before_purges(&self, sequence: u64) -> Dead {
        let is_dropped = |number: &u32| !self.indexes.values().any(|kept| kept == number);
        Dead { rows: 0, indexes: (0..self.next_index).filter(is_dropped).map(|number| (number, sequence)).collect() }
    }

    /// Reads a state.
    pub(crate) fn decode(bytes: &[u8]) -> Result<State> {
        let mut get = Get::new(bytes, Path::new("checkpoint of a graph"), 0);
        let (sequence, edges_changed, edge_properties_changed) = (get.u64()?, get.u64()?, get.u64()?);
        let mut state = State::default();
        state.apply(sequence, &Delta::decode(&mut get)?)?;
        if let Some(loading) = &mut state.loading {
            loading.since = get.u64()?;
            loading.first = Ids { nodes: get.u64()?, edges: get.u64()? };
            loading.end = Ids { nodes: get.u64()?, edges: get.u64()? };
        }
        // Checkpoints from before there was a purge do not tell which indexes were dropped.
        let dead = if get.left() > 0 { Dead::decode(&mut get)? } else { state.dead_before_purges(sequence) };
        Ok(State { sequence, edges_changed, edge_properties_changed, dead, ..state })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::codec::bytes::Get;
    use model::{Constraint, EdgeTypeId, LabelId, PropertyKeyId, SortKey};

    use super::{
        Counts, Dead, Delta, Ids, LoadStep, Loading, NameKind, NewName, PurgeStep, Rules, State, TransactionId,
    };

    fn delta() -> Delta {
        let name = |kind, number, name: &str| NewName { kind, number, name: name.into() };
        let constraint = Constraint::unique("u", LabelId(0), PropertyKeyId(0));
        let sort_key = SortKey { edge_type: EdgeTypeId(0), keys: vec![PropertyKeyId(0)] };
        Delta {
            names: vec![name(NameKind::Label, 0, "L"), name(NameKind::PropertyKey, 0, "grüße")],
            rules: Some(Rules {
                constraints: vec![constraint],
                indexes: Vec::new(),
                sort_keys: vec![sort_key],
                numbers: vec![("u".into(), 3)],
                next_index: 4,
            }),
            counts: Counts { nodes: 5, edges: 2, labels: vec![(LabelId(0), 5)], types: vec![(EdgeTypeId(0), 2)] },
            block: Ids { nodes: 256, edges: 1 },
            has_data: true,
            has_edges: true,
            has_edge_properties: false,
            load: Some(LoadStep::End(TransactionId(1, 2))),
            dead: 6,
            purge: Some(PurgeStep { gone: 2, ..PurgeStep::default() }),
        }
    }

    #[test]
    fn changes_and_states_read_back() {
        let mut bytes = Vec::new();
        delta().encode(&mut bytes);
        let mut get = Get::new(&bytes, Path::new("test"), 0);
        assert_eq!(Delta::decode(&mut get).unwrap(), delta());
        assert_eq!(get.left(), 0);
        let mut state = State::default();
        state.apply(7, &delta()).unwrap();
        state.sequence = 7;
        let again = State::decode(&state.encode()).unwrap();
        assert_eq!(again.encode(), state.encode());
        assert_eq!((again.sequence, again.edges_changed, again.edge_properties_changed), (7, 7, 0));
        assert_eq!((again.next.nodes, again.statistics.label(LabelId(0))), (256, 5));
        assert_eq!(again.dead, Dead { rows: 4, indexes: Vec::new() });
        // One from before there was a purge: the numbers that no index has are those of dropped ones.
        let mut old = Vec::new();
        state.encode().clone_into(&mut old);
        old.truncate(old.len() - 12);
        let again = State::decode(&old).unwrap();
        assert_eq!(again.dead, Dead { rows: 0, indexes: vec![(0, 7), (1, 7), (2, 7)] });
    }

    #[test]
    fn loads_that_are_left_are_in_checkpoints_and_give_their_ids_back() {
        let begin = |id: u64, nodes: u64| Delta {
            block: Ids { nodes, edges: 2 * nodes },
            load: Some(LoadStep::Begin(TransactionId(id, id))),
            ..Delta::default()
        };
        let mut state = State::default();
        state.apply(3, &begin(1, 10)).unwrap();
        state.sequence = 4;
        assert_eq!(state.seen(), 2, "rows of the load are not seen");
        let mut again = State::decode(&state.encode()).unwrap();
        let left =
            Loading { id: TransactionId(1, 1), since: 3, first: Ids::default(), end: Ids { nodes: 10, edges: 20 } };
        assert_eq!((again.loading, again.encode()), (Some(left), state.encode()));
        again.apply(5, &begin(2, 7)).unwrap();
        assert_eq!(again.next, Ids { nodes: 7, edges: 14 }, "the ids of the load that was left are given again");
        again.apply(6, &Delta { block: Ids { nodes: 1, edges: 0 }, ..Delta::default() }).unwrap();
        again.apply(7, &begin(3, 4)).unwrap();
        assert_eq!(again.next.nodes, 12, "and are not, if others were given ids since");
        let end = Delta { load: Some(LoadStep::End(TransactionId(3, 3))), ..Delta::default() };
        again.apply(8, &end).unwrap();
        again.sequence = 8;
        assert_eq!((again.loading, again.seen()), (None, 8));
    }

    #[test]
    fn a_name_under_two_numbers_is_damage() {
        let mut state = State::default();
        state.apply(1, &delta()).unwrap();
        let wrong = NewName { kind: NameKind::Label, number: 2, name: "M".into() };
        assert!(state.apply(2, &Delta { names: vec![wrong], ..Delta::default() }).is_err());
    }
}
