//! Tokens made and revoked while the service runs.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::rfc3339;
use crate::error::{ApiError, ErrorCode};
use crate::http::App;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{Caller, StrictJson, TokenId};
use crate::store::{Millis, TokenRow};
use crate::tokens::{Scope, Wish, check_first, make};

/// A token as a client asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is to allow: `read`, `decide`, `report`, `admin`.
    #[schema(min_items = 1, value_type = Vec<ScopeWord>)]
    pub scopes: Vec<String>,
    /// The campaign that it is restricted to, or the start of several ids followed by `*`; all
    /// campaigns if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}\\*?$", example = "shop-*")]
    pub campaign: Option<String>,
    /// Name for people, in lists and logs; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", example = "ci-bidder")]
    pub name: Option<String>,
    /// After so many seconds it is not good any more; for ever if absent.
    #[serde(
        default,
        deserialize_with = "crate::whole::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1)]
    pub expires_in_seconds: Option<u64>,
}

/// What a token may allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Scope)]
pub enum ScopeWord {
    /// To look.
    Read,
    /// To ask for rounds.
    Decide,
    /// To tell what came back.
    Report,
    /// All of that, and to change campaigns, outcomes and tokens.
    Admin,
}

impl NewToken {
    /// What is wished for.
    ///
    /// # Errors
    /// If there is no such scope, or none at all.
    pub fn wish(&self) -> Result<Wish, ApiError> {
        let wrong = |place: String, what: String| {
            ApiError::new(ErrorCode::BadRequest, format!("{place}: {what}")).at(place)
        };
        let mut scopes = Vec::new();
        for (position, word) in self.scopes.iter().enumerate() {
            let scope = Scope::named(word);
            let unknown = || {
                wrong(
                    format!("/scopes/{position}"),
                    format!("unknown scope {word}; expected one of read, decide, report, admin"),
                )
            };
            let scope = scope.ok_or_else(unknown)?;
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        if scopes.is_empty() {
            return Err(wrong("/scopes".to_owned(), "expected at least one scope".to_owned()));
        }
        let good_for = match self.expires_in_seconds {
            Some(0) => {
                return Err(wrong(
                    "/expires_in_seconds".to_owned(),
                    "must be at least 1".to_owned(),
                ));
            }
            Some(seconds) => {
                Some(Millis::try_from(seconds.saturating_mul(1000)).unwrap_or(Millis::MAX))
            }
            None => None,
        };
        Ok(Wish { scopes, campaign: self.campaign.clone(), name: self.name.clone(), good_for })
    }
}

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    /// The token itself. It is shown now and never again.
    pub token: String,
    /// What is known of it.
    #[serde(flatten)]
    pub info: TokenInfo,
}

/// What is known of a token. Its secret part is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenInfo {
    /// Its public part.
    pub id: String,
    /// What it allows.
    pub scopes: Vec<String>,
    /// The campaign that it is restricted to, or the start of several ids followed by `*`; absent:
    /// all campaigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it was made, in RFC 3339.
    pub created_at: String,
    /// From then on it is not good, in RFC 3339; absent: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Since when it is revoked, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
    /// When it was seen in use, in RFC 3339: noted once an hour, so the last use is at most an hour
    /// later; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
}

impl From<&TokenRow> for TokenInfo {
    fn from(row: &TokenRow) -> Self {
        Self {
            id: row.id.clone(),
            scopes: row.scopes.clone(),
            campaign: row.campaign.clone(),
            name: row.name.clone(),
            created_at: rfc3339(row.created_at),
            expires_at: row.expires_at.map(rfc3339),
            revoked_at: row.revoked_at.map(rfc3339),
            last_used_at: row.last_used_at.map(rfc3339),
        }
    }
}

/// Tokens in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// All of them.
    pub tokens: Vec<TokenInfo>,
}

