//! Rounding of floats to decimal digits, as they are written: 1.55 is rounded as 1.55, not as the binary number next
//! to it.

use model::{Result, error};

/// The nearest whole number; halves go up.
pub(super) fn half_up(x: f64) -> f64 {
    let below = x.floor();
    if x - below >= 0.5 { below + 1.0 } else { below }
}

/// The digits that are cut off, compared with half of the last digit kept.
struct Remainder {
    is_zero: bool,
    is_half: bool,
    is_above_half: bool,
}

impl Remainder {
    fn of(digits: &str) -> Remainder {
        let digits = digits.trim_end_matches('0');
        let is_half = digits == "5";
        Remainder { is_zero: digits.is_empty(), is_half, is_above_half: digits >= "5" && !is_half }
    }
}

/// A float rounded to `digits` digits after the point.
pub(super) fn decimal(x: f64, digits: usize, mode: &str) -> Result<f64> {
    let written = format!("{}", x.abs());
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    let kept = &fraction[..fraction.len().min(digits)];
    let remainder = Remainder::of(fraction.get(digits..).unwrap_or(""));
    let last = kept.bytes().last().or(whole.bytes().last()).unwrap_or(b'0');
    let grows = match mode.to_uppercase().as_str() {
        "UP" => !remainder.is_zero,
        "DOWN" => false,
        "CEILING" => !remainder.is_zero && x > 0.0,
        "FLOOR" => !remainder.is_zero && x < 0.0,
        "HALF_UP" => remainder.is_half || remainder.is_above_half,
        "HALF_DOWN" => remainder.is_above_half,
        "HALF_EVEN" => remainder.is_above_half || (remainder.is_half && last % 2 == 1),
        other => {
            return Err(error!(
                Argument,
                "round() has no mode '{other}': expected UP, DOWN, CEILING, FLOOR, HALF_UP, HALF_DOWN or HALF_EVEN"
            ));
        }
    };
    if !x.is_finite() || remainder.is_zero {
        return Ok(x);
    }
    let mut number: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    if grows {
        carry(&mut number);
    }
    let point = number.len() - kept.len();
    let text = format!("{}.{}0", String::from_utf8_lossy(&number[..point]), String::from_utf8_lossy(&number[point..]));
    let rounded: f64 = text.parse().map_err(|_| error!(Internal, "'{text}' is no number"))?;
    Ok(rounded.copysign(x))
}

/// Adds one to a number written in digits.
fn carry(number: &mut Vec<u8>) {
    for digit in number.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    number.insert(0, b'1');
}
