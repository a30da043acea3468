//! Stages: the alternatives of one domain, in the order in which the search takes them.

use super::label::Alternative;

/// The smallest reduced cost per unit of spend added, and freed.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Ratios {
    pub(in crate::oracle) up: f64,
    pub(in crate::oracle) down: f64,
}

impl Ratios {
    pub(in crate::oracle) const NONE: Self = Self { up: f64::INFINITY, down: f64::INFINITY };

    pub(in crate::oracle) fn min(self, other: Self) -> Self {
        Self { up: self.up.min(other.up), down: self.down.min(other.down) }
    }

    /// Takes note of a change of spend and its reduced cost.
    pub(in crate::oracle) fn consider(&mut self, shift: i64, reduced_cost: f64) {
        let ratio = reduced_cost / shift.unsigned_abs().max(1) as f64;
        let side = if shift > 0 { &mut self.up } else { &mut self.down };
        *side = side.min(ratio);
    }
}

/// The alternatives `first..last` of one domain; those from `open` on have an open segment.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Stage {
    pub(in crate::oracle) domain: u32,
    pub(in crate::oracle) first: u32,
    pub(in crate::oracle) open: u32,
    pub(in crate::oracle) last: u32,
    /// Stages are sorted by this: the smallest reduced cost per unit of spend.
    pub(in crate::oracle) efficiency: f64,
    /// The ratios of this stage, and those of all later ones.
    pub(in crate::oracle) ratios: Ratios,
    pub(in crate::oracle) later: Ratios,
    /// The reduced cost of the reference item at the multiplier of a [`LinearCut`], and the sum of
    /// all later ones.
    ///
    /// [`LinearCut`]: super::LinearCut
    pub(in crate::oracle) regret: f64,
    pub(in crate::oracle) later_regret: f64,
}

impl Stage {
    /// The stage of the alternatives from `first` to the end of the list, none of them open.
    pub(in crate::oracle) fn new(domain: u32, first: usize, alternatives: &[Alternative]) -> Self {
        let mut ratios = Ratios::NONE;
        for alternative in &alternatives[first..] {
            ratios.consider(alternative.shift, alternative.reduced_cost);
        }
        let last = alternatives.len() as u32;
        Self {
            domain,
            first: first as u32,
            open: last,
            last,
            efficiency: ratios.up.min(ratios.down),
            ratios,
            later: Ratios::NONE,
            regret: 0.0,
            later_regret: 0.0,
        }
    }

    /// The number of alternatives.
    pub(in crate::oracle) fn len(&self) -> u64 {
        u64::from(self.last - self.first)
    }

    /// The smallest ratios of this stage and all later ones.
    pub(in crate::oracle) fn ratios_from_here(&self) -> Ratios {
        self.ratios.min(self.later)
    }

    /// The regret of this stage and all later ones.
    pub(in crate::oracle) fn regret_from_here(&self) -> f64 {
        self.regret + self.later_regret
    }

    /// Sorts stages by efficiency and fills in the ratios and the regret of the later ones; those
    /// of what follows the last stage are given.
    pub(super) fn order(stages: &mut [Self], after: Ratios, regret: f64) {
        stages.sort_unstable_by(|a, b| {
            a.efficiency.total_cmp(&b.efficiency).then(a.domain.cmp(&b.domain))
        });
        let (mut later, mut later_regret) = (after, regret);
        for stage in stages.iter_mut().rev() {
            (stage.later, stage.later_regret) = (later, later_regret);
            (later, later_regret) = (stage.ratios_from_here(), stage.regret_from_here());
        }
    }
}
