//! `outlay token`: creates, lists and revokes tokens in a store or through a running service.

use std::sync::Arc;

use outlay_server::clock::{Clock, SystemClock};
use outlay_server::http::{NewToken, TokenInfo, TokenList, TokenMade};
use outlay_server::store::{Command, Done, Refusal, SqliteStore, Store, TokenRevocation};
use outlay_server::tokens;

use crate::args::{TokenArgs, TokenCommand, TokenCreateArgs, TokenStoreArgs};
use crate::failure::Failure;
use crate::input::service::{NO_BODY, Service};
use crate::input::store;
use crate::output::table::{Align, Table};
use crate::output::{CommandOutput, Format, csv, json};

pub(crate) fn run(arguments: &TokenArgs) -> Result<CommandOutput, Failure> {
    match &arguments.command {
        TokenCommand::Create(arguments) => create(arguments),
        TokenCommand::List(arguments) => {
            let tokens = TokenStore::open_existing(&arguments.store)?.list()?;
            Ok(CommandOutput::new(match arguments.format {
                Format::Table => table(&tokens),
                Format::Json => json(&TokenList { tokens })?,
                Format::Csv => csv(tokens.iter().map(row))?,
            }))
        }
        TokenCommand::Revoke(arguments) => {
            let id = public_part(&arguments.id);
            TokenStore::open_existing(&arguments.store)?.revoke(id)?;
            Ok(CommandOutput::new(String::new())
                .with_remarks(vec![format!("token {id} is revoked")]))
        }
    }
}

fn create(arguments: &TokenCreateArgs) -> Result<CommandOutput, Failure> {
    let new = NewToken {
        scopes: arguments.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        campaign: arguments.campaign.clone(),
        name: arguments.name.clone(),
        expires_in_seconds: arguments.expires,
    };
    let made = TokenStore::open(&arguments.store)?.create(&new)?;
    let TokenInfo { id, scopes, campaign, name, expires_at, .. } = made.info;
    let campaign = campaign.map_or("all campaigns".to_owned(), |campaign| {
        let noun = if campaign.ends_with('*') { "campaigns" } else { "campaign" };
        format!("{noun} {campaign}")
    });
    let name = name.map_or(String::new(), |name| format!(" ({name})"));
    let until = expires_at.map_or(String::new(), |until| format!(", until {until}"));
    let remark = format!(
        "token {id}{name}: {} for {campaign}{until}; save it now, it is not shown again",
        scopes.join(", ")
    );
    Ok(CommandOutput::new(format!("{}\n", made.token)).with_remarks(vec![remark]))
}

/// The public part of a token, also if the whole token is given.
fn public_part(id: &str) -> &str {
    id.strip_prefix("outlay_").and_then(|rest| rest.split('_').next()).unwrap_or(id)
}

/// The place where tokens are managed.
enum TokenStore {
    Store(Arc<dyn Store>),
    Service(Service),
}

impl TokenStore {
    fn open(source: &TokenStoreArgs) -> Result<Self, Failure> {
        if let Some(url) = &source.url {
            return Ok(Self::Service(Service::new(url)));
        }
        let store = match source.database() {
            Some(url) => store::database(&url),
            // Only `outlay serve` checks the file system.
            None => store::folder(store::folder_or_default(source.data.as_deref()), true).map_err(
                |Failure(what)| {
                    Failure(format!(
                        "{what}\n  if the service is running, use --url http://127.0.0.1:7341"
                    ))
                },
            ),
        };
        store.map(Self::Store)
    }

    /// Opens an existing store; a read-only command must not create one.
    fn open_existing(source: &TokenStoreArgs) -> Result<Self, Failure> {
        if source.url.is_some() {
            return Self::open(source);
        }
        if let Some(url) = source.database() {
            return store::existing_database(&url).map(Self::Store);
        }
        let folder = store::folder_or_default(source.data.as_deref());
        if !SqliteStore::is_in(folder) {
            return Err(Failure(format!(
                "{} has no store; `outlay serve` or `outlay token create` creates one",
                folder.display()
            )));
        }
        Self::open(source)
    }

