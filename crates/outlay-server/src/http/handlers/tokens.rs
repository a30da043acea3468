//! Create, list and revoke tokens while the service runs.

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
use crate::tokens::{Scope, TokenRequest, check_first, make};

/// A request for a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Scopes of the token: `read`, `decide`, `report`, `admin`.
    #[schema(min_items = 1, value_type = Vec<ScopeWord>)]
    pub scopes: Vec<String>,
    /// The campaign that it is restricted to, or a prefix of ids followed by `*`; default: all
    /// campaigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}\\*?$", example = "shop-*")]
    pub campaign: Option<String>,
    /// Name in lists and logs; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", example = "ci-bidder")]
    pub name: Option<String>,
    /// Lifetime in seconds; default: unlimited.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1)]
    pub expires_in_seconds: Option<u64>,
}

/// Permission of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Scope)]
pub enum ScopeWord {
    /// Read campaigns.
    Read,
    /// Request rounds.
    Decide,
    /// Report outcomes.
    Report,
    /// All of these, and change campaigns, outcomes and tokens.
    Admin,
}

impl NewToken {
    /// The validated request.
    ///
    /// # Errors
    /// If a scope is unknown, or there is none.
    pub fn token_request(&self) -> Result<TokenRequest, ApiError> {
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
        Ok(TokenRequest {
            scopes,
            campaign: self.campaign.clone(),
            name: self.name.clone(),
            good_for,
        })
    }
}

/// A new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    /// The token itself. It is not shown again.
    pub token: String,
    /// Its other properties.
    #[serde(flatten)]
    pub info: TokenInfo,
}

/// Properties of a token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenInfo {
    /// Its public part.
    pub id: String,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// The campaign that it is restricted to, or a prefix of ids followed by `*`; absent: all
    /// campaigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// Name in lists and logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time of creation, in RFC 3339.
    pub created_at: String,
    /// Time of expiry, in RFC 3339; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Time of revocation, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
    /// Time of the last recorded use, in RFC 3339. It is recorded once an hour, so the last use is
    /// at most an hour later; absent before the first.
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

/// Tokens in the order of their creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// All tokens.
    pub tokens: Vec<TokenInfo>,
}

/// List all tokens, including revoked ones.
#[utoipa::path(
    get,
    path = "/v1/tokens",
    operation_id = "list_tokens",
    tag = "tokens",
    responses(
        (status = 200, description = "Without their secrets.", body = TokenList),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<TokenList> {
    Json(TokenList { tokens: app.tokens.list().iter().map(TokenInfo::from).collect() })
}

/// Create a token.
///
/// The first token turns authentication on: from then on every request needs one.
#[utoipa::path(
    post,
    path = "/v1/tokens",
    operation_id = "make_token",
    tag = "tokens",
    request_body = NewToken,
    responses(
        (status = 201, description = "Created. Save the token: it is not shown again.", body = TokenMade),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    caller: Caller,
    StrictJson(new): StrictJson<NewToken>,
) -> Result<(StatusCode, Json<TokenMade>), ErrorResponse> {
    let request = new.token_request()?;
    let is_first = app.tokens.is_open();
    check_first(&request, is_first)?;
    let (row, secret) = make(&request, app.service.clock().now())?;
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

/// Revoke a token, immediately and permanently.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{id}",
    operation_id = "revoke_token",
    tag = "tokens",
    params(("id" = String, Path, description = "Its public part, the `id` in the response that created it", pattern = "^[A-Za-z0-9]+$")),
    responses(
        (status = 200, description = "Revoked.", body = TokenInfo),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
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
    // The caller may have pasted the whole token; its secret must not be logged or repeated.
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

/// In a separate task: a token that is revoked in the store but not in memory would still be valid,
/// so this is completed even if the client disconnects.
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
