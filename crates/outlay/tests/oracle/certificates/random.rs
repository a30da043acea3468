//! Random certificates. `CONTRIBUTING.md` names the command that checks 100,000 of them.

use outlay::oracle::{prove, recheck};
use outlay::plan::{evaluate, violations};
use outlay::problem::is_feasible;
use outlay::{Allocation, Options, Oracle, Problem};

use super::edge_problems::{edge_problem, in_unit};
use super::plans::best_plan;
use crate::support::Random;

/// What a check found.
#[derive(Debug, Default)]
struct Found {
    checked: u64,
    violations: Vec<String>,
    /// Allocations with a gap above 1e-9.
    with_gap: u64,
}

fn check(seed: u64, found: &mut Found) {
    let mut random = Random::new(seed);
    let Some((problem, values)) = edge_problem(&mut random) else { return };
    found.checked += 1;
    if let Err(violation) = check_problem(&mut random, &problem, &values, found) {
        let tasks = problem.tasks();
        found.violations.push(format!(
            "seed {seed}: {violation}\nbudget {:?} values {values:?}\n{tasks:#?}",
            problem.budget()
        ));
    }
}

fn check_problem(
    random: &mut Random,
    problem: &Problem,
    values: &[f64],
    found: &mut Found,
) -> Result<(), String> {
    let (budget, options) = (problem.budget(), Options::default());
    let mut oracle = Oracle::new(problem);
    let best =
        oracle.allocate(values, budget, &options).map_err(|error| error.to_string())?.clone();
    if !is_feasible(problem, budget, &best.spend) {
        return Err(format!("infeasible: {:?}", violations(problem, budget, &best.spend)));
    }
    let checked = recheck(problem, values, &best).map_err(|error| error.to_string())?;
    let (value, plan) = best_plan(random, problem, values, &best);
    if value > best.upper_bound {
        let excess = value / best.upper_bound - 1.0;
        return Err(format!("plan {plan:?} worth {value}, by {excess:e}, beats {best:?}"));
    }
    if value > checked.dual_bound {
        return Err(format!("plan {plan:?} worth {value} beats the price's {checked:?}"));
    }
    evaluate(problem, values, budget, &plan, &options).map_err(|error| error.to_string())?;
    if best.gap() > 1e-9 {
        found.with_gap += 1;
    }
    let proof = prove(problem, values, &best, 20);
    if value > proof.bound {
        return Err(format!("plan {plan:?} worth {value} beats {proof:?}"));
    }
    // The price is the same after other calls.
    let other: Vec<f64> = values.iter().map(|value| value * random.uniform()).collect();
    for (values, budget) in [(&other[..], budget), (values, budget * 0.7), (&other[..], budget)] {
        let _ = oracle.allocate(values, budget, &options);
    }
    let warm = oracle.allocate(values, budget, &options).map_err(|error| error.to_string())?;
    let warm_checked = recheck(problem, values, warm).map_err(|error| error.to_string())?;
    if warm_checked.price_proves_bound != checked.price_proves_bound {
        return Err(format!("only one price is a proof: {best:?}, warm {warm:?}"));
    }
    if !is_same_price(warm.price, best.price) {
        return Err(format!("another price after a warm start: {best:?}, warm {warm:?}"));
    }
    check_unit(problem, values, &best)
}

/// The price is the same in another unit of money.
fn check_unit(problem: &Problem, values: &[f64], best: &Allocation) -> Result<(), String> {
    let unit = 2f64.powi(-13);
    let scaled = in_unit(problem, unit);
    let mut oracle = Oracle::new(&scaled);
    let other = oracle
        .allocate(values, scaled.budget(), &Options::default())
        .map_err(|error| error.to_string())?;
    if !is_same_price(other.price * unit, best.price) {
        return Err(format!("another price in another unit: {best:?}, scaled {other:?}"));
    }
    Ok(())
}

fn is_same_price(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.max(other)
}

fn run(seeds: std::ops::Range<u64>) -> Found {
    let mut found = Found::default();
    let (first, last) = (seeds.start, seeds.end);
    for seed in seeds {
        check(seed, &mut found);
        if (seed - first) % 5000 == 4999 {
            let (checked, broken) = (found.checked, found.violations.len());
            eprintln!(
                "{} of {}: {checked} certificates, {broken} violated",
                seed + 1 - first,
                last - first
            );
        }
    }
    let Found { checked, with_gap, .. } = &found;
    eprintln!("{checked} certificates: {with_gap} gaps above 1e-9");
    found
}

#[test]
fn no_feasible_plan_beats_the_upper_bound() {
    let found = run(0..3000);
    assert!(found.checked > 1500, "{}", found.checked);
    assert!(found.violations.is_empty(), "{}", found.violations.join("\n\n"));
    assert!(found.with_gap * 200 < found.checked, "{} gaps", found.with_gap);
}

/// The first seed of the long form: `CERTIFICATE_SEED`, or a fixed one.
fn first_seed() -> u64 {
    let Ok(text) = std::env::var("CERTIFICATE_SEED") else { return 1_000_000 };
    text.parse().unwrap_or_else(|_| panic!("CERTIFICATE_SEED is {text:?}, expected a whole number"))
}

/// The long form of the test above: 100,000 certificates.
#[test]
#[ignore = "takes minutes; see CONTRIBUTING.md"]
fn a_hundred_thousand_certificates() {
    let first = first_seed();
    let found = run(first..first + 150_000);
    assert!(found.checked >= 100_000, "{}", found.checked);
    let count = found.violations.len();
    assert!(count == 0, "{count} violated: {}", found.violations.join("\n\n"));
}
