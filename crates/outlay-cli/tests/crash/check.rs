//! Compares the store after a restart with what was acknowledged, outcome by outcome and round by
//! round.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use super::clients::{BUDGET, Outcome, Promises, TASKS, outcome};
use super::http::Connection;

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It was acknowledged and is missing.
    Lost,
    /// It was issued or counted more than once, or a count differs from the stored outcomes.
    Double,
    /// It is in the store, but no client sent it in this form.
    Invented,
}

/// A fault and its description.
pub type Fault = (Kind, String);

/// All faults found; empty if there are none.
pub fn faults(address: &str, campaign: &str, promises: &Promises) -> Vec<Fault> {
    let mut connection = Connection::open(address).expect("a service");
    let rounds = rounds(&mut connection, campaign);
    let mut faults = Vec::new();
    check_issued(&rounds, promises, &mut faults);
    check_reported(&rounds, promises, &mut faults);
    check_counts(&mut connection, campaign, &rounds, &mut faults);
    check_amendments(&mut connection, campaign, promises, &mut faults);
    for (key, answer) in &promises.keys {
        let count = answer["rounds"].as_array().map_or(0, Vec::len);
        let path = format!("/v1/campaigns/{campaign}/rounds");
        let again = connection
            .send("POST", &path, Some(key), Some(&json!({ "count": count })))
            .expect("an answer");
        if again.body != *answer {
            faults.push((Kind::Double, format!("key {key}: {} instead of {answer}", again.body)));
        }
    }
    faults
}

/// Amendments that were acknowledged are there, and each of them is an event.
fn check_amendments(
    connection: &mut Connection,
    campaign: &str,
    promises: &Promises,
    faults: &mut Vec<Fault>,
) {
    let path = format!("/v1/campaigns/{campaign}");
    let state = connection.send("GET", &path, None, None).expect("an answer").body;
    let amendments = state["amendments"].as_u64().unwrap_or(0);
    if amendments < promises.amended {
        let fault = format!("{} amendments are acknowledged, {amendments} there", promises.amended);
        faults.push((Kind::Lost, fault));
    }
    let (mut events, mut after) = (0, 0);
    loop {
        let path = format!("{path}/events?after={after}&limit=1000");
        let page = connection.send("GET", &path, None, None).expect("an answer").body;
        let page_events = page["events"].as_array().expect("events");
        events += page_events.iter().filter(|event| event["kind"] == "amended").count() as u64;
        let Some(next) = page["next"].as_u64() else { break };
        after = next;
    }
    // Only amendments change the version here, because the status is never set.
    if (events, state["version"].as_u64()) != (amendments, Some(amendments + 1)) {
        let fault =
            format!("{amendments} amendments, {events} events, version {}", state["version"]);
        faults.push((Kind::Double, fault));
    }
}

/// Every round in the store.
fn rounds(connection: &mut Connection, campaign: &str) -> BTreeMap<u64, Value> {
    let (mut rounds, mut after) = (BTreeMap::new(), 0);
    loop {
        let path = format!("/v1/campaigns/{campaign}/rounds?after={after}&limit=1000");
        let page = connection.send("GET", &path, None, None).expect("an answer");
        assert_eq!(page.status, 200, "{page:?}");
        for round in page.body["rounds"].as_array().expect("rounds") {
            let number = round["round"].as_u64().expect("a number");
            assert!(
                rounds.insert(number, round.clone()).is_none(),
                "round {number} is listed twice"
            );
        }
        match page.body["next"].as_u64() {
            Some(next) => after = next,
            None => return rounds,
        }
    }
}

