//! Text in figures: escaping and estimated width.

/// Escapes text and attributes of XML and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML cannot represent these.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}')
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Estimated width of a text. It errs on the large side, because fonts differ.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    1.06 * size * text.chars().map(width_of_character).sum::<f64>()
}

/// The width in ems of DejaVu Sans, which is wider than most sans-serif fonts.
fn width_of_character(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '\'' | '|' => 0.3,
        ' ' | '.' | ',' | ':' | ';' | '!' | 'I' | 'f' | 't' | '/' | '(' | ')' | '[' | ']' => 0.38,
        'r' | '-' | '"' | '*' => 0.42,
        'm' | 'M' | 'W' | '%' | '@' | '—' => 0.95,
        'w' | 'A'..='Z' | '&' => 0.76,
        '\u{0}'..='\u{7f}' => 0.61,
        '⁰' | '¹' | '²' | '³' | '⁴' | '⁵' | '⁶' | '⁷' | '⁸' | '⁹' | '⁻' => 0.36,
        '\u{80}'..='\u{24f}' | '\u{370}'..='\u{10ff}' => 0.65,
        _ => 1.0,
    }
}

/// The text, shortened in the middle if it is wider than `room`.
pub(crate) fn shorten(text: &str, room: f64, size: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    for kept in (2..characters.len()).rev() {
        let ending = kept * 2 / 5;
        let beginning: String = characters[..kept - ending].iter().collect();
        let end: String = characters[characters.len() - ending..].iter().collect();
        let short = format!("{}…{}", beginning.trim_end(), end.trim_start());
        if width_of(&short, size) <= room {
            return short;
        }
    }
    "…".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_characters_are_escaped() {
        assert_eq!(escape("<&\"'>"), "&lt;&amp;&quot;&#39;&gt;");
        assert_eq!(escape("Ünïcode 广告"), "Ünïcode 广告");
        assert_eq!(escape("a\u{7}b\nc"), "a\u{fffd}b\nc");
    }

    #[test]
    fn short_text_stays_and_long_text_keeps_both_ends() {
        assert_eq!(shorten("search", 100.0, 12.0), "search");
        let short = shorten("epsilon-greedy:epsilon=0.05,decay=true", 120.0, 12.0);
        assert!(
            short.starts_with("epsilon") && short.ends_with("true") && short.contains('…'),
            "{short}"
        );
        assert!(width_of(&short, 12.0) <= 120.0);
        assert_eq!(shorten("广告广告广告", 1.0, 12.0), "…");
    }
}
