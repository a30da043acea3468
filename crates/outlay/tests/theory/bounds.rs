//! Regret bounds of problems.

use outlay::instance::Instance;
use outlay::problem::{BudgetLaw, DelayLaw, EnvironmentSpec};
use outlay::theory::{
    Bound, Guarantees, NotApplicable, Side, guarantees, kl_ucb_plus_bound, means, run_bound,
};
use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};

fn of(problem: &Problem, horizon: u64) -> Guarantees {
    guarantees(problem, &means(problem), horizon).unwrap()
}

fn instance(name: &str, horizon: u64) -> Problem {
    name.parse::<Instance>().unwrap().problem(horizon, 1).unwrap()
}

fn find<'a>(guarantees: &'a Guarantees, name: &str) -> &'a Bound {
    guarantees.bounds.iter().find(|bound| bound.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn names(guarantees: &Guarantees) -> Vec<&str> {
    guarantees.bounds.iter().map(|bound| bound.name).collect()
}

#[track_caller]
fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

#[test]
fn square_roots_have_every_form_of_theorem_1() {
    let found = of(&instance("square-roots:means=0.3;0.4", 1000), 1000);
    let [general, powers, roots] =
        ["Theorem 1, general form", "Theorem 1, power curves", "two square roots"]
            .map(|name| *find(&found, name).value.as_ref().unwrap());
    close(roots, 164_043_080.87, 0.01);
    assert!(
        general < powers && powers < roots,
        "{general} {powers} {roots}: the larger the means, the better than a quarter"
    );
    close(*find(&found, "Theorem 2").value.as_ref().unwrap(), 1000f64.sqrt() / 140.0, 1e-12);
    assert_eq!(find(&found, "Theorem 2").side, Side::AtLeast);
    // The optimum for square roots is the length of the vector of means.
    close(found.optimum.unwrap(), 0.5, 1e-9);
    close(found.trivial, 500.0, 1e-6);
    close(found.polylog.unwrap().least_mean, 0.3, 1e-15);
}

#[test]
fn the_optimum_of_square_roots_is_in_the_direction_of_the_means() {
    let means = [0.2, 0.9, 0.5, 0.7];
    let length = means.iter().map(|mean| mean * mean).sum::<f64>().sqrt();
    let problem = instance("square-roots:means=0.2;0.9;0.5;0.7", 10);
    close(of(&problem, 10).optimum.unwrap(), length, 1e-9);
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&means, 1.0, &Options::default()).unwrap();
    for (spend, mean) in best.spend.iter().zip(means) {
        close(*spend, mean * mean / (length * length), 1e-9);
    }
}

#[test]
fn m_sets_have_the_corollary() {
    let found = of(&instance("m-set:tasks=10,plays=3", 10_000), 10_000);
    assert_eq!(
        names(&found),
        [
            "Theorem 1, general form",
            "Theorem 3, these curves",
            "Theorem 3, any curves",
            "M-sets",
            "kl-ucb-plus, these curves",
            "kl-ucb-plus, any curves"
        ]
    );
    let few = outlay::theory::kl_ucb_plus_mass_bound(10, 3.0, 1e4, 1.1);
    close(*find(&found, "kl-ucb-plus, these curves").value.as_ref().unwrap(), few, 1e-3);
    let corollary = *find(&found, "M-sets").value.as_ref().unwrap();
    let log_term = (2.0f64 * 100.0 * 1e8).ln();
    close(corollary, 1.0 + 4.0 * (10.0 * log_term * 3.0 * 1e4).sqrt(), 1e-6);
    close(*find(&found, "Theorem 3, these curves").value.as_ref().unwrap(), corollary, 1e-3);
    assert_eq!(
        find(&found, "Theorem 1, general form").value,
        Err(NotApplicable::NoDiminishingReturns)
    );
}

