//! A campaign as a versioned JSON document. One that is loaded goes on as if it had never stopped,
//! bit for bit.

use serde::{Deserialize, Serialize};

use super::guards::{Watch, WatchState};
use super::open::{OpenRound, OpenRounds};
use super::{Campaign, CampaignError};
use crate::feedback::Feedback;
use crate::learner::StateError;
use crate::oracle::WarmStart;
use crate::problem::Problem;

/// The version that this library writes.
const VERSION: u32 = 1;

/// Everything a campaign knows, to be kept and loaded again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignState {
    version: u32,
    /// The learner as asked for.
    learner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
    /// Names of the tasks: the state belongs to a problem with these.
    tasks: Vec<String>,
    /// Rounds handed out.
    round: u64,
    /// Where the oracle's next search starts.
    oracle: WarmStart,
    /// What the learner has learnt.
    learnt: serde_json::Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watch: Option<WatchState>,
    open: Vec<OpenRound>,
}

impl CampaignState {
    /// Reads what [`CampaignState::to_json`] wrote.
    ///
    /// # Errors
    /// If it is not a state, or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, StateError> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| StateError(format!("state: {error}")))?;
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        match version {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(StateError(format!(
                    "state: version {version} is not known here, only {VERSION}: a newer outlay wrote it"
                )));
            }
            None => {
                return Err(StateError(
                    "state: has no version, so it is not the state of a campaign".to_owned(),
                ));
            }
        }
        Self::deserialize(value).map_err(|error| StateError(format!("state: {error}")))
    }

    /// As a JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Campaign {
    /// Everything it knows.
    #[must_use]
    pub fn save(&self) -> CampaignState {
        CampaignState {
            version: VERSION,
            learner: self.decider.spec.to_string(),
            horizon: self.horizon,
            feedback: self.feedback,
            seed: self.seed,
            tasks: self.decider.names.clone(),
            round: self.round,
            oracle: self.decider.oracle.warm_start(),
            learnt: self.decider.learner.save(),
            watch: self.decider.watch.as_ref().map(|watch| watch.save()),
            open: self.open.records(),
        }
    }

    /// Goes on where a saved campaign stopped, for the same problem.
    ///
    /// # Errors
    /// If the state does not belong to a problem with these tasks, or is damaged.
    pub fn load(problem: &Problem, state: &CampaignState) -> Result<Self, CampaignError> {
        let mut campaign =
            Self::new(problem, &state.learner.parse()?, state.horizon, state.feedback, state.seed)?;
        if campaign.decider.names != state.tasks {
            let message = format!(
                "state: its tasks are {}, those of the problem {}",
                list(&state.tasks),
                list(&campaign.decider.names)
            );
            return Err(StateError(message).into());
        }
        campaign.decider.learner.load(&state.learnt)?;
        campaign.decider.oracle.set_warm_start(&state.oracle);
        campaign.decider.watch = state
            .watch
            .as_ref()
            .map(|watch| Watch::load(problem, watch).map(Box::new))
            .transpose()?;
        campaign.round = state.round;
        campaign.open = restored(&campaign, state)?;
        Ok(campaign)
    }
}

/// The open rounds of a state, checked.
fn restored(campaign: &Campaign, state: &CampaignState) -> Result<OpenRounds, StateError> {
    let tasks = campaign.decider.names.len();
    let keeps_splits = campaign.open.keeps_splits();
    let mut open = OpenRounds::new(tasks, keeps_splits);
    let mut last = 0;
    for record in &state.open {
        let split = if keeps_splits { tasks } else { 0 };
        let fits = record.waits.len() == tasks
            && record.spend.len() == split
            && record.success.len() == split;
        if !(fits && record.round > last && record.round <= state.round) {
            return Err(StateError(format!(
                "state: open round {} does not fit: rounds rise up to {}, one entry a task",
                record.round, state.round
            )));
        }
        last = record.round;
        open.restore(record.clone());
    }
    Ok(open)
}

/// The first few names.
fn list(names: &[String]) -> String {
    const NAMED: usize = 5;
    let shown: Vec<String> =
        names.iter().take(NAMED).map(|name| crate::text::one_line(name)).collect();
    let rest = names.len().saturating_sub(NAMED);
    if rest > 0 { format!("{} and {rest} more", shown.join(", ")) } else { shown.join(", ") }
}
