//! The oracle on real curves: closing prices of auctions and running times of training jobs
//! (`examples/data`), against an exact search in whole numbers and a mixed-integer program.

use std::collections::BTreeMap;

use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, microlp, variable,
};
use outlay::{Curve, Leftover, Options, Problem, Status, UnspentReason};

use crate::support::*;

/// Samples by group, in whole units of the last digit given: cents, or tenths of a millisecond.
struct Samples {
    units_per_spend: f64,
    groups: Vec<Vec<u64>>,
}

impl Samples {
    fn read(text: &str, group_by: &[&str], column: &str, units_per_spend: f64) -> Self {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headers = reader.headers().unwrap().clone();
        let place = |name: &str| headers.iter().position(|header| header == name).unwrap();
        let (keys, number): (Vec<usize>, usize) =
            (group_by.iter().map(|name| place(name)).collect(), place(column));
        let mut groups: BTreeMap<Vec<String>, Vec<u64>> = BTreeMap::new();
        for row in reader.records() {
            let row = row.unwrap();
            let key = keys.iter().map(|&key| row[key].to_owned()).collect();
            let units = row[number].parse::<f64>().unwrap() * units_per_spend;
            assert!((units - units.round()).abs() < 1e-6, "{units} is not whole");
            groups.entry(key).or_default().push(units.round() as u64);
        }
        Self { units_per_spend, groups: groups.into_values().collect() }
    }

    /// The problem, with the samples as they are in the file.
    fn problem(&self) -> Problem {
        let curve = |group: &Vec<u64>| {
            Curve::empirical(
                group.iter().map(|&units| units as f64 / self.units_per_spend).collect(),
            )
            .unwrap()
        };
        problem_of(self.groups.iter().map(curve).collect(), 1.0)
    }

    /// Every choice of a group: a spend and how many samples it reaches.
    fn choices(&self, group: usize) -> Vec<(u64, usize)> {
        let mut sorted = self.groups[group].clone();
        sorted.sort_unstable();
        let mut choices = vec![(0, 0)];
        for (position, &units) in sorted.iter().enumerate() {
            if choices.last().is_some_and(|last| last.0 == units) {
                choices.pop();
            }
            choices.push((units, position + 1));
        }
        choices
    }

    /// The exact optimum by lists of undominated (spend, value) pairs. Spends are integers.
    fn optimum(&self, values: &[f64], budget: u64) -> f64 {
        let mut list = vec![(0u64, 0.0f64)];
        for (group, value) in values.iter().enumerate() {
            let samples = self.groups[group].len() as f64;
            let mut next: Vec<(u64, f64)> = Vec::new();
            for (units, reached) in self.choices(group) {
                let worth = value * (reached as f64 / samples);
                next.extend(
                    list.iter()
                        .map(|state| (state.0 + units, state.1 + worth))
                        .filter(|state| state.0 <= budget),
                );
            }
            next.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            let mut most = -1.0;
            next.retain(|state| {
                let keeps = state.1 > most;
                most = state.1.max(most);
                keeps
            });
            list = next;
        }
        list.last().unwrap().1
    }

    /// The optimum by a mixed-integer program: one binary variable per sample within the budget.
    fn optimum_by_milp(&self, values: &[f64], budget: u64) -> f64 {
        let mut variables = ProblemVariables::new();
        let (mut objective, mut total) = (Expression::from(0.0), Expression::from(0.0));
        let mut rows: Vec<Vec<(Variable, u64, f64)>> = Vec::new();
        for (group, value) in values.iter().enumerate() {
            let mut row = Vec::new();
            for (units, reached) in
                self.choices(group).into_iter().filter(|choice| choice.0 <= budget)
            {
                let worth = value * (reached as f64 / self.groups[group].len() as f64);
                let chosen = variables.add(variable().binary());
                objective += worth * chosen;
                total += units as f64 / budget as f64 * chosen;
                row.push((chosen, units, worth));
            }
            rows.push(row);
        }
        let mut model =
            variables.maximise(objective).using(microlp).with(constraint!(total <= 1.0));
        for row in &rows {
            model = model
                .with(constraint!(row.iter().map(|choice| choice.0).sum::<Expression>() == 1.0));
        }
        let solution = model.solve().unwrap();
        let chosen: Vec<_> =
            rows.iter().flatten().filter(|choice| solution.value(choice.0) > 0.5).collect();
        assert_eq!(chosen.len(), rows.len());
        assert!(chosen.iter().map(|choice| choice.1).sum::<u64>() <= budget, "microlp overspends");
        chosen.iter().map(|choice| choice.2).sum()
    }
}

