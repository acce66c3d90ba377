//! Properties of generated nodes and edges: distributions that give each row its value by its number.

use std::ops::Range;

use model::{Column, ColumnData, Result, error};

use crate::random::{Draws, Permutation, Stream, Zipf};

/// Draws of a truncated normal distribution after which the nearest bound is taken.
const DRAWS_MAX: usize = 1_000;
/// Lengths of generated strings.
const STRING_CHARACTERS: Range<usize> = 15..21;
/// Exponent of Zipf distributions unless one is given.
const ZIPF_EXPONENT: f64 = 1.0;
/// Weights of ratings with 1 to 5 stars, of 100.
const SCORES: [u64; 5] = [6, 7, 14, 28, 45];
const CITIES: [&str; 16] = [
    "Shanghai", "Lagos", "Mumbai", "Istanbul", "Lima", "Nairobi", "Toronto", "Madrid", "Hanoi", "Rome", "Kyiv",
    "Perth", "Oslo", "Quito", "Lisbon", "Bern",
];

/// The distribution of the values of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Integers of a range, bounds included, each as often as the others.
    Uniform {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// Integers from 0 on, each once, in random order.
    Unique,
    /// Integers of a normal distribution, those out of bounds drawn again.
    Normal {
        /// Mean of the distribution before it is cut.
        mean: f64,
        /// Standard deviation before it is cut.
        deviation: f64,
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// Strings of 15 to 20 characters, each as often as the others.
    Strings {
        /// Number of different strings.
        distinct: u64,
    },
    /// Integers from 0 on, of which few are frequent.
    Zipf {
        /// Number of different integers.
        distinct: u64,
        /// Steepness of the frequencies.
        exponent: f64,
    },
    /// Stars of ratings, 1 to 5, of which the most are good.
    Scores,
    /// Names of cities, of which few are large.
    Cities,
}

fn refused(text: &str) -> model::Error {
    error!(Argument, "'{text}' is no distribution of values").with_remedy(
        "give uniform:LOW..HIGH, unique, normal:MEAN,DEVIATION,LOW..HIGH, strings:DISTINCT or zipf:DISTINCT[,EXPONENT]",
    )
}

fn range(text: &str) -> Option<(i64, i64)> {
    let (low, high) = text.split_once("..")?;
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high).then_some((low, high))
}

fn distinct(text: &str) -> Option<u64> {
    super::parse_count(text).ok().filter(|count| (1..=1 << 40).contains(count))
}

impl Distribution {
    /// Reads a distribution, as `uniform:18..65`.
    ///
    /// # Errors
    /// `ARGUMENT` if it is none.
    pub fn parse(text: &str) -> Result<Distribution> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let parsed = match name {
            "uniform" => range(rest).map(|(low, high)| Distribution::Uniform { low, high }),
            "unique" if rest.is_empty() => Some(Distribution::Unique),
            "normal" => match rest.split(',').collect::<Vec<_>>()[..] {
                [mean, deviation, bounds] => range(bounds).and_then(|(low, high)| {
                    let (mean, deviation) = (mean.parse::<f64>().ok()?, deviation.parse::<f64>().ok()?);
                    let is_usable = mean.is_finite() && deviation.is_finite() && deviation > 0.0;
                    is_usable.then_some(Distribution::Normal { mean, deviation, low, high })
                }),
                _ => None,
            },
            "strings" => distinct(rest).map(|distinct| Distribution::Strings { distinct }),
            "zipf" => {
                let (count, exponent) = rest.split_once(',').map_or((rest, None), |(count, rest)| (count, Some(rest)));
                let exponent = exponent.map_or(Some(ZIPF_EXPONENT), |text| text.parse().ok());
                let exponent = exponent.filter(|exponent| exponent.is_finite() && *exponent > 0.0);
                distinct(count).zip(exponent).map(|(distinct, exponent)| Distribution::Zipf { distinct, exponent })
            }
            _ => None,
        };
        parsed.ok_or_else(|| refused(text))
    }

    /// The type of its values in the header of a file.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Distribution::Strings { .. } | Distribution::Cities => "string",
            _ => "long",
        }
    }

    /// The values of these rows, of `total` in all.
    pub(crate) fn column(&self, stream: Stream, rows: Range<u64>, total: u64) -> Column {
        let integers = |value: &dyn Fn(u64) -> i64| Column::new(ColumnData::Int(rows.clone().map(value).collect()));
        match *self {
            Distribution::Uniform { low, high } => {
                let width = (i128::from(high) - i128::from(low) + 1) as u128;
                integers(&|row| {
                    let step = (u128::from(stream.at(row)) * width) >> 64;
                    (i128::from(low) + step as i128) as i64
                })
            }
            Distribution::Unique => {
                let permutation = Permutation::new(stream, total);
                integers(&|row| permutation.apply(row).cast_signed())
            }
            Distribution::Normal { mean, deviation, low, high } => {
                integers(&|row| truncated(&mut stream.draws(row), (mean, deviation), (low, high)))
            }
            Distribution::Strings { distinct } => {
                let text = |row| word(stream, stream.below(row, distinct), distinct);
                let texts: Vec<String> = rows.map(text).collect();
                Column::new(ColumnData::String(texts.iter().map(String::as_str).collect()))
            }
            Distribution::Zipf { distinct, exponent } => {
                let zipf = Zipf::new(distinct, exponent);
                integers(&|row| zipf.draw(&mut stream.draws(row)).cast_signed())
            }
            Distribution::Scores => integers(&|row| score(stream.below(row, 100))),
            Distribution::Cities => {
                let zipf = Zipf::new(CITIES.len() as u64, ZIPF_EXPONENT);
                let city = |row| CITIES[zipf.draw(&mut stream.draws(row)) as usize];
                Column::new(ColumnData::String(rows.map(city).collect()))
            }
        }
    }
}

