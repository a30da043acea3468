//! The state of a campaign as a versioned JSON document. A loaded campaign continues bit for bit as
//! the saved one would have.

use serde::{Deserialize, Serialize};

use super::guards::{GuardState, SavedGuardState};
use super::open_rounds::{OpenRound, OpenRounds};
use super::{Campaign, CampaignError, CampaignOptions};
use crate::feedback::Feedback;
use crate::learner::{LearnerChoice, LearnerState, StateError};
use crate::oracle::WarmStart;
use crate::problem::Problem;

/// The version that this library writes.
const VERSION: u32 = 1;

/// The saved state of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignState {
    version: u32,
    /// The learner with its parameters.
    learner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
    /// The names of the tasks: the state belongs to a problem with these tasks.
    tasks: Vec<String>,
    /// The number of issued rounds.
    round: u64,
    /// The warm start of the oracle's next search.
    oracle: WarmStart,
    /// The state of the learner.
    learnt: LearnerState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watch: Option<SavedGuardState>,
    open: Vec<OpenRound>,
    /// The number of reports with a clipped reward.
    #[serde(default, skip_serializing_if = "is_zero")]
    clipped: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl CampaignState {
    /// Reads a document that [`CampaignState::to_json`] wrote.
    ///
    /// # Errors
    /// If it is not the state of a campaign, or a newer version wrote it.
    pub fn from_json(text: &str) -> Result<Self, StateError> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| StateError::Document(error.into()))?;
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        match version {
            Some(version) if version == u64::from(VERSION) => {}
            Some(found) => return Err(StateError::Version { found, known: VERSION }),
            None => return Err(StateError::NoVersion),
        }
        Self::deserialize(value).map_err(|error| StateError::Document(error.into()))
    }

    /// As a JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Campaign {
    /// The state of the campaign.
    #[must_use]
    pub fn save(&self) -> CampaignState {
        CampaignState {
            version: VERSION,
            learner: self.planner.choice.to_string(),
            horizon: self.horizon,
            feedback: self.feedback,
            seed: self.seed,
            tasks: self.planner.names.clone(),
            round: self.round,
            oracle: self.planner.oracle.warm_start(),
            learnt: self.planner.learner.save(),
            watch: self.planner.guard_state.as_ref().map(|state| state.save()),
            open: self.open.records(),
            clipped: self.clipped,
        }
    }

    /// Continues a saved campaign with a built-in learner, for the same problem.
    ///
    /// # Errors
    /// If the state does not belong to a problem with these tasks, or is damaged.
    pub fn load(problem: &Problem, state: &CampaignState) -> Result<Self, CampaignError> {
        Self::load_with(problem, state.learner.parse()?, state)
    }

    /// Continues a saved campaign with this learner, which may be your own.
    ///
    /// # Errors
    /// As [`Campaign::load`].
    pub fn load_with(
        problem: &Problem,
        learner: LearnerChoice,
        state: &CampaignState,
    ) -> Result<Self, CampaignError> {
        let options = CampaignOptions {
            learner,
            horizon: state.horizon,
            feedback: Some(state.feedback),
            seed: state.seed,
            // The saved state has them, if the campaign started from them.
            ignore_seen: true,
            ..CampaignOptions::default()
        };
        let mut campaign = Self::new(problem, options)?;
        if campaign.planner.names != state.tasks {
            return Err(StateError::Tasks {
                found: state.tasks.clone(),
                expected: campaign.planner.names.clone(),
            }
            .into());
        }
        campaign.planner.learner.load(&state.learnt)?;
        campaign.planner.oracle.set_warm_start(&state.oracle);
        campaign.planner.guard_state = state
            .watch
            .as_ref()
            .map(|saved| GuardState::load(problem, saved).map(Box::new))
            .transpose()?;
        campaign.round = state.round;
        campaign.clipped = state.clipped;
        campaign.open = restored(&campaign, state)?;
        Ok(campaign)
    }
}

/// The open rounds of a state, checked.
fn restored(campaign: &Campaign, state: &CampaignState) -> Result<OpenRounds, StateError> {
    let tasks = campaign.planner.names.len();
    let keeps_allocations = campaign.open.keeps_allocations();
    let mut open = OpenRounds::new(tasks, keeps_allocations);
    let mut last = 0;
    for record in &state.open {
        let split = if keeps_allocations { tasks } else { 0 };
        let fits = record.waits.len() == tasks
            && record.spend.len() == split
            && record.success.len() == split;
        if !(fits && record.round > last && record.round <= state.round) {
            return Err(StateError::OpenRound { round: record.round, last: state.round });
        }
        last = record.round;
        open.restore(record.clone());
    }
    Ok(open)
}
