//! Pool adjacent violators: neighbours that fall are joined until nothing falls.

/// Joins each item with those before it as long as they do not rise: `rises(before, item)` says
/// whether they do.
pub(crate) fn rising<T>(
    items: impl Iterator<Item = T>,
    rises: impl Fn(&T, &T) -> bool,
    joined: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut pools: Vec<T> = Vec::new();
    for mut item in items {
        while let Some(before) = pools.pop_if(|before| !rises(before, &item)) {
            item = joined(before, item);
        }
        pools.push(item);
    }
    pools
}
