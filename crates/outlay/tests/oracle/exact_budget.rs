//! Totals that exceed the budget by less than the units in which the solver of steps counts: they
//! are infeasible, and the best of the others is found.

use outlay::problem::{covers, max_total};
use outlay::{Curve, Options, Oracle, Status};

use crate::support::*;

/// The largest budget that does not cover these spends, next to one that does.
fn just_too_small(costs: &[f64]) -> f64 {
    let covered = |budget: f64| covers(budget, costs.iter().copied());
    let mut budget = costs.iter().sum::<f64>();
    while covered(budget) {
        budget = budget.next_down();
    }
    while !covered(budget.next_up()) {
        budget = budget.next_up();
    }
    budget
}

/// Thresholds that together cost a little more than the budget covers.
fn thresholds(costs: &[f64], budget: f64) -> Oracle {
    let curves = costs.iter().map(|&cost| Curve::threshold(cost).unwrap()).collect();
    Oracle::new(&problem_of(curves, budget))
}

#[test]
fn all_thresholds_but_the_least_valuable_one_are_funded() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let costs: Vec<f64> = (0..1000).map(|_| random.between(1.0, 2.0)).collect();
        let values: Vec<f64> = (0..1000).map(|_| random.between(0.5, 1.0)).collect();
        let budget = just_too_small(&costs);
        let best = values.iter().sum::<f64>() - values.iter().copied().fold(1.0, f64::min);
        let mut oracle = thresholds(&costs, budget);
        let found = oracle.allocate(&values, budget, &Options::default()).unwrap();
        assert!(covers(budget, found.spend.iter().copied()), "seed {seed}");
        assert!((found.value - best).abs() <= 1e-12 * best, "seed {seed}: {}", found.value);
        assert_eq!(found.status, Status::Optimal, "seed {seed}: {}", found.gap());
    }
}

/// The same beside thresholds that are never funded, where other combinations may be feasible.
#[test]
fn the_least_valuable_of_the_funded_thresholds_is_dropped() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut costs: Vec<f64> = (0..1000).map(|_| random.between(1.0, 2.0)).collect();
        let mut values: Vec<f64> = (0..1000).map(|_| random.between(0.5, 1.0)).collect();
        let budget = just_too_small(&costs);
        let all = values.iter().sum::<f64>();
        let least = values.iter().copied().fold(1.0, f64::min);
        for _ in 0..100 {
            costs.push(random.between(10.0, 20.0));
            values.push(0.1);
        }
        let mut oracle = thresholds(&costs, budget);
        let found = oracle.allocate(&values, budget, &Options::default()).unwrap();
        assert!(covers(budget, found.spend.iter().copied()), "seed {seed}");
        assert!((found.value - (all - least)).abs() <= 1e-12 * all, "seed {seed}: {}", found.value);
        assert!(found.upper_bound <= all * (1.0 + 1e-12), "seed {seed}: {}", found.upper_bound);
    }
}

/// One threshold takes all but a few units of the budget, and the others cost a few units each, so
/// the rounding of each total is about as large as its residual.
#[test]
fn tiny_thresholds_beside_a_large_one_agree_with_enumeration() {
    let (mut exact, mut problems) = (0, 0);
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let (budget, unit) = (1.0, 2f64.powi(-59));
        let tiny = 4 + random.below(8);
        let mut costs: Vec<f64> = (0..tiny).map(|_| unit * random.between(1.0, 40.0)).collect();
        let spare = 512.0 * unit;
        let large = (max_total(budget) - spare).next_down();
        let left: f64 = costs.iter().sum::<f64>() * random.between(0.2, 0.9);
        let filler = max_total(budget) - large - left;
        costs.extend([large, filler]);
        let mut values: Vec<f64> = (0..tiny).map(|_| random.between(0.5, 1.0)).collect();
        values.extend([100.0, 100.0]);
        let best = (0..1u32 << costs.len())
            .filter(|taken| covers(budget, subset(&costs, *taken)))
            .map(|taken| subset(&values, taken).sum::<f64>())
            .fold(0.0, f64::max);
        let mut oracle = thresholds(&costs, budget);
        let found = oracle.allocate(&values, budget, &Options::default()).unwrap();
        let context = format!("seed {seed}: {} of {best}, {}", found.value, found.upper_bound);
        assert!(covers(budget, found.spend.iter().copied()), "{context}");
        assert!(found.upper_bound >= best && found.value <= best * (1.0 + 1e-12), "{context}");
        problems += 1;
        exact += u32::from(found.value >= best * (1.0 - 1e-12));
    }
    assert!(10 * exact >= 9 * problems, "{exact} of {problems}");
}

/// Thousands of thresholds below one unit each, which therefore count as nothing, and one that takes
/// the rest of the budget. All together need a little more than the budget covers, or one unit in the
/// last place more: the cheapest way to fit is to leave out thresholds of little value.
#[test]
fn thresholds_below_one_unit_do_not_exceed_the_budget_together() {
    // Costs are whole multiples of this; the solver counts in units of 2^-60.
    let step = 2f64.powi(-80);
    for (seed, excess) in [(1, 1u64), (2, 1), (3, 1 << 28), (4, 1 << 28)] {
        let mut random = Random::new(seed);
        let (budget, large) = (1.0, 1.0 - 2f64.powi(-48));
        let mut left = ((max_total(budget) - large) / step) as u64 + excess;
        let mut costs = vec![large];
        while left > 0 {
            let cost = ((5 + random.below(10)) * 65_536 + random.below(65_536)) as u64;
            let cost = if cost + 1_000_000 > left { left } else { cost };
            costs.push(cost as f64 * step);
            left -= cost;
        }
        let mut values = vec![10.0];
        values.extend(costs[1..].iter().map(|_| random.between(0.5, 1.0)));
        let mut oracle = thresholds(&costs, budget);
        let found = oracle.allocate(&values, budget, &Options::default()).unwrap();
        let all = values.iter().sum::<f64>();
        let context = format!("seed {seed}: {} of {all}, {}", found.value, found.upper_bound);
        assert!(!covers(budget, costs.iter().copied()), "{context}");
        assert!(covers(budget, found.spend.iter().copied()), "{context}");
        let best = all - least_loss(&costs[1..], &values[1..], excess as f64 * step);
        assert!(found.value >= best * (1.0 - 1e-12), "{context}, {best}");
        assert!(found.upper_bound >= best * (1.0 - 1e-15), "{context}, {best}");
    }
}

/// The value of the thresholds that free `excess` with the least loss, by loss per cost.
fn least_loss(costs: &[f64], values: &[f64], excess: f64) -> f64 {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    let single = order.iter().filter(|&&task| costs[task] >= excess);
    let single = single.map(|&task| values[task]).fold(f64::INFINITY, f64::min);
    order.sort_by(|&a, &b| (values[a] / costs[a]).total_cmp(&(values[b] / costs[b])));
    let (mut freed, mut loss) = (0.0, 0.0);
    for task in order {
        if freed >= excess {
            break;
        }
        (freed, loss) = (freed + costs[task], loss + values[task]);
    }
    loss.min(single)
}

fn subset(numbers: &[f64], taken: u32) -> impl Iterator<Item = f64> {
    let is_taken = move |(place, _): &(usize, &f64)| taken >> place & 1 == 1;
    numbers.iter().enumerate().filter(is_taken).map(|(_, &number)| number)
}
