//! Least squares with coefficients that are not negative, by an active set.
//!
//! Cost: the normal equations of a few features, so that rows may be many.
//! After: Lawson, Hanson, "Solving least squares problems", 1974.

/// Solutions of a set, each of which lets at least one coefficient in.
const STEPS_MAX: usize = 200;
/// Share of the largest gradient below which none is left.
const GRADIENT_MIN: f64 = 1e-10;

/// The coefficients, none below 0, for which the weighted squares of `row · coefficients - wanted` have the least sum.
/// Rows are features, a wanted value, and a weight.
pub(crate) fn solve<'a>(features: usize, rows: impl Iterator<Item = (&'a [f64], f64, f64)>) -> Vec<f64> {
    let mut matrix = vec![vec![0.0; features]; features];
    let mut right = vec![0.0; features];
    for (row, wanted, weight) in rows {
        for (at, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            right[at] += weight * weight * a * wanted;
            for (other, b) in row.iter().enumerate() {
                matrix[at][other] += weight * weight * a * b;
            }
        }
    }
    // Features of very different sizes are brought to one.
    let scale: Vec<f64> = (0..features).map(|at| matrix[at][at].sqrt()).collect();
    let is_used: Vec<bool> = scale.iter().map(|scale| *scale > 0.0).collect();
    for at in (0..features).filter(|at| is_used[*at]) {
        right[at] /= scale[at];
        for other in (0..features).filter(|other| is_used[*other]) {
            matrix[at][other] /= scale[at] * scale[other];
        }
    }
    let found = active_set(&matrix, &right, &is_used);
    found.iter().zip(&scale).map(|(value, scale)| if *scale > 0.0 { value / scale } else { 0.0 }).collect()
}

fn active_set(matrix: &[Vec<f64>], right: &[f64], is_used: &[bool]) -> Vec<f64> {
    let features = right.len();
    let mut found = vec![0.0; features];
    let mut passive = vec![false; features];
    let largest = right.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    for _ in 0..STEPS_MAX {
        let gradient = |at: usize| right[at] - (0..features).map(|other| matrix[at][other] * found[other]).sum::<f64>();
        let entering = (0..features)
            .filter(|&at| is_used[at] && !passive[at])
            .map(|at| (at, gradient(at)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, gradient)| *gradient > GRADIENT_MIN * largest);
        let Some((entering, _)) = entering else { break };
        passive[entering] = true;
        loop {
            let set: Vec<usize> = (0..features).filter(|&at| passive[at]).collect();
            let Some(wanted) = solve_set(matrix, right, &set) else {
                // The feature is a sum of those that are in.
                passive[entering] = false;
                return found;
            };
            if wanted.iter().all(|value| *value > 0.0) {
                set.iter().zip(&wanted).for_each(|(&at, &value)| found[at] = value);
                break;
            }
            // As far towards the solution as no coefficient falls below 0; the one that reaches it leaves.
            let mut step = 1.0_f64;
            for (&at, &value) in set.iter().zip(&wanted).filter(|(_, value)| **value <= 0.0) {
                step = step.min(found[at] / (found[at] - value).max(f64::MIN_POSITIVE));
            }
            for (&at, &value) in set.iter().zip(&wanted) {
                found[at] += step * (value - found[at]);
                if found[at] <= 1e-12 {
                    (found[at], passive[at]) = (0.0, false);
                }
            }
            if !passive.contains(&true) {
                break;
            }
        }
    }
    found
}

/// The solution of the equations of a set of features, by elimination; `None` if they depend on each other.
fn solve_set(matrix: &[Vec<f64>], right: &[f64], set: &[usize]) -> Option<Vec<f64>> {
    let count = set.len();
    let row = |&at: &usize| set.iter().map(|&other| matrix[at][other]).chain([right[at]]).collect();
    let mut rows: Vec<Vec<f64>> = set.iter().map(row).collect();
    for at in 0..count {
        let pivot = (at..count).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs()))?;
        if rows[pivot][at].abs() < 1e-9 {
            return None;
        }
        rows.swap(at, pivot);
        let (above, below) = rows.split_at_mut(at + 1);
        for row in below {
            let factor = row[at] / above[at][at];
            row.iter_mut().zip(&above[at]).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    let mut found = vec![0.0; count];
    for at in (0..count).rev() {
        let known: f64 = (at + 1..count).map(|other| rows[at][other] * found[other]).sum();
        found[at] = (rows[at][count] - known) / rows[at][at];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::solve;

    fn check(rows: &[(&[f64], f64)], expected: &[f64]) {
        let found = solve(expected.len(), rows.iter().map(|(row, wanted)| (*row, *wanted, 1.0)));
        let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(is_near, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn known_systems() {
        check(&[(&[1.0, 0.0], 3.0), (&[0.0, 2.0], 8.0), (&[1.0, 1.0], 7.0)], &[3.0, 4.0]);
        // The unbound solution is (3, -1): the least squares with the second at 0 are the mean of the first.
        check(&[(&[1.0, 0.0], 3.0), (&[0.0, 1.0], -1.0)], &[3.0, 0.0]);
        check(&[(&[1.0, 1.0], 1.0), (&[1.0, 2.0], 0.0)], &[0.5, 0.0]);
        // A line through (1, 3), (2, 5), (3, 7).
        check(&[(&[1.0, 1.0], 3.0), (&[1.0, 2.0], 5.0), (&[1.0, 3.0], 7.0)], &[1.0, 2.0]);
        // A feature that is always 0, and none at all.
        check(&[(&[2.0, 0.0], 4.0)], &[2.0, 0.0]);
        check(&[], &[0.0, 0.0, 0.0]);
        // All are wanted below 0.
        check(&[(&[1.0, 1.0], -1.0), (&[2.0, 1.0], -4.0)], &[0.0, 0.0]);
    }

    #[test]
    fn features_that_are_the_same_share_nothing_wrong() {
        let rows: [(&[f64], f64); 3] = [(&[1.0, 1.0], 2.0), (&[2.0, 2.0], 4.0), (&[3.0, 3.0], 6.0)];
        let found = solve(2, rows.iter().map(|(row, wanted)| (*row, *wanted, 1.0)));
        assert!((found[0] + found[1] - 2.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn weights_count_relative_errors() {
        // Without weights the large row would have all; with them each error is relative.
        let rows: [(&[f64], f64); 2] = [(&[1.0], 1.0), (&[1000.0], 2000.0)];
        let found = solve(1, rows.iter().map(|(row, wanted)| (*row, *wanted, 1.0 / wanted)));
        assert!((found[0] - 1.2).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn features_of_very_different_sizes() {
        let rows: Vec<([f64; 3], f64)> = (0..100)
            .map(|at| {
                let row = [1.0, f64::from(at % 7), 1e9 * f64::from(at % 11)];
                (row, 50.0 + 3.0 * row[1] + 2e-6 * row[2])
            })
            .collect();
        let found = solve(3, rows.iter().map(|(row, wanted)| (&row[..], *wanted, 1.0 / wanted)));
        let expected = [50.0, 3.0, 2e-6];
        assert!(found.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{found:?}");
    }
}
