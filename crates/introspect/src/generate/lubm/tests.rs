//! Counts of universities against the ranges of the paper.

use std::collections::{BTreeMap, BTreeSet};

use super::{RANKS, RELATIONS, TABLES, Table, Universities};

fn made() -> Universities {
    Universities::new(60_000, 3)
}

fn rows(made: &Universities, edge_type: &str, source: Table, target: Table) -> Vec<(u64, u64)> {
    let is_it = |relation: &super::relations::Relation| {
        (relation.edge_type, relation.source, relation.target) == (edge_type, source, target)
    };
    let relation = RELATIONS.iter().position(is_it).expect("there is such a relation");
    made.ends(relation, &(0..made.edges(relation)))
}

fn by(keys: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    keys.fold(BTreeMap::new(), |mut counts, key| {
        *counts.entry(key).or_insert(0) += 1;
        counts
    })
}

fn is_within(counts: &BTreeMap<u64, u64>, low: u64, high: u64) -> bool {
    counts.values().all(|count| (low..=high).contains(count)) && counts.values().any(|count| *count > low)
}

#[test]
fn departments_have_the_staff_and_the_students_of_the_paper() {
    let made = made();
    let department_of = |table: Table, kind: &str| rows(&made, kind, table, Table::Department);
    let universities = rows(&made, "subOrganizationOf", Table::Department, Table::University);
    let mut sizes = by(universities.iter().map(|(_, university)| *university));
    assert_eq!(sizes.len() as u64, made.nodes(Table::University));
    // The last one need not be whole.
    sizes.pop_last();
    assert!(is_within(&sizes, 15, 25), "{sizes:?}");
    let professors = department_of(Table::Professor, "worksFor");
    let ranks: Vec<_> = made.ranks(&(0..made.nodes(Table::Professor))).values().map(|rank| rank.to_string()).collect();
    for (rank, (low, high)) in RANKS.iter().zip([(7, 10), (10, 14), (8, 11)]) {
        let of_rank = professors.iter().zip(&ranks).filter(|(_, found)| found.contains(rank));
        let counts = by(of_rank.map(|((_, department), _)| *department));
        assert!(counts.len() as u64 == made.nodes(Table::Department) && is_within(&counts, low, high), "{rank}");
    }
    let lecturers = by(department_of(Table::Lecturer, "worksFor").iter().map(|(_, department)| *department));
    assert!(is_within(&lecturers, 5, 7), "{lecturers:?}");
    let professors = by(professors.iter().map(|(_, department)| *department));
    for (table, low, high) in [(Table::UndergraduateStudent, 8, 14), (Table::GraduateStudent, 3, 4)] {
        let students = by(department_of(table, "memberOf").iter().map(|(_, department)| *department));
        let each = students.iter().map(|(department, count)| {
            let faculty = professors[department] + lecturers[department];
            assert!(count.is_multiple_of(faculty), "{count} students of {faculty}");
            (*department, count / faculty)
        });
        assert!(is_within(&each.collect(), low, high), "{table:?}");
    }
    assert!(is_within(&by(department_of(Table::ResearchGroup, "subOrganizationOf").iter().map(|edge| edge.1)), 10, 20));
}