    fn create(&self, new: &NewToken) -> Result<TokenMade, Failure> {
        match self {
            Self::Service(service) => service.send("POST", "/v1/tokens", Some(new)),
            Self::Store(store) => {
                let request = new.token_request()?;
                let is_first = store.tokens()?.is_empty();
                tokens::check_first(&request, is_first)?;
                let (row, secret) = tokens::make(&request, SystemClock.now())?;
                let info = TokenInfo::from(&row);
                apply(store.as_ref(), Command::AddToken(row))?;
                store.close()?;
                Ok(TokenMade { token: secret.reveal().to_owned(), info })
            }
        }
    }

    fn list(&self) -> Result<Vec<TokenInfo>, Failure> {
        match self {
            Self::Service(service) => {
                Ok(service.send::<TokenList>("GET", "/v1/tokens", NO_BODY)?.tokens)
            }
            Self::Store(store) => {
                let mut rows = store.tokens()?;
                rows.sort_by(|one, other| {
                    (one.created_at, &one.id).cmp(&(other.created_at, &other.id))
                });
                Ok(rows.iter().map(TokenInfo::from).collect())
            }
        }
    }

    fn revoke(&self, id: &str) -> Result<(), Failure> {
        match self {
            Self::Service(service) => {
                service.send::<TokenInfo>("DELETE", &format!("/v1/tokens/{id}"), NO_BODY).map(drop)
            }
            Self::Store(store) => {
                let revocation = TokenRevocation { id: id.to_owned(), at: SystemClock.now() };
                apply(store.as_ref(), Command::RevokeToken(revocation))
                    .map_err(|_| Failure(format!("no token has the public part {id}")))?;
                Ok(store.close()?)
            }
        }
    }
}

fn apply(store: &dyn Store, command: Command) -> Result<Done, Failure> {
    let refused =
        |refusal: &Refusal| Failure(format!("the store rejected the command: {refusal:?}"));
    store
        .apply(&[command])?
        .pop()
        .unwrap_or(Err(Refusal::Token))
        .map_err(|refusal| refused(&refusal))
}

#[derive(serde::Serialize)]
struct Row<'a> {
    id: &'a str,
    name: Option<&'a str>,
    scopes: String,
    campaign: Option<&'a str>,
    created_at: &'a str,
    expires_at: Option<&'a str>,
    revoked_at: Option<&'a str>,
    last_used_at: Option<&'a str>,
}

fn row(token: &TokenInfo) -> Row<'_> {
    Row {
        id: &token.id,
        name: token.name.as_deref(),
        scopes: token.scopes.join(" "),
        campaign: token.campaign.as_deref(),
        created_at: &token.created_at,
        expires_at: token.expires_at.as_deref(),
        revoked_at: token.revoked_at.as_deref(),
        last_used_at: token.last_used_at.as_deref(),
    }
}

fn table(tokens: &[TokenInfo]) -> String {
    if tokens.is_empty() {
        return "no tokens\n".to_owned();
    }
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("name", Align::Left),
        ("scopes", Align::Left),
        ("campaign", Align::Left),
        ("created", Align::Left),
        ("expires", Align::Left),
        ("revoked", Align::Left),
        ("used", Align::Left),
    ]);
    for token in tokens {
        let row = row(token);
        let optional = |text: Option<&str>| text.unwrap_or_default().to_owned();
        table.row(vec![
            row.id.to_owned(),
            optional(row.name),
            row.scopes,
            row.campaign.unwrap_or("all").to_owned(),
            row.created_at.to_owned(),
            optional(row.expires_at),
            optional(row.revoked_at),
            optional(row.last_used_at),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_token_stands_for_its_public_part() {
        assert_eq!(public_part("outlay_7Gk2_s3cret"), "7Gk2");
        assert_eq!(public_part("7Gk2"), "7Gk2");
    }
}
