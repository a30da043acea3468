//! Round numbers along a scale, with their labels.

use super::scale::Scale;
use crate::number::grouped;

/// A tick of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    /// Empty for the minor ticks between decades.
    pub(crate) label: String,
}

/// About `most` round numbers on a scale; `whole` restricts them to integers.
pub(crate) fn ticks(scale: &Scale, most: usize, whole: bool) -> Vec<Tick> {
    if scale.logarithmic {
        logarithmic(scale, most.max(2), whole)
    } else {
        linear(scale, most.max(2), whole)
    }
}

/// Steps of 1, 2 or 5 times a power of ten.
fn linear(scale: &Scale, most: usize, whole: bool) -> Vec<Tick> {
    let (low, high) = (scale.low.min(scale.high), scale.low.max(scale.high));
    let step = round_step((high - low) / most as f64);
    let step = if whole { step.max(1.0) } else { step };
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let largest = (first * step).abs().max((last * step).abs());
    let count = (last - first).clamp(0.0, 100.0) as usize + 1;
    let numbers = (0..count).map(|position| (first + position as f64) * step);
    numbers.map(|at| Tick { at, label: label(at, step, largest) }).collect()
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|&step| step >= rough * (1.0 - 1e-9)).unwrap_or(rough)
}

/// Decades with minor ticks between them. Fewer than two decades get more labels, less than half a
/// decade linear ticks.
fn logarithmic(scale: &Scale, most: usize, whole: bool) -> Vec<Tick> {
    let (first, last) = (scale.low.log10() - 1e-9, scale.high.log10() + 1e-9);
    let decades = last.floor() - first.ceil() + 1.0;
    if decades < 3.0 {
        let dense = marks(scale, &[1, 2, 5], 1);
        if dense.iter().filter(|tick| !tick.label.is_empty()).count() >= 3 {
            return dense;
        }
        return linear(scale, most, whole);
    }
    let every = (decades / most as f64).ceil().max(1.0) as i32;
    marks(scale, &[1], every)
}

/// The ticks of a logarithmic scale; every few decades those at `labelled` times the power of ten
/// have a label.
fn marks(scale: &Scale, labelled: &[i32], every: i32) -> Vec<Tick> {
    let (first, last) = (scale.low.log10().floor() as i32, scale.high.log10().ceil() as i32);
    let on_scale = |power: i32, factor: i32| {
        let at = f64::from(factor) * 10_f64.powi(power);
        scale.place(at).map(|_| at)
    };
    let is_named =
        |power: i32, factor: i32| labelled.contains(&factor) && power.rem_euclid(every) == 0;
    // One style for the whole axis: `10,000` never stands beside `10⁶`.
    let is_plain = (first..=last).filter(|power| !PLAIN_POWERS.contains(power)).all(|power| {
        !(1..=9).any(|factor| is_named(power, factor) && on_scale(power, factor).is_some())
    });
    let mut marks = Vec::new();
    for power in first..=last {
        for factor in 1..=9 {
            let Some(at) = on_scale(power, factor) else { continue };
            let is_named = is_named(power, factor);
            // Minor ticks between dense decades would be clutter.
            if every > 1 && !is_named {
                continue;
            }
            let label = match (is_named, is_plain) {
                (false, _) => String::new(),
                (true, true) => plain_label(factor, power),
                (true, false) => power_label(factor, power),
            };
            marks.push(Tick { at, label });
        }
    }
    marks
}

/// Powers of ten that are written out if all labels of an axis can be.
const PLAIN_POWERS: std::ops::RangeInclusive<i32> = -3..=5;

/// `0.01`, `200`, `10,000`.
fn plain_label(factor: i32, power: i32) -> String {
    if power < 0 {
        return format!("0.{}{factor}", "0".repeat((-power - 1) as usize));
    }
    grouped(&format!("{factor}{}", "0".repeat(power as usize)))
}

