//! Which bounds apply to a problem, and why the others do not.

use super::bounds::{Bound, NotApplicable, Side};
use super::diminishing_returns::shortest_horizon;
use super::special_families::{is_two_square_roots, plays, pure_powers};
use super::{
    AssumptionFailure, DiminishingReturns, PolylogBound, explicit_two_square_roots,
    kl_ucb_plus_bound, kl_ucb_plus_mass_bound, m_set_bound, power_proposition, theorem_2_lower,
    theorem_4_lower, worst_case_bound,
};
use crate::learner::KL_UCB_PLUS_FACTOR;
use crate::problem::{EnvironmentSpec, Problem};

/// The learners that the paper's two upper bounds hold for.
pub(super) const PAPER_LEARNERS: &str = "algorithm-1, kl-ucb-mixture, hoeffding, full";

/// The problem for which bounds are computed.
pub(super) struct Question<'a> {
    pub(super) problem: &'a Problem,
    /// The means, if all are known.
    pub(super) known: Option<Vec<f64>>,
    pub(super) unknown: &'a [String],
    pub(super) horizon: u64,
    /// The most successes that a round can have on average.
    pub(super) most_mass: f64,
}

impl Question<'_> {
    fn tasks(&self) -> usize {
        self.problem.tasks().len()
    }

    /// The means, if all are known.
    pub(super) fn means(&self) -> Result<&[f64], NotApplicable> {
        self.known.as_deref().ok_or_else(|| NotApplicable::UnknownMeans(self.unknown.to_vec()))
    }

    /// The smallest mean where Theorem 1 may hold, or what stands against it.
    fn least_mean(&self) -> Result<f64, NotApplicable> {
        rounds_alike(self.problem)?;
        if self.horizon < 3 {
            return Err(NotApplicable::FewRounds(3));
        }
        let known = self.means()?;
        match known.iter().position(|mean| *mean <= 0.0) {
            Some(place) => {
                Err(NotApplicable::ZeroMean(self.problem.tasks()[place].name().to_owned()))
            }
            None => Ok(known.iter().copied().fold(f64::INFINITY, f64::min)),
        }
    }

    pub(super) fn polylog(
        &self,
        diminishing: &Result<DiminishingReturns, Vec<AssumptionFailure>>,
    ) -> Result<PolylogBound, NotApplicable> {
        let returns = diminishing.as_ref().map_err(|_| NotApplicable::NoDiminishingReturns)?;
        self.least_mean()?;
        let means = self.known.as_deref().unwrap_or_default();
        let (tasks, horizon) = (means.len(), self.horizon);
        returns.polylog_bound(means, horizon).ok_or_else(|| NotApplicable::ShortHorizon {
            tasks,
            horizon,
            rounds: shortest_horizon(tasks),
        })
    }

    pub(super) fn bounds(
        &self,
        diminishing: &Result<DiminishingReturns, Vec<AssumptionFailure>>,
        polylog: &Result<PolylogBound, NotApplicable>,
        trivial: f64,
    ) -> Vec<Bound> {
        let mut bounds = vec![upper(
            "Theorem 1, general form",
            "thm:boost",
            PAPER_LEARNERS,
            "strong diminishing returns: order log² T",
            polylog.as_ref().map(|bound| bound.regret).map_err(Clone::clone),
        )];
        if diminishing.is_ok() {
            bounds.extend(self.power_bounds());
        }
        bounds.extend(self.worst_case_bounds());
        for bound in &mut bounds {
            bound.vacuous = bound.value.as_ref().ok().map(|value| *value >= trivial);
        }
        if *self.problem.environment() == EnvironmentSpec::default() && !self.problem.has_counts() {
            bounds.extend(self.lower_bounds());
        }
        bounds
    }

    /// The Proposition and the Lemma: closed forms, larger than the general one.
    fn power_bounds(&self) -> Vec<Bound> {
        let Some(exponents) = pure_powers(self.problem) else { return Vec::new() };
        let closed = self.least_mean().and_then(|mean| {
            // The other conditions of the Proposition hold if returns diminish.
            power_proposition(&exponents, mean, self.horizon)
                .ok_or(NotApplicable::NoDiminishingReturns)
        });
        let mut bounds = vec![upper(
            "Theorem 1, power curves",
            "prop:explicit:constant",
            PAPER_LEARNERS,
            "powers of the budget's share: order log² T, in closed form",
            closed,
        )];
        if is_two_square_roots(self.problem) {
            let value = self.least_mean().and_then(|mean| match mean >= 0.25 {
                true => Ok(explicit_two_square_roots(self.horizon)),
                false => Err(NotApplicable::SmallMean),
            });
            let about = "two square roots, means of at least 1/4: order log² T";
            bounds.push(upper(
                "two square roots",
                "lemma:explicit:Ktwo",
                PAPER_LEARNERS,
                about,
                value,
            ));
        }
        bounds
    }

    /// The bounds that hold for any curves and any means.
    fn worst_case_bounds(&self) -> Vec<Bound> {
        if self.problem.has_counts() {
            return self.count_bounds();
        }
        let (tasks, horizon) = (self.tasks(), self.horizon);
        let value = |value: f64| outside_model(self.problem).map_or(Ok(value), Err);
        let mass = self.most_mass.min(tasks as f64) * horizon as f64;
        let mut bounds = vec![
            upper(
                "Theorem 3, these curves",
                "Theorem 3",
                PAPER_LEARNERS,
                "any curves; success mass at most T · max Σ F",
                value(worst_case_bound(tasks, horizon, mass)),
            ),
            upper(
                "Theorem 3, any curves",
                "Theorem 3",
                PAPER_LEARNERS,
                "any curves; success mass at most K · T",
                value(worst_case_bound(tasks, horizon, tasks as f64 * horizon as f64)),
            ),
        ];
        if let Some(plays) = plays(self.problem).filter(|_| {
            let environment = self.problem.environment();
            environment.budget.is_none() && !environment.has_profiles()
        }) {
            let about = format!("M-sets: {plays} of {tasks} tasks succeed in a round");
            let bound = Bound {
                about,
                ..upper(
                    "M-sets",
                    "Corollary",
                    PAPER_LEARNERS,
                    "",
                    value(m_set_bound(tasks, plays, horizon)),
                )
            };
            bounds.push(bound);
        }
        let rounds = horizon as f64;
        let completions = self.most_mass.min(tasks as f64);
        bounds.push(upper(
            "kl-ucb-plus, these curves",
            "our proof (not peer reviewed)",
            "kl-ucb-plus",
            "any curves; at most max Σ F completions per round, every horizon",
            value(kl_ucb_plus_mass_bound(tasks, completions, rounds, KL_UCB_PLUS_FACTOR)),
        ));
        let any_curves = value(kl_ucb_plus_bound(tasks, rounds, KL_UCB_PLUS_FACTOR));
        bounds.push(upper(
            "kl-ucb-plus, any curves",
            "our proof (not peer reviewed)",
            "kl-ucb-plus",
            "any curves, every horizon",
            any_curves,
        ));
        bounds
    }

    /// The lower bounds, which depend on the curves only.
    fn lower_bounds(&self) -> Vec<Bound> {
        let mut bounds = Vec::new();
        if is_two_square_roots(self.problem) {
            let about = "two square roots, means 1/2 ± T^(-1/4)/6 one way round or the other; not \
                each problem";
            let value = theorem_2_lower(self.horizon).ok_or(NotApplicable::FewRounds(4));
            bounds.push(lower(
                "Theorem 2",
                "Theorem 2",
                "every learner that sees only totals",
                about,
                value,
            ));
        }
        let pairs = plays(self.problem).filter(|plays| 2 * plays == self.tasks());
        if let Some(pairs) = pairs {
            let about = "pairs of means 1/2 and 1/2 + 1/√T, on average over which is which; not \
                each problem; constant ours";
            let value = theorem_4_lower(pairs, self.horizon).ok_or(NotApplicable::FewRounds(16));
            bounds.push(lower(
                "Theorem 4",
                "Theorem 4",
                "every learner, whatever it sees",
                about,
                value,
            ));
        }
        bounds
    }
}

