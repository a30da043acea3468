//! A simulated trace, sent over HTTP: with every store, the splits are bit-identical to those of
//! the library and the daily loop.

use std::sync::Arc;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::Feedback;
use outlay::learner::LEARNERS;
use outlay::ledger::{Entry, Ledger, Settings};
use outlay::problem::NoFiles;
use outlay::random::{Draws, Purpose};
use outlay_server::api::TaskResult;
use outlay_server::limits::Limits;
use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::json;

use super::Running;
use super::client::Client;
use crate::support::database::Database;
use crate::support::trace;

const ROUNDS: u64 = 60;
const HORIZON: u64 = 100;

fn send(client: &Client, learner: &str) {
    let problem = Problem::from_json(&trace::problem().to_string(), &NoFiles).unwrap();
    let mut campaign = Campaign::new(
        &problem,
        CampaignOptions {
            learner: learner.parse().unwrap(),
            horizon: Some(HORIZON),
            feedback: Some(Feedback::Censored),
            seed: 7,
            always_cold: true,
            ..CampaignOptions::default()
        },
    )
    .unwrap();
    let settings = Settings {
        learner: learner.parse().unwrap(),
        horizon: Some(HORIZON),
        seed: 7,
        ..Settings::default()
    };
    let mut daily = Ledger::new(&problem, settings).unwrap();
    let draws = Draws::new(3, Purpose::Completion);
    let place = format!("/v1/campaigns/{learner}");
    let new =
        json!({ "problem": trace::problem(), "learner": learner, "horizon": HORIZON, "seed": 7 });
    assert_eq!(client.json("PUT", &place, &new.to_string()).status, 201, "{learner}");
    for round in 1..=ROUNDS {
        let split = campaign.allocate(problem.budget(), None).unwrap().allocation.spend.clone();
        let asked = client.json("POST", &format!("{place}/rounds"), "{}").json();
        assert_eq!(asked["rounds"], json!([round]), "{learner}");
        let spends = asked["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["spend"].as_f64().unwrap().to_bits());
        assert_eq!(
            spends.collect::<Vec<_>>(),
            split.iter().map(|spend| spend.to_bits()).collect::<Vec<_>>(),
            "{learner} round {round}"
        );
        let daily_split = daily.next(None, &[]).unwrap().allocation.spend;
        assert_eq!(
            daily_split.iter().map(|spend| spend.to_bits()).collect::<Vec<_>>(),
            split.iter().map(|spend| spend.to_bits()).collect::<Vec<_>>(),
            "{learner} round {round}, daily loop"
        );
        let completed = trace::outcomes(&problem, &split, &draws, round);
        // The even split does not learn; it only needs to know that the round is complete.
        match learner {
            "uniform" => campaign.observe_gain(round, 0.0).unwrap(),
            _ => campaign.observe_completed(round, &completed).unwrap(),
        }
        let told = trace::told(&problem, &completed);
        let entries: Vec<Entry> =
            (0..).zip(&told).map(|(task, told)| entry(round, task, told)).collect();
        daily.report(&entries).unwrap();
        let report = json!({ "results": told });
        assert_eq!(
            client
                .json("PUT", &format!("{place}/rounds/{round}/feedback"), &report.to_string())
                .status,
            200
        );
    }
}

fn entry(round: u64, task: usize, told: &TaskResult) -> Entry {
    let completions = u64::from(told.completed == Some(true));
    Entry { round, task, completions, reward: told.reward, spend: None }
}

fn all_learners(store: Arc<dyn Store>) {
    let service = Running::with(store, Limits::default());
    let served = LEARNERS
        .iter()
        .filter(|entry| entry.feedback == Feedback::Censored || entry.name == "uniform");
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
