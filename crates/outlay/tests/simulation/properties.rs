//! Properties of every run: determinism, regret against the optimum, the theorems' bounds, delays,
//! budgets.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Feedback, Outcome};
use outlay::instance::Instance;
use outlay::learner::LearnerSpec;
use outlay::problem::{BudgetLaw, DelayLaw, EnvironmentSpec, NoFiles};
use outlay::simulation::Environment;
use outlay::simulation::{Case, Experiment, Play, Replication, Source, Statistics};
use outlay::{Curve, Problem, ProblemSpec, RewardLaw, TaskSpec};

use crate::support::{bound, confidence};

fn spec(name: &str) -> LearnerSpec {
    name.parse().unwrap()
}

fn instance(text: &str, horizon: u64, seed: u64) -> Problem {
    text.parse::<Instance>().unwrap().problem(horizon, seed).unwrap()
}

/// Plays a run and checks the properties of every run.
fn play(problem: &Problem, learner: &str, horizon: u64, seed: u64) -> Replication {
    let learner = spec(learner);
    let play = Play {
        problem,
        learner: &learner.into(),
        feedback: learner.entry().feedback,
        horizon,
        seed,
    };
    let run = play.run(&AtomicBool::new(false)).unwrap().unwrap();
    let scale = problem.reward_max();
    // No split beats the best one, so regret never decreases.
    let falls = run.trace.windows(2).any(|pair| pair[1] < pair[0] - 1e-9 * scale);
    assert!(!falls && run.regret >= -1e-9 * scale, "{learner}: the regret falls");
    assert_eq!(run.trace.last(), Some(&run.regret));
    assert!(run.oracle_gap <= 1e-9, "{learner}: gap {}", run.oracle_gap);
    if problem.environment().delay.is_none() {
        // The bounds are for rewards up to 1.
        let scaled = Replication { regret: run.regret / scale, ..run.clone() };
        bound::assert_worst_case_bound(&learner, &scaled, horizon);
    }
    assert_eq!(confidence::failure(&play, &run), None);
    run
}

fn with_environment(problem: &str, environment: EnvironmentSpec) -> Problem {
    let base = instance(problem, 10_000, 1);
    let tasks = base.tasks().iter().map(|task| TaskSpec {
        reward: task.reward().cloned(),
        ..TaskSpec::new(task.name(), task.curve().clone())
    });
    ProblemSpec { tasks: tasks.collect(), environment, ..ProblemSpec::default() }.check().unwrap()
}

fn mean_regret(
    problem: &Problem,
    learner: &str,
    horizon: u64,
    seeds: std::ops::Range<u64>,
) -> Statistics {
    Statistics::of(
        &seeds.map(|seed| play(problem, learner, horizon, seed).regret).collect::<Vec<f64>>(),
    )
}

#[test]
fn threads_do_not_matter() {
    let case = |name: &str| Case {
        name: name.to_owned(),
        source: Source::Instance(name.parse().unwrap()),
        horizon: 700,
        parameter: None,
    };
    let experiment = Experiment {
        cases: vec![case("power"), case("theorem-4:pairs=3"), case("saturating-jobs")],
        learners: ["algorithm-1", "kl-ucb-plus", "thompson", "oful"]
            .map(|name| spec(name).into())
            .to_vec(),
        feedback: None,
        replications: 5,
        seed: 9,
    };
    let jobs: Vec<_> = experiment.jobs().collect();
    let run = |threads: usize| {
        let mut results = Vec::new();
        let threads = NonZeroUsize::new(threads).unwrap();
        experiment
            .run(&jobs, threads, &AtomicBool::new(false), |job, replication| {
                results.push((job, replication))
            })
            .unwrap();
        results.sort_unstable_by_key(|(job, _)| *job);
        results
    };
    let alone = run(1);
    assert_eq!(alone.len(), 60);
    assert!(alone == run(2) && alone == run(7));
    for (job, run) in alone {
        let (case, learner) = (&experiment.cases[job.case], &experiment.learners[job.learner]);
        let problem = case.source.problem(case.horizon, run.seed).unwrap();
        let play = Play {
            problem: &problem,
            learner,
            feedback: learner.feedback(),
            horizon: case.horizon,
            seed: run.seed,
        };
        bound::assert_worst_case_bound(learner.built_in().unwrap(), &run, case.horizon);
        assert_eq!(confidence::failure(&play, &run), None);
    }
}

