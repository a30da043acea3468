//! Isotonic regression by the pool adjacent violators algorithm (PAVA).

/// Merges each item with its predecessors until `is_increasing` holds for every adjacent pair.
pub(crate) fn pool_adjacent_violators<T>(
    items: impl Iterator<Item = T>,
    is_increasing: impl Fn(&T, &T) -> bool,
    merge: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut pools: Vec<T> = Vec::new();
    for mut item in items {
        while let Some(previous) = pools.pop_if(|previous| !is_increasing(previous, &item)) {
            item = merge(previous, item);
        }
        pools.push(item);
    }
    pools
}
