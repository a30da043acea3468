//! The speed of the SQLite store: `store_speed FOLDER [REPORTS]`, with 4 outcomes of one round per
//! report.
//!
//! Prints rows per second for some batch sizes, compared with syncing as many batches to a bare
//! file on the same disk, and the time to open the store again, with counts checked. Only ratios
//! within one run are meaningful.

use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use outlay_server::store::{
    Ask, Command, Item, NewCampaign, Outcome, Split, SqliteOptions, SqliteStore, Store, Tell,
};

const TASKS: u32 = 4;
const BATCHES: [usize; 4] = [1, 16, 128, 1024];

fn campaign(number: u64) -> String {
    format!("campaign-{number}")
}

fn ask(campaign: &str, rounds: std::ops::Range<u64>) -> Command {
    let numbers = || vec![0.25; TASKS as usize];
    let split = Arc::new(Split {
        budget: 1.0,
        available: None,
        spend: numbers(),
        success: numbers(),
        index: numbers(),
        ..Split::default()
    });
    let (campaign, token) = (campaign.to_owned(), "0123456789ab".to_owned());
    Command::Ask(Ask {
        campaign,
        rounds,
        split,
        amendments: 0,
        stats_version: 0,
        at: 0,
        expires_at: 1 << 40,
        token,
        key: None,
        horizon: None,
    })
}

fn tell(campaign: &str, round: u64) -> Command {
    let outcome = |task: u32| Outcome {
        completions: u64::from(task != 1),
        delivery: None,
        reward: if task == 1 { 0 } else { 700_000_000 + round },
    };
    let items = (0..TASKS)
        .map(|task| Item { task, outcome: outcome(task), expected: 500_000_000 })
        .collect();
    let (campaign, token) = (campaign.to_owned(), "0123456789ab".to_owned());
    Command::Tell(Tell { campaign, round, items, is_late: false, at: 1_700_000_000_000, token })
}

/// Syncs as many bytes equally often, to a file of the final length.
fn bare(folder: &Path, batches: usize, bytes: usize) -> std::io::Result<f64> {
    let path = folder.join("bare");
    let mut file = std::fs::File::create(&path)?;
    file.write_all(&vec![0; batches * bytes])?;
    file.sync_all()?;
    file.rewind()?;
    let since = Instant::now();
    for _ in 0..batches {
        file.write_all(&vec![1; bytes])?;
        file.sync_data()?;
    }
    let seconds = since.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    Ok(seconds)
}

fn batches(store: &SqliteStore, campaigns: u64, size: usize, from: u64) -> (usize, f64) {
    let reports = (size * 40).clamp(400, 20_480);
    let commands: Vec<Command> = (0..reports as u64)
        .map(|number| tell(&campaign(number % campaigns), from + number / campaigns))
        .collect();
    for number in 0..campaigns {
        let rounds = from..from + reports as u64 / campaigns + 1;
        store.apply(&[ask(&campaign(number), rounds)]).unwrap();
    }
    let since = Instant::now();
    for batch in commands.chunks(size) {
        assert!(store.apply(batch).unwrap().iter().all(Result::is_ok));
    }
    (reports, since.elapsed().as_secs_f64())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder");
    let many: u64 = arguments.next().map_or(500_000, |count| count.parse().expect("a number"));
    let folder = Path::new(&folder);
    let store = SqliteStore::open(folder, &SqliteOptions::default()).unwrap();
    for number in 0..1000 {
        let spec = "{}".to_owned();
        let new =
            NewCampaign { id: campaign(number), spec, tasks: TASKS, at: 0, token: String::new() };
        store.apply(&[Command::Create(new)]).unwrap();
    }
    let mut from = 1;
    for campaigns in [1, 1000] {
        for size in BATCHES {
            let (reports, seconds) = batches(&store, campaigns, size, from);
            from += 100_000;
            let synced = bare(folder, reports / size, size * 64).unwrap();
            println!(
                "{campaigns:>4} campaigns, batches of {size:>4} reports: {:>7.0} rows/s, {:.2} ms per batch, {:.2} times a bare sync",
                4.0 * reports as f64 / seconds,
                1e3 * seconds * size as f64 / reports as f64,
                seconds / synced,
            );
        }
    }
    let since = Instant::now();
    for start in (0..many).step_by(1000) {
        let rounds: Vec<u64> = (from + start..from + start + 1000).collect();
        let asks = rounds.iter().map(|round| ask(&campaign(0), *round..*round + 1));
        let commands: Vec<Command> =
            asks.chain(rounds.iter().map(|round| tell(&campaign(0), *round))).collect();
        assert!(store.apply(&commands).unwrap().iter().all(Result::is_ok));
    }
    println!("{many} rounds asked for and reported: {:.1} s", since.elapsed().as_secs_f64());
    drop(store);
    for _ in 0..3 {
        let since = Instant::now();
        let store = SqliteStore::open(folder, &SqliteOptions::default()).unwrap();
        let opened = since.elapsed().as_secs_f64();
        let open = store.open_rounds(&campaign(0), 5).unwrap().len();
        let rounds = since.elapsed().as_secs_f64() - opened;
        let since = Instant::now();
        let verified = store.verify().unwrap();
        let seconds = since.elapsed().as_secs_f64();
        println!(
            "opened with {} rows in {opened:.2} s; {open} open rounds found in {rounds:.2} s; verify with the file's pages {seconds:.2} s",
            verified.items
        );
    }
    let bytes = std::fs::metadata(folder.join("outlay.db")).unwrap().len();
    println!(
        "{:.0} MB, {:.1} bytes per row of feedback",
        bytes as f64 / 1e6,
        bytes as f64 / (4.0 * many as f64)
    );
}
