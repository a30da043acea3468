//! The label search: exact solution of a multiple-choice knapsack near its relaxation.
//!
//! A *label* is a partial solution: for the domains of the stages passed it says which item each
//! of them takes, and all other domains take their reference item. Each stage extends every label
//! by the alternative items of one domain. Two rules keep the lists short:
//!
//! - **Dominance** (Nemhauser and Ullmann). A label is dropped if another one spends no more and
//!   gains no less. Labels with a [`Cardinality`] are only compared if they take equally many
//!   jumps.
//! - **Bound** (Pisinger's core algorithm). Every alternative has a reduced cost at the multiplier
//!   of the relaxation. The dual bound, less the reduced costs of a label, less the cost of
//!   completing it with the stages that follow, bounds every completion. A label whose bound does
//!   not exceed the best known solution is dropped, and the largest bound among the dropped labels
//!   is part of the final bound.
//!
//! Spends are whole multiples of a unit, so sums are exact and equal spends compare as equal.
//!
//! | part | file |
//! |---|---|
//! | labels, alternatives and the additional state of a label | `label` |
//! | the alternatives of one domain | `stage` |
//! | the best known value and the dropped bounds | `incumbent` |
//! | the lists, dominance and traces | `list` |
//! | the same for labels of spend and gain alone, by merging | `merge` |
//! | completion by the budget multiplier | `linear` |
//! | a bound at a second multiplier of spend | `cut` |
//! | the reduced costs up to which a pass has alternatives | `limits` |
//! | combinations of alternatives with about equal reduced costs | `two_lists` |
//!
//! [`mckp`](super::mckp) searches step curves, with and without a cardinality;
//! [`mixture`](super::mixture) adds an open segment and a concave remainder. They choose the stages
//! and bound the completions ([`Completion`]); the lists, dominance and traces are the same.

mod cut;
mod incumbent;
mod label;
mod limits;
mod linear;
mod list;
mod merge;
mod stage;
mod two_lists;

pub(super) use cut::LinearCut;
pub(super) use incumbent::Incumbent;
pub(super) use label::{Alternative, Cardinality, Key, Label, NONE};
pub(super) use limits::{CostLimits, FIRST_ALTERNATIVES};
pub(super) use linear::LinearCompletion;
pub(super) use list::{LabelList, equalize_capacity};
pub(super) use stage::{Ratios, Stage};
pub(super) use two_lists::TwoLists;

/// How a search bounds and completes its labels.
pub(super) trait Completion<K: Key> {
    /// Whether some completion by the stages after this one may beat the best known value; if not,
    /// the bound is recorded.
    fn can_improve(&mut self, label: &Label<K>, stage: &Stage) -> bool;

    /// Completes a new label without the later stages, and takes note of the solution if it is the
    /// best one; then whether the label can improve further. `changes` are the domains with another
    /// item than the reference item, and these items.
    fn examine(
        &mut self,
        label: &Label<K>,
        stage: &Stage,
        changes: impl Iterator<Item = (u32, u32)>,
    ) -> Verdict;
}

/// What becomes of a new label.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    /// It is the best known solution.
    pub(super) is_better: bool,
    /// It is extended further.
    pub(super) is_kept: bool,
}
