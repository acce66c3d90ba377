//! Finds the functions of a Rust file and their lengths, by the layout that `rustfmt` gives.

/// Name and lines (from `fn` to its closing brace) of each function with a body.
///
/// Formatted code closes a function on a line of its own, indented as the line that opened it; that is all this needs.
pub(crate) fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends = |other: &&str| {
            other
                .strip_prefix(indent)
                .is_some_and(|rest| rest == "}" || (rest.ends_with(';') && !rest.starts_with(' ')))
        };
        if line.trim_end().ends_with('}') || line.trim_end().ends_with(';') {
            continue;
        }
        if let Some(length) = lines[start..].iter().skip(1).position(ends) {
            found.push((name, length + 2));
        }
    }
    found
}

/// The name, if a line starts a function.
fn function_name(line: &str) -> Option<String> {
    let mut rest = line.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("fn ") {
            return Some(after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
        let word = ["pub ", "pub(crate) ", "pub(super) ", "const ", "unsafe ", "async ", "extern \"C\" "]
            .into_iter()
            .find(|word| rest.starts_with(word))?;
        rest = &rest[word.len()..];
    }
}

#[test]
fn lengths_are_counted_from_signature_to_brace() {
    let text = "\
fn one() {}
pub(crate) fn three(
    x: u8,
) -> u8 {
    x
}
impl X {
    const fn inner() {
        if a {
        }
    }
    fn declared(&self);
}
let fn_like = 1;
";
    let expected = [("three".to_owned(), 5), ("inner".to_owned(), 4)];
    assert_eq!(functions(text), expected);
}
