//! The known name nearest to a misspelt one.

/// Names longer than this are not compared; no one mistypes them by a letter or two.
const COMPARED_CHARS_MAX: usize = 64;

/// The known name that is one slip of the fingers away from `wanted`, whatever its case, or `None`.
/// Names of up to four letters may differ by one edit, up to eight by two, longer ones by three.
/// An exact match is no suggestion, but one that differs only in case is. The first of equally near names wins.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted_folded: Vec<char> = wanted.chars().flat_map(char::to_lowercase).take(COMPARED_CHARS_MAX + 1).collect();
    if wanted_folded.is_empty() || wanted_folded.len() > COMPARED_CHARS_MAX {
        return None;
    }
    let limit = match wanted_folded.len() {
        0..=1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate == wanted || candidate.len() > 4 * COMPARED_CHARS_MAX {
            continue;
        }
        let folded: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        if folded.len().abs_diff(wanted_folded.len()) > limit {
            continue;
        }
        let distance = edit_distance(&wanted_folded, &folded);
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
        let known = ["RETURN", "MATCH", "MERGE", "Person", "name", "IN"];
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
        check(&"n".repeat(1000), None);
    }
}
