//! Identical thresholds joined: among tasks that need the same spend, those with the largest gains
//! are funded first.
//!
//! Such a group is one domain whose `n`-th step gains the `n`-th largest amount. Its items all are
//! vertices of its envelope, so problems with one threshold (M-sets) are solved by the LP
//! relaxation.

use crate::oracle::domain::Form;
use crate::problem::affordable;

/// Tasks with the same single jump.
#[derive(Debug)]
pub(in crate::oracle) struct IdenticalThresholds {
    /// The spend that each of them needs.
    pub(in crate::oracle) at: f64,
    members: Vec<Member>,
    /// The members by decreasing gain in this call.
    order: Vec<u32>,
    /// The gain per unit of budget of the first task beyond the budget; zero if none is affordable.
    next_multiplier: f64,
}

/// A task of a group: success before and after the jump, times the height of the curve.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Member {
    pub(in crate::oracle) task: u32,
    pub(in crate::oracle) before: f64,
    pub(in crate::oracle) after: f64,
}

impl IdenticalThresholds {
    pub(in crate::oracle) fn new(at: f64, members: Vec<Member>) -> Self {
        let order = (0..members.len() as u32).collect();
        Self { at, members, order, next_multiplier: 0.0 }
    }

    pub(in crate::oracle) fn len(&self) -> usize {
        self.members.len()
    }

    /// Writes the step curve of the group for these values and this residual budget into `form`.
    pub(in crate::oracle) fn build(&mut self, values: &[f64], residual: f64, form: &mut Form) {
        let Form::Points { spend, success, .. } = form else { return };
        let members = &self.members;
        let gain = |member: u32| {
            let member = members[member as usize];
            values[member.task as usize] * (member.after - member.before)
        };
        let affordable = affordable(residual, self.at);
        let funded = affordable.min(self.order.len());
        let first = |a: &u32, b: &u32| gain(*b).total_cmp(&gain(*a)).then(a.cmp(b));
        if funded > 0 && funded < self.order.len() {
            self.order.select_nth_unstable_by(funded - 1, first);
        }
        self.order[..funded].sort_unstable_by(first);
        let next = self.order[funded..].iter().map(|&member| gain(member)).fold(0.0, f64::max);
        self.next_multiplier = if affordable > 0 { next / self.at } else { 0.0 };
        spend.clear();
        success.clear();
        spend.push(0.0);
        success
            .push(members.iter().map(|member| values[member.task as usize] * member.before).sum());
        for (position, &member) in self.order[..funded].iter().enumerate() {
            let gain = gain(member);
            if !(gain > 0.0) {
                break;
            }
            spend.push(multiple_rounded_down(position + 1, self.at));
            success.push(success[position] + gain);
        }
    }

    pub(in crate::oracle) fn next_multiplier(&self) -> f64 {
        self.next_multiplier
    }

    /// The tasks of the group.
    pub(in crate::oracle) fn tasks(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|member| member.task as usize)
    }

    /// Distributes the spend of the group to its tasks.
    pub(in crate::oracle) fn expand(&self, total: f64, spend: &mut [f64]) {
        let funded = (total / self.at).round() as usize;
        for (position, &member) in self.order.iter().enumerate() {
            spend[self.members[member as usize].task as usize] =
                if position < funded { self.at } else { 0.0 };
        }
    }
}

fn multiple_rounded_down(count: usize, spend: f64) -> f64 {
    let product = count as f64 * spend;
    let is_too_large = (count as f64).mul_add(spend, -product) < 0.0;
    if is_too_large { product.next_down() } else { product }
}
