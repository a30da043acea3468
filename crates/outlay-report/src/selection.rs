//! Selection of the rows, panels and points that are shown when there are too many.

/// Largest number of rows in a table for readers.
const MAX_ROWS: usize = 50;

/// The positions, in ascending order, of the rows with the highest `rank` (at most 50), and the
/// number of rows left out.
pub fn most_important(count: usize, rank: impl Fn(usize) -> f64) -> (Vec<usize>, usize) {
    let (mut positions, hidden) = heaviest(count, MAX_ROWS, rank);
    positions.sort_unstable();
    (positions, hidden)
}

/// The line below a table that leaves out rows; empty if none are left out.
pub fn hidden_line(hidden: usize, which: &str) -> String {
    if hidden == 0 {
        String::new()
    } else {
        format!("{hidden} tasks {which} are not shown; --format csv lists all\n")
    }
}

/// The positions of the `most` heaviest items in descending order of weight, and the number of
/// items left out. Of equal weights the first comes first.
pub(crate) fn heaviest(
    count: usize,
    most: usize,
    weight: impl Fn(usize) -> f64,
) -> (Vec<usize>, usize) {
    let mut positions: Vec<usize> = (0..count).collect();
    let order =
        |&one: &usize, &other: &usize| weight(other).total_cmp(&weight(one)).then(one.cmp(&other));
    // Selection takes linear time, also for 10^6 tasks.
    if most < count {
        positions.select_nth_unstable_by(most, order);
        positions.truncate(most);
    }
    positions.sort_unstable_by(order);
    (positions, count.saturating_sub(most))
}

/// At most `most` evenly spaced positions out of `count`, including the first and the last.
pub(crate) fn thinned(count: usize, most: usize) -> Vec<usize> {
    if count <= most || most < 2 {
        return (0..count).collect();
    }
    (0..most).map(|place| place * (count - 1) / (most - 1)).collect()
}

/// A sentence about tasks that are left out, to be appended to another; empty if there are none.
pub(crate) fn left_out(hidden: usize) -> String {
    match hidden {
        0 => String::new(),
        1 => " One task with a smaller spend is not shown.".to_owned(),
        _ => format!(" {hidden} tasks with smaller spends are not shown."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_come_first() {
        let weights = [1.0, 5.0, 5.0, 0.0, 7.0];
        assert_eq!(heaviest(5, 3, |task| weights[task]), (vec![4, 1, 2], 2));
        assert_eq!(heaviest(5, 9, |task| weights[task]), (vec![4, 1, 2, 0, 3], 0));
        assert_eq!(heaviest(0, 3, |_| f64::NAN), (vec![], 0));
    }

    #[test]
    fn thinning_keeps_both_ends() {
        assert_eq!(thinned(3, 10), [0, 1, 2]);
        assert_eq!(thinned(11, 3), [0, 5, 10]);
        let many = thinned(100_000, 40);
        assert_eq!((many.len(), many[0], many[39]), (40, 0, 99_999));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
