//! Equal thresholds joined: among tasks that all need the same spend, the worthiest are funded
//! first.
//!
//! A group of tasks with one and the same jump is one step curve whose n-th step is worth the n-th
//! largest weight. Its envelope is itself at every step, so the paper's M-sets, where all tasks are
//! equal, are solved by the first relaxation.

use crate::curve::REACH;
use crate::oracle::domain::Form;

/// Tasks with one and the same jump.
#[derive(Debug)]
pub(in crate::oracle) struct IdenticalThresholds {
    /// The spend that each of them needs.
    pub(in crate::oracle) at: f64,
    members: Vec<Member>,
    /// The members' order of this call: the first ones are funded first.
    order: Vec<u32>,
    /// What the first task that cannot be funded would pay per unit of budget.
    next_multiplier: f64,
}

/// A task of a group: success before and after the jump, times the curve's height.
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

    /// Writes the step curve for these values and this much budget into `form`.
    pub(in crate::oracle) fn build(&mut self, values: &[f64], residual: f64, form: &mut Form) {
        let Form::Points { spend, success, .. } = form else { return };
        let members = &self.members;
        let gain = |member: u32| {
            let member = members[member as usize];
            values[member.task as usize] * (member.after - member.before)
        };
        let affordable = (residual / (self.at * REACH)) as usize;
        let funded = affordable.min(self.order.len());
        let first = |a: &u32, b: &u32| gain(*b).total_cmp(&gain(*a)).then(a.cmp(b));
        if funded > 0 && funded < self.order.len() {
            self.order.select_nth_unstable_by(funded - 1, first);
        }
        self.order[..funded].sort_unstable_by(first);
        self.next_multiplier =
            self.order[funded..].iter().map(|&member| gain(member)).fold(0.0, f64::max) / self.at;
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
            // Shares such as 1/49 may add up to a digit more than the whole.
            spend.push(((position + 1) as f64 * self.at).min(residual));
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

    /// Hands the group's spend to its tasks.
    pub(in crate::oracle) fn expand(&self, total: f64, spend: &mut [f64]) {
        let funded = (total / (self.at * REACH)) as usize;
        for (position, &member) in self.order.iter().enumerate() {
            spend[self.members[member as usize].task as usize] =
                if position < funded { self.at } else { 0.0 };
        }
    }
}