/// Every token that was ever made.
#[utoipa::path(
    get,
    path = "/v1/tokens",
    operation_id = "list_tokens",
    tag = "tokens",
    responses(
        (status = 200, description = "Without their secrets.", body = TokenList),
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<TokenList> {
    Json(TokenList { tokens: app.tokens.list().iter().map(TokenInfo::from).collect() })
}

/// Make a token.
///
/// The first one shuts the door: from then on every request needs one.
#[utoipa::path(
    post,
    path = "/v1/tokens",
    operation_id = "make_token",
    tag = "tokens",
    request_body = NewToken,
    responses(
        (status = 201, description = "Made. Keep the token: it is not shown again.", body = TokenMade),
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    caller: Caller,
    StrictJson(new): StrictJson<NewToken>,
) -> Result<(StatusCode, Json<TokenMade>), ErrorResponse> {
    let wish = new.wish()?;
    let is_first = app.tokens.is_open();
    check_first(&wish, is_first)?;
    let (row, secret) = make(&wish, app.service.clock().now())?;
    let info = TokenInfo::from(&row);
    to_its_end(async move {
        let by = Some(&*caller.0).filter(|by| !by.is_empty());
        let created = row.clone();
        app.service.add_token(row).await?;
        tracing::info!(
            token = created.id,
            token_name = created.name,
            scopes = created.scopes.join(" "),
            campaign = created.campaign,
            by,
            "token created"
        );
        if is_first {
            tracing::warn!(
                token = created.id,
                "authentication is on: the first token was created, and every request needs one now"
            );
        }
        reload(&app).await
    })
    .await?;
    Ok((StatusCode::CREATED, Json(TokenMade { token: secret.reveal().to_owned(), info })))
}

/// Revoke a token, at once and for ever.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{id}",
    operation_id = "revoke_token",
    tag = "tokens",
    params(("id" = String, Path, description = "Its public part, the `id` of the answer that made it", pattern = "^[A-Za-z0-9]+$")),
    responses(
        (status = 200, description = "It is no longer good.", body = TokenInfo),
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    TokenId(id): TokenId,
) -> Result<Json<TokenInfo>, ErrorResponse> {
    let unknown =
        || ErrorResponse::new(ErrorCode::NoToken, format!("no token has the public part {id}"));
    // Who asks may have copied the whole token; its secret must not travel any further.
    if id.contains('_') {
        return Err(ErrorResponse::new(
            ErrorCode::BadParameter,
            "give only the public part of the token, between the two underscores",
        ));
    }
    if !app.tokens.list().iter().any(|row| row.id == id) {
        return Err(unknown());
    }
    let (held, revoked) = (Arc::clone(&app), id.clone());
    to_its_end(async move {
        held.service.revoke_token(&revoked).await?;
        let by = Some(&*caller.0).filter(|by| !by.is_empty());
        tracing::info!(token = revoked, by, "token revoked");
        reload(&held).await
    })
    .await?;
    let row = app.tokens.list().into_iter().find(|row| row.id == id).ok_or_else(unknown)?;
    Ok(Json(TokenInfo::from(&row)))
}

/// In a task of its own: a token that is revoked in the store but not here would still be good, so
/// this is finished even if nobody waits for it any more.
async fn to_its_end(
    work: impl Future<Output = Result<(), ErrorResponse>> + Send + 'static,
) -> Result<(), ErrorResponse> {
    tokio::spawn(work).await.unwrap_or_else(|_| {
        Err(ErrorResponse::new(ErrorCode::Internal, "this is a bug in outlay; please report it"))
    })
}

async fn reload(app: &Arc<App>) -> Result<(), ErrorResponse> {
    let held = Arc::clone(app);
    let read = tokio::task::spawn_blocking(move || held.tokens.reload()).await;
    read.ok().and_then(Result::ok).ok_or_else(|| {
        ErrorResponse::new(
            ErrorCode::Busy,
            "the change is saved, but the tokens cannot be reloaded now",
        )
    })
}