#[test]
fn pairs_have_the_lower_bound_of_theorem_4() {
    let found = of(&instance("theorem-4:pairs=5", 400), 400);
    // T = 400: the affinity of one round is (1 + √(1 - 4/400)) / 2.
    let affinity = 0.5 * (1.0 + 0.99f64.sqrt());
    let distance = (1.0 - affinity.powi(800)).sqrt();
    let distances = (distance.atanh() - distance) / -affinity.ln();
    let expected = 5.0 * 0.5 * (400.0 - distances) / 20.0;
    close(*find(&found, "Theorem 4").value.as_ref().unwrap(), expected, 1e-9);
    assert!(!names(&of(&instance("m-set:tasks=10,plays=4", 400), 400)).contains(&"Theorem 4"));
    let short = of(&instance("m-set:tasks=4,plays=2", 10), 10);
    assert_eq!(find(&short, "Theorem 4").value, Err(NotApplicable::FewRounds(16)));
}

#[test]
fn a_mean_that_is_missing_is_a_reason() {
    let root = Curve::power(0.5, 1.0).unwrap();
    let tasks = vec![
        TaskSpec { value: Some(0.5), ..TaskSpec::new("one", root.clone()) },
        TaskSpec::new("two", root),
    ];
    let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
    let found = of(&problem, 1000);
    for name in ["Theorem 1, general form", "Theorem 1, power curves", "two square roots"] {
        assert_eq!(
            find(&found, name).value,
            Err(NotApplicable::UnknownMeans(vec!["two".to_owned()]))
        );
        assert_eq!(find(&found, name).vacuous, None);
    }
    assert!(find(&found, "Theorem 3, any curves").value.is_ok());
    assert_eq!((found.optimum, found.unknown.as_slice()), (None, &["two".to_owned()][..]));
    // Two square roots with means 1/2 and, at most, 1.
    close(found.trivial, 1000.0 * 1.25f64.sqrt(), 1e-6);
}

#[test]
fn failures_of_theorem_1_are_listed() {
    let reason = |problem: &Problem, horizon: u64| {
        find(&of(problem, horizon), "Theorem 1, general form")
            .value
            .clone()
            .unwrap_err()
            .to_string()
    };
    assert_eq!(reason(&instance("square-roots", 2), 2), "needs at least 3 rounds");
    assert_eq!(
        reason(&instance("square-roots:means=0.5;0", 9), 9),
        "needs positive means; that of task-2 is 0"
    );
    let with = |environment: EnvironmentSpec| {
        let tasks = vec![
            TaskSpec {
                value: Some(0.5),
                ..TaskSpec::new("one", Curve::power(0.5, 1.0).unwrap())
            };
            1
        ];
        let second = TaskSpec { name: "two".into(), ..tasks[0].clone() };
        ProblemSpec { tasks: [tasks, vec![second]].concat(), environment, ..ProblemSpec::default() }
            .check()
            .unwrap()
    };
    let away = with(EnvironmentSpec { available: Some(0.5), ..EnvironmentSpec::default() });
    assert_eq!(reason(&away, 9), "tasks may be unavailable");
    let varying = with(EnvironmentSpec {
        budget: Some(BudgetLaw::Uniform { low: 0.0, high: 0.25 }),
        ..EnvironmentSpec::default()
    });
    assert_eq!(reason(&varying, 9), "the budget changes from round to round");
    // With a quarter of the budget each of two equal tasks succeeds with √(1/8).
    close(of(&varying, 9).trivial, 9.0 * 0.125f64.sqrt(), 1e-6);
    let scale = [("one".to_owned(), vec![4.0, 0.5])].into();
    let seasonal = EnvironmentSpec { scale, ..EnvironmentSpec::default() };
    let known = of(&with(seasonal.clone()), 9);
    assert_eq!(reason(&with(seasonal.clone()), 9), "the curves change from round to round");
    assert_eq!(known.optimum, None);
    // At half the scale the first task succeeds with √(2x), so for certain with half the budget.
    close(known.trivial, 9.0 * 0.5 * (1.0 + 0.5f64.sqrt()), 1e-6);
    assert!(known.bounds.iter().any(|bound| bound.name == "Theorem 3, any curves"));
    assert!(known.bounds.iter().filter(|bound| bound.value.is_ok()).count() >= 3);
    let hidden = of(&with(EnvironmentSpec { hide_scale: true, ..seasonal }), 9);
    let is_hidden = |bound: &Bound| bound.value == Err(NotApplicable::HiddenCurves);
    assert!(hidden.bounds.iter().all(is_hidden));
    let late = with(EnvironmentSpec {
        delay: Some(DelayLaw::Constant { rounds: 1 }),
        ..EnvironmentSpec::default()
    });
    assert!(
        of(&late, 9).bounds.iter().all(|bound| bound.value == Err(NotApplicable::LateOutcomes))
    );
}

