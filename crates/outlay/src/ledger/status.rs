//! The status of a ledger: spend and gain of each task, open rounds, and whether the completions
//! agree with the curves.

use super::curve_misfit::tail_bound;
use super::{CurveMisfit, IssuedRound, Ledger, LedgerError, Round};

/// The status of a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerStatus {
    /// The number of issued rounds.
    pub rounds: u64,
    /// Open rounds, each with the number of missing outcomes.
    pub open: Vec<(u64, usize)>,
    /// The total spend.
    pub spend: f64,
    /// The total reported reward, in the problem's unit.
    pub gain: f64,
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
    /// The number of successes among them.
    pub completions: u64,
    /// The number of successes that its curve predicts for the reported rounds.
    pub expected: f64,
    /// The total reward of its successes.
    pub gain: f64,
    /// Mean reward of a success; absent before the first.
    pub mean: Option<f64>,
    /// The learner's index of the task, which decides the next allocation. Absent if the learner
    /// has no indices.
    pub index: Option<f64>,
    /// The exploration bonus: the index minus the mean. Absent without a mean.
    pub bonus: Option<f64>,
    /// Its spend in the next round with the problem's budget; absent if there is no such round.
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
        let spend = self.rounds.iter().flat_map(|round| &round.spend).sum::<f64>() + 0.0;
        let tasks = (0..self.problem.tasks().len()).map(|task| {
            let index = weights.map(|weights| weights[task] * self.problem.reward_max());
            let next = next.as_ref().map(|next| next.allocation.spend[task]);
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
            open: open.filter(|(_, waiting)| *waiting > 0).collect(),
            spend,
            gain: tasks.iter().map(|task| task.gain).sum::<f64>() + 0.0,
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
        let spend = self.rounds.iter().map(|round| round.spend[task]).sum::<f64>() + 0.0;
        let is_reported = |round: &&Round| round.outcomes[task].is_some();
        let chances: Vec<f64> =
            self.rounds.iter().filter(is_reported).map(|round| round.success[task]).collect();
        let known = || self.rounds.iter().filter_map(|round| round.outcomes[task]);
        let completions = known().filter(|known| known.completed).count() as u64;
        let gain =
            known().filter(|known| known.completed).filter_map(|known| known.reward).sum::<f64>()
                + 0.0;
        let mean = (completions > 0).then(|| gain / completions as f64);
        // Two-sided, and corrected for the number of tasks.
        let probability = 2.0 * tail_bound(&chances, completions);
        let is_misfit = probability * (self.problem.tasks().len() as f64) < CurveMisfit::LEVEL;
        TaskStatus {
            spend,
            share: (total > 0.0).then(|| spend / total),
            reported: chances.len() as u64,
            completions,
            // An empty sum is -0.0.
            expected: chances.iter().sum::<f64>() + 0.0,
            gain,
            mean,
            index,
            bonus: mean.zip(index).map(|(mean, index)| index - mean),
            next,
            misfit: is_misfit.then_some(CurveMisfit { probability }),
        }
    }
}
