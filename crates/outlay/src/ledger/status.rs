//! The status of a ledger: spend and gain of each task, open rounds, and whether the completions
//! agree with the curves.

use super::curve_misfit::tail_bound;
use super::delivery::Delivery;
use super::{CurveMisfit, IssuedRound, Ledger, LedgerError, ReportedOutcome, Round};
use crate::problem::{CompletionLaw, Problem, Seen, Task};

/// The status of a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerStatus {
    /// The number of issued rounds.
    pub rounds: u64,
    /// The cancelled rounds.
    pub cancelled: Vec<u64>,
    /// Open rounds, each with the number of missing outcomes.
    pub open: Vec<(u64, usize)>,
    /// The total spend, without cancelled rounds.
    pub spend: f64,
    /// The total reported reward, in the problem's unit. Clipped rewards count as the largest one.
    pub gain: f64,
    /// The number of outcomes whose reported reward is above the largest one.
    pub clipped: u64,
    /// The next round with the problem's budget; absent if the budget does not cover the lower
    /// bounds.
    pub ahead: Option<IssuedRound>,
    /// One entry per task, in the problem's order.
    pub tasks: Vec<TaskStatus>,
}

/// The status of a task. Rewards are in the problem's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStatus {
    /// Its total spend.
    pub spend: f64,
    /// Its share of the total spend; absent before the first round.
    pub share: Option<f64>,
    /// The number of reported outcomes.
    pub reported: u64,
    /// The number of completions among them.
    pub completions: u64,
    /// The number of completions that its curve predicts for the reported rounds, at the spend that
    /// was reported with the outcome or else at the allocated one.
    pub expected: f64,
    /// How much of the allocated budget was spent, where spends were reported.
    pub delivery: Option<Delivery>,
    /// The total reward of its completions. Clipped rewards count as the largest one.
    pub gain: f64,
    /// The number of outcomes whose reported reward is above the largest one.
    pub clipped: u64,
    /// Mean reward of its completions; absent before the first.
    pub mean: Option<f64>,
    /// The completions of the log that the learner started from, beside those of the rounds.
    pub seen: Option<Seen>,
    /// The learner's index of the task, which decides the next allocation. Absent if the learner
    /// has no indices, or the task is retired.
    pub index: Option<f64>,
    /// The exploration bonus: the index minus the mean reward of all completions, those of the log
    /// included. Absent without a completion.
    pub bonus: Option<f64>,
    /// Its spend in the next round with the problem's budget; absent if there is no such round or
    /// the task is retired.
    pub next: Option<f64>,
    /// Present if the completions disagree with the curve.
    pub misfit: Option<CurveMisfit>,
}

impl Ledger {
    /// The status of the ledger.
    ///
    /// # Errors
    /// Only if the ledger is damaged.
    pub fn status(&self) -> Result<LedgerStatus, LedgerError> {
        // The next round is computed on a copy, so that no round is issued.
        let mut ahead = self.replayed(&self.reports)?;
        let next = ahead.next(None, &[]).ok();
        let weights = next
            .as_ref()
            .filter(|_| !self.settings.learner.chooses_allocation())
            .map(|_| ahead.campaign.weights());
        let spend = self.played().flat_map(|round| &round.spend).sum::<f64>() + 0.0;
        let tasks = (0..self.problem.tasks().len()).map(|task| {
            let is_active = !self.problem.tasks()[task].is_retired();
            let weights = weights.filter(|_| is_active);
            let index = weights.map(|weights| weights[task] * self.problem.reward_max());
            let next = next.as_ref().filter(|_| is_active);
            let next = next.map(|next| next.allocation.spend[task]);
            self.task_status(task, spend, index, next)
        });
        let tasks: Vec<TaskStatus> = tasks.collect();
        let open = self
            .rounds
            .iter()
            .enumerate()
            .map(|(place, round)| (place as u64 + 1, round.waiting()));
        Ok(LedgerStatus {
            rounds: self.rounds(),
            cancelled: (1..=self.rounds()).filter(|round| self.is_cancelled(*round)).collect(),
            open: open.filter(|(_, waiting)| *waiting > 0).collect(),
            spend,
            gain: tasks.iter().map(|task| task.gain).sum::<f64>() + 0.0,
            clipped: tasks.iter().map(|task| task.clipped).sum(),
            ahead: next,
            tasks,
        })
    }