#[test]
fn bounds_below_the_largest_possible_regret_are_not_vacuous() {
    let vacuous = |horizon: u64| {
        let found = of(&instance("m-set:tasks=10,plays=3", horizon), horizon);
        found
            .bounds
            .iter()
            .filter(|bound| bound.vacuous == Some(true))
            .map(|bound| bound.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        vacuous(100),
        [
            "Theorem 3, these curves",
            "Theorem 3, any curves",
            "M-sets",
            "kl-ucb-plus, these curves",
            "kl-ucb-plus, any curves"
        ]
    );
    assert!(vacuous(1_000_000).is_empty());
}

#[test]
fn lower_bounds_cannot_be_lost() {
    let curve = Curve::exponential(1.0).unwrap();
    let task = TaskSpec { value: Some(1.0), min: Some(0.5), ..TaskSpec::new("one", curve.clone()) };
    let problem = ProblemSpec { tasks: vec![task], ..ProblemSpec::default() }.check().unwrap();
    close(of(&problem, 10).trivial, 10.0 * (curve.success(1.0) - curve.success(0.5)), 1e-9);
}

#[test]
fn the_mean_of_a_reward_takes_precedence_over_the_value() {
    let curve = Curve::exponential(1.0).unwrap();
    let reward = Some(outlay::problem::RewardLaw::Constant { mean: 3.0 });
    let both = TaskSpec { value: Some(1.0), reward, ..TaskSpec::new("both", curve.clone()) };
    let believed = TaskSpec { value: Some(1.0), ..TaskSpec::new("believed", curve.clone()) };
    let tasks = vec![both, believed, TaskSpec::new("neither", curve)];
    let problem = ProblemSpec { tasks, reward_max: 4.0, ..ProblemSpec::default() }.check().unwrap();
    assert_eq!(means(&problem), [Some(0.75), Some(0.25), None]);
}

#[test]
fn invalid_means_are_rejected() {
    let problem = instance("square-roots", 10);
    let refuse = |means: &[Option<f64>], horizon: u64| {
        guarantees(&problem, means, horizon).unwrap_err().to_string()
    };
    assert_eq!(refuse(&[Some(0.5)], 10), "1 means for 2 tasks");
    assert_eq!(
        refuse(&[Some(0.5), Some(1.5)], 10),
        "task-2: its mean reward must be between 0 and reward_max, not 1.5 times that"
    );
    assert!(refuse(&[Some(f64::NAN), Some(0.5)], 10).contains("not NaN"));
    assert_eq!(refuse(&[None, None], 0), "horizon: must be at least 1, not 0");
}

#[test]
fn a_run_has_the_bound_of_its_learner() {
    let problem = instance("k-armed:tasks=10", 100_000);
    let of = |learner: &str| {
        run_bound(&problem, &learner.parse().unwrap(), 100_000, 1e6)
            .map(|bound| bound.value.unwrap())
    };
    close(of("algorithm-1").unwrap() - 1.0, 67_319.14, 0.01);
    assert_eq!(of("algorithm-1"), of("full"));
    close(of("kl-ucb-plus").unwrap(), kl_ucb_plus_bound(10, 1e5, 1.1), 1e-9);
    assert_eq!(
        find(&guarantees(&problem, &means(&problem), 100_000).unwrap(), "kl-ucb-plus, any curves")
            .value
            .clone()
            .ok(),
        of("kl-ucb-plus")
    );
    assert!(of("kl-ucb-plus:c=2") != of("kl-ucb-plus"));
    assert_eq!((of("kl-ucb-plus:c=0.5"), of("greedy")), (None, None));
}
