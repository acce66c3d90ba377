//! Times for people: in a unit that suits them, with as many digits as are known.

/// Nanoseconds in a unit that suits them, with that many digits, or more where they stand before the point.
pub fn duration_text(ns: f64, digits: usize) -> String {
    match ns {
        ns if ns < 0.995 => format!("{ns:.2} ns"),
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_500.0 => format!("{} µs", number_text(ns / 1e3, digits)),
        ns if ns < 999_500_000.0 => format!("{} ms", number_text(ns / 1e6, digits)),
        ns => format!("{} s", number_text(ns / 1e9, digits)),
    }
}

/// A number from about 1 on with that many digits.
pub fn number_text(number: f64, digits: usize) -> String {
    let decimals = |before: usize| digits.saturating_sub(before);
    // One that is rounded up to the next power of ten has a digit more before the point.
    let is_below = |power: f64, before: usize| number < power - 0.5 * 10_f64.powi(-(decimals(before) as i32));
    let before = if is_below(10.0, 1) {
        1
    } else if is_below(100.0, 2) {
        2
    } else {
        3
    };
    format!("{number:.*}", decimals(before))
}

#[cfg(test)]
mod tests {
    use super::duration_text;

    #[test]
    fn durations_have_their_digits() {
        let times = [0.0, 0.5, 7.0, 480.4, 1_234.0, 9_996.0, 56_780.0, 99_960.0, 999_499.0, 2.5e6, 3.2e9, 7.2e12];
        let three = times.map(|ns| duration_text(ns, 3));
        assert_eq!(
            three,
            [
                "0.00 ns", "0.50 ns", "7 ns", "480 ns", "1.23 µs", "10.0 µs", "56.8 µs", "100 µs", "999 µs", "2.50 ms",
                "3.20 s", "7200 s"
            ]
        );
        let two = times.map(|ns| duration_text(ns, 2));
        assert_eq!(
            two,
            [
                "0.00 ns", "0.50 ns", "7 ns", "480 ns", "1.2 µs", "10 µs", "57 µs", "100 µs", "999 µs", "2.5 ms",
                "3.2 s", "7200 s"
            ]
        );
    }
}
