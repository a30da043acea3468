//! Changes of a TOML document that keep its comments and its format.

use std::path::Path;

use toml_edit::{Decor, InlineTable, Item, TableLike, Value};

use super::problem_file::{fitted_from, is_comment_of_fit};

/// Sets a key. A key that exists stays in its place with its comments.
pub(super) fn set_key(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(item) => replace(item, value),
        None => {
            format(&mut value);
            table.insert(key, Item::Value(value));
        }
    }
}

fn replace(item: &mut Item, mut value: Value) {
    let before = item.to_string();
    if let (Some(table), Value::InlineTable(keys)) = (item.as_table_like_mut(), &value) {
        let has_new_keys = replace_keys(table, keys);
        if let Item::Value(Value::InlineTable(table)) = item
            && has_new_keys
            && !before.contains('#')
        {
            table.fmt();
        }
        return;
    }
    if let Some(old) = item.as_value() {
        if is_same(old, &value) {
            return;
        }
        format(&mut value);
        *value.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(value);
}

/// Sets exactly these keys; true if there are other keys than before.
fn replace_keys(table: &mut dyn TableLike, keys: &InlineTable) -> bool {
    let gone: Vec<String> =
        table.iter().map(|(key, _)| key.to_owned()).filter(|key| !keys.contains_key(key)).collect();
    gone.iter().for_each(|key| drop(table.remove(key)));
    let before = table.len();
    for (key, value) in keys {
        set_key(table, key, value.clone());
    }
    !gone.is_empty() || table.len() > before
}

/// Whether two values are equal numbers or texts, however they are written.
fn is_same(one: &Value, other: &Value) -> bool {
    let number =
        |value: &Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.as_str().is_some() && one.as_str() == other.as_str(),
    }
}

/// The default format of a new value.
fn format(value: &mut Value) {
    match value {
        Value::InlineTable(table) => table.fmt(),
        Value::Array(array) => array.fmt(),
        _ => {}
    }
    value.decor_mut().clear();
}

/// Replaces the comment that an earlier fit wrote above a task. A task without one gets none.
pub(super) fn commented_again(decor: &mut Decor, comment: &str) {
    let prefix = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
    let lines: Vec<&str> = prefix.split_inclusive('\n').collect();
    let Some(start) = lines.iter().position(|line| is_comment_of_fit(line.trim())) else { return };
    let warnings = lines[start + 1..].iter().take_while(|line| line.starts_with("# warning: "));
    let end = start + 1 + warnings.count();
    decor.set_prefix([&lines[..start].concat(), comment, &lines[end..].concat()].concat());
}

/// The text with the name of the new log, if its first line names an old one.
pub(super) fn renamed_log(text: String, log: &Path) -> String {
    let beginning = fitted_from("");
    let beginning = beginning.trim_end_matches('.');
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix(beginning).and_then(|rest| rest.split_once(". Fitted curves")) {
        Some((_, rest)) => {
            let new = fitted_from(&crate::input::display_name(log));
            format!("{new} Fitted curves{rest}{}", &text[first.len()..])
        }
        None => text,
    }
}