#[test]
fn a_run_depends_on_its_own_seed_only() {
    let problem = instance("power", 2000, 1);
    assert!(play(&problem, "kl-ucb-plus", 2000, 5) == play(&problem, "kl-ucb-plus", 2000, 5));
    assert_ne!(
        play(&problem, "kl-ucb-plus", 2000, 5).regret,
        play(&problem, "kl-ucb-plus", 2000, 6).regret
    );
}

/// Completions are monotone in their probability on the same draws.
#[test]
fn learners_share_their_random_draws() {
    let problem = instance("power", 1000, 1);
    let environment = Environment::new(&problem, 77).unwrap();
    let (mut few, mut many) = ([Outcome::Missing; 5], [Outcome::Missing; 5]);
    let mut differ = 0;
    for round in 1..=500 {
        environment.play(round, &[0.2; 5], Feedback::Censored, &mut few);
        environment.play(round, &[0.6; 5], Feedback::Censored, &mut many);
        for (one, other) in few.iter().zip(&many) {
            assert!(*one == Outcome::Failed || one == other);
            differ += u32::from(one != other);
        }
    }
    assert!((800..1200).contains(&differ), "{differ}"); // 0.4 of 2500
}

#[test]
fn no_delay_is_a_delay_of_zero() {
    let still = with_environment("power", EnvironmentSpec::default());
    let delayed = |rounds| {
        with_environment(
            "power",
            EnvironmentSpec {
                delay: Some(DelayLaw::Constant { rounds }),
                ..EnvironmentSpec::default()
            },
        )
    };
    for learner in
        ["algorithm-1", "kl-ucb-plus", "kl-ucb-mixture", "full", "oful", "grid-ucb", "thompson"]
    {
        assert!(play(&delayed(0), learner, 300, 3) == play(&still, learner, 300, 3), "{learner}");
        let late = play(&delayed(10), learner, 300, 3);
        assert_ne!(late.regret, play(&still, learner, 300, 3).regret, "{learner}");
        // The outcomes of the last ten rounds have not arrived: five per round, or one gain.
        let per_round = if spec(learner).entry().feedback == Feedback::Bandit { 1 } else { 5 };
        assert_eq!(late.pending, 10 * per_round, "{learner}");
    }
}

/// Mean delays of 0, 10, 100 and 500 rounds cost about as much as an independent implementation has
/// measured.
#[test]
fn delays_cost_the_reference_regret() {
    for (problem, means) in
        [("power", [75.0, 75.0, 79.0, 95.0]), ("m-set", [378.0, 389.0, 406.0, 458.0])]
    {
        for (delay, expected) in [0.0, 10.0, 100.0, 500.0].into_iter().zip(means) {
            let law = Some(DelayLaw::Geometric { mean: delay });
            let problem = with_environment(
                problem,
                EnvironmentSpec { delay: law, ..EnvironmentSpec::default() },
            );
            let regret = mean_regret(&problem, "algorithm-1", 5000, 1..41);
            // The reference gives no intervals: three standard errors of ours, twice.
            let room = 6.0 * regret.std_error.unwrap() + 0.5;
            assert!(
                (regret.mean - expected).abs() < room,
                "delay {delay}: {} instead of {expected} within {room}",
                regret.mean
            );
        }
    }
}

#[test]
fn delays_have_their_law() {
    let delays = |law| {
        let problem = with_environment(
            "k-armed",
            EnvironmentSpec { delay: Some(law), ..EnvironmentSpec::default() },
        );
        let environment = Environment::new(&problem, 12).unwrap();
        (1..=5000u64)
            .flat_map(move |round| (0..4).map(move |task| (round, task)))
            .map(move |(round, task)| environment.delay(round, task) as f64)
    };
    let geometric =
        Statistics::of(&delays(DelayLaw::Geometric { mean: 30.0 }).collect::<Vec<f64>>());
    assert!(
        (geometric.mean - 30.0).abs() < 4.0 * geometric.std_error.unwrap(),
        "{}",
        geometric.mean
    );
    let none = delays(DelayLaw::Geometric { mean: 30.0 }).filter(|delay| *delay == 0.0).count()
        as f64
        / 20_000.0;
    assert!((none - 1.0 / 31.0).abs() < 0.006, "{none}");
    let uniform: Vec<f64> = delays(DelayLaw::Uniform { low: 2, high: 4 }).collect();
    for delay in [2.0, 3.0, 4.0] {
        let share = uniform.iter().filter(|number| **number == delay).count() as f64 / 20_000.0;
        assert!((share - 1.0 / 3.0).abs() < 0.015, "{delay}: {share}");
    }
}

