//! The concave envelope of a curve on a domain: corners joined by chords, then perhaps a smooth
//! concave branch.
//!
//! One linear constraint means that the envelope is all the price search needs, and that at its
//! solution at most one task lies on the inside of a chord, where the envelope is above the curve.

use super::coordinate::{Coordinate, Form, Smooth};

/// A corner of the envelope and the chord that leaves it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Corner {
    pub(super) spend: f64,
    pub(super) success: f64,
    /// Slope of the chord to the next corner or to the branch; infinite if the branch starts right
    /// here, zero if nothing follows.
    pub(super) slope: f64,
    /// The curve itself runs along that chord, so any point on it is as good as the envelope says.
    pub(super) exact: bool,
}

/// The smooth end of an envelope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    pub(super) start: f64,
    pub(super) end: f64,
    /// Where the chord from the last corner touches it; the start if there is no chord.
    pub(super) touch: f64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Hull {
    pub(super) corners: Vec<Corner>,
    pub(super) branch: Option<Branch>,
    /// A flat stretch lies between the last corner and the next point.
    skipped: bool,
    /// The domain it was made for.
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Hull {
    /// Makes the envelope of `coordinate` on `[low, high]`, reusing its memory.
    pub(super) fn build(&mut self, coordinate: &Coordinate, low: f64, high: f64) {
        self.corners.clear();
        self.branch = None;
        self.skipped = false;
        self.low = low;
        self.high = high;
        match &coordinate.form {
            Form::Points { spend, success, linear } => {
                self.build_points(coordinate, spend, success, *linear)
            }
            Form::Smooth(smooth) => self.build_smooth(smooth, coordinate.at_least),
        }
    }

    fn build_points(
        &mut self,
        coordinate: &Coordinate,
        spend: &[f64],
        success: &[f64],
        linear: bool,
    ) {
        let (low, high) = (self.low, self.high);
        let mut from = low;
        self.push(low, coordinate.form.success(low), false);
        if low == 0.0 && coordinate.at_least > 0.0 {
            if high < coordinate.at_least {
                return;
            }
            from = coordinate.at_least;
            self.push(from, coordinate.form.success(from), false);
        }
        let first = spend.partition_point(|&point| point <= from);
        let last = spend.partition_point(|&point| point <= high);
        for position in first..last {
            self.push(spend[position], success[position], linear);
        }
        if linear && last < spend.len() && high > from {
            self.push(high, coordinate.form.success(high), true);
        }
    }

    /// Adds a point to the right; corners that fall below the new chord go. `joined`: the curve
    /// runs straight to it.
    fn push(&mut self, spend: f64, success: f64, joined: bool) {
        let mut straight = joined && !self.skipped;
        while let Some(&last) = self.corners.last() {
            if spend <= last.spend || success <= last.success {
                self.skipped |= spend > last.spend;
                return;
            }
            let slope = (success - last.success) / (spend - last.spend);
            let before = self.corners.len().checked_sub(2).map(|position| self.corners[position]);
            // Chords in one line up to rounding are one chord: at their price both would be tied.
            if let Some(before) = before.filter(|before| before.slope <= slope * (1.0 + IN_LINE)) {
                straight &= before.exact && before.slope == slope;
                self.corners.pop();
                continue;
            }
            if let Some(last) = self.corners.last_mut() {
                last.slope = slope;
                last.exact = straight;
            }
            break;
        }
        self.skipped = false;
        self.corners.push(Corner { spend, success, slope: 0.0, exact: false });
    }

    fn build_smooth(&mut self, smooth: &Smooth, at_least: f64) {
        let (low, high) = (self.low, self.high);
        let inflection = smooth.inflection();
        self.push(low, smooth.success(low), false);
        let mut start = low;
        if low == 0.0 && at_least > 0.0 {
            if high < at_least {
                return;
            }
            start = at_least;
            if start < inflection || high <= start {
                self.push(start, smooth.success(start), false);
            }
        }
        if high <= inflection {
            self.push(high, smooth.success(high), false);
            return;
        }
        if high <= start {
            return;
        }
        let branch_start = start.max(inflection);
        self.join_branch(smooth, branch_start);
    }

    /// Joins the corners to the concave branch: corners below the tangent from an earlier one go.
    fn join_branch(&mut self, smooth: &Smooth, start: f64) {
        let end = self.high;
        loop {
            let Some(&corner) = self.corners.last() else { return };
            if corner.spend == start {
                // The curve is concave from the corner on: no chord, no tie.
                self.end_with(f64::INFINITY, Branch { start, end, touch: start });
                break;
            }
            let (slope, touch) = tangent(smooth, corner.spend, corner.success, start, end);
            let before =
                self.corners.len().checked_sub(2).map(|position| self.corners[position].slope);
            if before.is_some_and(|before| before <= slope) {
                self.corners.pop();
                continue;
            }
            self.end_with(slope, Branch { start, end, touch });
            break;
        }
    }

    fn end_with(&mut self, slope: f64, branch: Branch) {
        if let Some(last) = self.corners.last_mut() {
            last.slope = slope;
        }
        self.branch = Some(branch);
    }

    /// Moves the right end of the domain, if that leaves everything but the end of the branch as it
    /// is.
    pub(super) fn move_end(&mut self, coordinate: &Coordinate, high: f64) -> bool {
        if high == self.high {
            return true;
        }
        match (&coordinate.form, &mut self.branch) {
            (Form::Points { spend, .. }, _) => {
                let last = spend.last().copied().unwrap_or(0.0).max(coordinate.at_least);
                if last > high || last > self.high {
                    return false;
                }
            }
            (Form::Smooth(_), Some(branch))
                if branch.touch < high.min(self.high) && branch.start < high =>
            {
                branch.end = high
            }
            (Form::Smooth(_), _) => return false,
        }
        self.high = high;
        true
    }
}

/// The largest slope of a line from `(spend, success)` to a point of the concave branch on `[start,
/// end]`, and that point.
///
/// Where the domain ends does not matter to a line that touches before; so the search does not look
/// at it unless it must, and a hull whose end was moved is, to the last bit, the one that would be
/// built there.
fn tangent(smooth: &Smooth, spend: f64, success: f64, start: f64, end: f64) -> (f64, f64) {
    let (slope, touch) = steepest(smooth, (spend, success), start, (start, f64::MAX));
    if slope > 0.0 && touch <= end {
        (slope, touch)
    } else {
        steepest(smooth, (spend, success), end, (start, end))
    }
}

/// The same on a range of the branch, beginning at `first`. Each step moves to the branch's best
/// point for the current slope and takes the slope to it (Dinkelbach): the slopes rise and converge
/// faster than linearly.
fn steepest(smooth: &Smooth, corner: (f64, f64), first: f64, range: (f64, f64)) -> (f64, f64) {
    let slope_to = |point: f64| (smooth.success(point) - corner.1) / (point - corner.0);
    let (mut touch, mut slope) = (first, slope_to(first));
    for _ in 0..TANGENT_STEPS {
        if !(slope > 0.0) {
            break;
        }
        let point = smooth.at_slope(slope).0.clamp(range.0, range.1);
        let next = slope_to(point);
        if !(next > slope) {
            break;
        }
        touch = point;
        slope = next;
    }
    (slope.max(0.0), touch)
}

/// Slopes this close, as a share, are the same line.
const IN_LINE: f64 = 8.0 * f64::EPSILON;
/// Ten steps reach the last digit; the limit guards against rounding that never settles.
const TANGENT_STEPS: usize = 60;
