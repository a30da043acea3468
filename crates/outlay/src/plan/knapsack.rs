//! A multiple-choice knapsack in whole units: its LP relaxation, then a search by labels.
//!
//! The LP relaxation gives a multiplier and an upper bound. The reduced cost of a choice is the
//! distance of its surplus at that multiplier from the best surplus of its task. The reduced costs
//! of a plan that beats the known one add up to less than the gap, so only the choices at the margin
//! remain, and labels enumerate those.

/// The largest number of labels made; a count, so that results do not depend on the machine.
const MAX_LABELS: usize = 2_000_000;

/// Relative gains below this are rounding error.
const NOISE: f64 = 1e-13;

/// A number of units for a task, and its worth there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub(super) count: i64,
    pub(super) worth: f64,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The counts of a plan that is worth more than the known one, if one was found.
    pub(super) better: Option<Vec<i64>>,
    /// No plan is worth more than this and the plan found; `None` if the plan found, or else the
    /// known one, is the best.
    pub(super) upper_bound: Option<f64>,
}

/// Looks for a plan within `capacity` that is worth more than `known`, the worth of a feasible plan.
/// The choices of each task increase in count and in worth.
pub(super) fn improve(choices: &[Vec<Choice>], capacity: i64, known: f64) -> Found {
    let envelopes: Vec<Vec<Choice>> = choices.iter().map(|choices| envelope(choices)).collect();
    let multiplier = multiplier(&envelopes, capacity);
    let surplus = |choice: &Choice| choice.worth - multiplier * choice.count as f64;
    let best = |choices: &Vec<Choice>| choices.iter().map(surplus).fold(f64::MIN, f64::max);
    let best: Vec<f64> = envelopes.iter().map(best).collect();
    let bound = multiplier * capacity as f64 + best.iter().sum::<f64>();
    let noise = NOISE * bound;
    let gap = bound - known - noise;
    if !(gap > 0.0) {
        return Found { better: None, upper_bound: None };
    }
    let at_margin = |(choices, best): (&Vec<Choice>, &f64)| {
        let reduced = |choice: &Choice| Margin {
            count: choice.count,
            cost: (best - surplus(choice)).max(0.0),
        };
        choices.iter().map(reduced).filter(|choice| choice.cost < gap).collect()
    };
    let margins: Vec<Vec<Margin>> = choices.iter().zip(&best).map(at_margin).collect();
    match search(&margins, capacity, multiplier, gap) {
        Some(better) => Found { better, upper_bound: None },
        None => Found { better: None, upper_bound: Some(bound + noise) },
    }
}

/// The vertices of the concave envelope.
fn envelope(choices: &[Choice]) -> Vec<Choice> {
    let mut vertices: Vec<Choice> = Vec::new();
    for &choice in choices {
        while let [.., before, last] = vertices[..]
            && slope(before, last) <= slope(last, choice)
        {
            vertices.pop();
        }
        vertices.push(choice);
    }
    vertices
}

fn slope(one: Choice, next: Choice) -> f64 {
    (next.worth - one.worth) / (next.count - one.count) as f64
}

/// The smallest multiplier, up to rounding, at which the envelopes ask for no more than `capacity`.
fn multiplier(envelopes: &[Vec<Choice>], capacity: i64) -> f64 {
    let slopes = |vertices: &Vec<Choice>| -> Vec<f64> {
        vertices.windows(2).map(|edge| slope(edge[0], edge[1])).collect()
    };
    let slopes: Vec<Vec<f64>> = envelopes.iter().map(slopes).collect();
    let demand = |multiplier: f64| {
        let of_task = |(vertices, slopes): (&Vec<Choice>, &Vec<f64>)| {
            let steep = slopes.partition_point(|slope| *slope > multiplier);
            vertices.get(steep).map_or(0, |vertex| vertex.count)
        };
        envelopes.iter().zip(&slopes).map(of_task).sum::<i64>()
    };
    if demand(0.0) <= capacity {
        return 0.0;
    }
    let steepest = slopes.iter().filter_map(|slopes| slopes.first()).copied().fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, steepest);
    loop {
        let middle = 0.5 * (low + high);
        if !(middle > low && middle < high) {
            return high;
        }
        *if demand(middle) > capacity { &mut low } else { &mut high } = middle;
    }
}

/// A choice at the margin with its reduced cost.
#[derive(Debug, Clone, Copy)]
struct Margin {
    count: i64,
    cost: f64,
}

