//! The spend at which the marginal return falls to a target: the demand at that multiplier.

use super::{Search, Target, TargetError, TargetPlan};
use crate::numeric::compensated::sum;
use crate::plan::outcomes;

impl Search<'_> {
    pub(super) fn demand_at(&mut self, least: f64) -> Result<TargetPlan, TargetError> {
        let tasks = self.problem.tasks();
        if let Some(task) = tasks.iter().find(|task| task.curve().is_custom()) {
            return Err(TargetError::CustomFunction { task: task.name().to_owned() });
        }
        let spend = self.demands(least);
        let total = sum(spend.iter().copied());
        let (is_reached, reached, allocation) = match self.limit {
            // The budget ends first, and its last unit returns more.
            Some(limit) if total > limit => {
                let nearest = self.solve(limit)?;
                (false, nearest.price, nearest)
            }
            _ if total > self.needed => (true, least, self.allocation_of(&spend, least)),
            // No unit returns as much: the largest return of the first one.
            _ => {
                let first = outcomes(self.problem, self.values, total, &spend, 0.0);
                let nearest =
                    first.iter().filter_map(|outcome| outcome.return_up).fold(0.0, f64::max);
                let price = nearest * (1.0 - 1e-9);
                let spend = self.demands(price);
                (false, nearest, self.allocation_of(&spend, price))
            }
        };
        let total = sum(allocation.spend.iter().copied());
        Ok(TargetPlan {
            target: Target::MarginalReturn(least),
            is_reached,
            reached,
            allocation,
            low: total,
            high: total,
            proof: Vec::new(),
        })
    }
}
