//! Labels, alternatives, and the additional state of a label beside spend and gain.

/// A partial solution, relative to the reference items.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Label<K> {
    /// Total spend in units.
    pub(in crate::oracle) spend: i64,
    /// Change of value.
    pub(in crate::oracle) gain: f64,
    /// The last trace entry of this label, or of its predecessor while `alternative` is pending.
    pub(in crate::oracle) trace: u32,
    /// The alternative just taken and not yet traced, or [`NONE`].
    pub(in crate::oracle) alternative: u32,
    pub(in crate::oracle) key: K,
}

/// The end of a trace.
pub(in crate::oracle) const NONE: u32 = u32::MAX;

/// Another item for a domain than its reference item.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Alternative<S = ()> {
    pub(in crate::oracle) item: u32,
    /// Change of the number of jumps; zero without a cardinality.
    pub(in crate::oracle) count: i32,
    /// Change of spend, in units.
    pub(in crate::oracle) shift: i64,
    /// Change of value.
    pub(in crate::oracle) gain: f64,
    pub(in crate::oracle) reduced_cost: f64,
    /// The segment after the item, if the search has open segments.
    pub(in crate::oracle) segment: S,
}

/// The additional state of a label; `()` for spend and gain alone.
pub(in crate::oracle) trait Key: Copy + Default {
    /// What an alternative has beside its item.
    type Segment: Copy;
    /// Whether the lists of a stage can be merged, which takes a third buffer.
    const IS_MERGED: bool;
    /// Labels with different counts do not dominate each other.
    fn count(self) -> i32;
    /// The key after taking an alternative.
    fn after(self, alternative: &Alternative<Self::Segment>) -> Self;
    /// The sum of reduced costs; `at_multiplier` is the one that spend and gain alone imply.
    fn reduced_cost(self, at_multiplier: impl FnOnce() -> f64) -> f64;

    /// The length of the open segment in units and its gain per unit; zero if none is open.
    fn open_segment(self) -> (i64, f64) {
        (0, 0.0)
    }
}

impl Key for () {
    type Segment = ();
    const IS_MERGED: bool = true;

    fn count(self) -> i32 {
        0
    }

    fn after(self, _: &Alternative) -> Self {}

    fn reduced_cost(self, at_multiplier: impl FnOnce() -> f64) -> f64 {
        at_multiplier()
    }
}

/// The number of jumps taken, relative to the reference items, and the reduced costs at both
/// multipliers.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct Cardinality {
    pub(in crate::oracle) count: i32,
    pub(in crate::oracle) reduced_cost: f64,
}

impl Cardinality {
    pub(in crate::oracle) fn with<S>(self, alternative: &Alternative<S>) -> Self {
        Self {
            count: self.count + alternative.count,
            reduced_cost: self.reduced_cost + alternative.reduced_cost,
        }
    }
}

impl Key for Cardinality {
    type Segment = ();
    const IS_MERGED: bool = false;

    fn count(self) -> i32 {
        self.count
    }

    fn after(self, alternative: &Alternative) -> Self {
        self.with(alternative)
    }

    fn reduced_cost(self, _: impl FnOnce() -> f64) -> f64 {
        self.reduced_cost
    }
}

impl<K: Key> Label<K> {
    /// The label of the reference items.
    pub(in crate::oracle) fn root(spend: i64) -> Self {
        Self { spend, gain: 0.0, trace: NONE, alternative: NONE, key: K::default() }
    }

    /// The label after taking the alternative at `position`, not yet traced.
    pub(in crate::oracle) fn after(
        &self,
        alternative: &Alternative<K::Segment>,
        position: u32,
    ) -> Self {
        Self {
            spend: self.spend + alternative.shift,
            gain: self.gain + alternative.gain,
            trace: self.trace,
            alternative: position,
            key: self.key.after(alternative),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.key.open_segment().0 > 0
    }

    /// The gain at a total spend of this many units, which is at least that of the items.
    fn gain_at(&self, units: i64) -> f64 {
        let (length, slope) = self.key.open_segment();
        self.gain + slope * (units - self.spend).min(length) as f64
    }

    /// Whether every spend of the other label, which spends no less, gains no more. A gain is
    /// concave in the spend, so the two ends of the other segment decide.
    pub(super) fn dominates(&self, other: &Self) -> bool {
        let end = other.spend + other.key.open_segment().0;
        self.key.count() == other.key.count()
            && self.gain_at(other.spend) >= other.gain
            && self.gain_at(end) >= other.gain_at(end)
    }
}
