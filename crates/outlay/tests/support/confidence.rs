//! The confidence event, for every run that a test plays.
//!
//! In every round, for every available task: `mean <= index <= mean + 2 sqrt(L / (1 + N))` with `L
//! = log(2 K² T²)`. Theorems 1 and 3 of the paper use nothing else about the index. For the
//! learners of [`claims`] a run fails with probability at most 1/(KT), even if outcomes are late (a
//! delay does not depend on its reward). Over all runs of the tests fewer than 0.2 failures are
//! expected, and the seeds are fixed, so no failure is accepted.

use std::collections::BTreeMap;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Feedback, Outcome};
use outlay::learner::{LearnerSpec, log_term};
use outlay::simulation::Environment;
use outlay::simulation::{Play, Replication};

/// True if the learner's indices are confidence bounds at that level. Those of `kl-ucb-plus`,
/// `kl-ucb` and `cucb` are not, and those of `oful` and `grid-ucb` are not of tasks.
pub(crate) fn claims(learner: &LearnerSpec) -> bool {
    matches!(
        learner,
        LearnerSpec::Algorithm1
            | LearnerSpec::KlUcbMixture
            | LearnerSpec::Hoeffding
            | LearnerSpec::Full
    )
}

/// Replays a run if its learner makes the claim; the error says where it fails.
pub(crate) fn failure(play: &Play<'_>, run: &Replication) -> Option<String> {
    if !play.learner.built_in().is_some_and(claims) {
        return None;
    }
    match watched(play) {
        Ok(seen) => (seen != run.completions).then(|| {
            format!("{}: not the same run: {seen:?}, {:?}", play.learner, run.completions)
        }),
        Err(failure) => Some(failure),
    }
}

/// Plays a run with any learner; returns the number of observed rewards of each task, or where the
/// event fails.
pub(crate) fn watched(play: &Play<'_>) -> Result<Vec<u64>, String> {
    let mut run = Watched::new(play);
    for round in 1..=play.horizon {
        run.deliver_late(round);
        run.round(round).map_err(|failure| {
            format!("{}, seed {}, round {round}: {failure}", play.learner, play.seed)
        })?;
    }
    run.deliver_late(play.horizon + 1);
    Ok(run.event.seen)
}

/// The data that decide whether the event holds.
pub(crate) struct Event {
    means: Vec<f64>,
    seen: Vec<u64>,
    log_term: f64,
    sees_forgone: bool,
}

impl Event {
    pub(crate) fn new(
        problem: &Problem,
        environment: &Environment,
        learner: &LearnerSpec,
        horizon: u64,
    ) -> Self {
        let tasks = problem.tasks().len();
        let sees_forgone = learner.entry().feedback == Feedback::Full;
        Self {
            means: environment.means().to_vec(),
            seen: vec![0; tasks],
            log_term: log_term(tasks, horizon),
            sees_forgone,
        }
    }

    pub(crate) fn check(&self, indices: &[f64], available: Option<&[bool]>) -> Result<(), String> {
        for (task, ((&index, &mean), &seen)) in
            indices.iter().zip(&self.means).zip(&self.seen).enumerate()
        {
            let most = mean + 2.0 * (self.log_term / (1.0 + seen as f64)).sqrt();
            if available.is_none_or(|available| available[task])
                && !(index >= mean && index <= most)
            {
                return Err(format!(
                    "the index of task {task} is {index}, not between {mean} and {most}"
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn see(&mut self, task: usize, outcome: Outcome) {
        let is_seen = matches!(outcome, Outcome::Done(_))
            || (self.sees_forgone && matches!(outcome, Outcome::Forgone(_)));
        self.seen[task] += u64::from(is_seen);
    }
}

/// A running replication that uses only the public interface.
struct Watched {
    campaign: Campaign,
    environment: Environment,
    feedback: Feedback,
    event: Event,
    available: Vec<bool>,
    success: Vec<f64>,
    outcomes: Vec<Outcome>,
    /// Ordered by the round after which they have arrived.
    late: BTreeMap<u64, Vec<(u64, usize, Outcome)>>,
}

impl Watched {
    fn new(play: &Play<'_>) -> Self {
        let Play { problem, learner, feedback, horizon, seed } = *play;
        let options = CampaignOptions {
            learner: learner.clone(),
            horizon: Some(horizon),
            feedback: Some(feedback),
            seed,
            ..CampaignOptions::default()
        };
        let environment = Environment::new(problem, seed).unwrap();
        let tasks = problem.tasks().len();
        Self {
            campaign: Campaign::new(problem, options).unwrap(),
            event: Event::new(problem, &environment, learner.built_in().unwrap(), horizon),
            environment,
            feedback,
            available: vec![true; tasks],
            success: vec![0.0; tasks],
            outcomes: vec![Outcome::Missing; tasks],
            late: BTreeMap::new(),
        }
    }

    fn round(&mut self, round: u64) -> Result<(), String> {
        let any_away = self.environment.availability(round, &mut self.available);
        let available = any_away.then_some(self.available.as_slice());
        let ticket = self.campaign.allocate(self.environment.budget(round), available).unwrap();
        self.success.copy_from_slice(&ticket.allocation.success);
        self.event.check(self.campaign.weights(), available)?;
        let away = self.success.iter_mut().zip(&self.available).filter(|(_, there)| !**there);
        away.for_each(|(success, _)| *success = 0.0);
        self.environment.play(round, &self.success, self.feedback, &mut self.outcomes);
        let away = self.outcomes.iter_mut().zip(&self.available).filter(|(_, there)| !**there);
        away.for_each(|(outcome, _)| *outcome = Outcome::Missing);
        // Without an available task there are no outcomes.
        if self.environment.has_delays() {
            self.send(round);
        } else if self.available.contains(&true) {
            self.outcomes
                .iter()
                .enumerate()
                .for_each(|(task, outcome)| self.event.see(task, *outcome));
            self.campaign.observe_round(round, &self.outcomes).unwrap();
        }
        Ok(())
    }

    /// Queues the outcomes of a round.
    fn send(&mut self, round: u64) {
        for (task, &outcome) in
            self.outcomes.iter().enumerate().filter(|(_, outcome)| **outcome != Outcome::Missing)
        {
            let arrival = round + self.environment.delay(round, task);
            self.late.entry(arrival).or_default().push((round, task, outcome));
        }
    }

    fn deliver_late(&mut self, round: u64) {
        while let Some(first) = self.late.first_entry().filter(|first| *first.key() < round) {
            for (round, task, outcome) in first.remove() {
                self.campaign.observe(round, task, outcome).unwrap();
                self.event.see(task, outcome);
            }
        }
    }
}
