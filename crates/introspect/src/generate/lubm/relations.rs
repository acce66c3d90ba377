//! The edges of a department: each relation has its type, its ends, its number of edges and the edges themselves.

use super::{Deck, Department, Table, Universities};
use crate::random::Stream;

/// Courses that a student takes.
const TAKEN: (u64, u64) = (2, 4);
const TAKEN_BY_GRADUATES: (u64, u64) = (1, 3);
/// Undergraduates of whom one has an advisor.
const ADVISED_OF: u64 = 5;
/// Graduates of whom one assists with a course: at least, at most.
const ASSISTING_OF: (u64, u64) = (5, 4);

/// A rule for edges from one kind of node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Each is a part, or a member, of its department.
    Belongs,
    /// The department is a part of its university.
    Department,
    /// One of the full professors is the head.
    Head,
    /// The courses of each of the staff; the number is that of the deck.
    Teaches(usize),
    /// The courses that each student takes, no course twice.
    Takes,
    /// Professors who advise all, or one of a few.
    Advised,
    /// Graduates who assist, each with another course.
    Assists,
    /// Each has a degree of some university.
    Degree,
    /// The author of each publication.
    Author,
}

/// Edges of one type between two kinds of nodes.
#[derive(Clone, Copy, Debug)]
pub(in crate::generate) struct Relation {
    pub(in crate::generate) edge_type: &'static str,
    pub(in crate::generate) source: Table,
    pub(in crate::generate) target: Table,
    rule: Rule,
}

const fn relation(edge_type: &'static str, source: Table, target: Table, rule: Rule) -> Relation {
    Relation { edge_type, source, target, rule }
}

/// All edges.
pub(in crate::generate) const RELATIONS: [Relation; 20] = [
    relation("subOrganizationOf", Table::Department, Table::University, Rule::Department),
    relation("subOrganizationOf", Table::ResearchGroup, Table::Department, Rule::Belongs),
    relation("worksFor", Table::Professor, Table::Department, Rule::Belongs),
    relation("worksFor", Table::Lecturer, Table::Department, Rule::Belongs),
    relation("headOf", Table::Professor, Table::Department, Rule::Head),
    relation("teacherOf", Table::Professor, Table::Course, Rule::Teaches(0)),
    relation("teacherOf", Table::Lecturer, Table::Course, Rule::Teaches(0)),
    relation("teacherOf", Table::Professor, Table::GraduateCourse, Rule::Teaches(1)),
    relation("teacherOf", Table::Lecturer, Table::GraduateCourse, Rule::Teaches(1)),
    relation("memberOf", Table::UndergraduateStudent, Table::Department, Rule::Belongs),
    relation("memberOf", Table::GraduateStudent, Table::Department, Rule::Belongs),
    relation("takesCourse", Table::UndergraduateStudent, Table::Course, Rule::Takes),
    relation("takesCourse", Table::GraduateStudent, Table::GraduateCourse, Rule::Takes),
    relation("advisor", Table::UndergraduateStudent, Table::Professor, Rule::Advised),
    relation("advisor", Table::GraduateStudent, Table::Professor, Rule::Advised),
    relation("teachingAssistantOf", Table::GraduateStudent, Table::Course, Rule::Assists),
    relation("undergraduateDegreeFrom", Table::GraduateStudent, Table::University, Rule::Degree),
    relation("doctoralDegreeFrom", Table::Professor, Table::University, Rule::Degree),
    relation("publicationAuthor", Table::Publication, Table::Professor, Rule::Author),
    relation("publicationAuthor", Table::Publication, Table::Lecturer, Rule::Author),
];

/// Random numbers of edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    taken: Deck,
    taken_by_graduates: Deck,
    heads: Stream,
    assisting: Stream,
    choices: Stream,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Draws {
        Draws {
            taken: Deck::new(seed, "courses taken", TAKEN),
            taken_by_graduates: Deck::new(seed, "graduate courses taken", TAKEN_BY_GRADUATES),
            heads: Stream::new(seed, "heads"),
            assisting: Stream::new(seed, "assisting"),
            choices: Stream::new(seed, "choices"),
        }
    }

    fn taken(&self, by: Table) -> &Deck {
        if by == Table::GraduateStudent { &self.taken_by_graduates } else { &self.taken }
    }
}

/// The number under which members of the staff of a department draw courses: lecturers draw for themselves.
fn drawing(department: &Department, of: Table) -> u64 {
    if of == Table::Lecturer { department.number | 1 << 40 } else { department.number }
}

