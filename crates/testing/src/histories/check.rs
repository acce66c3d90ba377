//! Anomalies that a history shows: reads of what was never committed, orders that contradict each other, and forbidden
//! cycles.

use std::collections::BTreeMap;

use model::Map;

use super::cycles::{Dependency, Graph};
use super::{Key, Operation, Outcome, Transaction};

/// Something that snapshot isolation forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnomalyKind {
    /// A number was read that nobody added, or that was added twice to a list.
    Garbage,
    /// G1a: what an aborted transaction wrote was read.
    AbortedRead,
    /// G1b: what a transaction wrote over itself was read.
    IntermediateRead,
    /// A transaction did not see its own writes, or saw a list change under it.
    Internal,
    /// Two reads of a list disagree about its order.
    IncompatibleOrder,
    /// A number whose commit was acknowledged is not in the list at the end.
    LostAppend,
    /// G0: a cycle of writes.
    WriteCycle,
    /// G1c: a cycle of writes and reads of them.
    CircularInformationFlow,
    /// G-single: a cycle with reads of what was then written over, no two of them in a row; a lost update is one.
    ReadSkew,
    /// A transaction did not see what had been acknowledged before it began.
    StaleRead,
}

/// An anomaly, and where it is.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// Of which kind.
    pub kind: AnomalyKind,
    /// The transactions, and what they did.
    pub message: String,
}

/// Findings in a history.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Anomalies, which must not be there.
    pub anomalies: Vec<Anomaly>,
    /// Transactions that were committed.
    pub committed: usize,
    /// Dependencies between them.
    pub dependencies: usize,
    /// True if some cycle is left that only serializability forbids, as write skew is.
    pub has_write_skew: bool,
}

/// Checks a history. Its last transaction should read every list.
pub fn find_anomalies(history: &[Transaction]) -> Findings {
    let mut checker = Checker { history, writers: Map::default(), orders: BTreeMap::new(), anomalies: Vec::new() };
    checker.find_writers();
    let mut reads = checker.external_reads();
    checker.order_sets(&mut reads);
    checker.find_orders(&reads);
    checker.check_final(&reads);
    let graph = checker.dependencies(&reads);
    let forbidden = graph.forbidden_cycle();
    if let Some(cycle) = &forbidden {
        checker.add_cycle(cycle);
    }
    Findings {
        committed: history.iter().filter(|transaction| transaction.outcome == Outcome::Committed).count(),
        dependencies: graph.edge_count(),
        has_write_skew: forbidden.is_none() && graph.any_cycle().is_some(),
        anomalies: checker.anomalies,
    }
}

/// Items of a set last seen, and first not seen, by a read that become dependencies.
const ITEMS_CONSIDERED: usize = 8;

/// Transaction that added a number; `is_last` is false if it then added a further one to the same list.
#[derive(Clone, Copy)]
struct Writer {
    transaction: usize,
    is_last: bool,
}

/// The first read of a list by a transaction, without what it had added itself. Sets are put in an order in which they
/// may have been added.
struct ExternalRead {
    transaction: usize,
    key: Key,
    values: Vec<u64>,
}

/// Values of others that a transaction saw; `None` if it did not see all that it had added.
fn without_own(key: Key, values: &[u64], own: &[u64]) -> Option<Vec<u64>> {
    match key {
        Key::Ordered(_) => values.strip_suffix(own).map(<[u64]>::to_vec),
        Key::Set(_) => {
            let mut others: Vec<u64> = values.iter().copied().filter(|value| !own.contains(value)).collect();
            others.sort_unstable();
            (others.len() + own.len() == values.len()).then_some(others)
        }
    }
}

struct Checker<'a> {
    history: &'a [Transaction],
    writers: Map<(Key, u64), Writer>,
    /// The longest list that was read of each key.
    orders: BTreeMap<Key, Vec<u64>>,
    anomalies: Vec<Anomaly>,
}

