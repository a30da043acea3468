//! Synthetic summaries: regret curves like those of learners, with noise from a fixed seed.

use outlay::feedback::Feedback;
use outlay::simulation::{
    BoundCurve, CurvePoint, DecadePoint, LearnerSummary, Optimum, ReplicationSummary, Statistics,
    Summary,
};

/// Reproducible pseudo-random numbers between 0 and 1.
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Roughly normal, with mean 0 and deviation 1.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// The parameters of a synthetic summary.
pub(super) struct Made {
    pub(super) tasks: Vec<String>,
    pub(super) horizon: u64,
    pub(super) replications: u64,
    /// Name, feedback, and mean regret as a function of the rounds.
    pub(super) learners: Vec<(String, Feedback, Growth)>,
    pub(super) bounds: bool,
}

pub(super) type Growth = fn(f64) -> f64;

impl Made {
    /// The default: five learners with different growth.
    pub(super) fn usual() -> Self {
        let learners: [(&str, Feedback, Growth); 5] = [
            ("algorithm-1", Feedback::Censored, |round| 3.2 * (1.0 + round / 8.0).ln().powi(2)),
            ("kl-ucb-plus", Feedback::Censored, |round| 6.0 * (1.0 + round / 12.0).ln()),
            ("epsilon-greedy:epsilon=0.05", Feedback::Censored, |round| {
                8.0 * (1.0 + round / 10.0).ln() + 0.02 * round
            }),
            ("full", Feedback::Full, |round| 1.5 * (1.0 + round / 5.0).ln()),
            ("uniform", Feedback::Bandit, |round| 0.11 * round),
        ];
        let tasks = ["search", "social", "video", "display", "audio", "newsletter"]
            .map(str::to_owned)
            .to_vec();
        let learners =
            learners.map(|(name, feedback, growth)| (name.to_owned(), feedback, growth)).to_vec();
        Self { tasks, horizon: 10_000, replications: 100, learners, bounds: true }
    }

    pub(super) fn summary(&self) -> Summary {
        let spend: Vec<f64> =
            (0..self.tasks.len()).map(|task| 400.0 / (1.0 + task as f64)).collect();
        let learners = self
            .learners
            .iter()
            .enumerate()
            .map(|(place, learner)| self.learner(place as u64, learner))
            .collect();
        Summary {
            problem: "ad channels".to_owned(),
            parameter: None,
            tasks: self.tasks.clone(),
            horizon: self.horizon,
            seed: 1,
            replications: self.replications,
            optimum: Optimum { value: 1.886, spend, gap: 3e-13 },
            uniform_regret_per_round: 0.11,
            limit_per_decade: self.bounds.then_some(3.2),
            learners,
        }
    }

    fn rounds(&self) -> Vec<u64> {
        let mut rounds: Vec<u64> = (0..=80)
            .map(|step| (self.horizon as f64).powf(f64::from(step) / 80.0).round() as u64)
            .collect();
        rounds.dedup();
        rounds
    }

    fn learner(
        &self,
        place: u64,
        (name, feedback, growth): &(String, Feedback, Growth),
    ) -> LearnerSummary {
        let rounds = self.rounds();
        let paths: Vec<Vec<f64>> = (0..self.replications)
            .map(|seed| path(&rounds, *growth, 1000 * place + seed))
            .collect();
        let at = |point: usize| {
            Statistics::of(&paths.iter().map(|path| path[point]).collect::<Vec<_>>())
        };
        let point = |(position, &round): (usize, &u64)| {
            let Statistics { mean, low95, high95, q10, q90, .. } = at(position);
            CurvePoint { round, mean, low95, high95, q10, q90 }
        };
        let bound = |name: &str, factor: f64| BoundCurve {
            name: name.to_owned(),
            values: rounds
                .iter()
                .map(|&round| factor * (1.0 + (round as f64).ln().powi(2)))
                .collect(),
        };
        let bounds = if self.bounds && place == 0 {
            vec![bound("Theorem 3", 8.0), bound("Theorem 1", 4000.0)]
        } else {
            Vec::new()
        };
        LearnerSummary {
            learner: name.clone(),
            feedback: *feedback,
            regret: at(rounds.len() - 1),
            realised_regret: at(rounds.len() - 1),
            oracle_gap: 2e-9,
            pending: if place == 1 { 2.5 } else { 0.0 },
            replications: self.replication_summaries(&paths, place),
            curve: rounds.iter().enumerate().map(point).collect(),
            decades: decades(&rounds, &paths),
            shares: self.shares(&rounds, place),
            bounds,
        }
    }

    fn replication_summaries(&self, paths: &[Vec<f64>], place: u64) -> Vec<ReplicationSummary> {
        let mut noise = Noise::new(77 + place);
        let summary = |(seed, path): (usize, &Vec<f64>)| {
            let regret = *path.last().unwrap();
            let completions = (0..self.tasks.len())
                .map(|task| {
                    (self.horizon as f64 * (0.7 + 0.3 * noise.next()) / (1.0 + task as f64)) as u64
                })
                .collect();
            ReplicationSummary {
                seed: seed as u64 + 1,
                regret,
                realised_regret: regret,
                completions,
                success_mass: 0.0,
            }
        };
        paths.iter().enumerate().map(summary).collect()
    }

    /// From an even split towards the best one.
    fn shares(&self, rounds: &[u64], place: u64) -> Vec<Vec<f64>> {
        if self.tasks.len() > 200 {
            return Vec::new();
        }
        let total: f64 = (0..self.tasks.len()).map(|task| 1.0 / (1.0 + task as f64)).sum();
        let even = 1.0 / self.tasks.len() as f64;
        let at = |&round: &u64| {
            let learned = 1.0 - 1.0 / (1.0 + round as f64 / (20.0 * (1 + place) as f64)).sqrt();
            (0..self.tasks.len())
                .map(|task| even + learned * (1.0 / (1.0 + task as f64) / total - even))
                .collect()
        };
        rounds.iter().map(at).collect()
    }
}

/// The regret added by each full decade.
fn decades(rounds: &[u64], paths: &[Vec<f64>]) -> Vec<DecadePoint> {
    let place = |round: u64| rounds.partition_point(|traced| *traced < round);
    let decade = |end: u64| {
        let (from, to) = (place(end / 10), place(end));
        let added: Vec<f64> = paths.iter().map(|path| path[to] - path[from]).collect();
        let Statistics { mean, low95, high95, .. } = Statistics::of(&added);
        DecadePoint { round: rounds[to], mean, low95, high95 }
    };
    let last = rounds.last().copied().unwrap_or(0);
    [100, 1000, 10_000].into_iter().filter(|end| *end <= last).map(decade).collect()
}

/// The regret of one replication: growth at a random rate, with steps.
fn path(rounds: &[u64], growth: Growth, seed: u64) -> Vec<f64> {
    let mut noise = Noise::new(seed);
    let pace = (0.25 * noise.bell()).exp();
    let mut drift = 0.0;
    let step = |&round: &u64| {
        drift += 0.03 * noise.bell();
        growth(round as f64) * pace * (1.0 + drift)
    };
    rounds.iter().map(step).collect()
}