impl Universities {
    pub(super) fn edge_count(&self, department: &Department, relation: Relation) -> u64 {
        let members = department.count(relation.source);
        match relation.rule {
            Rule::Department | Rule::Head => 1,
            Rule::Belongs | Rule::Degree => members,
            Rule::Teaches(deck) => self.courses[deck].sum(drawing(department, relation.source), members),
            Rule::Takes => self.relations.taken(relation.source).sum(department.number, members),
            Rule::Advised if relation.source == Table::UndergraduateStudent => members / ADVISED_OF,
            Rule::Advised => members,
            Rule::Assists => {
                let (least, most) = (members / ASSISTING_OF.0, members / ASSISTING_OF.1);
                least + self.relations.assisting.below(department.number, most - least + 1)
            }
            Rule::Author => {
                let ranks = if relation.target == Table::Lecturer { 3..4 } else { 0..3 };
                ranks.map(|rank| self.publications[rank].sum(department.number, department.staff[rank])).sum()
            }
        }
    }

    /// The edges of a relation within a department, source and target.
    pub(super) fn pairs(&self, department: &Department, relation: Relation) -> Vec<(u64, u64)> {
        let Relation { source, target, rule, .. } = relation;
        let count = self.edge_count(department, relation);
        let from = |member: u64| department.node(source, member);
        let to = |member: u64| department.node(target, member);
        match rule {
            Rule::Department => vec![(from(0), department.university())],
            Rule::Head => vec![(from(self.relations.heads.below(department.number, department.staff[0])), to(0))],
            Rule::Belongs => (0..count).map(|member| (from(member), to(0))).collect(),
            Rule::Teaches(deck) => self.taught(department, relation, deck),
            Rule::Takes => self.taken(department, relation),
            Rule::Advised => {
                let (members, professors) = (department.count(source), department.count(target));
                let step = members / count.max(1);
                let mut draws = self.draws(department, relation);
                let mut advised = |number: u64| {
                    let member = number * step + draws.below(step);
                    (from(member), to(draws.below(professors)))
                };
                (0..count).map(&mut advised).collect()
            }
            Rule::Assists => {
                let (members, courses) = (department.count(source), department.count(target));
                let turn = self.draws(department, relation).below(courses);
                (0..count).map(|number| (from(number * members / count), to((number + turn) % courses))).collect()
            }
            Rule::Degree => {
                let (mut draws, universities) = (self.draws(department, relation), self.nodes(Table::University));
                (0..count).map(|member| (from(member), draws.below(universities))).collect()
            }
            Rule::Author => self.authors(department, relation),
        }
    }

    fn draws(&self, department: &Department, relation: Relation) -> crate::random::Draws {
        let number = RELATIONS.iter().position(|other| {
            (other.source, other.target, other.rule) == (relation.source, relation.target, relation.rule)
        });
        self.relations.choices.draws((department.number << 8) | number.unwrap_or(0) as u64)
    }

    /// Courses of professors come before those of lecturers.
    fn taught(&self, department: &Department, relation: Relation, deck: usize) -> Vec<(u64, u64)> {
        let Relation { source, target, .. } = relation;
        let of_professors = self.courses[deck].sum(department.number, department.count(Table::Professor));
        let mut course = if source == Table::Lecturer { of_professors } else { 0 };
        let mut found = Vec::new();
        for member in 0..department.count(source) {
            for _ in 0..self.courses[deck].card(drawing(department, source), member) {
                found.push((department.node(source, member), department.node(target, course)));
                course += 1;
            }
        }
        found
    }

    fn taken(&self, department: &Department, relation: Relation) -> Vec<(u64, u64)> {
        let Relation { source, target, .. } = relation;
        let (deck, courses) = (self.relations.taken(source), department.count(target));
        let mut draws = self.draws(department, relation);
        let mut found: Vec<(u64, u64)> = Vec::new();
        for member in 0..department.count(source) {
            let first = found.len();
            let count = deck.card(department.number, member) as usize;
            while found.len() < first + count {
                let edge = (department.node(source, member), department.node(target, draws.below(courses)));
                if !found[first..].contains(&edge) {
                    found.push(edge);
                }
            }
        }
        found
    }

    /// Publications of professors come before those of lecturers.
    fn authors(&self, department: &Department, relation: Relation) -> Vec<(u64, u64)> {
        let (mut found, mut publication, mut professor) = (Vec::new(), 0, 0);
        for (rank, deck) in self.publications.iter().enumerate() {
            let is_wanted = (relation.target == Table::Lecturer) == (rank == 3);
            for member in 0..department.staff[rank] {
                let author = if rank == 3 { member } else { professor };
                for _ in 0..deck.card(department.number, member) {
                    if is_wanted {
                        let source = department.node(Table::Publication, publication);
                        found.push((source, department.node(relation.target, author)));
                    }
                    publication += 1;
                }
                professor += u64::from(rank < 3);
            }
        }
        found
    }
}
