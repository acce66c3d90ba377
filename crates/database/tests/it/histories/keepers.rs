//! Statements that keep lists of numbers, so that what sessions side by side do with them can be checked.
//!
//! A statement that stores something joins [`KEEPERS`]: it then runs in all histories beside all others, and faults are
//! planted in its way.

use database::{Error, Parameters, Session, Value};
use testing::Folder;

/// Lists of each keeper.
pub(super) const LISTS: u32 = 2;

/// Ways in which a statement commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With the transaction around it; it adds one number.
    Within,
    /// By itself, all its numbers at once.
    Alone,
    /// By itself, [`BATCH`] numbers at once.
    Batches,
}

/// Numbers of one batch.
pub(super) const BATCH: usize = 2;

/// The file that a statement reads.
#[derive(Clone, Copy)]
pub(super) enum File {
    /// A row for each number, which is its only field.
    Rows,
    /// These rows, with a column for each number behind those of the head.
    Columns { head: &'static str, rows: &'static [&'static str] },
}

/// A statement that keeps lists. `LIST` stands for the number of the list, `VALUE` for a number that is added, `FILE` for the
/// file; `$values` are the numbers.
pub(super) struct Keeper {
    pub(super) name: &'static str,
    pub(super) way: Way,
    /// True if the numbers of a list come in order, so that two that append to it conflict.
    pub(super) is_ordered: bool,
    prepare: &'static [&'static str],
    append: &'static [&'static str],
    file: Option<File>,
    read: &'static str,
    /// Places at which each number stands: nodes or relationships that the statement writes.
    places: usize,
}

const END: &str = "MERGE (a:End {id: 1}) MERGE (b:End {id: 2}) MERGE (c:End {id: 3})";