/// Against each round's own optimum a single task has no regret, even if the budget varies.
#[test]
fn regret_is_taken_against_the_rounds_own_optimum() {
    let laws = [
        BudgetLaw::List { amounts: vec![0.2, 1.0, 0.7] },
        BudgetLaw::Uniform { low: 0.1, high: 1.0 },
        BudgetLaw::Sine { mean: 0.5, amplitude: 0.4, period: 7.0 },
    ];
    for law in laws {
        let environment =
            EnvironmentSpec { budget: Some(law.clone()), ..EnvironmentSpec::default() };
        let alone = with_environment("square-roots:means=0.7", environment.clone());
        let run = play(&alone, "algorithm-1", 400, 2);
        assert!(run.regret.abs() < 1e-9, "{law:?}: {}", run.regret);
        let pair = with_environment("power", environment);
        for learner in ["algorithm-1", "kl-ucb-plus", "uniform", "grid-ucb", "oful"] {
            assert!(play(&pair, learner, 600, 2).regret > 0.0, "{law:?} {learner}");
        }
    }
}

#[test]
fn budgets_follow_their_law() {
    let budgets = |law: BudgetLaw| {
        let problem = with_environment(
            "power",
            EnvironmentSpec { budget: Some(law), ..EnvironmentSpec::default() },
        );
        let environment = Environment::new(&problem, 3).unwrap();
        (1..=7000u64).map(|round| environment.budget(round)).collect::<Vec<f64>>()
    };
    assert_eq!(
        budgets(BudgetLaw::List { amounts: vec![3.0, 5.0] })[..5],
        [3.0, 5.0, 3.0, 5.0, 3.0]
    );
    let uniform = budgets(BudgetLaw::Uniform { low: 2.0, high: 4.0 });
    assert!(
        uniform.iter().all(|budget| (2.0..=4.0).contains(budget))
            && (Statistics::of(&uniform).mean - 3.0).abs() < 0.03
    );
    let sine = budgets(BudgetLaw::Sine { mean: 10.0, amplitude: 4.0, period: 28.0 });
    assert!(
        (sine[6] - 14.0).abs() < 1e-9
            && (sine[13] - 10.0).abs() < 1e-9
            && (sine[20] - 6.0).abs() < 1e-9
            && sine[0] > 10.0
    );
    let tight = budgets(BudgetLaw::Sine { mean: 1.0, amplitude: 1.0, period: 4.0 });
    assert!(tight.iter().all(|budget| *budget >= 0.0));
}

#[test]
fn unavailable_tasks_do_not_count_against_the_learner() {
    let environment = EnvironmentSpec { available: Some(0.5), ..EnvironmentSpec::default() };
    // One task, available half of the time: every allocation is optimal.
    let alone = with_environment("square-roots:means=0.7", environment.clone());
    let run = play(&alone, "kl-ucb-plus", 2000, 1);
    assert!(
        run.regret.abs() < 1e-9 && (800..1200).contains(&run.completions[0]),
        "{} {:?}",
        run.regret,
        run.completions
    );
    let many = with_environment("power", environment);
    let (kl_ucb_plus, uniform) = (
        mean_regret(&many, "kl-ucb-plus", 3000, 1..11),
        mean_regret(&many, "uniform", 3000, 1..11),
    );
    assert!(kl_ucb_plus.mean < 0.3 * uniform.mean, "{} {}", kl_ucb_plus.mean, uniform.mean);
}

