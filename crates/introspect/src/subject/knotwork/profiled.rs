//! Counts of what a statement touches, from the plan of its profile.

use database::PlanLine;

use crate::subject::Counts;

/// Operators that compute with the rows of others and read no edges.
const COMPUTING: [&str; 19] = [
    "Unit", "Argument", "Filter", "Project", "Extend", "Distinct", "PartialAggregate", "Aggregate", "Sort", "Top",
    "Skip", "Limit", "Unwind", "Union", "SemiApply", "AntiSemiApply", "CrossProduct", "HashJoin", "Optional",
];
/// The sign of a condition under which an operator reads, in its description.
const CONDITION: &str = " where ";
/// Operators that find nodes.
const FINDING: [&str; 5] = ["NodeScan", "NodeLookup", "NodeIndexSeek", "NodeIndexRange", "NodeById"];

/// The nodes that are found, the lists of neighbours that are asked for, and the edges that come of it. `None` if an operator
/// does not tell what it touches by its rows: what it looks at under a condition is not known.
pub(super) fn counts(lines: &[PlanLine]) -> Option<Counts> {
    let rows = |line: &PlanLine| line.actual.map(|actual| actual.rows);
    let mut counts = Counts::default();
    for (at, line) in lines.iter().enumerate() {
        let is_computing = COMPUTING.contains(&line.operator);
        match line.operator {
            _ if !is_computing && line.details.contains(CONDITION) => return None,
            "Expand" => {
                let input = lines.get(at + 1).filter(|input| input.depth > line.depth)?;
                counts.neighborhoods += rows(input)?;
                counts.edges += rows(line)?;
            }
            name if FINDING.contains(&name) => counts.unique_nodes += rows(line)?,
            _ if is_computing => {}
            _ => return None,
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use database::PlanLine;

    use super::counts;

    fn line(depth: usize, operator: &'static str, rows: u64) -> PlanLine {
        let (details, statements) = (String::new(), Vec::new());
        let mut line =
            PlanLine { depth, operator, details, estimated_rows: 1.0, statements, actual: Some(Default::default()) };
        line.actual.iter_mut().for_each(|actual| actual.rows = rows);
        line
    }

    #[test]
    fn lists_are_asked_for_each_row_of_the_input() {
        let mut plan =
            vec![line(0, "Aggregate", 1), line(1, "Expand", 90), line(2, "Expand", 12), line(3, "NodeLookup", 1)];
        let found = counts(&plan).expect("all operators are known");
        assert_eq!((found.neighborhoods, found.edges, found.unique_nodes), (13, 102, 1));
        plan[1].details = "(a)-[r:R]->(b) where b = 5".to_owned();
        assert_eq!(counts(&plan), None, "edges were looked at that did not fit");
        plan[1].details.clear();
        plan.push(line(4, "Call", 1));
        assert_eq!(counts(&plan), None);
        plan.truncate(3);
        assert_eq!(counts(&plan), None, "what is expanded is not told");
    }
}
