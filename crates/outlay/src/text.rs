//! Text for users: suggestions for misspelt names, lists of names, and names with parameters such
//! as `epsilon-greedy:epsilon=0.1`.

use std::ops::RangeInclusive;

/// Names longer than this get no suggestion, because the comparison takes quadratic time.
const MAX_COMPARED: usize = 64;
/// The number of valid names that a message lists when none is similar.
const MAX_EXPECTED: usize = 20;
/// The number of names that [`listed`] spells out.
const MAX_LISTED: usize = 8;

/// Replaces control characters by spaces, so that the text fits in a message of one line.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// Joins names with commas; after the first eight it gives only the number of the others.
#[must_use]
pub fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_LISTED).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The hint that follows an unknown name: the most similar valid name, or else the valid names.
///
/// ```
/// use outlay::text::did_you_mean;
/// let keys = ["budget", "horizon"];
/// assert_eq!(did_you_mean("bugdet", keys), "did you mean `budget`?");
/// assert_eq!(did_you_mean("colour", keys), "expected one of `budget`, `horizon`");
/// ```
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = nearest(written, known.iter().copied()) {
        return format!("did you mean `{}`?", one_line(near));
    }
    let mut list: Vec<String> =
        known.iter().take(MAX_EXPECTED).map(|name| format!("`{}`", one_line(name))).collect();
    if known.len() > MAX_EXPECTED {
        list.push(format!("and {} more", known.len() - MAX_EXPECTED));
    }
    match list.len() {
        0 => "there is nothing to choose from".to_owned(),
        1 => format!("expected {}", list.concat()),
        _ => format!("expected one of {}", list.join(", ")),
    }
}

/// The valid name that was probably meant.
///
/// It is the one with the smallest edit distance (optimal string alignment, ignoring case), if at
/// most a third of the letters differ. Otherwise it is a name that `written` abbreviates or
/// extends.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.chars().nth(MAX_COMPARED).is_some() {
        return None;
    }
    let written = written.to_lowercase();
    let length = written.chars().count();
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |name: &str| {
        let name: String = name.chars().take(MAX_COMPARED).collect();
        strsim::osa_distance(&written, &name.to_lowercase())
    };
    let allowed = |name: &str| name.chars().count().max(length) / 3;
    let similar = known
        .iter()
        .map(|name| (distance(name), *name))
        .filter(|(distance, name)| *distance <= allowed(name));
    if let Some((_, name)) = similar.min_by_key(|(distance, _)| *distance) {
        return Some(name);
    }
    let shares_start = |name: &&str| {
        written.len() >= 3
            && name.len() >= 3
            && (name.starts_with(&written) || written.starts_with(*name))
    };
    known.into_iter().find(shares_start)
}

/// A range of whole numbers in words, for messages: "a whole number of at least 1".
#[must_use]
pub fn whole_number_in(range: &RangeInclusive<u64>) -> String {
    match (range.start(), range.end()) {
        (least, &u64::MAX) => format!("a whole number of at least {least}"),
        (least, most) => format!("a whole number of at least {least} and at most {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_typing_errors_and_abbreviations_only() {
        let known = ["budget", "horizon", "reward_max", "min", "max", "at"];
        for (written, near) in [
            ("bugdet", "budget"),
            ("Budget", "budget"),
            ("maximum", "max"),
            ("reward", "reward_max"),
            ("horizn", "horizon"),
            ("mim", "min"),
        ] {
            assert_eq!(nearest(written, known), Some(near), "{written}");
        }
        for written in ["", "x", "colour", "ab", &"budget".repeat(100)] {
            assert_eq!(nearest(written, known), None, "{written}");
        }
    }

    #[test]
    fn counts_every_kind_of_edit() {
        // Six letters allow two edits, nine letters three; a swap of neighbours is one edit.
        for (written, known, is_near) in [
            ("half_att", "half_at", true),
            ("bugdet", "budget", true),
            ("kitten", "sitting", false),
            ("MAX", "max", true),
            ("abc", "", false),
        ] {
            assert_eq!(nearest(written, [known]).is_some(), is_near, "{written} {known}");
        }
    }

    #[test]
    fn lists_the_valid_names_when_none_is_similar() {
        assert_eq!(did_you_mean("colour", ["min", "max"]), "expected one of `min`, `max`");
        assert_eq!(did_you_mean("colour", ["file"]), "expected `file`");
        assert_eq!(did_you_mean("colour", []), "there is nothing to choose from");
        let many: Vec<String> = (0..25).map(|number| format!("column_{number}")).collect();
        let hint = did_you_mean("price", many.iter().map(String::as_str));
        assert!(hint.ends_with("`column_19`, and 5 more"));
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(listed(&names).ends_with("column_7 and 17 more"));
        assert_eq!(listed(&["a", "b"]), "a, b");
    }
}