/// A plan for the first tasks: its units, the sum of its reduced costs, the label that it extends
/// and the choice of the last task.
#[derive(Debug, Clone, Copy)]
struct Label {
    count: i64,
    cost: f64,
    parent: u32,
    choice: u32,
}

/// The counts of the cheapest plan with costs below `gap`, where an unused unit costs the
/// multiplier. The outer `None` means that there are too many labels to know.
fn search(
    margins: &[Vec<Margin>],
    capacity: i64,
    multiplier: f64,
    gap: f64,
) -> Option<Option<Vec<i64>>> {
    let count_of = |end: fn(&[Margin]) -> Option<&Margin>| {
        margins.iter().map(|margin| end(margin).map_or(0, |choice| choice.count)).sum::<i64>()
    };
    // The least and the most that the tasks still to come can use.
    let (mut least, mut most) = (count_of(<[Margin]>::first), count_of(<[Margin]>::last));
    let mut stages = vec![vec![Label { count: 0, cost: 0.0, parent: 0, choice: 0 }]];
    let mut made = 0;
    for margin in margins {
        least -= margin.first()?.count;
        most -= margin.last()?.count;
        let before = stages.last()?;
        made += before.len() * margin.len();
        if made > MAX_LABELS {
            return None;
        }
        let mut labels = Vec::with_capacity(before.len() * margin.len());
        for (parent, label) in before.iter().enumerate() {
            for (choice, option) in margin.iter().enumerate() {
                let (count, cost) = (label.count + option.count, label.cost + option.cost);
                let unused = (capacity - count - most).max(0) as f64;
                if count + least <= capacity && cost + multiplier * unused < gap {
                    labels.push(Label {
                        count,
                        cost,
                        parent: parent as u32,
                        choice: choice as u32,
                    });
                }
            }
        }
        drop_dominated(&mut labels, multiplier);
        stages.push(labels);
    }
    let total = |label: &Label| label.cost + multiplier * (capacity - label.count) as f64;
    let last = stages.last()?;
    let best =
        (0..last.len()).min_by(|&one, &other| total(&last[one]).total_cmp(&total(&last[other])));
    Some(best.map(|best| backtrack(margins, &stages, best)))
}

/// Keeps the labels that no other label beats with as few units and as much worth.
fn drop_dominated(labels: &mut Vec<Label>, multiplier: f64) {
    let worth = |label: &Label| multiplier * label.count as f64 - label.cost;
    labels.sort_unstable_by(|one, other| {
        one.count.cmp(&other.count).then(worth(other).total_cmp(&worth(one)))
    });
    let mut most = f64::NEG_INFINITY;
    labels.retain(|label| {
        let is_best = worth(label) > most;
        most = most.max(worth(label));
        is_best
    });
}

/// The counts of the label `last` of the last stage.
fn backtrack(margins: &[Vec<Margin>], stages: &[Vec<Label>], last: usize) -> Vec<i64> {
    let mut counts = vec![0; margins.len()];
    let mut position = last;
    for (task, margin) in margins.iter().enumerate().rev() {
        let label = stages[task + 1][position];
        counts[task] = margin[label.choice as usize].count;
        position = label.parent as usize;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(list: &[&[(i64, f64)]]) -> Vec<Vec<Choice>> {
        let task = |points: &&[(i64, f64)]| {
            points.iter().map(|&(count, worth)| Choice { count, worth }).collect()
        };
        list.iter().map(task).collect()
    }

    #[test]
    fn the_best_plan_is_found_from_a_poor_one() {
        // The densest task alone leaves units that no task can use.
        let tasks = choices(&[&[(0, 0.0), (6, 0.9)], &[(0, 0.0), (5, 0.6)], &[(0, 0.0), (5, 0.6)]]);
        let found = improve(&tasks, 10, 0.9);
        assert_eq!(found, Found { better: Some(vec![0, 5, 5]), upper_bound: None });
        assert_eq!(improve(&tasks, 10, 1.2), Found { better: None, upper_bound: None });
    }

    #[test]
    fn a_capacity_for_everything_has_the_multiplier_zero() {
        let tasks = choices(&[&[(0, 0.0), (6, 0.9)], &[(1, 0.1), (2, 0.3)]]);
        assert_eq!(improve(&tasks, 8, 1.0).better, Some(vec![6, 2]));
    }
}