/// Whether all rounds are the same, as in the paper, or the reason why they are not.
pub(super) fn rounds_alike(problem: &Problem) -> Result<(), NotApplicable> {
    let environment = problem.environment();
    if let Some(reason) = outside_model(problem) {
        return Err(reason);
    }
    if environment.budget.is_some() {
        return Err(NotApplicable::VaryingBudget);
    }
    if environment.has_profiles() {
        return Err(NotApplicable::VaryingCurves);
    }
    if environment.available.is_some_and(|chance| chance < 1.0) {
        return Err(NotApplicable::AbsentTasks);
    }
    Ok(())
}

/// The reason why no upper bound holds, if any.
pub(super) fn outside_model(problem: &Problem) -> Option<NotApplicable> {
    outside_rounds(problem).or(problem.has_counts().then_some(NotApplicable::Counts))
}

/// The reason why no upper bound holds, with counts or without.
pub(super) fn outside_rounds(problem: &Problem) -> Option<NotApplicable> {
    let environment = problem.environment();
    if environment.delay.is_some() {
        return Some(NotApplicable::LateOutcomes);
    }
    (environment.has_profiles() && environment.hide_scale).then_some(NotApplicable::HiddenCurves)
}

pub(super) fn upper(
    name: &'static str,
    source: &'static str,
    learners: &'static str,
    about: &str,
    value: Result<f64, NotApplicable>,
) -> Bound {
    Bound {
        name,
        source,
        side: Side::AtMost,
        learners,
        about: about.to_owned(),
        value,
        vacuous: None,
    }
}

fn lower(
    name: &'static str,
    source: &'static str,
    learners: &'static str,
    about: &str,
    value: Result<f64, NotApplicable>,
) -> Bound {
    Bound { side: Side::AtLeast, ..upper(name, source, learners, about, value) }
}