#[test]
fn members_teach_take_and_write_as_much_as_in_the_paper() {
    let made = made();
    let sources = |kind: &str, source: Table, target: Table| by(rows(&made, kind, source, target).iter().map(|e| e.0));
    for staff in [Table::Professor, Table::Lecturer] {
        for course in [Table::Course, Table::GraduateCourse] {
            let taught = sources("teacherOf", staff, course);
            assert!(taught.len() as u64 == made.nodes(staff) && is_within(&taught, 1, 2), "{staff:?} {course:?}");
        }
    }
    let taken = sources("takesCourse", Table::UndergraduateStudent, Table::Course);
    assert!(taken.len() as u64 == made.nodes(Table::UndergraduateStudent) && is_within(&taken, 2, 4));
    let taken = sources("takesCourse", Table::GraduateStudent, Table::GraduateCourse);
    assert!(taken.len() as u64 == made.nodes(Table::GraduateStudent) && is_within(&taken, 1, 3));
    let advised = sources("advisor", Table::UndergraduateStudent, Table::Professor);
    let share = advised.len() as f64 / made.nodes(Table::UndergraduateStudent) as f64;
    assert!((0.195..=0.2).contains(&share) && advised.values().all(|count| *count == 1), "{share}");
    let advised = sources("advisor", Table::GraduateStudent, Table::Professor);
    assert!(advised.len() as u64 == made.nodes(Table::GraduateStudent) && advised.values().all(|count| *count == 1));
    let assisting = sources("teachingAssistantOf", Table::GraduateStudent, Table::Course);
    let share = assisting.len() as f64 / made.nodes(Table::GraduateStudent) as f64;
    assert!((0.19..=0.25).contains(&share) && assisting.values().all(|count| *count == 1), "{share}");
    let ranks: Vec<_> = made.ranks(&(0..made.nodes(Table::Professor))).values().map(|rank| rank.to_string()).collect();
    let written = by(rows(&made, "publicationAuthor", Table::Publication, Table::Professor).iter().map(|edge| edge.1));
    for (rank, (low, high)) in RANKS.iter().zip([(15, 20), (10, 18), (5, 10)]) {
        let of_rank = written.iter().filter(|(professor, _)| ranks[**professor as usize].contains(rank));
        assert!(is_within(&of_rank.map(|(key, count)| (*key, *count)).collect(), low, high), "{rank}");
    }
}

/// Every course has one teacher, every publication one author, nobody takes a course twice, and all ends are there.
#[test]
fn edges_join_what_they_should() {
    let made = made();
    for (table, kind) in [(Table::Course, "teacherOf"), (Table::GraduateCourse, "teacherOf")] {
        let taught = [Table::Professor, Table::Lecturer].map(|staff| rows(&made, kind, staff, table));
        let courses = by(taught.iter().flatten().map(|edge| edge.1));
        assert!(courses.len() as u64 == made.nodes(table) && courses.values().all(|count| *count == 1), "{table:?}");
    }
    let written = [Table::Professor, Table::Lecturer];
    let written = written.map(|author| rows(&made, "publicationAuthor", Table::Publication, author));
    let publications = by(written.iter().flatten().map(|edge| edge.0));
    assert_eq!((publications.len() as u64, publications.values().max()), (made.nodes(Table::Publication), Some(&1)));
    for (number, relation) in RELATIONS.iter().enumerate() {
        let all = made.ends(number, &(0..made.edges(number)));
        assert_eq!(all.len() as u64, made.edges(number), "{relation:?}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no edge comes twice: {relation:?}");
        let is_there = |edge: &(u64, u64)| edge.0 < made.nodes(relation.source) && edge.1 < made.nodes(relation.target);
        assert!(all.iter().all(is_there), "{relation:?}");
    }
}

#[test]
fn the_size_is_that_asked_for_and_the_memory_is_not() {
    let all = |made: &Universities| TABLES.iter().map(|(table, _)| made.nodes(*table)).sum::<u64>();
    for nodes in [2, 1_000, 20_000, 20_000_000] {
        let made = Universities::new(nodes, 1);
        assert!((nodes..nodes + 3_000).contains(&all(&made)), "{nodes}: {}", all(&made));
        assert!(made.places.len() <= super::PLACES_MAX);
    }
    // A piece far behind the start of a large graph is the same as of a smaller one, which has other places.
    let (large, small) = (Universities::new(20_000_000, 1), Universities::new(12_000_000, 1));
    assert!(large.places[1].department > small.places[1].department);
    assert_eq!(large.ends(11, &(9_000_000..9_000_100)), small.ends(11, &(9_000_000..9_000_100)));
}
