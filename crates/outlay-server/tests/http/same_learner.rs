//! A simulated trace, sent over HTTP: every store hands out the splits that the library decides, to the last bit.

use std::sync::Arc;

use outlay::Problem;
use outlay::campaign::Campaign;
use outlay::feedback::{Completion, Feedback, Reward};
use outlay::learner::LEARNERS;
use outlay::problem::NoFiles;
use outlay::random::{Draws, Purpose};
use outlay_server::limits::Limits;
use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use crate::Running;
use crate::client::Client;
use crate::database::Database;

const ROUNDS: u64 = 60;
const HORIZON: u64 = 100;

fn problem() -> Value {
    json!({
        "budget": 100.0, "reward_max": 2.0,
        "task": [
            { "name": "tv", "curve": { "family": "hill", "half_at": 60.0, "steepness": 2.5 } },
            { "name": "web", "curve": { "family": "power", "exponent": 0.5, "scale": 80.0 } },
            { "name": "mail", "curve": { "family": "exponential", "scale": 30.0 }, "max": 70.0 },
        ],
    })
}

/// The library's side: what it decides, and what comes of it.
struct Trace {
    problem: Problem,
    campaign: Campaign,
    draws: Draws,
}

impl Trace {
    fn new(learner: &str) -> Self {
        let problem = Problem::from_json(&problem().to_string(), &NoFiles).unwrap();
        let mut campaign = Campaign::new(&problem, &learner.parse().unwrap(), Some(HORIZON), Feedback::Censored, 7).unwrap();
        campaign.search_afresh();
        Self { problem, campaign, draws: Draws::new(3, Purpose::Completion) }
    }

    fn split(&mut self) -> Vec<f64> {
        self.campaign.allocate(self.problem.budget(), None).unwrap().allocation.spend.clone()
    }

    /// Plays a round, lets the library observe it, and gives the report of it.
    fn play(&mut self, round: u64, spend: &[f64], observes: bool) -> Value {
        let draws = self.draws.round(round);
        let (mut completed, mut results) = (Vec::new(), Vec::new());
        for (place, (task, spend)) in self.problem.tasks().iter().zip(spend).enumerate() {
            if draws.uniform(place) < task.curve().success(*spend) {
                let reward = Reward::from_share(draws.uniform(10 + place));
                completed.push(Completion { task: place, reward });
                results.push(json!({ "task": task.name(), "completed": true, "reward": reward.share() * self.problem.reward_max() }));
            } else {
                results.push(json!({ "task": task.name(), "completed": false }));
            }
        }
        if observes {
            self.campaign.observe_completed(round, &completed).unwrap();
        } else {
            self.campaign.observe_gain(round, 0.0).unwrap();
        }
        json!({ "results": results })
    }
}

fn send(client: &Client, learner: &str) {
    let place = format!("/v1/campaigns/{learner}");
    let new = json!({ "problem": problem(), "learner": learner, "horizon": HORIZON, "seed": 7 });
    assert_eq!(client.json("PUT", &place, &new.to_string()).status, 201, "{learner}");
    let mut trace = Trace::new(learner);
    for round in 1..=ROUNDS {
        let split = trace.split();
        let asked = client.json("POST", &format!("{place}/rounds"), "{}").json();
        assert_eq!(asked["rounds"], json!([round]), "{learner}");
        let spends = asked["tasks"].as_array().unwrap().iter().map(|task| task["spend"].as_f64().unwrap().to_bits());
        assert_eq!(spends.collect::<Vec<_>>(), split.iter().map(|spend| spend.to_bits()).collect::<Vec<_>>(), "{learner} round {round}");
        let report = trace.play(round, &split, learner != "uniform");
        assert_eq!(client.json("PUT", &format!("{place}/rounds/{round}/feedback"), &report.to_string()).status, 200);
    }
}

fn all_learners(store: Arc<dyn Store>) {
    let service = Running::with(store, Limits::default());
    let served = LEARNERS.iter().filter(|entry| entry.feedback == Feedback::Censored || entry.name == "uniform");
    assert_eq!(served.clone().count(), 12);
    served.for_each(|entry| send(&service.client(), entry.name));
}

#[test]
fn in_memory() {
    all_learners(Arc::new(MemoryStore::new()));
}

#[test]
fn in_a_folder() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    all_learners(Arc::new(SqliteStore::open(folder.path(), &options).unwrap()));
}

#[test]
fn on_postgres() {
    let Some(database) = Database::new() else { return };
    all_learners(Arc::new(database.store()));
}
