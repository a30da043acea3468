//! Which of many are shown: a page with a thousand panels is read by nobody.

/// The positions of the `most` that weigh most, the heaviest first, of equals the first; and how
/// many that leaves out.
pub(super) fn heaviest(
    count: usize,
    most: usize,
    weight: impl Fn(usize) -> f64,
) -> (Vec<usize>, usize) {
    let mut positions: Vec<usize> = (0..count).collect();
    positions.sort_by(|&one, &other| weight(other).total_cmp(&weight(one)));
    positions.truncate(most);
    (positions, count.saturating_sub(most))
}

/// At most `most` positions out of `count`, evenly spread, the first and the last among them.
pub(super) fn thinned(count: usize, most: usize) -> Vec<usize> {
    if count <= most || most < 2 {
        return (0..count).collect();
    }
    (0..most).map(|place| place * (count - 1) / (most - 1)).collect()
}

/// A sentence on what is left out, to follow another one; nothing if nothing is.
pub(super) fn left_out(hidden: usize) -> String {
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
