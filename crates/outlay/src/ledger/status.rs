//! Where things stand: what each task got and gave, what is still open, and whether the curves can
//! be right.

use super::curve_misfit::tail_bound;
use super::{CurveMisfit, IssuedRound, Ledger, LedgerError, Round};

/// Where a ledger stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerStatus {
    /// Rounds handed out.
    pub rounds: u64,
    /// Rounds of which something is still to be told, and how many outcomes that is.
    pub open: Vec<(u64, usize)>,
    /// What was handed out to be spent.
    pub spend: f64,
    /// What was told to have come back, in the problem's unit.
    pub gain: f64,
    /// What would be handed out next with the problem's budget; absent if the budget does not cover
    /// the lower bounds.
    pub ahead: Option<IssuedRound>,
    /// One a task, in the problem's order.
    pub tasks: Vec<TaskStatus>,
}

/// Where a task stands. Rewards in the problem's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStatus {
    /// What was handed out to it so far.
    pub spend: f64,
    /// Of everything that was handed out; absent before the first round.
    pub share: Option<f64>,
    /// Outcomes told.
    pub reported: u64,
    /// Of these, successes.
    pub completions: u64,
    /// Successes to be expected of the rounds told, by the curve.
    pub expected: f64,
    /// What its successes brought together.
    pub gain: f64,
    /// Mean reward of a success; absent before the first.
    pub mean: Option<f64>,
    /// What the learner hopes a success to bring: it decides the next split. Absent if the learner
    /// has no weights.
    pub index: Option<f64>,
    /// What the index adds to the mean for what is not known yet; absent without a mean.
    pub bonus: Option<f64>,
    /// What it would get in the next round with the problem's budget; absent if there is no such
    /// round.
    pub next: Option<f64>,
    /// Absent: completions agree with the curve.
    pub misfit: Option<CurveMisfit>,
}

impl Ledger {
    /// Where things stand.
    ///
    /// # Errors
    /// Not unless the ledger is damaged.
    pub fn status(&self) -> Result<LedgerStatus, LedgerError> {
        // What would come next is found on a copy: looking hands nothing out.
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
        let told = |round: &&Round| round.told[task].is_some();
        let chances: Vec<f64> =
            self.rounds.iter().filter(told).map(|round| round.success[task]).collect();
        let known = || self.rounds.iter().filter_map(|round| round.told[task]);
        let completions = known().filter(|known| known.completed).count() as u64;
        let gain =
            known().filter(|known| known.completed).filter_map(|known| known.reward).sum::<f64>()
                + 0.0;
        let mean = (completions > 0).then(|| gain / completions as f64);
        // Too many or too few, in any of the tasks.
        let probability = 2.0 * tail_bound(&chances, completions);
        let is_misfit = probability * (self.problem.tasks().len() as f64) < CurveMisfit::LEVEL;
        TaskStatus {
            spend,
            share: (total > 0.0).then(|| spend / total),
            reported: chances.len() as u64,
            completions,
            // Nothing adds up to -0.
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