fn auctions() -> Samples {
    let samples = Samples::read(
        include_str!("../../../../examples/data/ebay_closing_prices.csv"),
        &["item", "days"],
        "closing_price",
        100.0,
    );
    assert_eq!(samples.groups.len(), 9);
    assert_eq!(samples.groups.iter().map(Vec::len).sum::<usize>(), 628);
    samples
}

fn training_runs() -> Samples {
    let samples = Samples::read(
        include_str!("../../../../examples/data/model_runs_letter.csv"),
        &["learner"],
        "train_seconds",
        10_000.0,
    );
    assert_eq!(samples.groups.len(), 20);
    assert_eq!(samples.groups.iter().map(Vec::len).sum::<usize>(), 2500);
    samples
}

/// Values of a round: all equal as in the first one, or random.
fn values(random: &mut Random, tasks: usize, seed: u64) -> Vec<f64> {
    (0..tasks).map(|_| if seed == 0 { 1.0 } else { random.between(0.1, 1.0) }).collect()
}

fn agrees(samples: &Samples, spend: f64, seeds: u64, truth: impl Fn(&[f64], u64) -> f64) {
    let problem = samples.problem();
    let budget = (spend * samples.units_per_spend).round() as u64;
    for seed in 0..seeds {
        let mut random = Random::new(seed * 1000 + budget);
        let values = values(&mut random, samples.groups.len(), seed);
        let truth = truth(&values, budget);
        let spend = budget as f64 / samples.units_per_spend;
        let context = format!("budget {spend} seed {seed}");
        let (found, _) = solve(&problem, &values, spend);
        assert!(
            (found.value - truth).abs() <= 1e-13 * truth,
            "{context}: {} against {truth}\n{found:?}",
            found.value
        );
        assert!(found.gap() <= 1e-13 && found.status == Status::Optimal, "{context}: {found:?}");
        // The residual reaches no further sample of any task.
        assert_eq!(found.unspent > 0.0, found.unspent_reason.is_some(), "{context}: {found:?}");
        assert!(
            matches!(found.unspent_reason, None | Some(UnspentReason::CurveFlat)),
            "{context}: {found:?}"
        );
        let gain = |task: usize| {
            let (curve, spend) = (problem.tasks()[task].curve(), found.spend[task]);
            curve.success(spend + found.unspent) - curve.success(spend)
        };
        assert!(
            (0..values.len()).all(|task| gain(task) == 0.0),
            "{context}: the rest would buy something: {found:?}"
        );
        // Every task pays for a sample, not for more.
        for (group, &spend) in found.spend.iter().enumerate() {
            let units = spend * samples.units_per_spend;
            let paid =
                samples.choices(group).iter().any(|choice| (choice.0 as f64 - units).abs() <= 1e-6);
            assert!(paid, "{context}: task {group} is given {spend}, which is no sample");
        }
        let all = solve_with(
            &problem,
            &values,
            spend,
            &Options { leftover: Leftover::Spend, ..Options::default() },
        )
        .0;
        assert!(
            all.unspent == 0.0 && (all.value - truth).abs() <= 1e-13 * truth,
            "{context}: {all:?}"
        );
    }
}

#[test]
fn auctions_are_exact() {
    let samples = auctions();
    for spend in [60.0, 200.0, 431.17, 1000.0, 1800.0, 2750.5, 4000.0, 9000.0] {
        agrees(&samples, spend, 6, |values, budget| samples.optimum(values, budget));
    }
}

#[test]
fn auctions_agree_with_a_mixed_integer_program() {
    let samples = auctions();
    for spend in [150.0, 400.0, 1200.0, 3000.0] {
        agrees(&samples, spend, 2, |values, budget| samples.optimum_by_milp(values, budget));
    }
}

#[test]
fn training_runs_are_exact() {
    let samples = training_runs();
    for spend in [0.01, 0.1, 0.5, 3.0, 12.0, 30.0, 75.0, 180.0] {
        agrees(&samples, spend, 2, |values, budget| samples.optimum(values, budget));
    }
}

#[test]
fn training_runs_agree_with_a_mixed_integer_program() {
    let samples = training_runs();
    for spend in [0.05, 0.3] {
        agrees(&samples, spend, 2, |values, budget| samples.optimum_by_milp(values, budget));
    }
}