/// Another unit of money gives the same run, bit for bit if the factor is a power of two.
#[test]
fn the_unit_of_reward_does_not_matter() {
    let problem = |unit: f64| {
        let task = |name: &str, exponent, mean| TaskSpec {
            reward: Some(RewardLaw::Uniform { low: 0.5 * mean * unit, high: 1.5 * mean * unit }),
            ..TaskSpec::new(name, Curve::power(exponent, 1.0).unwrap())
        };
        ProblemSpec {
            reward_max: unit,
            tasks: vec![task("a", 0.4, 0.6), task("b", 0.6, 0.3)],
            ..ProblemSpec::default()
        }
        .check()
        .unwrap()
    };
    for learner in ["algorithm-1", "kl-ucb-plus", "thompson", "oful"] {
        let (one, many) =
            (play(&problem(1.0), learner, 500, 4), play(&problem(1024.0), learner, 500, 4));
        assert_eq!(many.regret, 1024.0 * one.regret, "{learner}");
        assert_eq!(many.completions, one.completions, "{learner}");
    }
}

#[test]
fn rewards_drawn_agree_with_their_means() {
    let problem = Problem::from_toml(
        r#"
        reward_max = 10.0
        task = [
            { curve = { family = "power", exponent = 0.5 }, reward = { law = "beta", mean = 6.0, concentration = 2.0 } },
            { curve = { family = "power", exponent = 0.7 }, reward = { law = "empirical", samples = [1.0, 2.0, 9.0] } },
            { curve = { family = "power", exponent = 0.6 }, value = 3.0 },
        ]
        "#,
        &NoFiles,
    )
    .unwrap();
    let runs: Vec<Replication> =
        (1..40).map(|seed| play(&problem, "kl-ucb-plus", 2000, seed)).collect();
    let difference = Statistics::of(
        &runs.iter().map(|run| run.realised_regret - run.regret).collect::<Vec<f64>>(),
    );
    assert!(difference.mean.abs() < 4.0 * difference.std_error.unwrap(), "{difference:?}");
}

/// On M-sets the split funds the top M indices, with ties broken in favour of the first task.
#[test]
fn m_sets_are_played_as_the_top_of_the_indices() {
    for (tasks, plays) in [(10, 3), (7, 1), (6, 5), (49, 49), (12, 7)] {
        let problem = instance(&format!("m-set:tasks={tasks},plays={plays}"), 1000, 1);
        let environment = Environment::new(&problem, 5).unwrap();
        for learner in [
            "algorithm-1",
            "kl-ucb-plus",
            "kl-ucb-mixture",
            "hoeffding",
            "kl-ucb",
            "thompson",
            "greedy",
            "epsilon-greedy",
            "cucb",
        ] {
            let mut campaign = Campaign::new(
                &problem,
                CampaignOptions {
                    learner: spec(learner).into(),
                    horizon: Some(1000),
                    feedback: Some(Feedback::Censored),
                    ..CampaignOptions::default()
                },
            )
            .unwrap();
            let mut event = confidence::Event::new(&problem, &environment, &spec(learner), 1000);
            for _ in 0..300 {
                let ticket = campaign.allocate(1.0, None).unwrap();
                let (round, success) = (ticket.round, ticket.allocation.success.clone());
                let played: Vec<usize> =
                    (0..tasks).filter(|task| ticket.allocation.spend[*task] > 0.0).collect();
                let weights = campaign.weights();
                if confidence::claims(&spec(learner)) {
                    assert_eq!(
                        event.check(weights, None),
                        Ok(()),
                        "{learner}, {plays} of {tasks}, round {round}"
                    );
                }
                let mut order: Vec<usize> = (0..tasks).collect();
                order.sort_by(|one, other| weights[*other].total_cmp(&weights[*one]));
                let mut top: Vec<usize> =
                    order[..plays].iter().copied().filter(|task| weights[*task] > 0.0).collect();
                top.sort_unstable();
                assert_eq!(
                    played, top,
                    "{learner}, {plays} of {tasks}, round {round}: {weights:?}"
                );
                let mut outcomes = vec![Outcome::Missing; tasks];
                environment.play(round, &success, Feedback::Censored, &mut outcomes);
                outcomes.iter().enumerate().for_each(|(task, outcome)| event.see(task, *outcome));
                campaign.observe_round(round, &outcomes).unwrap();
            }
        }
    }
}

