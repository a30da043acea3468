//! `outlay campaign`: deletes campaigns in a store or through a running service.

use outlay_server::clock::{Clock, SystemClock};
use outlay_server::store::{Command, Deletion, Done, Refusal, Store};

use crate::args::{CampaignArgs, CampaignCommand, CampaignDeleteArgs};
use crate::failure::Failure;
use crate::input::service::{NO_BODY, Service};
use crate::input::store;
use crate::output::CommandOutput;

pub(crate) fn run(arguments: &CampaignArgs) -> Result<CommandOutput, Failure> {
    let CampaignCommand::Delete(arguments) = &arguments.command;
    let id = &arguments.id;
    match &arguments.store.url {
        Some(url) => delete_by_service(url, arguments)?,
        None => delete_in_store(store::existing(&arguments.store)?.as_ref(), arguments)?,
    }
    Ok(CommandOutput::new(String::new()).with_remarks(vec![format!("campaign {id} is deleted")]))
}

fn delete_by_service(url: &str, arguments: &CampaignDeleteArgs) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !arguments.id.bytes().all(is_plain) {
        return Err(Failure(format!("no campaign has the id {}", arguments.id)));
    }
    let force = if arguments.force { "?force=true" } else { "" };
    let path = format!("/v1/campaigns/{}{force}", arguments.id);
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
