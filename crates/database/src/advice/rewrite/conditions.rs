//! Conditions that hide a property from an index: a function around it, a part of a date, the beginning of a text.

use cypher::ast::{BinaryOperator, ComparisonOperator, Expression, ExpressionKind};
use cypher::plan::explain::quoted;
use model::Span;

use super::{Part, Premise, Rewrite, nodes_of, pattern_of};

/// Functions of one argument that give it back where it is as they would have it, and null for null.
const CONVERSIONS: &[&str] = &[
    "tolower", "lower", "toupper", "upper", "trim", "btrim", "ltrim", "rtrim", "tostring", "tointeger", "tofloat",
    "toboolean", "tostringornull", "tointegerornull", "tofloatornull", "tobooleanornull", "abs", "floor", "ceil",
    "round", "date", "datetime", "localdatetime", "time", "localtime", "duration", "normalize",
];
/// Characters of a regular expression that mean something else than themselves.
const META: &[char] = &['.', '*', '+', '?', '(', ')', '[', ']', '{', '}', '|', '^', '$', '\\'];
/// Years that a date can have here with four digits.
const YEARS: std::ops::RangeInclusive<i64> = 1000..=9998;

pub(super) fn add(part: &Part<'_>, add: &mut dyn FnMut(Rewrite)) {
    for condition in part.conjuncts() {
        let sides: Vec<&Expression> = match &condition.kind {
            ExpressionKind::Comparison { first, rest } => {
                std::iter::once(&**first).chain(rest.iter().map(|other| &other.operand)).collect()
            }
            ExpressionKind::Binary { operator: BinaryOperator::In | BinaryOperator::StartsWith, left, .. } => {
                vec![&**left]
            }
            _ => Vec::new(),
        };
        sides.iter().filter_map(|side| conversion(part, side)).for_each(&mut *add);
        year(part, condition).or_else(|| beginning(part, condition)).into_iter().for_each(&mut *add);
    }
}

/// A property of a node of the pattern.
struct Property<'q> {
    /// Its text, as `n.name`.
    text: &'q str,
    key: &'q str,
    label: Option<&'q str>,
}

impl Property<'_> {
    /// The same of the node of a premise.
    fn of_premise(&self) -> String {
        format!("n.{}", quoted(self.key))
    }

    /// A statement that counts the nodes with the property for which a condition is not true.
    fn counts_without(&self, condition: &str) -> String {
        let (pattern, value) = (pattern_of(self.label), self.of_premise());
        format!("MATCH {pattern} WHERE {value} IS NOT NULL AND NOT coalesce({condition}, false) RETURN count(*)")
    }

    fn rewrite(&self, span: Span, by: String, premise: Premise) -> Rewrite {
        Rewrite { span, by, premise, name: self.key.into(), rests_on: Some(self.key.into()) }
    }
}

fn property<'q>(part: &Part<'q>, expression: &'q Expression) -> Option<Property<'q>> {
    let ExpressionKind::Property { base, key } = &expression.kind else { return None };
    let ExpressionKind::Variable(variable) = &base.kind else { return None };
    let label = part.labels(part.node(variable)?).first().copied();
    Some(Property { text: part.at(expression.span), key: &key.text, label })
}

/// `toLower(n.name)` as `n.name`, where all names are in lower case.
fn conversion(part: &Part<'_>, side: &Expression) -> Option<Rewrite> {
    let ExpressionKind::Function { name, distinct: false, arguments } = &side.kind else { return None };
    let ([name], [argument]) = (&name[..], &arguments[..]) else { return None };
    if !CONVERSIONS.contains(&&*name.text.to_ascii_lowercase()) {
        return None;
    }
    let of = property(part, argument)?;
    let (function, value) = (&name.text, of.of_premise());
    let premise = Premise {
        counts_against: of.counts_without(&format!("{function}({value}) = {value}")),
        told: format!("{function}() leaves {} of each {} as it is", quoted(of.key), nodes_of(of.label)),
    };
    Some(of.rewrite(side.span, of.text.to_owned(), premise))
}