/// All keepers; the lists of one have consecutive numbers.
pub(super) const KEEPERS: &[Keeper] = &[
    Keeper {
        name: "SET of a list",
        way: Way::Within,
        is_ordered: true,
        prepare: &["CREATE (:Plain {list: LIST, values: []})"],
        append: &["MATCH (n:Plain {list: LIST}) SET n.values = n.values + $values"],
        file: None,
        read: "MATCH (n:Plain {list: LIST}) UNWIND n.values AS v RETURN v",
        places: 1,
    },
    Keeper {
        name: "COPY of nodes",
        way: Way::Alone,
        is_ordered: false,
        prepare: &["CREATE CONSTRAINT FOR (n:CopiedLIST) REQUIRE n.value IS UNIQUE"],
        append: &["COPY CopiedLIST FROM 'FILE' (key = 'value')"],
        file: Some(File::Rows),
        read: "MATCH (n:CopiedLIST) RETURN n.value",
        places: 1,
    },
    Keeper {
        name: "COPY that updates nodes",
        way: Way::Alone,
        is_ordered: false,
        prepare: &[
            "CREATE CONSTRAINT FOR (n:KnownLIST) REQUIRE n.id IS UNIQUE",
            "UNWIND [1, 2, 3] AS i CREATE (:KnownLIST {id: i})",
        ],
        append: &["COPY KnownLIST FROM 'FILE' (key = 'id', on_duplicate = 'update')"],
        file: Some(File::Columns { head: "id", rows: &["1", "2", "3"] }),
        read: "MATCH (n:KnownLIST) UNWIND keys(n) AS k WITH k WHERE k STARTS WITH 'x' RETURN toInteger(substring(k, 1))",
        places: 3,
    },
    Keeper {
        name: "COPY of relationships",
        way: Way::Alone,
        is_ordered: false,
        prepare: &["CREATE CONSTRAINT IF NOT EXISTS FOR (n:End) REQUIRE n.id IS UNIQUE", END],
        append: &["COPY JOINSLIST FROM 'FILE' (from = 'End', to = 'End')"],
        file: Some(File::Columns { head: "source,target", rows: &["1,2", "2,3", "1,2"] }),
        read: "MATCH ()-[r:JOINSLIST]->() UNWIND keys(r) AS k RETURN toInteger(substring(k, 1))",
        places: 3,
    },
    Keeper {
        name: "COPY that updates relationships",
        way: Way::Alone,
        is_ordered: false,
        prepare: &[
            "CREATE CONSTRAINT IF NOT EXISTS FOR (n:End) REQUIRE n.id IS UNIQUE",
            END,
            "MATCH (a:End {id: 1}), (b:End {id: 2}) UNWIND [1, 2, 3] AS k CREATE (a)-[:KEPTLIST {k: k}]->(b)",
        ],
        append: &["COPY KEPTLIST FROM 'FILE' (from = 'End', to = 'End', edge_key = 'k', on_duplicate = 'update')"],
        file: Some(File::Columns { head: "source,target,k", rows: &["1,2,1", "1,2,3"] }),
        read: "MATCH ()-[r:KEPTLIST]->() UNWIND keys(r) AS k WITH k WHERE k STARTS WITH 'x' RETURN toInteger(substring(k, 1))",
        places: 2,
    },
    Keeper {
        name: "IN TRANSACTIONS that creates",
        way: Way::Batches,
        is_ordered: false,
        prepare: &["CREATE (:BatchedLIST {value: 0}) WITH 1 AS x MATCH (n:BatchedLIST) DELETE n"],
        append: &["UNWIND $values AS v CALL (v) { CREATE (:BatchedLIST {value: v}) } IN TRANSACTIONS OF 2 ROWS"],
        file: None,
        read: "MATCH (n:BatchedLIST) RETURN n.value",
        places: 1,
    },
    Keeper {
        name: "IN CONCURRENT TRANSACTIONS",
        way: Way::Batches,
        is_ordered: false,
        prepare: &["CREATE (:TogetherLIST {value: 0}) WITH 1 AS x MATCH (n:TogetherLIST) DELETE n"],
        append: &[
            "UNWIND $values AS v CALL (v) { CREATE (:TogetherLIST {value: v}) } IN 2 CONCURRENT TRANSACTIONS OF 2 ROWS",
        ],
        file: None,
        read: "MATCH (n:TogetherLIST) RETURN n.value",
        places: 1,
    },
    Keeper {
        name: "IN TRANSACTIONS that changes",
        way: Way::Batches,
        is_ordered: true,
        prepare: &["CREATE (:Turn {list: LIST, values: []})"],
        append: &["UNWIND $values AS v CALL (v) { MATCH (n:Turn {list: LIST}) SET n.values = n.values + v } \
             IN TRANSACTIONS OF 2 ROWS"],
        file: None,
        read: "MATCH (n:Turn {list: LIST}) UNWIND n.values AS v RETURN v",
        places: 1,
    },
    Keeper {
        name: "algorithm that writes properties",
        way: Way::Within,
        is_ordered: false,
        prepare: &["UNWIND [1, 2, 3] AS i CREATE (:PartLIST)"],
        append: &["CALL algo.wcc.write({labels: 'PartLIST', writeProperty: 'xVALUE'})"],
        file: None,
        read: "MATCH (n:PartLIST) UNWIND keys(n) AS k RETURN toInteger(substring(k, 1))",
        places: 3,
    },
    Keeper {
        name: "algorithm that writes relationships",
        way: Way::Within,
        is_ordered: false,
        prepare: &["CREATE (:LikeLIST)-[:TOLIST]->(:Shared)<-[:TOLIST]-(:LikeLIST)"],
        append: &["CALL algo.nodeSimilarity.write({types: 'TOLIST', topK: 1, similarityCutoff: 0.0, \
             writeProperty: 'xVALUE', writeRelationshipType: 'NEARLIST'})"],
        file: None,
        read: "MATCH (:LikeLIST)-[r:NEARLIST]->() UNWIND keys(r) AS k RETURN toInteger(substring(k, 1))",
        places: 2,
    },
    // The algorithm reads the list, and what it has written says which numbers it saw.
    Keeper {
        name: "list that an algorithm reads and writes",
        way: Way::Within,
        is_ordered: false,
        prepare: &["CREATE (h:HubLIST) CREATE (h)<-[:INLIST]-(:ItemLIST {value: 0}) SET h.part = 0"],
        append: &[
            "MATCH (h:HubLIST) CREATE (:ItemLIST {value: $values[0]})-[:INLIST]->(h)",
            "CALL algo.wcc.write({labels: ['HubLIST', 'ItemLIST'], types: 'INLIST', writeProperty: 'part'})",
            "MATCH (h:HubLIST), (i:ItemLIST) WHERE i.part IS NULL OR i.part <> h.part SET i.value = -1",
        ],
        file: None,
        read: "CALL algo.wcc({labels: ['HubLIST', 'ItemLIST'], types: 'INLIST'}) YIELD node, component \
               WITH component, collect(node.value) AS found, sum(CASE WHEN node:HubLIST THEN 1 ELSE 0 END) AS hubs \
               WHERE hubs = 1 UNWIND found AS v WITH v WHERE v <> 0 RETURN v",
        places: 1,
    },
];

