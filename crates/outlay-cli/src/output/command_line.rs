//! Command lines as text that can be pasted into a shell.

/// The command line of this process, with the plain name of the program.
pub(crate) fn of_this_process() -> String {
    let arguments =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    command(&std::iter::once("outlay".to_owned()).chain(arguments).collect::<Vec<_>>())
}

/// Words joined to one line, quoted where a shell needs it.
pub(crate) fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_.,:=/+".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        let words = ["outlay", "allocate", "a b.toml", "", "it's", "task[0]=1"].map(str::to_owned);
        assert_eq!(command(&words), "outlay allocate 'a b.toml' '' 'it'\\''s' 'task[0]=1'");
    }
}
