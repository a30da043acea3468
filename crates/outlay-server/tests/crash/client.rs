//! What the program does until it is killed: eight clients, one writer that commits whatever waits, a line for everything acknowledged.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use outlay_server::store::{Ask, Command, Correction, Done, Item, NewCampaign, Outcome, Refusal, Split, SqliteStore, Store, Tell};

pub(crate) const CAMPAIGN: &str = "c";
pub(crate) const TASKS: u32 = 4;
const CLIENTS: u64 = 8;

type Answer = Result<Done, Refusal>;

/// A number from a number: the same in every process.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// What comes back of a task, and what a correction makes of it: from the round and the task alone.
pub(crate) fn outcome(round: u64, task: u32, is_corrected: bool) -> Outcome {
    let draw = mixed(round << 8 | u64::from(task) << 1 | u64::from(is_corrected));
    let completed = draw & 3 != 0;
    Outcome { completed, reward: if completed { draw >> 8 & 0x1fff_ffff } else { 0 } }
}

pub(crate) fn split(first: u64) -> Split {
    let numbers = |shift: u64| (0..TASKS).map(|task| (mixed(first ^ shift << 40 ^ u64::from(task) << 50) >> 12) as f64).collect();
    Split { budget: first as f64, available: None, spend: numbers(1), success: numbers(2), index: numbers(3) }
}

struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = mixed(self.0);
        self.0 % bound
    }
}

/// Serves until it is killed.
pub(crate) fn serve(folder: &Path) {
    let seed: u64 = std::env::var("CRASH_SEED").unwrap().parse().unwrap();
    let plant = &std::env::var("CRASH_PLANT").unwrap_or_default();
    let store = &crate::open(folder);
    let new = NewCampaign { id: CAMPAIGN.into(), spec: "{}".into(), tasks: TASKS, at: 0, token: String::new() };
    store.apply(&[Command::Create(new)]).unwrap()[0].clone().unwrap();
    let (queue, waiting) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || write(store, &waiting));
        for number in 0..CLIENTS {
            let client = Client { store, queue: queue.clone(), draws: Draws(mixed(seed) ^ number), plant };
            scope.spawn(move || client.work());
        }
    });
}

/// Commits all that waits as one batch.
fn write(store: &SqliteStore, waiting: &Receiver<(Command, Sender<Answer>)>) {
    while let Ok(first) = waiting.recv() {
        let (commands, clients): (Vec<_>, Vec<_>) = std::iter::once(first).chain(waiting.try_iter().take(63)).unzip();
        for (answer, client) in store.apply(&commands).unwrap().into_iter().zip(clients) {
            let _ = client.send(answer);
        }
    }
}

struct Client<'a> {
    store: &'a SqliteStore,
    queue: Sender<(Command, Sender<Answer>)>,
    draws: Draws,
    plant: &'a str,
}

impl Client<'_> {
    fn work(mut self) {
        loop {
            let rounds = self.store.lease_rounds(CAMPAIGN, 1 + self.draws.below(3) as u32).unwrap();
            let (first, past) = (rounds.start, rounds.end);
            let (campaign, token) = (CAMPAIGN.to_owned(), String::new());
            let ask = Ask { campaign, rounds, split: split(first), stats_version: 0, at: 0, expires_at: 1, token, key: None };
            let answer = self.send(Command::Ask(ask), &format!("asked {first} {past}"));
            assert_eq!(answer, Ok(Done::Asked));
            for round in first..past {
                self.tell_all(round);
            }
        }
    }

    /// Two reports, some of them twice, now and then a correction, now and then nothing.
    fn tell_all(&mut self, round: u64) {
        let half = self.draws.below(u64::from(TASKS) + 1) as u32;
        for tasks in [0..half, half..TASKS] {
            if tasks.is_empty() || self.draws.below(10) == 0 {
                continue;
            }
            let tell = self.tell(round, tasks.clone());
            let said: Vec<String> = tasks.clone().map(|task| format!("told {round} {task}")).collect();
            self.send(tell.clone(), &said.join("\n")).unwrap();
            if self.draws.below(5) == 0 {
                let Ok(Done::Told { is_new, .. }) = self.send(tell, "") else { panic!("a repetition was refused") };
                if is_new.contains(&true) {
                    say(&format!("twice {round} {half}"));
                }
            }
            if self.draws.below(10) == 0 {
                let (campaign, token, why) = (CAMPAIGN.to_owned(), String::new(), "again".to_owned());
                let task = tasks.start;
                let to = outcome(round, task, true);
                let correction = Correction { campaign, round, task, to, why, at: 0, token };
                self.send(Command::Correct(correction), &format!("corrected {round} {task}")).unwrap();
            }
        }
    }

    fn tell(&self, round: u64, tasks: std::ops::Range<u32>) -> Command {
        let item = |task| Item { task, outcome: outcome(round, task, false), expected: 500_000_000 };
        let (campaign, token) = (CAMPAIGN.to_owned(), String::new());
        Command::Tell(Tell { campaign, round, items: tasks.map(item).collect(), is_late: false, at: 0, token })
    }

    /// Waits for the answer and then says so to whoever keeps the record.
    fn send(&self, command: Command, said: &str) -> Answer {
        let (answer, answered) = channel();
        let is_early = self.plant == "answer-before-commit";
        if is_early {
            say(said);
        }
        self.queue.send((command, answer)).unwrap();
        let answer = answered.recv().unwrap();
        if !is_early && answer.is_ok() {
            say(said);
        }
        answer
    }
}

/// In one write: whoever reads sees whole lines.
fn say(text: &str) {
    if !text.is_empty() {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
    }
}
