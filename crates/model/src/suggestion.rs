//! The known name nearest to a misspelt one.

/// Names longer than this are not compared; no one mistypes them by a letter or two.
const COMPARED_CHARS_MAX: usize = 64;
/// Letters of which one may differ.
const LETTERS_OF_AN_EDIT: usize = 4;
/// No more letters may differ.
const EDITS_MAX: usize = 3;

/// The known name that is one slip of the fingers away from `wanted`, whatever its case, or `None`.
/// A quarter of its letters may differ, at most three; of fewer than four, one may be too many or missing, or two swapped, but
/// none another, since words that short are near to many.
/// A namespace that both have, as in `algo.hits`, does not count. An exact match is no suggestion, but one that differs only
/// in case is. The first of equally near names wins.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = |name: &str| name.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    if wanted.is_empty() || wanted.chars().count() > COMPARED_CHARS_MAX {
        return None;
    }
    let namespace = wanted.rfind('.').map_or("", |at| &wanted[..=at]);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate == wanted || candidate.len() > 4 * COMPARED_CHARS_MAX {
            continue;
        }
        let is_beside = !namespace.is_empty()
            && candidate.get(..namespace.len()).is_some_and(|start| start.eq_ignore_ascii_case(namespace));
        let common = if is_beside { namespace.len() } else { 0 };
        let (from, into) = (folded(&wanted[common..]), folded(&candidate[common..]));
        let is_swapped = || {
            let (mut from, mut into) = (from.clone(), into.clone());
            from.sort_unstable();
            into.sort_unstable();
            from == into
        };
        let is_one_off = from.len() > 1 && (from.len().abs_diff(into.len()) == 1 || is_swapped());
        let limit = (from.len() / LETTERS_OF_AN_EDIT).min(EDITS_MAX).max(usize::from(is_one_off));
        if into.len().abs_diff(from.len()) > limit {
            continue;
        }
        let distance = edit_distance(&from, &into);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The remedy `did you mean X?` for the nearest known name, if there is one.
pub fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wanted, known).map(|name| format!("did you mean {name}?"))
}

/// The least number of insertions, deletions, replacements and swaps of neighbours that turn `from` into `into`.
fn edit_distance(from: &[char], into: &[char]) -> usize {
    let width = into.len() + 1;
    let mut before = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    let mut row = vec![0; width];
    for (i, &a) in from.iter().enumerate() {
        row[0] = i + 1;
        for (j, &b) in into.iter().enumerate() {
            let replaced = above[j] + usize::from(a != b);
            row[j + 1] = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == into[j - 1] && from[i - 1] == b {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    above[width - 1]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["RETURN", "MATCH", "MERGE", "Person", "name", "IN", "count", "COMMIT", "max", "AND", "algo.hits"];
        let check = |wanted: &str, expected: Option<&str>| {
            assert_eq!(nearest(wanted, known), expected, "{wanted}");
        };
        check("RETRUN", Some("RETURN"));
        check("matc", Some("MATCH"));
        check("MATHC", Some("MATCH"));
        check("Preson", Some("Person"));
        check("person", Some("Person"));
        check("Person", None);
        check("nmae", Some("name"));
        check("x", None);
        check("", None);
        check("zzzzzz", None);
        check("point", None);
        check("map", None);
        check("ADN", Some("AND"));
        check("nam", Some("name"));
        check("COMMENT", None);
        check("algo.list", None);
        check("algo.hit", Some("algo.hits"));
        check("i", None);
        check("in", Some("IN"));
        check(&"n".repeat(1000), None);
    }
}
