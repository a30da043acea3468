//! The first sentence of the page: what to move, and what it is expected to bring.

use super::{DecisionPage, TaskView, digits};
use crate::number::signed_percent;

/// Largest number of tasks that are named on one side of a move.
const NAMED: usize = 3;
/// Values that differ by this share are equal.
const SAME_VALUE: f64 = 1e-9;

/// The sentence; `None` for a learner's page, whose values are indices.
pub(super) fn sentence(page: &DecisionPage<'_>) -> Option<String> {
    let (_, after) = page.frontier.chosen?;
    if page.tasks.iter().any(|task| task.learned.is_some()) {
        return None;
    }
    let value = |value: f64| page.labels.reward_per_period(&digits(value));
    let Some((_, before)) = page.frontier.before else {
        return Some(format!(
            "The {} is expected to bring {}. There is no {} plan of all tasks to compare with.",
            page.after,
            value(after),
            page.before
        ));
    };
    let Some(moves) = Moves::of(page) else {
        return Some(format!(
            "Nothing moves: the {} is the best split found, with an expected reward of {}.",
            plan_name(page),
            value(after)
        ));
    };
    let effect = if (after - before).abs() <= SAME_VALUE * before.abs().max(after.abs()) {
        format!("leaves the expected reward at {}", value(after))
    } else {
        let verb = if after > before { "raises" } else { "lowers" };
        let share = if before > 0.0 {
            format!(" ({})", signed_percent(after / before - 1.0))
        } else {
            String::new()
        };
        let before = digits(before);
        format!("{verb} the expected reward from {before} to {}{share}", value(after))
    };
    Some(format!("{} {effect}.", moves.text(page)))
}

fn plan_name(page: &DecisionPage<'_>) -> String {
    match page.before {
        "current" => "current plan".to_owned(),
        other => other.to_owned(),
    }
}

/// The tasks that get more and those that get less, with their changes as they are displayed.
struct Moves<'page> {
    more: Vec<(&'page str, f64)>,
    less: Vec<(&'page str, f64)>,
}

impl<'page> Moves<'page> {
    /// `None` if no displayed spend changes.
    fn of(page: &'page DecisionPage<'_>) -> Option<Self> {
        let shown = |amount: f64| page.precision.rounded(amount);
        let change =
            |task: &TaskView<'_>| shown(task.outcome.spend) - task.before.map_or(0.0, shown);
        let side = |sign: f64| {
            let changes = page.tasks.iter().map(|task| (task.name, sign * change(task)));
            let mut side: Vec<(&str, f64)> = changes.filter(|(_, change)| *change > 0.0).collect();
            side.sort_by(|one, other| other.1.total_cmp(&one.1));
            side
        };
        let (more, less) = (side(1.0), side(-1.0));
        (!(more.is_empty() && less.is_empty())).then_some(Self { more, less })
    }

    fn text(&self, page: &DecisionPage<'_>) -> String {
        let total = |side: &[(&str, f64)]| side.iter().map(|(_, change)| change).sum::<f64>();
        let (more, less) = (total(&self.more), total(&self.less));
        let amount = |amount: f64| page.labels.money_per_period(&page.precision.amount(amount));
        // The displayed amounts may add up to a little more or less.
        let rounding = page.tasks.len() as f64 * page.precision.smallest();
        if self.less.is_empty() {
            format!("Spending {} more on {}", amount(more), names(&self.more))
        } else if self.more.is_empty() {
            format!("Spending {} less on {}", amount(less), names(&self.less))
        } else if (more - less).abs() <= rounding {
            let (from, to) = (names(&self.less), names(&self.more));
            format!("Moving {} from {from} to {to}", amount(more))
        } else {
            format!(
                "Spending {} more on {} and {} less on {}",
                amount(more),
                names(&self.more),
                amount(less),
                names(&self.less)
            )
        }
    }
}

/// The names of a side, those with the largest changes first.
fn names(side: &[(&str, f64)]) -> String {
    let mut names: Vec<String> =
        side.iter().take(NAMED).map(|(name, _)| (*name).to_owned()).collect();
    match side.len().saturating_sub(NAMED) {
        0 => {}
        1 => names.push("1 other task".to_owned()),
        more => names.push(format!("{more} other tasks")),
    }
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        let all = [("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 1.0), ("e", 0.5)];
        assert_eq!(names(&all[..1]), "a");
        assert_eq!(names(&all[..2]), "a and b");
        assert_eq!(names(&all[..3]), "a, b and c");
        assert_eq!(names(&all[..4]), "a, b, c and 1 other task");
        assert_eq!(names(&all), "a, b, c and 2 other tasks");
    }
}
