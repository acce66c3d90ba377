//! The university graph of the Lehigh University Benchmark: departments with their staff, courses, students and publications.
//!
//! A department is a function of the seed and its number; what lies before it is summed up. Members who draw a number each,
//! as the courses that a professor gives, draw from small decks, of which each number comes once, so that a sum needs no
//! draw of each.
//!
//! Cost: the memory of [`PLACES_MAX`] places whatever the size, and a walk from one of them to the next for a piece of rows.
//! After: Guo, Pan, Heflin, "LUBM: A benchmark for OWL knowledge base systems", 2005.

mod relations;

use std::ops::Range;

use model::{Column, ColumnData};

use crate::random::{Draws, Stream};
pub(super) use relations::RELATIONS;

/// Places that are kept: if there are more, every other one is dropped.
const PLACES_MAX: usize = 1_024;
/// Departments of a university.
const DEPARTMENTS: (u64, u64) = (15, 25);
/// Members of each [`RANKS`] in a department, and lecturers.
const STAFF: [(u64, u64); 4] = [(7, 10), (10, 14), (8, 11), (5, 7)];
/// Ranks of professors, in the order of their numbers within a department.
const RANKS: [&str; 3] = ["full", "associate", "assistant"];
/// Publications of a professor of each rank, and of a lecturer.
const PUBLICATIONS: [(u64, u64); 4] = [(15, 20), (10, 18), (5, 10), (0, 5)];
/// Courses, and as many for graduates, that each of the staff gives.
const COURSES: (u64, u64) = (1, 2);
const RESEARCH_GROUPS: (u64, u64) = (10, 20);
/// Students for each of the staff.
const UNDERGRADUATES: (u64, u64) = (8, 14);
const GRADUATES: (u64, u64) = (3, 4);

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    University,
    Department,
    ResearchGroup,
    Professor,
    Lecturer,
    Course,
    GraduateCourse,
    UndergraduateStudent,
    GraduateStudent,
    Publication,
}

/// Number of [`TABLES`].
const TABLE_COUNT: usize = TABLES.len();

/// The kinds of nodes with their labels.
pub(super) const TABLES: [(Table, &str); 10] = [
    (Table::University, "University"),
    (Table::Department, "Department"),
    (Table::ResearchGroup, "ResearchGroup"),
    (Table::Professor, "Professor"),
    (Table::Lecturer, "Lecturer"),
    (Table::Course, "Course"),
    (Table::GraduateCourse, "GraduateCourse"),
    (Table::UndergraduateStudent, "UndergraduateStudent"),
    (Table::GraduateStudent, "GraduateStudent"),
    (Table::Publication, "Publication"),
];

/// Numbers of a range that members draw: of as many members in a row as there are numbers, each draws another one.
#[derive(Clone, Copy, Debug)]
struct Deck {
    low: u64,
    width: u64,
    stream: Stream,
}

impl Deck {
    fn new(seed: u64, name: &str, (low, high): (u64, u64)) -> Deck {
        Deck { low, width: high - low + 1, stream: Stream::new(seed, name) }
    }

    /// The number that a member of a department draws.
    fn card(&self, department: u64, member: u64) -> u64 {
        let (round, slot) = (member / self.width, member % self.width);
        let turn = self.stream.below((department << 20) | round, self.width);
        self.low + (slot + turn) % self.width
    }

    /// The sum over the first members of a department.
    fn sum(&self, department: u64, members: u64) -> u64 {
        let (rounds, rest) = (members / self.width, members % self.width);
        let of_round = self.width * self.low + self.width * (self.width - 1) / 2;
        let of_rest = (members - rest..members).map(|member| self.card(department, member));
        rounds * of_round + of_rest.sum::<u64>()
    }
}

fn draw(draws: &mut Draws, (low, high): (u64, u64)) -> u64 {
    low + draws.below(high - low + 1)
}

/// State before a department: its number, what is left of its university, and the numbers of its first nodes and edges.
#[derive(Clone, Copy, Debug)]
struct Place {
    department: u64,
    departments_left: u64,
    nodes: [u64; TABLE_COUNT],
    edges: [u64; RELATIONS.len()],
}

/// A department: the numbers of its first nodes, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Department {
    number: u64,
    first: [u64; TABLE_COUNT],
    count: [u64; TABLE_COUNT],
    staff: [u64; 4],
}

impl Department {
    fn count(&self, table: Table) -> u64 {
        self.count[table as usize]
    }

    /// The number of a node by its number within the department.
    fn node(&self, table: Table, member: u64) -> u64 {
        self.first[table as usize] + member
    }

    /// The university that it belongs to: the last one that has begun.
    fn university(&self) -> u64 {
        self.first[Table::University as usize] + self.count(Table::University) - 1
    }
}

/// Universities whose rows are made when they are asked for.
#[derive(Clone, Debug)]
pub(super) struct Universities {
    sizes: Stream,
    departments: Stream,
    courses: [Deck; 2],
    publications: [Deck; 4],
    relations: relations::Draws,
    /// Places at a regular distance of departments.
    places: Vec<Place>,
    end: Place,
}