impl Checker<'_> {
    fn add(&mut self, kind: AnomalyKind, message: String) {
        self.anomalies.push(Anomaly { kind, message });
    }

    fn find_writers(&mut self) {
        for (number, transaction) in self.history.iter().enumerate() {
            let mut last: BTreeMap<Key, u64> = BTreeMap::new();
            for operation in &transaction.operations {
                let Operation::Append { key, value } = *operation else { continue };
                // Items of a set are not written over: each of them is a state that others may see only with the others.
                if let Some(before) = last.insert(key, value)
                    && let Some(writer) = self.writers.get_mut(&(key, before))
                {
                    writer.is_last = false;
                }
                self.writers.insert((key, value), Writer { transaction: number, is_last: true });
            }
        }
    }

    /// Checks what transactions saw of themselves, and gives what they saw of others.
    fn external_reads(&mut self) -> Vec<ExternalRead> {
        let history = self.history;
        let mut reads = Vec::new();
        for (number, transaction) in history.iter().enumerate() {
            let mut own: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
            let mut seen: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
            for operation in &transaction.operations {
                match operation {
                    Operation::Append { key, value } => own.entry(*key).or_default().push(*value),
                    Operation::Read { key, values } => {
                        let own = own.get(key).map_or(&[][..], Vec::as_slice);
                        let Some(external) = without_own(*key, values, own) else {
                            let text =
                                format!("transaction {number} added {own:?} to {key:?} and then read {values:?}");
                            self.add(AnomalyKind::Internal, text);
                            continue;
                        };
                        match seen.get(key) {
                            None => {
                                reads.push(ExternalRead { transaction: number, key: *key, values: external.clone() });
                                seen.insert(*key, external);
                            }
                            Some(before) if *before == external => {}
                            Some(before) => {
                                let text =
                                    format!("transaction {number} read {before:?} of {key:?}, and later {external:?}");
                                self.add(AnomalyKind::Internal, text);
                            }
                        }
                    }
                }
            }
        }
        reads
    }

    /// Sets come in no order that is promised: what one read has beyond a shorter one was added later.
    fn order_sets(&mut self, reads: &mut [ExternalRead]) {
        let mut by_key: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (at, read) in reads.iter().enumerate().filter(|(_, read)| matches!(read.key, Key::Set(_))) {
            by_key.entry(read.key).or_default().push(at);
        }
        for (key, mut places) in by_key {
            places.sort_by_key(|&at| reads[at].values.len());
            let mut order: Vec<u64> = Vec::new();
            let mut position: Map<u64, usize> = Map::default();
            for at in places {
                let values = &mut reads[at].values;
                let (mut old, new): (Vec<u64>, Vec<u64>) =
                    values.iter().partition(|value| position.contains_key(value));
                old.sort_unstable_by_key(|value| position[value]);
                if let Some(missing) = order.iter().find(|value| !old.contains(value)) {
                    let text = format!(
                        "transaction {} read {} numbers of {key:?}, but not {missing}, which a shorter read has",
                        reads[at].transaction,
                        values.len()
                    );
                    self.add(AnomalyKind::IncompatibleOrder, text);
                    continue;
                }
                for value in new {
                    position.insert(value, order.len());
                    order.push(value);
                }
                values.clone_from(&order);
            }
        }
    }

    /// Checks where each number read comes from, and finds the order of each list.
    fn find_orders(&mut self, reads: &[ExternalRead]) {
        for read in reads {
            self.check_origins(read);
            let longest = self.orders.entry(read.key).or_default();
            if longest.len() < read.values.len() {
                *longest = read.values.to_vec();
            }
        }
        for read in reads {
            let longest = &self.orders[&read.key];
            if !longest.starts_with(&read.values) {
                let at = longest.iter().zip(&read.values).position(|(a, b)| a != b).unwrap_or_default();
                let text = format!(
                    "transaction {} read of {:?} at place {at} {:?}, where another read {:?}",
                    read.transaction,
                    read.key,
                    &read.values[at..read.values.len().min(at + 4)],
                    &longest[at..longest.len().min(at + 4)]
                );
                self.add(AnomalyKind::IncompatibleOrder, text);
            }
        }
    }

    fn check_origins(&mut self, read: &ExternalRead) {
        let ExternalRead { transaction, key, ref values } = *read;
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            self.add(AnomalyKind::Garbage, format!("transaction {transaction} read {} twice in {key:?}", pair[0]));
        }
        for (at, &value) in values.iter().enumerate() {
            let Some(writer) = self.writers.get(&(key, value)).copied() else {
                let text = format!("transaction {transaction} read {value} of {key:?}, which nobody added");
                self.add(AnomalyKind::Garbage, text);
                continue;
            };
            let from = writer.transaction;
            if self.history[from].outcome == Outcome::Aborted {
                let text = format!(
                    "transaction {transaction} read {value} of {key:?}, which aborted transaction {from} added"
                );
                self.add(AnomalyKind::AbortedRead, text);
            } else if matches!(key, Key::Ordered(_)) && at + 1 == values.len() && !writer.is_last && from != transaction
            {
                let text =
                    format!("transaction {transaction} read {key:?} up to {value}, where transaction {from} went on");
                self.add(AnomalyKind::IntermediateRead, text);
            }
        }
    }

    /// Checks that what was acknowledged is in the lists that the last transaction reads.
    fn check_final(&mut self, reads: &[ExternalRead]) {
        let Some(last) = self.history.len().checked_sub(1) else { return };
        let read: Map<(Key, u64), ()> = reads
            .iter()
            .filter(|read| read.transaction == last)
            .flat_map(|read| read.values.iter().map(|&value| ((read.key, value), ())))
            .collect();
        let keys: Map<Key, ()> =
            reads.iter().filter(|read| read.transaction == last).map(|read| (read.key, ())).collect();
        let mut lost = Vec::new();
        for (&(key, value), writer) in &self.writers {
            let transaction = writer.transaction;
            let is_committed = self.history[transaction].outcome == Outcome::Committed && transaction != last;
            if is_committed && keys.contains_key(&key) && !read.contains_key(&(key, value)) {
                lost.push(format!("{value} of {key:?}, which transaction {transaction} added"));
            }
        }
        lost.sort_unstable();
        lost.into_iter().for_each(|text| self.add(AnomalyKind::LostAppend, text));
    }

    fn dependencies(&self, reads: &[ExternalRead]) -> Graph {
        let mut graph = Graph::new(self.history.len());
        for (&key, order) in &self.orders {
            for pair in order.windows(2) {
                if let (Key::Ordered(_), Some(a), Some(b)) =
                    (key, self.writers.get(&(key, pair[0])), self.writers.get(&(key, pair[1])))
                {
                    graph.add(a.transaction, b.transaction, Dependency::WriteWrite);
                }
            }
        }
        for read in reads.iter().filter(|read| self.history[read.transaction].outcome == Outcome::Committed) {
            let writer = |value: &u64| self.writers.get(&(read.key, *value)).map(|writer| writer.transaction);
            // In an ordered list the last number depends on all before it; in a set each stands by itself.
            let count = if matches!(read.key, Key::Set(_)) { ITEMS_CONSIDERED } else { 1 };
            for writer in read.values.iter().rev().take(count).filter_map(writer) {
                graph.add(writer, read.transaction, Dependency::WriteRead);
            }
            // The next that are not the reader's own: they wrote over what the reader saw.
            let later = self.orders[&read.key].get(read.values.len()..).unwrap_or_default();
            for next in later.iter().filter_map(writer).filter(|&next| next != read.transaction).take(count) {
                graph.add(read.transaction, next, Dependency::ReadWrite);
            }
        }
        self.add_real_time(&mut graph);
        graph
    }

    /// Adds a dependency from each transaction to those that began after it was acknowledged: by a chain of moments, so
    /// that there are few dependencies.
    fn add_real_time(&self, graph: &mut Graph) {
        let committed = |number: &usize| self.history[*number].outcome == Outcome::Committed;
        let mut ends: Vec<usize> = (0..self.history.len()).filter(committed).collect();
        ends.sort_by_key(|&number| self.history[number].end_ns);
        let moments: Vec<usize> = ends.iter().map(|_| graph.add_node()).collect();
        for (at, &number) in ends.iter().enumerate() {
            graph.add(number, moments[at], Dependency::RealTime);
            if let Some(&next) = moments.get(at + 1) {
                graph.add(moments[at], next, Dependency::RealTime);
            }
        }
        for &number in &ends {
            let begin = self.history[number].begin_ns;
            let before = ends.partition_point(|&other| self.history[other].end_ns < begin);
            if let Some(last) = before.checked_sub(1) {
                graph.add(moments[last], number, Dependency::RealTime);
            }
        }
    }

    fn add_cycle(&mut self, cycle: &[(usize, Dependency)]) {
        let has = |dependency| cycle.iter().any(|(_, other)| *other == dependency);
        let kind = if has(Dependency::RealTime) {
            AnomalyKind::StaleRead
        } else if has(Dependency::ReadWrite) {
            AnomalyKind::ReadSkew
        } else if has(Dependency::WriteRead) {
            AnomalyKind::CircularInformationFlow
        } else {
            AnomalyKind::WriteCycle
        };
        let mut text = String::new();
        for (number, dependency) in cycle {
            match self.history.get(*number) {
                Some(Transaction { operations, begin_ns, end_ns, .. }) => {
                    text += &format!("\n  transaction {number} ({begin_ns}..{end_ns} ns) {operations:?}");
                }
                None => text += "\n  a moment",
            }
            text += &format!("\n    -{dependency:?}->");
        }
        self.add(kind, text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Key, Operation, Outcome, Transaction};
    use super::{AnomalyKind, find_anomalies};

    const X: Key = Key::Ordered(0);
    const Y: Key = Key::Ordered(1);
    const E: Key = Key::Set(0);

    fn append(key: Key, value: u64) -> Operation {
        Operation::Append { key, value }
    }

    fn read(key: Key, values: &[u64]) -> Operation {
        Operation::Read { key, values: values.to_vec() }
    }

    fn at(begin_ns: u64, end_ns: u64, operations: &[Operation]) -> Transaction {
        Transaction { operations: operations.to_vec(), outcome: Outcome::Committed, begin_ns, end_ns }
    }

    /// All at the same time, except for the last, which comes after the others.
    fn together(transactions: &[&[Operation]]) -> Vec<Transaction> {
        let last = transactions.len() - 1;
        let time = |number| if number == last { (200, 300) } else { (0, 100) };
        transactions.iter().enumerate().map(|(number, all)| at(time(number).0, time(number).1, all)).collect()
    }

    fn check(history: &[Transaction], expected: Option<AnomalyKind>) {
        let findings = find_anomalies(history);
        let kinds: Vec<AnomalyKind> = findings.anomalies.iter().map(|anomaly| anomaly.kind).collect();
        match expected {
            Some(kind) => assert!(kinds.contains(&kind), "{kind:?} is found, found {:?}", findings.anomalies),
            None => assert!(kinds.is_empty(), "{:?}", findings.anomalies),
        }
    }

    #[test]
    fn what_snapshot_isolation_allows_is_allowed() {
        check(&together(&[&[append(X, 1)], &[read(X, &[]), append(Y, 2)], &[read(X, &[1]), read(Y, &[2])]]), None);
        // Write skew: each reads what the other writes over.
        let skew =
            together(&[&[read(X, &[]), append(Y, 1)], &[read(Y, &[]), append(X, 2)], &[read(X, &[2]), read(Y, &[1])]]);
        check(&skew, None);
        assert!(find_anomalies(&skew).has_write_skew);
        // Edges do not conflict: neither needs to see the other.
        let edges = together(&[&[read(E, &[]), append(E, 1)], &[read(E, &[]), append(E, 2)], &[read(E, &[1, 2])]]);
        check(&edges, None);
        let own = together(&[&[append(X, 1), append(X, 2), read(X, &[1, 2])], &[read(X, &[1, 2])]]);
        check(&own, None);
    }

    #[test]
    fn each_anomaly_is_found() {
        use AnomalyKind::*;
        let mut aborted = together(&[&[append(X, 1)], &[read(X, &[1])], &[read(X, &[])]]);
        aborted[0].outcome = Outcome::Aborted;
        check(&aborted, Some(AbortedRead));
        let intermediate = [&[append(X, 1), append(X, 2)][..], &[read(X, &[1])], &[read(X, &[1, 2])]];
        check(&together(&intermediate), Some(IntermediateRead));
        check(&together(&[&[read(X, &[7])]]), Some(Garbage));
        check(&together(&[&[append(X, 1)], &[read(X, &[1, 1])]]), Some(Garbage));
        check(&together(&[&[append(X, 1), read(X, &[])], &[read(X, &[1])]]), Some(Internal));
        check(&together(&[&[append(X, 1)], &[read(X, &[]), read(X, &[1])], &[read(X, &[1])]]), Some(Internal));
        let orders = [&[append(X, 1)][..], &[append(X, 2)], &[read(X, &[2])], &[read(X, &[1, 2])]];
        check(&together(&orders), Some(IncompatibleOrder));
        check(&together(&[&[append(X, 1)], &[append(X, 2)], &[read(X, &[2])]]), Some(LostAppend));
        check(&together(&[&[append(E, 1)], &[append(E, 2)], &[read(E, &[2])]]), Some(LostAppend));
    }

    #[test]
    fn each_kind_of_cycle_is_found() {
        use AnomalyKind::*;
        let writes =
            [&[append(X, 1), append(Y, 2)][..], &[append(X, 3), append(Y, 4)], &[read(X, &[1, 3]), read(Y, &[4, 2])]];
        check(&together(&writes), Some(WriteCycle));
        let flow =
            [&[append(X, 1), read(Y, &[2])][..], &[append(Y, 2), read(X, &[1])], &[read(X, &[1]), read(Y, &[2])]];
        check(&together(&flow), Some(CircularInformationFlow));
        // A lost update: both read nothing, both write.
        let lost = [&[read(X, &[]), append(X, 1)][..], &[read(X, &[]), append(X, 2)], &[read(X, &[1, 2])]];
        check(&together(&lost), Some(ReadSkew));
        // A fractured read: one of two writes of a transaction.
        let fractured =
            [&[append(X, 1), append(Y, 2)][..], &[read(X, &[1]), read(Y, &[])], &[read(X, &[1]), read(Y, &[2])]];
        check(&together(&fractured), Some(ReadSkew));
        let fractured =
            [&[append(E, 1), append(Y, 2)][..], &[read(E, &[]), read(Y, &[2])], &[read(E, &[1]), read(Y, &[2])]];
        check(&together(&fractured), Some(ReadSkew));
        // Three transactions that see two commits in different orders.
        let long_fork = [
            &[append(X, 1)][..],
            &[append(Y, 2)],
            &[read(X, &[1]), read(Y, &[])],
            &[read(X, &[]), read(Y, &[2])],
            &[read(X, &[1]), read(Y, &[2])],
        ];
        check(&together(&long_fork), Some(ReadSkew));
        let stale = [at(0, 10, &[append(X, 1)]), at(20, 30, &[read(X, &[])]), at(40, 50, &[read(X, &[1])])];
        check(&stale, Some(StaleRead));
    }
}