    fn task_status(
        &self,
        task: usize,
        total: f64,
        index: Option<f64>,
        next: Option<f64>,
    ) -> TaskStatus {
        let spend = self.played().map(|round| round.spend[task]).sum::<f64>() + 0.0;
        let mut chances: Vec<f64> = Vec::new();
        let mut expected = 0.0;
        for (problem, first, last) in self.versions() {
            let Some(definition) = problem.tasks().get(task) else { continue };
            let (mut usual, mut own) = (0.0, 0.0);
            for round in &self.rounds[first as usize - 1..last as usize] {
                let Some(known) = round.outcomes[task] else { continue };
                let chance = chance(definition, task, round, known);
                match &round.volume {
                    None => usual += chance,
                    Some(volume) => own += volume[task] * chance,
                }
                chances.push(chance);
            }
            expected += definition.volume() * usual + own;
        }
        let completions = self.reported(task).map(|(_, known)| known.completions).sum::<u64>();
        let is_gain = |(_, known): &(&Round, ReportedOutcome)| known.completions > 0;
        let counted = |(_, known): (&Round, ReportedOutcome)| {
            Some(self.problem.clipped_reward(known.completions, known.reward?))
        };
        let gain = self.reported(task).filter(is_gain).filter_map(counted).sum::<f64>() + 0.0;
        let clipped = self.reported(task).filter(|(_, known)| self.is_clipped(known)).count();
        let mean = (completions > 0).then(|| gain / completions as f64);
        let seen = self.seen(task);
        let learned_mean = match seen {
            None => mean,
            Some(seen) => {
                let completions = completions.saturating_add(seen.completions);
                Seen { completions, reward: gain + seen.reward }.mean()
            }
        };
        // Two-sided, and corrected for the number of tasks.
        let probability = 2.0 * tail_bound(&chances, expected, completions, self.completion_law());
        let is_misfit = probability * (self.problem.tasks().len() as f64) < CurveMisfit::LEVEL;
        TaskStatus {
            spend,
            share: (total > 0.0).then(|| spend / total),
            reported: chances.len() as u64,
            completions,
            expected,
            delivery: Delivery::new(
                self.reported(task).filter_map(|(round, known)| {
                    known.spend.map(|spent| (round.spend[task], spent))
                }),
            ),
            gain,
            clipped: clipped as u64,
            mean,
            seen,
            index,
            bonus: learned_mean.zip(index).map(|(mean, index)| index - mean),
            next,
            misfit: is_misfit.then_some(CurveMisfit { probability }),
        }
    }

    /// The rounds that were not cancelled.
    fn played(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(|round| !round.is_cancelled)
    }

    /// The rounds in which the outcome of a task was reported, in their order.
    fn reported(&self, task: usize) -> impl Iterator<Item = (&Round, ReportedOutcome)> {
        self.rounds.iter().filter_map(move |round| Some((round, round.outcomes[task]?)))
    }

    /// The law of the number of completions: over all versions of the problem the one that allows
    /// the largest deviations.
    fn completion_law(&self) -> CompletionLaw {
        let dispersion = |law: &CompletionLaw| match law {
            CompletionLaw::Single => 0.0,
            CompletionLaw::Binomial | CompletionLaw::Poisson => 1.0,
            CompletionLaw::NegativeBinomial { dispersion } => *dispersion,
        };
        let laws = self.versions().map(|(problem, ..)| completion_law(problem));
        let widest = laws.max_by(|one, other| dispersion(one).total_cmp(&dispersion(other)));
        widest.unwrap_or(CompletionLaw::Single)
    }
}

fn completion_law(problem: &Problem) -> CompletionLaw {
    let default = if problem.has_counts() { CompletionLaw::Poisson } else { CompletionLaw::Single };
    problem.environment().completions.unwrap_or(default)
}

/// The probability of success of a task in a round by the curve of the round, at the spend that was
/// reported.
fn chance(definition: &Task, task: usize, round: &Round, known: ReportedOutcome) -> f64 {
    let scale = round.scale.as_ref().map_or(1.0, |scale| scale[task]);
    known.spend.map_or(round.success[task], |spend| definition.curve().success(spend / scale))
}
