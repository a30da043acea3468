//! Clients that ask for rounds, report outcomes once or twice, and record what was acknowledged.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use outlay::random::{Draws, Purpose, RoundDraws};
use serde_json::{Value, json};

use super::http::{Answer, Connection};

pub const TASKS: [&str; 4] = ["search", "social", "video", "mail"];

/// The task that completes several times in a round and reports what it spent.
const COUNTED: usize = 2;
pub const BUDGET: f64 = 100.0;

/// What was sent and what was acknowledged.
#[derive(Debug, Default)]
pub struct Promises {
    /// Every answer to a request for rounds.
    pub asked: Vec<Value>,
    /// Answers to requests with an idempotency key.
    pub keys: HashMap<String, Value>,
    /// Outcomes sent, acknowledged or not.
    pub sent: HashSet<(u64, usize)>,
    /// Outcomes that were acknowledged.
    pub kept: HashSet<(u64, usize)>,
    /// The largest number of amendments that was acknowledged.
    pub amended: u64,
}

/// When a client takes an outcome as acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// When the answer has been read completely.
    Answers,
    /// As soon as it was sent, like a service that answers before it writes.
    Sending,
}

pub fn problem() -> Value {
    amended_problem(0)
}

/// The problem after an amendment: other curves, and up to two more tasks, which are never told.
fn amended_problem(step: u64) -> Value {
    let more = ["more", "yet more"].into_iter().take((step % 3) as usize);
    let tasks = TASKS.into_iter().chain(more).enumerate();
    let task = |(place, name): (usize, &str)| {
        let scale = 100.0 + 50.0 * place as f64 + (step % 7) as f64;
        let volume = if place == COUNTED { 30.0 } else { 1.0 };
        let curve = json!({ "family": "power", "exponent": 0.5, "scale": scale });
        json!({ "name": name, "volume": volume, "curve": curve })
    };
    json!({ "budget": BUDGET, "task": tasks.map(task).collect::<Vec<_>>() })
}

/// The outcome of a task in a round: the same for every client that reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub completions: u64,
    /// Sum of rewards, in billionths.
    pub reward: u64,
    /// The actual spend, in billionths of the budget.
    pub spent: Option<u64>,
}

pub fn outcome(round: u64, task: usize) -> Outcome {
    let mixed =
        (round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).wrapping_add(task as u64 * 7919) % 1000;
    let most = if task == COUNTED { 1 + mixed % 25 } else { 1 };
    let completions = if mixed >= 400 { most } else { 0 };
    let spent = (task == COUNTED).then_some(mixed * 500_000);
    Outcome { completions, reward: completions * mixed * 1_000_000, spent }
}

fn result(round: u64, task: usize) -> Value {
    let Outcome { completions, reward, spent } = outcome(round, task);
    let mut result = if task == COUNTED {
        json!({ "task": TASKS[task], "completions": completions })
    } else {
        json!({ "task": TASKS[task], "completed": completions > 0 })
    };
    if completions > 0 {
        result["reward"] = json!(reward as f64 / 1e9);
    }
    if let Some(spent) = spent {
        result["spend"] = json!(spent as f64 / 1e9 * BUDGET);
    }
    result
}

/// A client's connection to the service.
pub trait Line {
    /// Returns the answer once it has been read completely.
    fn send(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> std::io::Result<Answer>;
}

impl Line for Connection {
    fn send(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> std::io::Result<Answer> {
        Self::send(self, method, path, key, body)
    }
}

/// One client among several.
pub struct Client<'a> {
    pub campaign: &'a str,
    pub number: u64,
    pub trust: Trust,
    pub promises: &'a Mutex<Promises>,
    /// Tells the client to stop; without it, a client runs until its connection breaks.
    pub is_over: &'a AtomicBool,
}

impl Client<'_> {
    /// Runs until `is_over` is set or the connection breaks.
    pub fn run(&self, line: &mut impl Line) -> std::io::Result<()> {
        self.run_for(line, u64::MAX)
    }