/// `n.born.year >= 1990` as `n.born >= date('1990-01-01')`, where all are dates.
fn year(part: &Part<'_>, condition: &Expression) -> Option<Rewrite> {
    use ComparisonOperator as Is;
    let ExpressionKind::Comparison { first, rest } = &condition.kind else { return None };
    let [other] = &rest[..] else { return None };
    let (ExpressionKind::Property { base, key }, ExpressionKind::Integer(year)) = (&first.kind, &other.operand.kind)
    else {
        return None;
    };
    if key.text != "year" || !YEARS.contains(year) {
        return None;
    }
    let of = property(part, base)?;
    let (value, this, next) = (of.text, format!("date('{year}-01-01')"), format!("date('{}-01-01')", year + 1));
    let by = match other.operator {
        Is::Equal => format!("{this} <= {value} < {next}"),
        Is::Less => format!("{value} < {this}"),
        Is::LessOrEqual => format!("{value} < {next}"),
        Is::Greater => format!("{value} >= {next}"),
        Is::GreaterOrEqual => format!("{value} >= {this}"),
        Is::NotEqual => return None,
    };
    let premise = Premise {
        counts_against: of.counts_without(&format!("{} IS :: DATE", of.of_premise())),
        told: format!("{} of each {} is a date", quoted(of.key), nodes_of(of.label)),
    };
    Some(of.rewrite(condition.span, by, premise))
}

/// `n.name =~ 'Ann.*'` and `left(n.name, 3) = 'Ann'` as `n.name STARTS WITH 'Ann'`.
fn beginning(part: &Part<'_>, condition: &Expression) -> Option<Rewrite> {
    let (of, text, premise) = match &condition.kind {
        ExpressionKind::Binary { operator: BinaryOperator::Matches, left, right } => {
            let ExpressionKind::String(pattern) = &right.kind else { return None };
            let text = pattern.strip_suffix(".*").filter(|text| !text.is_empty() && !text.contains(META))?;
            let of = property(part, left)?;
            // A point is any character but a line feed.
            let told = format!("{} of no {} has a line feed", quoted(of.key), nodes_of(of.label));
            let counts_against =
                format!("MATCH {} WHERE {} CONTAINS '\\n' RETURN count(*)", pattern_of(of.label), of.of_premise());
            (of, text, Premise { counts_against, told })
        }
        ExpressionKind::Comparison { first, rest } => {
            let [other] = &rest[..] else { return None };
            let ExpressionKind::String(text) = &other.operand.kind else { return None };
            let taken = taken(first).filter(|_| other.operator == ComparisonOperator::Equal)?;
            if text.is_empty() || taken.1 != text.chars().count() as i64 {
                return None;
            }
            let of = property(part, taken.0)?;
            let premise = Premise {
                counts_against: of.counts_without(&format!("{} IS :: STRING", of.of_premise())),
                told: format!("{} of each {} is a text", quoted(of.key), nodes_of(of.label)),
            };
            (of, &text[..], premise)
        }
        _ => return None,
    };
    let literal = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
    Some(of.rewrite(condition.span, format!("{} STARTS WITH '{literal}'", of.text), premise))
}

/// The text of which `left(text, n)` and `substring(text, 0, n)` take the beginning, and `n`.
fn taken(expression: &Expression) -> Option<(&Expression, i64)> {
    let ExpressionKind::Function { name, distinct: false, arguments } = &expression.kind else { return None };
    let [name] = &name[..] else { return None };
    let (text, length) = match (&*name.text.to_ascii_lowercase(), &arguments[..]) {
        ("left", [text, length]) => (text, length),
        ("substring", [text, from, length]) if from.kind == ExpressionKind::Integer(0) => (text, length),
        _ => return None,
    };
    match length.kind {
        ExpressionKind::Integer(length) => Some((text, length)),
        _ => None,
    }
}
