//! `outlay gc`: replaces old rounds of a store by their counts and removes deleted campaigns.

use std::ops::ControlFlow;
use std::time::Duration;

use outlay_report::number::counted;
use outlay_server::clock::{Clock, SystemClock};
use outlay_server::http::CompactionRequest;
use outlay_server::service::{Sweep, SweepReport, sweep};
use outlay_server::store::{SqliteOptions, SqliteStore, Store};

use crate::args::GcArgs;
use crate::failure::Failure;
use crate::input::service::Service;
use crate::input::store;
use crate::output::{CommandOutput, Format, csv, json};

/// A hundred years, which keeps all rounds.
const FOR_EVER: u64 = 3_155_760_000;

pub(crate) fn run(arguments: &GcArgs) -> Result<CommandOutput, Failure> {
    let report = if let Some(url) = &arguments.store.url {
        by_service(&Service::new(url), arguments)?
    } else if let Some(url) = arguments.store.database() {
        in_store(store::existing_database(&url)?.as_ref(), arguments)?
    } else {
        in_folder(arguments)?
    };
    Ok(CommandOutput::new(match arguments.format {
        Format::Table => text(&report, arguments.dry_run),
        Format::Json => json(&report)?,
        Format::Csv => csv([Row::new(&report)])?,
    }))
}

fn in_store(store: &dyn Store, arguments: &GcArgs) -> Result<SweepReport, Failure> {
    let wanted = Sweep {
        now: SystemClock.now(),
        retain: arguments.retain.map(Duration::from_secs),
        is_dry_run: arguments.dry_run,
    };
    Ok(sweep(store, &wanted, &mut |_| ControlFlow::Continue(()))?)
}

/// The folder of a service that is not running: its file is rewritten without free pages.
fn in_folder(arguments: &GcArgs) -> Result<SweepReport, Failure> {
    let folder = store::existing_folder(arguments.store.data.as_deref())?;
    // Only `outlay serve` checks the file system.
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(folder, &options).map_err(|error| store::not_running(&error))?;
    let before = store.size()?.bytes;
    let mut report = in_store(&store, arguments)?;
    if !arguments.dry_run {
        store.vacuum()?;
        report.released_bytes = before.saturating_sub(store.size()?.bytes);
    }
    store.close()?;
    Ok(report)
}

/// The service does a few seconds of work per request.
fn by_service(service: &Service, arguments: &GcArgs) -> Result<SweepReport, Failure> {
    let request = CompactionRequest {
        retain_seconds: arguments.retain.unwrap_or(FOR_EVER),
        dry_run: arguments.dry_run,
    };
    let mut total = SweepReport::default();
    loop {
        let part: SweepReport = service.send("POST", "/v1/compactions", Some(&request))?;
        total.rounds += part.rounds;
        total.outcomes += part.outcomes;
        total.removed_rows += part.removed_rows;
        total.released_bytes += part.released_bytes;
        (total.kept, total.is_done) = (part.kept, part.is_done);
        if total.is_done {
            return Ok(total);
        }
    }
}

fn text(report: &SweepReport, is_dry_run: bool) -> String {
    let count = |number: u64, noun| counted(usize::try_from(number).unwrap_or(usize::MAX), noun);
    let mut text = if is_dry_run {
        format!("would compact {}\n", count(report.rounds, "round"))
    } else {
        format!(
            "compacted {} with {}\nremoved {} of deleted campaigns\nfreed {:.1} MB\n",
            count(report.rounds, "round"),
            count(report.outcomes, "outcome"),
            count(report.removed_rows, "row"),
            report.released_bytes as f64 / 1e6
        )
    };
    for kept in &report.kept {
        text += &format!("kept all rounds of campaign {}: {}\n", kept.id, kept.why);
    }
    text
}

#[derive(serde::Serialize)]
struct Row {
    rounds: u64,
    outcomes: u64,
    removed_rows: u64,
    released_bytes: u64,
    kept_campaigns: usize,
}

impl Row {
    fn new(report: &SweepReport) -> Self {
        let SweepReport { rounds, outcomes, removed_rows, released_bytes, ref kept, .. } = *report;
        Self { rounds, outcomes, removed_rows, released_bytes, kept_campaigns: kept.len() }
    }
}