fn truncated(draws: &mut Draws, (mean, deviation): (f64, f64), (low, high): (i64, i64)) -> i64 {
    for _ in 0..DRAWS_MAX {
        let drawn = (mean + deviation * draws.normal()).round();
        if drawn >= low as f64 && drawn <= high as f64 {
            return (drawn as i64).clamp(low, high);
        }
    }
    (mean as i64).clamp(low, high)
}

fn score(percent: u64) -> i64 {
    let mut sum = 0;
    let below = |weight: &&u64| {
        sum += **weight;
        percent >= sum
    };
    1 + SCORES.iter().take_while(below).count().min(4) as i64
}

/// A string of its own for each number: random letters, then the number in letters, in as many as the last needs.
fn word(stream: Stream, number: u64, distinct: u64) -> String {
    let digits =
        (1..).find(|&digits| 26_u64.checked_pow(digits).is_none_or(|all| all >= distinct)).unwrap_or(13) as usize;
    let mut draws = stream.draws(number.wrapping_add(1 << 63));
    let length = STRING_CHARACTERS.start + draws.below(STRING_CHARACTERS.len() as u64) as usize;
    let letter = |place: u64| char::from(b'a' + place as u8);
    let mut text: String = (digits..length).map(|_| letter(draws.below(26))).collect();
    let mut rest = number;
    for _ in 0..digits {
        text.push(letter(rest % 26));
        rest /= 26;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::{ColumnData, Value};

    use super::Distribution;
    use crate::random::Stream;

    fn integers(text: &str, rows: u64) -> Vec<i64> {
        let distribution = Distribution::parse(text).expect("it is a distribution");
        match distribution.column(Stream::new(1, text), 0..rows, rows).data {
            ColumnData::Int(values) => values,
            other => panic!("expected integers, found {other:?}"),
        }
    }

    fn mean(values: &[i64]) -> f64 {
        values.iter().sum::<i64>() as f64 / values.len() as f64
    }

    #[test]
    fn uniform_integers_have_their_range_and_mean() {
        let values = integers("uniform:18..65", 50_000);
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&18), Some(&65)));
        assert!((mean(&values) - 41.5).abs() < 0.3, "{}", mean(&values));
        assert_eq!(integers("uniform:-3..-3", 3), [-3, -3, -3]);
        let wide = integers(&format!("uniform:{}..{}", i64::MIN, i64::MAX), 1_000);
        assert!(wide.iter().any(|value| *value < 0) && wide.iter().any(|value| *value > 0));
    }

    #[test]
    fn unique_integers_come_once() {
        let mut values = integers("unique", 10_000);
        assert_ne!(values, (0..10_000).collect::<Vec<i64>>());
        values.sort_unstable();
        assert_eq!(values, (0..10_000).collect::<Vec<i64>>());
    }

    #[test]
    fn normal_integers_are_cut_at_their_bounds() {
        let values = integers("normal:5000,2000,0..10000", 50_000);
        assert!(values.iter().all(|value| (0..=10_000).contains(value)));
        assert!((mean(&values) - 5_000.0).abs() < 40.0, "{}", mean(&values));
        let variance = values.iter().map(|&value| (value as f64 - 5_000.0).powi(2)).sum::<f64>() / 50_000.0;
        // Cut at 2.5 deviations, a normal distribution has 0.955 of its deviation.
        assert!((variance.sqrt() / 2_000.0 - 0.955).abs() < 0.02, "{}", variance.sqrt());
        assert_eq!(integers("normal:1000,1,0..5", 2), [5, 5], "a bound where nothing is drawn within");
    }

    #[test]
    fn strings_are_as_many_and_as_long_as_asked() {
        let distribution = Distribution::parse("strings:1000").expect("it is a distribution");
        let column = distribution.column(Stream::new(1, "name"), 0..40_000, 40_000);
        let values: Vec<String> = column
            .values()
            .map(|value| if let Value::String(text) = value { text.to_string() } else { panic!("{value}") })
            .collect();
        assert!(values.iter().all(|text| (15..=20).contains(&text.len())));
        assert_eq!(values.iter().map(String::len).collect::<BTreeSet<usize>>().len(), 6, "all lengths come");
        assert_eq!(values.iter().collect::<BTreeSet<&String>>().len(), 1_000);
    }

    #[test]
    fn zipf_scores_and_cities() {
        let values = integers("zipf:50,1.2", 10_000);
        let of = |wanted: i64| values.iter().filter(|value| **value == wanted).count();
        assert!(of(0) > 3 * of(4) && values.iter().all(|value| (0..50).contains(value)));
        let scores = Distribution::Scores.column(Stream::new(1, "score"), 0..20_000, 20_000);
        let ColumnData::Int(scores) = scores.data else { panic!("scores are integers") };
        assert!((mean(&scores) - 3.99).abs() < 0.05, "{}", mean(&scores));
        let cities = Distribution::Cities.column(Stream::new(1, "city"), 0..5_000, 5_000);
        assert_eq!(cities.values().collect::<BTreeSet<Value>>().len(), 16);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in
            ["", "uniform", "uniform:5..1", "uniform:a..b", "normal:1,2", "normal:1,0,0..5", "strings:0", "zipf:5,0"]
        {
            let error = Distribution::parse(text).expect_err(text);
            assert!(error.message().contains("no distribution") && error.remedy().contains("uniform:"), "{error}");
        }
    }
}