fn check_issued(rounds: &BTreeMap<u64, Value>, promises: &Promises, faults: &mut Vec<Fault>) {
    let mut seen = HashSet::new();
    for answer in &promises.asked {
        for round in answer["rounds"].as_array().expect("rounds").iter().filter_map(Value::as_u64) {
            // Each answer was recorded once, so equal answers are separate entries.
            if !seen.insert(round) {
                faults.push((Kind::Double, format!("round {round} was issued twice")));
            }
            let Some(kept) = rounds.get(&round) else {
                faults.push((Kind::Lost, format!("round {round} is lost")));
                continue;
            };
            let spends = |tasks: &Value| {
                tasks
                    .as_array()
                    .map(|tasks| tasks.iter().map(|task| task["spend"].clone()).collect::<Vec<_>>())
            };
            if spends(&kept["tasks"]) != spends(&answer["tasks"]) {
                faults.push((Kind::Invented, format!("round {round} has a different allocation")));
            }
        }
    }
}

fn check_reported(rounds: &BTreeMap<u64, Value>, promises: &Promises, faults: &mut Vec<Fault>) {
    let known = |round: u64, task: usize| rounds.get(&round).map(|kept| &kept["tasks"][task]);
    for &(round, task) in &promises.kept {
        if known(round, task).is_none_or(|kept| kept["completions"].is_null()) {
            faults.push((
                Kind::Lost,
                format!("round {round}, {}: acknowledged and lost", TASKS[task]),
            ));
        }
    }
    for (&round, kept) in rounds {
        for (task, name) in TASKS.iter().enumerate() {
            let kept = &kept["tasks"][task];
            let Some(found) = found(kept) else { continue };
            let expected = outcome(round, task);
            if !promises.sent.contains(&(round, task)) {
                faults.push((Kind::Invented, format!("round {round}, {name}: never sent")));
            } else if found != expected {
                faults.push((
                    Kind::Invented,
                    format!("round {round}, {name}: {kept} instead of {expected:?}"),
                ));
            }
        }
    }
}

/// The outcome of a task in a listed round, if it was reported.
fn found(kept: &Value) -> Option<Outcome> {
    let completions = kept["completions"].as_u64()?;
    let units = |number: f64| (number * 1e9).round() as u64;
    let reward = units(kept["reward"].as_f64().unwrap_or(0.0));
    let spent = kept["spent"].as_f64().map(|spent| units(spent / BUDGET));
    Some(Outcome { completions, reward, spent })
}

/// Checks that the counts match the listed outcomes.
fn check_counts(
    connection: &mut Connection,
    campaign: &str,
    rounds: &BTreeMap<u64, Value>,
    faults: &mut Vec<Fault>,
) {
    let state = connection
        .send("GET", &format!("/v1/campaigns/{campaign}"), None, None)
        .expect("an answer")
        .body;
    let mut version = 0;
    for (task, name) in TASKS.iter().enumerate() {
        let (mut number, mut completions, mut sum, mut spent) = (0, 0, 0, None);
        for outcome in rounds.values().filter_map(|round| found(&round["tasks"][task])) {
            number += 1;
            completions += outcome.completions;
            sum += outcome.reward;
            spent = outcome.spent.map(|more| spent.unwrap_or(0) + more).or(spent);
        }
        version += number;
        let kept = &state["tasks"][task];
        let kept = (
            kept["told"].as_u64(),
            kept["completions"].as_u64(),
            kept["reward_sum"].as_f64().map(|sum| (sum * 1e9).round() as u64),
            kept["spent"].as_f64().map(|spent| (spent / BUDGET * 1e9).round() as u64),
        );
        if kept != (Some(number), Some(completions), Some(sum), spent) {
            let there = (number, completions, sum, spent);
            faults.push((
                Kind::Double,
                format!("{name}: counts {kept:?}, but the outcomes add up to {there:?}"),
            ));
        }
    }
    if state["stats_version"].as_u64() != Some(version)
        || state["rounds"].as_u64() != Some(rounds.len() as u64)
    {
        let counted = format!(
            "{} outcomes and {} rounds are counted",
            state["stats_version"], state["rounds"]
        );
        faults
            .push((Kind::Double, format!("{counted}, {version} and {} are listed", rounds.len())));
    }
}
