//! Description of the pattern of a `PathSearch`.

use model::Direction;

use super::details::{Details, type_list};
use crate::plan::{
    Expression, OperatorKind, SearchElement, SearchHop, SearchMode, SearchPattern, SearchSelector, SlotId,
};

impl Details<'_> {
    pub(super) fn search_details(&self, kind: &OperatorKind) -> String {
        let OperatorKind::PathSearch { from, to, into, pattern, conditions, edges, distinct_from, .. } = kind else {
            return String::new();
        };
        let SearchPattern { elements, mode, selector, condition } = &**pattern;
        let mut text = match selector {
            None => String::new(),
            Some(SearchSelector::Shortest(count)) => format!("SHORTEST {count} "),
            Some(SearchSelector::Groups(count)) => format!("SHORTEST {count} GROUPS "),
        };
        text.push_str(match mode {
            SearchMode::Walk => "WALK ",
            SearchMode::Trail => "",
            SearchMode::Acyclic => "ACYCLIC ",
            SearchMode::Simple => "SIMPLE ",
        });
        text.push_str(&format!("({})", self.names.of(*from)));
        for (index, element) in elements.iter().enumerate() {
            text.push_str(&self.element(element, conditions));
            if index + 1 < elements.len() {
                text.push_str(&match element.end {
                    Some((slot, place)) => format!("({} WHERE {})", self.names.of(slot), self.at(conditions, place)),
                    None => "()".to_string(),
                });
            }
        }
        text.push_str(&format!("({}) as {}", self.names.of(*to), self.names.of(*edges)));
        if *into {
            text.push_str(" into");
        }
        if let Some(place) = condition {
            text.push_str(&format!(" WHERE {}", self.at(conditions, *place)));
        }
        if !distinct_from.is_empty() {
            text.push_str(&format!(" other than {}", self.slots(distinct_from)));
        }
        text
    }

    fn at(&self, conditions: &[Expression], place: usize) -> String {
        self.expression(&conditions[place])
    }

    fn element(&self, element: &SearchElement, conditions: &[Expression]) -> String {
        let times = match (element.min, element.max) {
            (1, Some(1)) => String::new(),
            (min, Some(max)) => format!("{{{min},{max}}}"),
            (min, None) => format!("{{{min},}}"),
        };
        if let ([hop], None) = (element.hops.as_slice(), &element.walk)
            && hop.filter.is_none()
        {
            return format!("{}{times}", self.hop(hop, None));
        }
        let mut text = String::from("(");
        for (place, hop) in element.hops.iter().enumerate() {
            let walk = element.walk.as_ref();
            let node = |slot: Option<SlotId>| slot.map_or_else(String::new, |slot| self.names.of(slot));
            let from = walk.map(|walk| walk.nodes[place]).or(hop.filter.map(|filter| filter.from));
            let edge = walk.map(|walk| walk.edges[place]).or(hop.filter.map(|filter| filter.edge));
            text.push_str(&format!("({}){}", node(from), self.hop(hop, edge)));
            if place + 1 == element.hops.len() {
                let to = walk.map(|walk| walk.nodes[place + 1]).or(hop.filter.map(|filter| filter.to));
                text.push_str(&format!("({})", node(to)));
            }
        }
        let asked = element.hops.iter().filter_map(|hop| hop.filter).map(|filter| filter.condition);
        let asked: Vec<String> = asked
            .chain(element.walk.as_ref().map(|walk| walk.condition))
            .map(|place| self.at(conditions, place))
            .collect();
        if !asked.is_empty() {
            text.push_str(&format!(" WHERE {}", asked.join(" AND ")));
        }
        format!("{text}){times}")
    }

    fn hop(&self, hop: &SearchHop, edge: Option<SlotId>) -> String {
        let (left, right) = match hop.direction {
            Direction::Out => ("-", "->"),
            Direction::In => ("<-", "-"),
            Direction::Both => ("-", "-"),
        };
        let edge = edge.map_or_else(String::new, |edge| self.names.of(edge));
        format!("{left}[{edge}{}]{right}", type_list(&hop.types))
    }
}
