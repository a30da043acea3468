//! The same problem with narrower bounds: within the data, near the present spends.

use super::errors::{ErrorList, FieldPath};
use super::{Bounds, Problem, ProblemErrorKind, ProblemErrors, Task};

impl Problem {
    /// The same problem with other bounds, one per task. The caller ensures that they are valid.
    pub(crate) fn with_bounds(&self, bounds: &[Bounds]) -> Self {
        let changed = |(task, bounds): (&Task, &Bounds)| task.with_bounds(*bounds);
        Self { tasks: self.tasks.iter().zip(bounds).map(changed).collect(), ..self.clone() }
    }

    /// The same problem with spends bounded by `covers`: a task that has it gets nothing or an
    /// amount that the log of its curve covers. Narrower bounds remain.
    ///
    /// # Errors
    /// If the bounds of a task allow no spend that its log covers.
    pub fn within_data(&self) -> Result<Self, ProblemErrors> {
        let mut errors = ErrorList::default();
        let mut bounds: Vec<Bounds> = Vec::with_capacity(self.tasks.len());
        for (position, task) in self.tasks.iter().enumerate() {
            let bounded = task.bounds_within_data();
            if bounded.is_none()
                && let Some([low, high]) = task.covers()
            {
                let path = FieldPath::task(position);
                let kind = ProblemErrorKind::OutsideCovers { low, high };
                errors.add(FieldPath::Key(&path, "covers"), kind);
            }
            bounds.push(bounded.unwrap_or(task.bounds()));
        }
        errors.into_result(())?;
        Ok(self.with_bounds(&bounds))
    }

    /// The same problem with every spend kept near its present one: between `1 - share` and
    /// `1 + share` times `current`. Narrower bounds remain. Excluded and retired tasks stay so.
    ///
    /// # Errors
    /// If a task has no `current`, or its bounds allow no spend near it.
    pub fn within_current(&self, share: f64) -> Result<Self, ProblemErrors> {
        let mut errors = ErrorList::default();
        let mut bounds: Vec<Bounds> = Vec::with_capacity(self.tasks.len());
        for (position, task) in self.tasks.iter().enumerate() {
            let own = task.own_bounds();
            let path = FieldPath::task(position);
            let path = FieldPath::Key(&path, "current");
            bounds.push(match task.current() {
                _ if task.bounds().max == 0.0 => own,
                None => {
                    errors.add(path, ProblemErrorKind::MissingCurrent);
                    own
                }
                Some(current) => {
                    let (low, high) =
                        (current * (1.0 - share).max(0.0), current * (1.0 + share.max(0.0)));
                    own.between(low, high).unwrap_or_else(|| {
                        errors.add(path, ProblemErrorKind::OutsideCurrent { low, high });
                        own
                    })
                }
            });
        }
        errors.into_result(())?;
        Ok(self.with_bounds(&bounds))
    }
}

impl Bounds {
    /// Both these bounds and an interval; `None` if no spend satisfies both.
    pub(crate) fn between(self, low: f64, high: f64) -> Option<Self> {
        let (min, max) = (self.min.max(low), self.max.min(high));
        if min > max {
            return None;
        }
        // With a positive minimum the spend cannot be zero.
        if min > 0.0 {
            let min = min.max(self.at_least);
            return (min <= max).then_some(Self { min, max, at_least: 0.0 });
        }
        let max = if self.at_least <= max { max } else { 0.0 };
        Some(Self { min, max, at_least: if max > 0.0 { self.at_least } else { 0.0 } })
    }
}

impl Task {
    /// The bounds that it was given, even if it is retired.
    pub(super) fn own_bounds(&self) -> Bounds {
        self.extras.as_ref().map_or(Bounds::NONE, |extras| extras.bounds)
    }

    /// Its bounds and `covers`; `None` if they contradict each other.
    fn bounds_within_data(&self) -> Option<Bounds> {
        let bounds = self.bounds();
        let Some([low, high]) = self.covers() else { return Some(bounds) };
        let max = bounds.max.min(high);
        if bounds.min > 0.0 {
            let min = bounds.min.max(low);
            return (min <= max && bounds.max >= low).then_some(Bounds { min, max, at_least: 0.0 });
        }
        let at_least = bounds.at_least.max(low);
        // Nothing can always be spent, if no amount of the log is allowed.
        let max = if at_least <= max { max } else { 0.0 };
        Some(Bounds { min: 0.0, max, at_least: if max > 0.0 { at_least } else { 0.0 } })
    }
}
