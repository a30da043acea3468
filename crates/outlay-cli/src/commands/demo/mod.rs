//! `outlay demo`: the service with a campaign that plays itself, for whoever wants to see it before
//! using it.

mod auctions;
mod client;
mod delayed_reports;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use outlay_server::clock::SystemClock;
use outlay_server::desk::Desk;
use outlay_server::http::{Ending, Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::store::{SqliteOptions, SqliteStore};

use crate::args::DemoArgs;
use crate::failure::Failure;
use crate::output::CommandOutput;
use crate::output::console;
use crate::run::interrupt;
use client::{Client, Tally};
use outlay_report::number::counted;

/// The campaign's id.
const CAMPAIGN: &str = "auctions";
/// How soon Ctrl-C is noticed.
const NOTICE: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &DemoArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    if !arguments.listen.ip().is_loopback() {
        let message = format!(
            "the demo has no tokens, so only this machine may see it: not {}, but 127.0.0.1",
            arguments.listen
        );
        return Err(Failure(message));
    }
    let stop = interrupt::flag()?;
    let folder = Folder::new()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let tally = runtime.block_on(serve(arguments, &folder, stop, quiet))?;
    let Tally { rounds, accepted, duplicate, late } = tally;
    let rounds = counted(usize::try_from(rounds).unwrap_or(usize::MAX), "round");
    Ok(CommandOutput::new(format!(
        "{rounds} · {accepted} outcomes told · {duplicate} told twice · {late} late\n"
    )))
}

/// Serves and plays until all rounds are played or somebody stops it.
async fn serve(
    arguments: &DemoArgs,
    folder: &Folder,
    stop: &'static AtomicBool,
    quiet: bool,
) -> Result<Tally, Failure> {
    // The system's folder for temporary files may be in memory; nothing here is to last.
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(&folder.0, &options).map_err(|error| Failure(error.what))?;
    // A page that is open holds its connections; nobody waits for them at the end of a demo.
    let limits = Limits { drain_timeout: Duration::from_secs(1), ..Limits::default() };
    let desk = Desk::open(Arc::new(store), Arc::new(SystemClock), limits)?;
    let settings =
        Settings { listen: arguments.listen, metrics: None, tls: None, campaign_metrics: true };
    let server = Server::bind(desk.clone(), &settings).await?;
    let address = server.address()?;
    let client = Client::begin(desk, CAMPAIGN).await?;
    console::announce(&format!("http://{address}/#/campaigns/{CAMPAIGN}"))?;
    console::remark(WHAT_TO_LOOK_AT, quiet);
    // The server waits for the player: what it does last is still taken.
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let mut serving = tokio::spawn(server.run(async {
        let _ = ended.await;
    }));
    let period = Duration::from_secs_f64(1.0 / arguments.rounds_per_second);
    let tally = tokio::select! {
        tally = client.play(period, arguments.rounds, stop) => tally,
        ending = &mut serving => return Err(Failure(format!("the service has ended by itself: {:?}", ending?))),
    };
    let _ = end.send(());
    match serving.await? {
        Ending::Stopped => tally,
        Ending::StoreFailed(what) => Err(Failure(what)),
    }
}

/// A folder for this one time.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("outlay-demo-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure(format!("cannot make {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed the system's own cleaning takes.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const WHAT_TO_LOOK_AT: &str = "\
Open this address in a browser. A bidder shares 1,200 a round over nine kinds of eBay auction; what it takes to win are the closing
prices of 628 real auctions, what winning is worth is learnt while bidding. Look at:
  - the split: what each kind gets, and how its share has moved
  - means and their optimistic ends: the gap narrows with every win
  - open rounds: reports come some rounds late, a few come twice or after the round has expired, some never
  - told against expected: near 1 as long as wins and failures are both reported
Pause the campaign in the page, and open it again. Ctrl-C ends it and removes what it kept.";