    /// Asks `steps` times, unless stopped earlier.
    pub fn run_for(&self, line: &mut impl Line, steps: u64) -> std::io::Result<()> {
        let draws = Draws::new(self.number, Purpose::Learner);
        for step in 1..=steps {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let draws = draws.round(step);
            // One of the clients changes the problem now and then.
            if self.number.is_multiple_of(super::CLIENTS) && draws.uniform(40) < 0.2 {
                self.amend(line, step)?;
            }
            self.step(line, &draws, step)?;
        }
        Ok(())
    }

    fn amend(&self, line: &mut impl Line, step: u64) -> std::io::Result<()> {
        let path = format!("/v1/campaigns/{}/problem", self.campaign);
        let body = json!({ "problem": amended_problem(step) });
        let answer = line.send("PUT", &path, None, Some(&body))?;
        assert!(matches!(answer.status, 200 | 503), "{answer:?}");
        if answer.status == 200 {
            let amendments = answer.body["amendments"].as_u64().unwrap_or(0);
            let mut promises = self.promises.lock().expect("no thread panicked");
            promises.amended = promises.amended.max(amendments);
        }
        Ok(())
    }

    fn step(&self, line: &mut impl Line, draws: &RoundDraws, step: u64) -> std::io::Result<()> {
        let key =
            (draws.uniform(0) < 0.5).then(|| format!("{}-{}-{step}", self.campaign, self.number));
        let count = 1 + (draws.uniform(1) * 3.0) as u64;
        let path = format!("/v1/campaigns/{}/rounds", self.campaign);
        let answer = line.send("POST", &path, key.as_deref(), Some(&json!({ "count": count })))?;
        assert!(matches!(answer.status, 201 | 503), "{answer:?}");
        if answer.status != 201 {
            return Ok(());
        }
        let rounds: Vec<u64> = answer.body["rounds"]
            .as_array()
            .expect("rounds")
            .iter()
            .filter_map(Value::as_u64)
            .collect();
        {
            let mut promises = self.promises.lock().expect("no thread panicked");
            promises.keys.extend(key.map(|key| (key, answer.body.clone())));
            promises.asked.push(answer.body);
        }
        for (place, &round) in rounds.iter().enumerate() {
            let split = 1 + (draws.uniform(10 + place) * 4.0) as usize;
            self.tell(line, round, 0..split.min(4))?;
            self.tell(line, round, split.min(4)..4)?;
            // One round in five is reported again, some of them much later.
            if draws.uniform(20 + place) < 0.2 {
                let old =
                    rounds[0].saturating_sub((draws.uniform(30 + place) * 20.0) as u64).max(1);
                let known =
                    self.promises.lock().expect("no thread panicked").sent.contains(&(old, 0));
                if known {
                    self.tell(line, old, 0..4)?;
                }
            }
        }
        Ok(())
    }

    fn tell(
        &self,
        line: &mut impl Line,
        round: u64,
        tasks: std::ops::Range<usize>,
    ) -> std::io::Result<()> {
        if tasks.is_empty() {
            return Ok(());
        }
        let items = || tasks.clone().map(|task| (round, task));
        {
            let mut promises = self.promises.lock().expect("no thread panicked");
            promises.sent.extend(items());
            if self.trust == Trust::Sending {
                promises.kept.extend(items());
            }
        }
        let results: Vec<Value> = tasks.clone().map(|task| result(round, task)).collect();
        let path = format!("/v1/campaigns/{}/rounds/{round}/feedback", self.campaign);
        let answer = line.send("PUT", &path, None, Some(&json!({ "results": results })))?;
        assert!(matches!(answer.status, 200 | 503), "{answer:?}");
        if answer.status == 200 {
            self.promises.lock().expect("no thread panicked").kept.extend(items());
        }
        Ok(())
    }
}
