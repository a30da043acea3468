//! `outlay demo`: a service with a simulated client.

mod auctions;
mod client;
mod delayed_reports;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use outlay_server::clock::SystemClock;
use outlay_server::http::{Ending, Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
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
/// Interval between checks for Ctrl-C.
const NOTICE: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &DemoArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    if !arguments.listen.ip().is_loopback() {
        let message = format!(
            "the demo runs without authentication, so it must listen on a loopback address such as \
             127.0.0.1, not {}",
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
        "{rounds} · {accepted} outcomes accepted · {duplicate} duplicates · {late} late\n"
    )))
}

/// Serves and plays until all rounds are played or the user stops it.
async fn serve(
    arguments: &DemoArgs,
    folder: &Folder,
    stop: &'static AtomicBool,
    quiet: bool,
) -> Result<Tally, Failure> {
    // The temporary folder may be in memory; the data of the demo are not kept.
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(&folder.0, &options).map_err(|error| Failure(error.what))?;
    // An open dashboard keeps its connections; the demo does not wait for them at the end.
    let limits = Limits { drain_timeout: Duration::from_secs(1), ..Limits::default() };
    let service = CampaignService::open(Arc::new(store), Arc::new(SystemClock), limits)?;
    let settings =
        Settings { campaign_metrics: true, access_log: false, ..Settings::new(arguments.listen) };
    let server = Server::bind(service.clone(), &settings).await?;
    let address = server.address()?;
    let client = Client::begin(service, CAMPAIGN).await?;
    console::announce(&format!("http://{address}/#/campaigns/{CAMPAIGN}"))?;
    console::remark(INTRODUCTION, quiet);
    // The server stops after the client, so that the last requests are served.
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let mut serving = tokio::spawn(server.run(async {
        let _ = ended.await;
    }));
    let period = Duration::from_secs_f64(1.0 / arguments.rounds_per_second);
    let tally = tokio::select! {
        tally = client.play(period, arguments.rounds, stop) => tally,
        ending = &mut serving => return Err(Failure(format!("the service ended unexpectedly: {:?}", ending?))),
    };
    let _ = end.send(());
    match serving.await? {
        Ending::Stopped => tally,
        Ending::StoreFailed(what) => Err(Failure(what)),
    }
}

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("outlay-demo-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the system cleans up its temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const INTRODUCTION: &str = "\
Open this address in a browser. A bidder allocates 1,200 per round to nine kinds of eBay auction. A
bid wins at the closing prices of 628 recorded auctions; the value of winning is learned. Look at:
  - split: the spend of each kind of auction, and how its share has changed
  - means and indices: the exploration bonus shrinks with every win
  - open rounds: reports arrive a few rounds late; some are duplicated, expired or lost
  - completions against predictions: close to 1 while wins and failures are both reported
You can pause and resume the campaign on the page. Ctrl-C ends the demo and removes its data.";
