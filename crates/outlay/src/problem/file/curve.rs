//! Reads a curve: its family and parameters.

use super::Reader;
use super::samples::{SAMPLE_KEYS, read_samples};
use super::table::Fields;
use crate::curve::{Curve, CurveError};
use crate::problem::errors::ProblemErrorKind;

/// The families a file can name, each with its parameters. Every family takes `COMMON_KEYS` as
/// well.
const FAMILIES: [(&str, &[&str]); 9] = [
    ("power", &["exponent", "scale"]),
    ("saturating", &["full_at"]),
    ("exponential", &["scale"]),
    ("hill", &["half_at", "steepness"]),
    ("logistic", &["mid", "width"]),
    ("threshold", &["at"]),
    ("steps", &["at", "success"]),
    ("piecewise", &["spend", "success"]),
    ("empirical", &SAMPLE_KEYS),
];
const COMMON_KEYS: [&str; 3] = ["family", "floor", "ceiling"];
/// Valid for every scalar parameter. It replaces an invalid one while the others are checked.
const PLACEHOLDER: f64 = 1.0;

/// The keys of all families.
pub(crate) fn curve_keys() -> impl Iterator<Item = &'static str> {
    COMMON_KEYS.into_iter().chain(FAMILIES.into_iter().flat_map(|(_, keys)| keys.iter().copied()))
}

/// The curve that `fields` describe.
pub(crate) fn read_curve(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<Curve> {
    if fields.get("family").is_some_and(|family| family.is_text("custom")) {
        reader.errors.add(fields.at("family"), ProblemErrorKind::CustomFamily);
        return None;
    }
    let (family, keys) = fields.choice("family", "every curve", &FAMILIES, &mut reader.errors)?;
    fields.reject_unknown(&[&COMMON_KEYS, keys], &mut reader.errors);
    let curve = read_family(family, fields, reader);
    let sound = curve.is_some();
    // An invalid parameter must not hide an invalid ceiling.
    let curve = curve.or_else(|| reader.placeholder_curve.clone())?;
    scaled(curve, fields, reader).filter(|_| sound)
}

fn read_family(family: &str, fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<Curve> {
    let budget = reader.budget;
    match family {
        "power" => of_numbers(
            fields,
            family,
            ["exponent", "scale"],
            [None, Some(budget)],
            |[exponent, scale]| Curve::power(exponent, scale),
            reader,
        ),
        "saturating" => of_numbers(
            fields,
            family,
            ["full_at"],
            [None],
            |[full_at]| Curve::saturating(full_at),
            reader,
        ),
        "exponential" => of_numbers(
            fields,
            family,
            ["scale"],
            [None],
            |[scale]| Curve::exponential(scale),
            reader,
        ),
        "hill" => of_numbers(
            fields,
            family,
            ["half_at", "steepness"],
            [None; 2],
            |[half_at, steepness]| Curve::hill(half_at, steepness),
            reader,
        ),
        "logistic" => of_numbers(
            fields,
            family,
            ["mid", "width"],
            [None; 2],
            |[mid, width]| Curve::logistic(mid, width),
            reader,
        ),
        "threshold" => {
            of_numbers(fields, family, ["at"], [None], |[at]| Curve::threshold(at), reader)
        }
        "steps" => of_lists(fields, family, ["at", "success"], Curve::steps, reader),
        "piecewise" => of_lists(fields, family, ["spend", "success"], Curve::piecewise, reader),
        "empirical" => {
            let samples = read_samples(fields, "an empirical curve", reader)?;
            accept(Curve::empirical(samples), fields, reader)
        }
        // Not reached: the caller found the family in the table above.
        _ => None,
    }
}

/// A curve with scalar parameters.
fn of_numbers<const N: usize>(
    fields: &Fields<'_>,
    family: &str,
    keys: [&str; N],
    defaults: [Option<f64>; N],
    make: impl Fn([f64; N]) -> Result<Curve, CurveError>,
    reader: &mut Reader<'_>,
) -> Option<Curve> {
    let mut sound = true;
    let mut numbers = [PLACEHOLDER; N];
    for ((key, default), number) in keys.iter().zip(defaults).zip(&mut numbers) {
        if default.is_none() {
            fields.require(key, Owner(family), &mut reader.errors);
        }
        let read = if fields.has(key) { fields.number(key, &mut reader.errors) } else { default };
        sound &= read.is_some();
        *number = read.unwrap_or(PLACEHOLDER);
    }
    // The constructor stops at its first error. Replace that parameter and try again, so that
    // every error is reported.
    for _ in 0..=N {
        let error = match make(numbers) {
            Ok(curve) => return sound.then_some(curve),
            Err(error) => error,
        };
        sound = false;
        reader.errors.add(fields.at(&error.field), error.kind);
        let wrong = keys.iter().zip(&mut numbers).find(|(key, _)| **key == error.field);
        *wrong?.1 = PLACEHOLDER;
    }
    None
}

/// A curve given by points.
fn of_lists(
    fields: &Fields<'_>,
    family: &str,
    keys: [&str; 2],
    make: impl Fn(Vec<f64>, Vec<f64>) -> Result<Curve, CurveError>,
    reader: &mut Reader<'_>,
) -> Option<Curve> {
    let lists = keys.map(|key| {
        fields.require(key, Owner(family), &mut reader.errors);
        fields.numbers(key, &mut reader.errors)
    });
    let [Some(spend), Some(success)] = lists else {
        return None;
    };
    accept(make(spend, success), fields, reader)
}

/// The curve with its ceiling and floor.
fn scaled(curve: Curve, fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<Curve> {
    let ceiling = fields.number("ceiling", &mut reader.errors);
    let floor = fields.number("floor", &mut reader.errors);
    let readable =
        ceiling.is_some() == fields.has("ceiling") && floor.is_some() == fields.has("floor");
    let lowered = match ceiling {
        Some(ceiling) => accept(curve.with_ceiling(ceiling), fields, reader),
        None => Some(curve),
    };
    let sound = readable && lowered.is_some();
    // An invalid ceiling must not hide an invalid floor.
    let lowered = lowered.or_else(|| reader.placeholder_curve.clone())?;
    let raised = match floor {
        Some(floor) => accept(lowered.with_floor(floor), fields, reader),
        None => Some(lowered),
    };
    raised.filter(|_| sound)
}

/// The curve; its error is added at the path of the parameter.
fn accept(
    curve: Result<Curve, CurveError>,
    fields: &Fields<'_>,
    reader: &mut Reader<'_>,
) -> Option<Curve> {
    curve.map_err(|error| reader.errors.add(fields.at(&error.field), error.kind)).ok()
}

/// The owner of a parameter, in messages: `a hill curve`.
struct Owner<'a>(&'a str);

impl std::fmt::Display for Owner<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let article = if self.0.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        write!(formatter, "{article} {} curve", self.0)
    }
}
