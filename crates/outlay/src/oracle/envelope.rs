//! The concave envelope of a curve on an interval: vertices joined by edges, then perhaps a smooth
//! concave branch.
//!
//! With one linear constraint the multiplier search needs only the envelopes, and at its solution
//! at most one task lies inside an edge, where the envelope is above the curve.

use smallvec::SmallVec;

use super::domain::{Domain, Form, Smooth};

/// A vertex of the envelope and the edge that starts there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vertex {
    pub(super) spend: f64,
    pub(super) success: f64,
    /// Slope of the edge to the next vertex or to the branch; infinite if the branch starts at this
    /// vertex, zero if nothing follows.
    pub(super) slope: f64,
    /// The curve itself runs along the edge, so the envelope is exact there.
    pub(super) is_exact: bool,
}

/// The smooth end of an envelope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    pub(super) start: f64,
    pub(super) end: f64,
    /// The point at which the edge from the last vertex is tangent; the start if there is no edge.
    pub(super) tangent_point: f64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Envelope {
    /// Nearly all envelopes of S-curves have one vertex, which is stored in place.
    pub(super) vertices: SmallVec<[Vertex; 1]>,
    pub(super) branch: Option<Branch>,
    /// A flat stretch lies between the last vertex and the next point.
    has_flat_gap: bool,
    /// The interval of the envelope.
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Envelope {
    /// Builds the envelope of `domain` on `[low, high]`, reusing the memory.
    pub(super) fn build(&mut self, domain: &Domain, low: f64, high: f64) {
        self.vertices.clear();
        self.branch = None;
        self.has_flat_gap = false;
        self.low = low;
        self.high = high;
        match &domain.form {
            Form::Points { spend, success, linear } => {
                self.build_points(domain, spend, success, *linear)
            }
            Form::Smooth(smooth) => self.build_smooth(smooth, domain.at_least),
        }
    }

    fn build_points(&mut self, domain: &Domain, spend: &[f64], success: &[f64], linear: bool) {
        let (low, high) = (self.low, self.high);
        let mut from = low;
        self.push(low, domain.form.success(low), false);
        if low == 0.0 && domain.at_least > 0.0 {
            if high < domain.at_least {
                return;
            }
            from = domain.at_least;
            self.push(from, domain.form.success(from), false);
        }
        let first = spend.partition_point(|&point| point <= from);
        let last = spend.partition_point(|&point| point <= high);
        for position in first..last {
            self.push(spend[position], success[position], linear);
        }
        if linear && last < spend.len() && high > from {
            self.push(high, domain.form.success(high), true);
        }
    }

    /// Adds a point to the right and removes the vertices below the new edge. `is_joined`: the
    /// curve is linear up to the point.
    fn push(&mut self, spend: f64, success: f64, is_joined: bool) {
        let mut is_linear = is_joined && !self.has_flat_gap;
        while let Some(&last) = self.vertices.last() {
            if spend <= last.spend || success <= last.success {
                self.has_flat_gap |= spend > last.spend;
                return;
            }
            let slope = (success - last.success) / (spend - last.spend);
            let before = self.vertices.len().checked_sub(2).map(|position| self.vertices[position]);
            // Collinear edges are one edge: at their multiplier both would be tied.
            if let Some(before) = before.filter(|before| before.slope <= slope * (1.0 + COLLINEAR))
            {
                is_linear &= before.is_exact && before.slope == slope;
                self.vertices.pop();
                continue;
            }
            if let Some(last) = self.vertices.last_mut() {
                last.slope = slope;
                last.is_exact = is_linear;
            }
            break;
        }
        self.has_flat_gap = false;
        self.vertices.push(Vertex { spend, success, slope: 0.0, is_exact: false });
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

    /// Joins the vertices to the concave branch and removes vertices below the tangent.
    fn join_branch(&mut self, smooth: &Smooth, start: f64) {
        let end = self.high;
        loop {
            let Some(&vertex) = self.vertices.last() else { return };
            if vertex.spend == start {
                // The curve is concave from the vertex on: no edge, no tie.
                self.end_with(f64::INFINITY, Branch { start, end, tangent_point: start });
                break;
            }
            let (slope, tangent_point) = tangent(smooth, vertex.spend, vertex.success, start, end);
            let before =
                self.vertices.len().checked_sub(2).map(|position| self.vertices[position].slope);
            if before.is_some_and(|before| before <= slope) {
                self.vertices.pop();
                continue;
            }
            self.end_with(slope, Branch { start, end, tangent_point });
            break;
        }
    }

    fn end_with(&mut self, slope: f64, branch: Branch) {
        if let Some(last) = self.vertices.last_mut() {
            last.slope = slope;
        }
        self.branch = Some(branch);
    }

    /// Moves the right end of the interval, if that changes only the end of the branch.
    pub(super) fn move_end(&mut self, domain: &Domain, high: f64) -> bool {
        if high == self.high {
            return true;
        }
        match (&domain.form, &mut self.branch) {
            (Form::Points { spend, .. }, _) => {
                let last = spend.last().copied().unwrap_or(0.0).max(domain.at_least);
                if last > high || last > self.high {
                    return false;
                }
            }
            (Form::Smooth(_), Some(branch))
                if branch.tangent_point < high.min(self.high) && branch.start < high =>
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
/// A tangent point before `end` does not depend on `end`. The search therefore ignores the end
/// unless it must, and an envelope whose end was moved is bit-identical to one built there.
fn tangent(smooth: &Smooth, spend: f64, success: f64, start: f64, end: f64) -> (f64, f64) {
    let (slope, tangent_point) = steepest(smooth, (spend, success), start, (start, f64::MAX));
    if slope > 0.0 && tangent_point <= end {
        (slope, tangent_point)
    } else {
        steepest(smooth, (spend, success), end, (start, end))
    }
}

/// [`tangent`] on a range of the branch. Each step moves to the best point of the branch at the
/// current slope and takes the slope to it (Dinkelbach's method), which converges superlinearly.
fn steepest(smooth: &Smooth, vertex: (f64, f64), first: f64, range: (f64, f64)) -> (f64, f64) {
    let slope_to = |point: f64| (smooth.success(point) - vertex.1) / (point - vertex.0);
    let (mut tangent_point, mut slope) = (first, slope_to(first));
    for _ in 0..MAX_TANGENT_STEPS {
        if !(slope > 0.0) {
            break;
        }
        let point = smooth.at_slope(slope).0.clamp(range.0, range.1);
        let next = slope_to(point);
        if !(next > slope) {
            break;
        }
        tangent_point = point;
        slope = next;
    }
    (slope.max(0.0), tangent_point)
}

/// Relative difference of slopes that count as equal.
const COLLINEAR: f64 = 8.0 * f64::EPSILON;
/// Ten steps reach the last digit; the limit guards against rounding that prevents convergence.
const MAX_TANGENT_STEPS: usize = 60;
