//! Feature files as scenarios: the parts of the Gherkin language that the kit is written in.
//!
//! Outlines are expanded, one scenario for each row of their examples. What is not understood is an error, so that
//! nothing is left out in silence.

/// One scenario, of which nothing is left to fill in.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// The file below the folder of features, without its ending.
    pub(crate) file: String,
    /// The number of the scenario within the file, from 1.
    pub(crate) number: usize,
    /// The row of its examples, from 1; none if it is no outline.
    pub(crate) example: Option<usize>,
    pub(crate) steps: Vec<Step>,
}

impl Scenario {
    /// Name in the list of expected failures.
    pub(crate) fn id(&self) -> String {
        let example = self.example.map_or(String::new(), |example| format!(" {example}"));
        format!("{} {}{example}", self.file, self.number)
    }
}

/// A step with what belongs to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// The sentence without its first word.
    pub(crate) text: String,
    /// The text between three quotes.
    pub(crate) document: Option<String>,
    /// The rows of the table, the header first.
    pub(crate) table: Vec<Vec<String>>,
}

/// A scenario as it stands in the file.
#[derive(Default)]
struct Outline {
    steps: Vec<Step>,
    is_outline: bool,
    examples: Vec<Vec<Vec<String>>>,
}

/// The part of a file to which the lines that follow belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Feature,
    Background,
    Scenario,
    Examples,
}

/// Reads a file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Scenario>, String> {
    let mut outlines: Vec<Outline> = Vec::new();
    let mut background = Vec::new();
    let mut place = Place::Feature;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let refuse = |what: &str| Err(format!("{file}:{}: {what}: {}", index + 1, line.trim()));
        let trimmed = line.trim();
        let (keyword, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        match keyword {
            "" | "Feature:" => {}
            _ if trimmed.starts_with('#') || trimmed.starts_with('@') => {}
            "Background:" => place = Place::Background,
            "Scenario:" | "Scenario" => {
                place = Place::Scenario;
                outlines.push(Outline { is_outline: rest.starts_with("Outline:"), ..Outline::default() });
            }
            "Examples:" => {
                let Some(outline) = outlines.last_mut() else { return refuse("examples of nothing") };
                outline.examples.push(Vec::new());
                place = Place::Examples;
            }
            "Given" | "And" | "When" | "Then" | "But" => {
                let step = Step { text: rest.trim().to_string(), ..Step::default() };
                match (place, outlines.last_mut()) {
                    (Place::Background, _) => background.push(step),
                    (Place::Scenario, Some(outline)) => outline.steps.push(step),
                    _ => return refuse("a step outside of a scenario"),
                }
            }
            _ if place == Place::Feature => {}
            r#"""""# => {
                let indent = line.len() - line.trim_start().len();
                let mut document = Vec::new();
                for (_, line) in lines.by_ref() {
                    if line.trim() == r#"""""# {
                        break;
                    }
                    let cut = line.len() - line.trim_start().len();
                    document.push(&line[cut.min(indent)..]);
                }
                let Some(step) = last_step(place, &mut background, &mut outlines) else {
                    return refuse("a text of nothing");
                };
                step.document = Some(document.join("\n"));
            }
            _ if trimmed.starts_with('|') => {
                let row = cells(trimmed);
                match (place, outlines.last_mut().and_then(|outline| outline.examples.last_mut())) {
                    (Place::Examples, Some(examples)) => examples.push(row),
                    _ => match last_step(place, &mut background, &mut outlines) {
                        Some(step) => step.table.push(row),
                        None => return refuse("a table of nothing"),
                    },
                }
            }
            _ => return refuse("not understood"),
        }
    }
    Ok(outlines.iter().enumerate().flat_map(|(index, outline)| expand(file, index + 1, &background, outline)).collect())
}

fn last_step<'a>(place: Place, background: &'a mut [Step], outlines: &'a mut [Outline]) -> Option<&'a mut Step> {
    match place {
        Place::Background => background.last_mut(),
        _ => outlines.last_mut()?.steps.last_mut(),
    }
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut characters = line.trim().chars().skip(1);
    while let Some(character) = characters.next() {
        match character {
            '|' => cells.push(std::mem::take(&mut cell).trim().to_string()),
            '\\' => match characters.next() {
                Some('n') => cell.push('\n'),
                Some(escaped @ ('|' | '\\')) => cell.push(escaped),
                Some(other) => cell.extend(['\\', other]),
                None => cell.push('\\'),
            },
            other => cell.push(other),
        }
    }
    cells
}

/// The scenarios of an outline, or the one that a plain scenario is.
fn expand(file: &str, number: usize, background: &[Step], outline: &Outline) -> Vec<Scenario> {
    let all = || background.iter().chain(&outline.steps);
    let scenario =
        |example, steps| Scenario { file: file.trim_end_matches(".feature").to_string(), number, example, steps };
    if !outline.is_outline {
        return vec![scenario(None, all().cloned().collect())];
    }
    let tables = outline.examples.iter().filter(|table| !table.is_empty());
    let rows = tables.flat_map(|table| table[1..].iter().map(|row| (&table[0], row)));
    rows.enumerate()
        .map(|(index, (names, values))| {
            let fill = |text: &String| {
                let pairs = names.iter().zip(values);
                pairs.fold(text.clone(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
            };
            let filled = |step: &Step| Step {
                text: fill(&step.text),
                document: step.document.as_ref().map(fill),
                table: step.table.iter().map(|row| row.iter().map(fill).collect()).collect(),
            };
            scenario(Some(index + 1), all().map(filled).collect())
        })
        .collect()
}

#[test]
fn outlines_are_expanded_and_tables_unescaped() {
    let text = r#"
Feature: Sums
  Background:
    Given a table

  # Said of every scenario.
  Scenario Outline: [1] Adding
    When adding:
      """
      <a> +
        <b>
      """
    Then the sum is:
      | a\|b | <sum> |
    Examples:
      | a | b | sum |
      | 1 | 2 | 3   |
      | x | y | x\ny |

  Scenario: [2] Nothing
    Then nothing
"#;
    let scenarios = parse("sums/Sums1.feature", text).expect("it is well formed");
    let ids: Vec<String> = scenarios.iter().map(Scenario::id).collect();
    assert_eq!(ids, ["sums/Sums1 1 1", "sums/Sums1 1 2", "sums/Sums1 2"]);
    let steps = &scenarios[1].steps;
    assert_eq!(steps.iter().map(|step| step.text.as_str()).collect::<Vec<_>>(), ["a table", "adding:", "the sum is:"]);
    assert_eq!(steps[1].document.as_deref(), Some("x +\n  y"));
    assert_eq!(steps[2].table, [["a|b", "x\ny"]]);
    assert!(parse("x", "  | a |").is_ok(), "a description may hold anything");
    assert!(parse("x", "Scenario: a\n  Bogus line").is_err());
}
