//! `outlay campaign`: amends and deletes campaigns in a store or through a running service.

use std::sync::Arc;

use outlay_report::number::{counted, plain};
use outlay_server::api::{CampaignState, NewProblem};
use outlay_server::clock::{Clock, SystemClock};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{Command, Deletion, Done, Refusal, Store};

use crate::args::{CampaignAmendArgs, CampaignArgs, CampaignCommand, CampaignDeleteArgs};
use crate::failure::Failure;
use crate::input::service::{NO_BODY, Service};
use crate::input::{problem_source, store};
use crate::output::CommandOutput;

pub(crate) fn run(arguments: &CampaignArgs) -> Result<CommandOutput, Failure> {
    let remark = match &arguments.command {
        CampaignCommand::Amend(arguments) => amend(arguments)?,
        CampaignCommand::Delete(arguments) => delete(arguments)?,
    };
    Ok(CommandOutput::new(String::new()).with_remarks(vec![remark]))
}

fn amend(arguments: &CampaignAmendArgs) -> Result<String, Failure> {
    let problem = problem_source::problem(&arguments.problem)?;
    let request = NewProblem { problem: serde_json::to_value(&problem)? };
    let state = match &arguments.store.url {
        Some(url) => amend_by_service(url, &arguments.id, &request)?,
        None => amend_in_store(store::existing(&arguments.store)?, &arguments.id, request)?,
    };
    let retired = state.tasks.iter().filter(|task| task.retired).count();
    let tasks = state.tasks.len() - retired;
    let CampaignState { id, version, budget, .. } = state;
    let (tasks, budget) = (counted(tasks, "task"), plain(budget));
    Ok(format!("campaign {id} has version {version}: {tasks} with {budget} per round"))
}

fn amend_by_service(url: &str, id: &str, request: &NewProblem) -> Result<CampaignState, Failure> {
    let path = format!("/v1/campaigns/{}/problem", checked(id)?);
    let state = Service::new(url).request("PUT", &path, &[("if-match", "*")], Some(request))?;
    serde_json::from_str(&state)
        .map_err(|error| Failure(format!("{url} did not respond like an outlay service: {error}")))
}

/// Amends a campaign as a service would, with the same validation.
fn amend_in_store(
    store: Arc<dyn Store>,
    id: &str,
    request: NewProblem,
) -> Result<CampaignState, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("cannot start: {error}")))?;
    let service = CampaignService::open(store, Arc::new(SystemClock), Limits::default())?;
    let amended = runtime.block_on(async {
        let amended = service.amend(id, request, None, "").await;
        service.drain().await?;
        amended.map_err(|refused| Failure(refused.detail))
    });
    Ok(CampaignState::clone(&*amended?))
}

fn delete(arguments: &CampaignDeleteArgs) -> Result<String, Failure> {
    match &arguments.store.url {
        Some(url) => delete_by_service(url, arguments)?,
        None => delete_in_store(store::existing(&arguments.store)?.as_ref(), arguments)?,
    }
    Ok(format!("campaign {} is deleted", arguments.id))
}

/// An id that can be part of a path.
fn checked(id: &str) -> Result<&str, Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_known = id.bytes().all(is_plain);
    if is_known { Ok(id) } else { Err(Failure(format!("no campaign has the id {id}"))) }
}

fn delete_by_service(url: &str, arguments: &CampaignDeleteArgs) -> Result<(), Failure> {
    let force = if arguments.force { "?force=true" } else { "" };
    let path = format!("/v1/campaigns/{}{force}", checked(&arguments.id)?);
    let deleted = Service::new(url).request("DELETE", &path, &[("if-match", "*")], NO_BODY);
    deleted.map(drop).map_err(|Failure(what)| {
        let hint = if what.contains("is not closed") { "; --force deletes it anyway" } else { "" };
        Failure(format!("{what}{hint}"))
    })
}

fn delete_in_store(store: &dyn Store, arguments: &CampaignDeleteArgs) -> Result<(), Failure> {
    let CampaignDeleteArgs { id, force, .. } = arguments;
    let unknown = || Failure(format!("no campaign has the id {id}"));
    let row = store.campaign(id)?.ok_or_else(unknown)?;
    let deletion = Deletion {
        campaign: id.clone(),
        only_if: row.version,
        force: *force,
        at: SystemClock.now(),
        token: String::new(),
    };
    match store.apply(&[Command::Delete(deletion)])?.pop() {
        Some(Ok(Done::Deleted { .. })) => {}
        Some(Err(Refusal::NotClosed)) => {
            return Err(Failure(format!("campaign {id} is not closed; --force deletes it anyway")));
        }
        Some(Err(Refusal::NoCampaign)) => return Err(unknown()),
        answer => return Err(Failure(format!("the store rejected the command: {answer:?}"))),
    }
    while store.purge(10_000)? > 0 {}
    Ok(store.close()?)
}