/// Runs a statement, and gives the numbers of its only column.
fn run(session: &mut Session, text: &str, values: &[u64]) -> Result<Vec<u64>, Error> {
    let values = Value::list(values.iter().map(|&value| Value::Int(value as i64)).collect::<Vec<_>>());
    let parameters: Parameters = [("values".into(), values)].into_iter().collect();
    let number = |row: Vec<Value>| match row.first() {
        Some(Value::Int(number)) => *number as u64,
        other => panic!("{text}: expected a number, found {other:?}"),
    };
    let result = session.query(text, &parameters)?;
    Ok(if text.contains("RETURN") { result.rows().map(number).collect() } else { Vec::new() })
}

impl Keeper {
    /// Makes an empty list.
    pub(super) fn prepare(&self, session: &mut Session, list: u32) -> Result<(), Error> {
        self.prepare.iter().try_for_each(|text| run(session, &of_list(text, list), &[]).map(drop))
    }

    /// The numbers of a list.
    pub(super) fn read(&self, session: &mut Session, list: u32) -> Result<Vec<u64>, Error> {
        let mut found = run(session, &of_list(self.read, list), &[])?;
        if self.places > 1 {
            found.sort_unstable();
            let in_part = found.chunk_by(|a, b| a == b).find(|places| places.len() != self.places);
            assert_eq!(in_part, None, "{}: a number stands at some of its {} places", self.name, self.places);
            found.dedup();
        }
        Ok(found)
    }

    /// True if it appends by one statement, which may be a transaction of its own.
    pub(super) fn is_one_statement(&self) -> bool {
        self.append.len() == 1
    }

    /// Adds numbers. Files lie in the folder.
    pub(super) fn append(
        &self,
        session: &mut Session,
        folder: &Folder,
        list: u32,
        values: &[u64],
    ) -> Result<(), Error> {
        let file = self.file.map(|file| folder.write(&format!("{}.csv", values[0]), file.text(values)));
        let file = file.map_or_else(String::new, |path| path.display().to_string());
        let statement =
            |text: &&str| of_list(text, list).replace("VALUE", &values[0].to_string()).replace("FILE", &file);
        self.append.iter().map(statement).try_for_each(|text| run(session, &text, values).map(drop))
    }
}

impl File {
    fn text(self, values: &[u64]) -> String {
        match self {
            File::Rows => values.iter().fold("value\n".to_owned(), |text, value| format!("{text}{value}\n")),
            File::Columns { head, rows } => {
                let names: String = values.iter().map(|value| format!(",x{value}")).collect();
                let ones = ",1".repeat(values.len());
                rows.iter().fold(format!("{head}{names}\n"), |text, row| format!("{text}{row}{ones}\n"))
            }
        }
    }
}

fn of_list(text: &str, list: u32) -> String {
    text.replace("LIST", &list.to_string())
}
