//! The passes of a search: the first ones take only the alternatives with the smallest reduced
//! costs, because a better solution leaves fewer of them below the gap. The last pass has all.

/// Alternatives with at least one of these reduced costs are left out of a pass.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct CostLimits {
    /// At the multipliers of the search.
    pub(in crate::oracle) own: f64,
    /// At the multiplier of the linear cut; infinite without one.
    pub(in crate::oracle) cut: f64,
}

/// The first pass has about this many alternatives; the limits then grow by this factor.
pub(in crate::oracle) const FIRST_ALTERNATIVES: usize = 48;
const GROWTH: f64 = 4.0;
/// The weight of reduced costs at the multiplier of the cut.
const CUT_WEIGHT: f64 = 1e-3;

impl CostLimits {
    /// The reduced costs relative to these limits. Those at the multiplier of the cut only matter
    /// among items that are alike otherwise.
    pub(in crate::oracle) fn score(&self, own: f64, cut: f64) -> f64 {
        own / self.own + CUT_WEIGHT * (cut / self.cut)
    }

    /// Limits for the first pass, from the [scores](Self::score) of all alternatives at the gaps.
    pub(in crate::oracle) fn first(self, scores: &mut [f64]) -> Self {
        if scores.len() <= FIRST_ALTERNATIVES {
            return self;
        }
        let share = *scores.select_nth_unstable_by(FIRST_ALTERNATIVES, f64::total_cmp).1;
        Self { own: self.own * share, cut: self.cut * (share / CUT_WEIGHT) }.at_most(self)
    }

    /// Whether a better solution may exist, if these are gaps.
    pub(in crate::oracle) fn are_open(self) -> bool {
        self.own > 0.0 && self.cut > 0.0
    }

    pub(in crate::oracle) fn at_most(self, gaps: Self) -> Self {
        Self { own: self.own.min(gaps.own), cut: self.cut.min(gaps.cut) }
    }

    /// Whether no alternative below the gaps was left out.
    pub(in crate::oracle) fn cover(self, gaps: Self) -> bool {
        self.own >= gaps.own && self.cut >= gaps.cut
    }

    /// The limits of the next pass: at least a share of the gaps, because many reduced costs may be
    /// zero.
    pub(in crate::oracle) fn next(self, gaps: Self) -> Self {
        let least = GROWTH * GROWTH * GROWTH;
        Self {
            own: (self.own * GROWTH).max(gaps.own / least),
            cut: (self.cut * GROWTH).max(gaps.cut / least),
        }
        .at_most(gaps)
    }

    pub(in crate::oracle) fn admit(self, own: f64, cut: f64) -> bool {
        own < self.own && cut < self.cut
    }
}
