//! The known word nearest to one that is not known: most unknown keys are typing errors.

use super::errors::one_line;

/// Longer words get no suggestion: nobody mistypes one, and the comparison is quadratic.
const LONGEST_WORD: usize = 64;
/// How many known words are listed when none is near.
const MOST_LISTED: usize = 20;

/// What to say after an unknown word: the known one it was probably meant to be, else all the known
/// ones.
pub(crate) fn suggestion<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = nearest(written, &known) {
        return format!("did you mean `{}`?", one_line(near));
    }
    let mut list: Vec<String> =
        known.iter().take(MOST_LISTED).map(|word| format!("`{}`", one_line(word))).collect();
    if known.len() > MOST_LISTED {
        list.push(format!("and {} more", known.len() - MOST_LISTED));
    }
    match list.len() {
        0 => "none is known here".to_owned(),
        1 => format!("only {} is known here", list.concat()),
        _ => format!("known here are {}", list.join(", ")),
    }
}

/// The known word that differs in at most a third of the letters; else one that `written` begins,
/// or that begins `written`.
fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written: Vec<char> =
        written.chars().take(LONGEST_WORD + 1).flat_map(char::to_lowercase).collect();
    if written.len() > LONGEST_WORD {
        return None;
    }
    let within = |word: &str| word.chars().count().max(written.len()) / 3;
    let by_distance = known
        .iter()
        .map(|word| (distance(&written, word), *word))
        .filter(|(distance, word)| *distance <= within(word));
    if let Some((_, near)) = by_distance.min_by_key(|(distance, _)| *distance) {
        return Some(near);
    }
    let written: String = written.into_iter().collect();
    let begins = |word: &&&str| {
        written.len() >= 3
            && word.len() >= 3
            && (word.starts_with(&written) || written.starts_with(**word))
    };
    known.iter().find(begins).copied()
}

/// Letters to add, drop, change or swap with the next to get from one word to the other.
fn distance(written: &[char], word: &str) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=written.len()).collect();
    let mut letter_before = None;
    for (row, letter) in word.chars().take(LONGEST_WORD).flat_map(char::to_lowercase).enumerate() {
        let mut current = vec![row + 1];
        for (column, &other) in written.iter().enumerate() {
            let at = |line: &[usize], position: usize| {
                line.get(position).copied().unwrap_or(usize::MAX - 1)
            };
            let mut least = (at(&last, column) + usize::from(letter != other))
                .min(at(&last, column + 1) + 1)
                .min(at(&current, column) + 1);
            let swapped = column > 0
                && letter_before == Some(other)
                && written.get(column - 1) == Some(&letter);
            if swapped {
                least = least.min(at(&before_last, column - 1).saturating_add(1));
            }
            current.push(least);
        }
        before_last = std::mem::replace(&mut last, current);
        letter_before = Some(letter);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(word: &str) -> Vec<char> {
        word.chars().collect()
    }

    #[test]
    fn distance_counts_edits() {
        for (written, word, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("half_att", "half_at", 1),
            ("bugdet", "budget", 1),
            ("kitten", "sitting", 3),
            ("Max", "max", 1),
        ] {
            assert_eq!(distance(&letters(written), word), edits, "{written} {word}");
        }
    }

    #[test]
    fn suggests_typing_errors_and_beginnings_only() {
        let known = ["budget", "horizon", "reward_max", "min", "max", "at"];
        for (written, near) in [
            ("bugdet", "budget"),
            ("Budget", "budget"),
            ("maximum", "max"),
            ("reward", "reward_max"),
            ("horizn", "horizon"),
            ("mim", "min"),
        ] {
            assert_eq!(nearest(written, &known), Some(near), "{written}");
        }
        for written in ["", "x", "colour", "ab", &"budget".repeat(100)] {
            assert_eq!(nearest(written, &known), None, "{written}");
        }
    }

    #[test]
    fn lists_what_is_known_when_nothing_is_near() {
        assert_eq!(suggestion("colour", ["min", "max"]), "known here are `min`, `max`");
        assert_eq!(suggestion("colour", ["file"]), "only `file` is known here");
        assert_eq!(suggestion("colour", []), "none is known here");
        let many: Vec<String> = (0..25).map(|number| format!("column_{number}")).collect();
        assert!(
            suggestion("price", many.iter().map(String::as_str))
                .ends_with("`column_19`, and 5 more")
        );
    }
}
