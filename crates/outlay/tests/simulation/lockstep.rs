//! Replications that are played together have the bits of those that are played alone.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use outlay::experiment::{Case, Experiment, Job, Pace, Play, Replication, Source};
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::problem::{BudgetLaw, DelayLaw, EnvironmentSpec};
use outlay::random::{Draws, ManyBits, Purpose};
use outlay::{Curve, Problem, ProblemSpec, RewardLaw, TaskSpec};

/// Every digit of every number: the shortest text of a float is its own.
fn digits(replications: &[Replication]) -> Vec<String> {
    replications.iter().map(|replication| format!("{replication:?}")).collect()
}

fn assert_same(problem: &Problem, learner: &LearnerSpec, horizon: u64, seeds: &[u64], about: &str) {
    let stop = AtomicBool::new(false);
    let play = Play { problem, learner, feedback: learner.entry().feedback, horizon, seed: 99 };
    let together = play.run_together(seeds, &stop).unwrap().unwrap();
    let alone: Vec<_> =
        seeds.iter().map(|&seed| (Play { seed, ..play }).run(&stop).unwrap().unwrap()).collect();
    for (lane, (together, alone)) in digits(&together).iter().zip(&digits(&alone)).enumerate() {
        assert_eq!(
            together,
            alone,
            "{about}: {learner}, {} tasks, {horizon} rounds, lane {lane}",
            problem.tasks().len()
        );
    }
    assert_eq!(together.len(), seeds.len());
}

/// Draws whatever a problem may be made of.
struct Maker(ManyBits);

impl Maker {
    fn new(seed: u64) -> Self {
        Self(Draws::new(seed, Purpose::Instance).round(1).many(0))
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.next_uniform()
    }

    fn below(&mut self, count: usize) -> usize {
        (self.0.next_uniform() * count as f64) as usize
    }

    fn happens(&mut self, chance: f64) -> bool {
        self.0.next_uniform() < chance
    }

    fn reward(&mut self, all_or_nothing: bool) -> RewardLaw {
        let mean = self.between(0.05, 0.95);
        match if all_or_nothing { 0 } else { self.below(5) } {
            0 => RewardLaw::Bernoulli { mean },
            1 => RewardLaw::Beta { mean, concentration: None },
            2 => RewardLaw::Constant { mean },
            3 => RewardLaw::Uniform { low: 0.5 * mean, high: mean },
            _ => RewardLaw::Empirical { samples: vec![0.0, mean, 1.0] },
        }
    }

    /// A power task; with `edges` it may have bounds that bind, a floor and a ceiling.
    fn task(&mut self, name: usize, budget: f64, edges: bool, all_or_nothing: bool) -> TaskSpec {
        let scale =
            if self.happens(0.5) { budget } else { self.between(0.3 * budget, 3.0 * budget) };
        let mut curve = Curve::power(self.between(0.1, 0.85), scale).unwrap();
        if edges && self.happens(0.2) {
            curve = curve
                .with_floor(self.between(0.0, 0.3))
                .unwrap()
                .with_ceiling(self.between(0.5, 1.0))
                .unwrap();
        }
        let mut task = TaskSpec {
            reward: Some(self.reward(all_or_nothing)),
            ..TaskSpec::new(format!("task-{name}"), curve)
        };
        if edges && self.happens(0.2) {
            task.max = Some(self.between(0.05 * budget, budget));
        }
        if edges && self.happens(0.1) {
            task.min = Some(self.between(0.0, 0.02 * budget));
        }
        task
    }

    /// Power curves in a plain world: what goes together.
    fn power(&mut self, tasks: usize, edges: bool) -> Problem {
        let budget = [1.0, 1.0, 1e-3, 250.0][self.below(4)];
        let all_or_nothing = self.happens(0.6);
        let tasks = (0..tasks).map(|name| self.task(name, budget, edges, all_or_nothing)).collect();
        ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
    }

    /// A curve of another kind, or a world that is not plain: what does not.
    fn other(&mut self, tasks: usize) -> Problem {
        let mut specs: Vec<TaskSpec> =
            (0..tasks).map(|name| self.task(name, 1.0, false, true)).collect();
        let mut environment = EnvironmentSpec::default();
        match self.below(5) {
            0 => environment.delay = Some(DelayLaw::Geometric { mean: 3.0 }),
            1 => environment.available = Some(0.7),
            2 => environment.budget = Some(BudgetLaw::Uniform { low: 0.5, high: 1.5 }),
            3 => specs[0].curve = Curve::saturating(0.4).unwrap(),
            _ => specs.iter_mut().for_each(|task| task.curve = Curve::power(0.5, 1.0).unwrap()),
        }
        ProblemSpec { tasks: specs, environment, ..ProblemSpec::default() }.check().unwrap()
    }
}

fn learners() -> Vec<LearnerSpec> {
    LEARNERS.iter().map(|entry| entry.name.parse().unwrap()).collect()
}

/// Learners that go together.
fn indices() -> Vec<LearnerSpec> {
    ["paper", "sharp", "tight", "hoeffding", "kl-log", "greedy", "sharp:c=3"]
        .map(|name| name.parse().unwrap())
        .to_vec()
}

#[test]
fn random_problems_have_the_same_bits() {
    for case in 0..120 {
        let mut maker = Maker::new(case);
        let tasks = 1 + maker.below(40);
        let edges = maker.happens(0.5);
        let problem = maker.power(tasks, edges);
        let learner = indices()[case as usize % indices().len()];
        let horizon = 1 + maker.below(400) as u64;
        let seeds: Vec<u64> =
            (0..3 + maker.below(9) as u64).map(|replication| 1000 * case + replication).collect();
        assert_same(&problem, &learner, horizon, &seeds, "power curves");
    }
}