/// `1`, `10`, `10⁴`, `2×10⁶`.
fn power_label(factor: i32, power: i32) -> String {
    match (factor, power) {
        (_, 0 | 1) => plain_label(factor, power),
        (1, _) => format!("10{}", raised(power)),
        _ => format!("{factor}×10{}", raised(power)),
    }
}

/// A number on a linear axis with the digits of its step.
fn label(number: f64, step: f64, largest: f64) -> String {
    let places = (step.log10() + 1e-9).floor() as i32;
    let number = if number.abs() < step * 1e-6 { 0.0 } else { number };
    if number == 0.0 {
        return "0".to_owned();
    }
    if largest < 1e6 && places >= -4 {
        return grouped(&format!("{number:.*}", (-places).max(0) as usize)).replace('-', "−");
    }
    let power = (number.abs().log10() + 1e-9).floor() as i32;
    let digits = (power - places).clamp(0, 15) as usize;
    let text = format!("{:.*}", digits, number / 10_f64.powi(power));
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}×10{}", raised(power)).replace('-', "−")
}

/// An exponent as superscript digits.
fn raised(power: i32) -> String {
    let raise = |character| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    power.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, most: usize) -> Vec<String> {
        ticks(scale, most, false)
            .into_iter()
            .map(|tick| tick.label)
            .filter(|label| !label.is_empty())
            .collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(&Scale::linear(0.0, 87.0), 5), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&Scale::linear(-1.0, 1.0), 4), ["−1.0", "−0.5", "0", "0.5", "1.0"]);
        assert_eq!(labels(&Scale::linear(0.0, 12_000.0), 3), ["0", "5,000", "10,000"]);
        assert_eq!(labels(&Scale::linear(0.0, 3e6), 3), ["0", "1×10⁶", "2×10⁶", "3×10⁶"]);
        assert_eq!(labels(&Scale::linear(0.0, 3e-7), 3), ["0", "1×10⁻⁷", "2×10⁻⁷", "3×10⁻⁷"]);
        assert_eq!(labels(&Scale::linear(3.0, 0.0), 3), ["0", "1", "2", "3"]);
    }

    #[test]
    fn counts_have_no_halves() {
        let whole = ticks(&Scale::linear(0.0, 2.0), 8, true);
        assert_eq!(
            ticks(&Scale::logarithmic(1.0, 1.0), 8, true)
                .iter()
                .map(|tick| tick.at)
                .collect::<Vec<_>>(),
            [1.0]
        );
        assert_eq!(whole.iter().map(|tick| tick.at).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn logarithmic_ticks_are_decades_if_they_fit() {
        assert_eq!(
            labels(&Scale::logarithmic(1.0, 10_000.0), 6),
            ["1", "10", "100", "1,000", "10,000"]
        );
        assert_eq!(labels(&Scale::logarithmic(0.5, 30.0), 6), ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(&Scale::logarithmic(30.0, 42.0), 4), ["30", "35", "40"]);
        assert_eq!(labels(&Scale::logarithmic(1.0, 1e9), 5), ["1", "10²", "10⁴", "10⁶", "10⁸"]);
        assert_eq!(
            labels(&Scale::logarithmic(1e-5, 1.0), 9),
            ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"]
        );
    }

    #[test]
    fn every_tick_is_on_its_scale() {
        for (low, high) in
            [(0.0, 1e-300), (-7e8, 1e9), (1e15, 1e15 + 4.0), (0.1, 0.100_001), (1.0, 1e250)]
        {
            for scale in [
                Scale::linear(low, high),
                Scale::logarithmic(f64::max(low, 1e-200), f64::max(high, 1e-100)),
            ] {
                let ticks = ticks(&scale, 5, false);
                assert!(!ticks.is_empty() && ticks.len() <= 101, "{scale:?}");
                assert!(
                    ticks.iter().all(|tick| scale.place(tick.at).is_some()),
                    "{scale:?} {ticks:?}"
                );
            }
        }
    }
}