/// The confidence event on every kind of problem: `play` checks every round.
#[test]
fn indices_are_above_the_means() {
    for name in
        ["square-roots", "power", "m-set", "k-armed", "saturating-jobs", "theorem-4:pairs=3"]
    {
        for learner in ["algorithm-1", "kl-ucb-mixture", "hoeffding", "full"] {
            assert!(confidence::claims(&spec(learner)));
            for seed in 1..=12 {
                play(&instance(name, 1500, seed), learner, 1500, seed);
            }
        }
    }
}

/// `greedy` is these learners without their widths; `uniform` has its shares in place of indices.
#[test]
fn an_index_without_its_width_is_detected() {
    for name in ["square-roots", "power", "m-set", "k-armed", "theorem-4:pairs=3"] {
        for learner in ["greedy", "uniform"] {
            let (problem, learner) = (instance(name, 1500, 1), spec(learner));
            let play = Play {
                problem: &problem,
                learner: &learner.into(),
                feedback: Feedback::Censored,
                horizon: 1500,
                seed: 1,
            };
            assert!(confidence::watched(&play).is_err(), "{name} {learner}");
        }
    }
}

#[test]
fn greedy_gets_stuck_where_the_others_do_not() {
    let problem = instance("k-armed", 20_000, 1);
    let (greedy, kl_ucb_plus) = (
        mean_regret(&problem, "greedy", 20_000, 1..21),
        mean_regret(&problem, "kl-ucb-plus", 20_000, 1..21),
    );
    assert!(greedy.mean > 5.0 * kl_ucb_plus.mean, "{} {}", greedy.mean, kl_ucb_plus.mean);
    let half = mean_regret(&problem, "greedy", 10_000, 1..21);
    assert!(
        (greedy.mean / half.mean - 2.0).abs() < 0.1,
        "linear: {} then {}",
        half.mean,
        greedy.mean
    );
}

#[test]
fn summaries_add_up() {
    let problem = Arc::new(instance("power", 500, 1));
    let case = Case {
        name: "power".to_owned(),
        source: Source::Problem(problem),
        horizon: 500,
        parameter: None,
    };
    let learners = ["kl-ucb-plus", "uniform"].map(|name| spec(name).into()).to_vec();
    let experiment =
        Experiment { cases: vec![case], learners, feedback: None, replications: 6, seed: 3 };
    let stop = AtomicBool::new(false);
    let mut results = vec![vec![Vec::new(), Vec::new()]];
    for job in experiment.jobs() {
        results[job.case][job.learner].push(experiment.play(job, &stop).unwrap().unwrap());
    }
    let summary = experiment.summaries(&results).unwrap().remove(0);
    let kl_ucb_plus = &summary.learners[0];
    let by_hand = results[0][0].iter().map(|run| run.regret).sum::<f64>() / 6.0;
    assert!((kl_ucb_plus.regret.mean - by_hand).abs() < 1e-12);
    assert_eq!(kl_ucb_plus.curve.last().unwrap().mean, kl_ucb_plus.regret.mean);
    assert!(
        kl_ucb_plus
            .curve
            .iter()
            .all(|point| point.low95.unwrap() <= point.mean && point.mean <= point.high95.unwrap())
    );
    for shares in &kl_ucb_plus.shares {
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    // The even split has the same regret in every round.
    let uniform = &summary.learners[1];
    assert!((uniform.regret.mean - 500.0 * summary.uniform_regret_per_round).abs() < 1e-9);
    assert!(uniform.regret.std_error.unwrap() < 1e-9 && uniform.bounds.is_empty());
    // One decade ends at the horizon: about nine tenths of the regret.
    let [decade] = uniform.decades[..] else { panic!("{:?}", uniform.decades) };
    let start = 50.0f64;
    let per_decade = (500.0 - start) * summary.uniform_regret_per_round / (500.0 / start).log10();
    assert_eq!(decade.round, 500);
    assert!((decade.mean / per_decade - 1.0).abs() < 0.02, "{decade:?}, not {per_decade}");
    assert!((summary.limit_per_decade.unwrap() - 3.61).abs() < 0.005);
    assert!(
        kl_ucb_plus.bounds[0]
            .values
            .iter()
            .zip(&kl_ucb_plus.curve)
            .all(|(bound, point)| *bound > point.mean)
    );
}