impl Universities {
    /// As many whole departments as it takes to have that number of nodes.
    pub(super) fn new(nodes: u64, seed: u64) -> Universities {
        let deck = |name: &str, range: (u64, u64)| Deck::new(seed, name, range);
        let start = Place { department: 0, departments_left: 0, nodes: [0; TABLE_COUNT], edges: [0; RELATIONS.len()] };
        let mut made = Universities {
            sizes: Stream::new(seed, "universities"),
            departments: Stream::new(seed, "departments"),
            courses: ["courses", "graduate courses"].map(|name| deck(name, COURSES)),
            publications: std::array::from_fn(|rank| deck(&format!("publications {rank}"), PUBLICATIONS[rank])),
            relations: relations::Draws::new(seed),
            places: Vec::new(),
            end: start,
        };
        let (mut place, mut stride) = (start, 1);
        while place.nodes.iter().sum::<u64>() < nodes {
            if place.department.is_multiple_of(stride) {
                made.places.push(place);
                if made.places.len() > PLACES_MAX {
                    stride *= 2;
                    made.places.retain(|place| place.department.is_multiple_of(stride));
                }
            }
            place = made.next(&place).1;
        }
        made.end = place;
        made
    }

    /// The department at a place, and the place behind it.
    fn next(&self, place: &Place) -> (Department, Place) {
        let mut draws = self.departments.draws(place.department);
        let staff = STAFF.map(|range| draw(&mut draws, range));
        let faculty: u64 = staff.iter().sum();
        let (professors, number) = (faculty - staff[3], place.department);
        let is_first = place.departments_left == 0;
        let courses = self.courses.map(|deck| deck.sum(number, professors) + deck.sum(number | 1 << 40, staff[3]));
        let published = |rank: usize| self.publications[rank].sum(number, staff[rank]);
        let count = [
            u64::from(is_first),
            1,
            draw(&mut draws, RESEARCH_GROUPS),
            professors,
            staff[3],
            courses[0],
            courses[1],
            faculty * draw(&mut draws, UNDERGRADUATES),
            faculty * draw(&mut draws, GRADUATES),
            (0..4).map(published).sum(),
        ];
        let department = Department { number, first: place.nodes, count, staff };
        let size = || {
            let university = place.nodes[Table::University as usize];
            draw(&mut self.sizes.draws(university), DEPARTMENTS)
        };
        let mut behind = Place {
            department: number + 1,
            departments_left: if is_first { size() } else { place.departments_left } - 1,
            ..*place
        };
        behind.nodes.iter_mut().zip(count).for_each(|(sum, more)| *sum += more);
        for (sum, relation) in behind.edges.iter_mut().zip(RELATIONS) {
            *sum += self.edge_count(&department, relation);
        }
        (department, behind)
    }

    /// Number of nodes of a kind.
    pub(super) fn nodes(&self, table: Table) -> u64 {
        self.end.nodes[table as usize]
    }

    /// Number of edges of a relation.
    pub(super) fn edges(&self, relation: usize) -> u64 {
        self.end.edges[relation]
    }

    /// Calls for each department that has some of these rows, with the part of its rows that is among them.
    fn walk(&self, rows: &Range<u64>, first: impl Fn(&Place) -> u64, mut each: impl FnMut(&Department, Range<usize>)) {
        let at = self.places.partition_point(|place| first(place) <= rows.start).saturating_sub(1);
        let Some(mut place) = self.places.get(at).copied() else { return };
        while first(&place) < rows.end && place.department < self.end.department {
            let (department, behind) = self.next(&place);
            let (low, high) = (first(&place), first(&behind));
            if high > rows.start {
                let part = rows.start.max(low) - low..rows.end.min(high) - low;
                each(&department, part.start as usize..part.end as usize);
            }
            place = behind;
        }
    }

    /// Source and target of edges of a relation.
    pub(super) fn ends(&self, relation: usize, rows: &Range<u64>) -> Vec<(u64, u64)> {
        let mut found = Vec::with_capacity((rows.end - rows.start) as usize);
        self.walk(
            rows,
            |place| place.edges[relation],
            |department, part| found.extend_from_slice(&self.pairs(department, RELATIONS[relation])[part]),
        );
        found
    }

    /// The ranks of professors.
    pub(super) fn ranks(&self, rows: &Range<u64>) -> Column {
        let mut found: Vec<&str> = Vec::with_capacity((rows.end - rows.start) as usize);
        let first = |place: &Place| place.nodes[Table::Professor as usize];
        self.walk(rows, first, |department, part| {
            let of = RANKS.iter().zip(department.staff).flat_map(|(rank, count)| (0..count).map(move |_| *rank));
            found.extend(of.skip(part.start).take(part.len()));
        });
        Column::new(ColumnData::String(found.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests;