#[test]
fn every_number_of_tasks_and_lanes() {
    let seeds: Vec<u64> = (5..16).collect();
    for tasks in 1..=18 {
        let problem = Maker::new(tasks).power(tasks as usize, false);
        assert_same(
            &problem,
            &LearnerSpec::Paper,
            150,
            &seeds[..tasks as usize % 11 + 1],
            "tasks and lanes",
        );
    }
}

#[test]
fn long_runs_make_many_anchors() {
    for learner in indices() {
        let problem = Maker::new(7).power(10, false);
        assert_same(&problem, &learner, 4000, &[3, 1, 4, 1, 5, 9, 2, 6], "long");
    }
}

/// Tasks with wide bounds and some that bind: lanes come and go between the quick way and the
/// general search.
#[test]
fn lanes_that_hit_their_bounds_come_back() {
    for case in 0..12 {
        let mut maker = Maker::new(500 + case);
        let mut spec = ProblemSpec {
            tasks: (0..5).map(|name| maker.task(name, 1.0, false, true)).collect(),
            ..ProblemSpec::default()
        };
        // About what the task is given: it is at its bound in some rounds and not in others.
        spec.tasks[0].max = Some(maker.between(0.1, 0.4));
        let problem = spec.check().unwrap();
        assert_same(
            &problem,
            &indices()[case as usize % indices().len()],
            1500,
            &[10, 20, 30, 40, 50, 60, 70],
            "bounds",
        );
    }
}

#[test]
fn what_does_not_go_together_is_played_alone() {
    for case in 0..45 {
        let mut maker = Maker::new(900 + case);
        let tasks = 2 + maker.below(4);
        let problem = maker.other(tasks);
        assert_same(
            &problem,
            &learners()[case as usize % learners().len()],
            60,
            &[1, 2, 3, 4, 5],
            "others",
        );
        let problem = maker.power(tasks, false);
        assert_same(
            &problem,
            &learners()[case as usize % learners().len()],
            60,
            &[1, 2, 3, 4, 5],
            "every learner",
        );
    }
}

fn experiment(replications: u64) -> Experiment {
    let case = |name: &str, source: Source| Case {
        name: name.to_owned(),
        source,
        horizon: 80,
        parameter: None,
    };
    Experiment {
        cases: vec![
            case("power", Source::Instance("power:tasks=6".parse().unwrap())),
            case("theorem-4", Source::Instance("theorem-4".parse().unwrap())),
            case("own", Source::Problem(Arc::new(Maker::new(3).power(5, true)))),
        ],
        learners: ["sharp", "thompson", "tight"].map(|name| name.parse().unwrap()).to_vec(),
        feedback: None,
        replications,
        seed: 11,
    }
}

fn results(experiment: &Experiment, jobs: &[Job], pace: Pace) -> Vec<(Job, String)> {
    let mut results = Vec::new();
    experiment
        .run(jobs, pace, &AtomicBool::new(false), |job, run| {
            results.push((job, format!("{run:?}")))
        })
        .unwrap();
    results.sort_unstable();
    results
}

/// Whatever the threads, and whichever jobs are left to do.
#[test]
fn the_grouping_does_not_show() {
    let experiment = experiment(9);
    let jobs: Vec<Job> = experiment.jobs().collect();
    let one = NonZeroUsize::MIN;
    let expected = results(&experiment, &jobs, Pace { threads: one, lockstep: false });
    assert_eq!(expected.len(), 81);
    for threads in [1, 2, 3, 8] {
        let pace = Pace::from(NonZeroUsize::new(threads).unwrap());
        assert!(pace.lockstep);
        assert!(results(&experiment, &jobs, pace) == expected, "{threads} threads");
    }
    // A run that goes on where another was interrupted.
    let keeps = |job: &Job| !(job.replication * 7 + job.learner as u64).is_multiple_of(3);
    let rest: Vec<Job> = jobs.iter().copied().filter(keeps).collect();
    let expected: Vec<_> = expected.into_iter().filter(|(job, _)| keeps(job)).collect();
    assert!(results(&experiment, &rest, one.into()) == expected);
}

#[test]
fn a_stopped_group_leaves_nothing() {
    let problem = Maker::new(1).power(10, false);
    let learner = LearnerSpec::Paper;
    let play = Play {
        problem: &problem,
        learner: &learner,
        feedback: learner.entry().feedback,
        horizon: 5000,
        seed: 1,
    };
    assert_eq!(play.run_together(&[1, 2, 3, 4], &AtomicBool::new(true)).unwrap(), None);
    assert_eq!(play.run_together(&[], &AtomicBool::new(true)).unwrap(), Some(Vec::new()));
}

#[test]
fn what_is_refused_alone_is_refused_together() {
    let problem = Maker::new(1).power(3, false);
    let learner = LearnerSpec::Paper;
    let play = Play {
        problem: &problem,
        learner: &learner,
        feedback: outlay::feedback::Feedback::Bandit,
        horizon: 50,
        seed: 1,
    };
    let stop = AtomicBool::new(false);
    let told = play.run_together(&[1, 2, 3, 4], &stop).unwrap_err().to_string();
    assert_eq!(told, play.run(&stop).unwrap_err().to_string());
}
