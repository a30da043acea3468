//! Access control by bearer tokens `outlay_<id>_<secret>`, of which only a digest of the secret is
//! stored.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::api::EventEntry;
use crate::error::{ApiError, ErrorCode};
use crate::store::{Millis, Store, StoreError, TokenRow};

/// Prefix of every token, by which people and scanners for leaked secrets recognise it.
const PREFIX: &str = "outlay";
/// Random bytes of a secret. It cannot be guessed, so storing a plain digest is enough.
const SECRET_BYTES: usize = 32;
/// Random bytes of a public part.
const ID_BYTES: usize = 8;

/// Permission of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Read campaigns.
    Read,
    /// Request rounds.
    Decide,
    /// Report outcomes.
    Report,
    /// Everything, including creating campaigns and correcting outcomes; for all campaigns also
    /// managing tokens.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Read, Self::Decide, Self::Report, Self::Admin];

    /// The name of the scope.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Report => "report",
            Self::Admin => "admin",
        }
    }

    /// The scope with this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// A request for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// Scopes of the token.
    pub scopes: Vec<Scope>,
    /// The campaign that it is restricted to, or a prefix of ids followed by `*`; absent: all
    /// campaigns.
    pub campaign: Option<String>,
    /// Name in lists and logs.
    pub name: Option<String>,
    /// Lifetime in milliseconds; absent: unlimited.
    pub good_for: Option<Millis>,
}

/// A secret that is shown once and never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The whole token, for the response to its creator.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Creates a token: the stored row, and the token itself.
///
/// # Errors
/// If the campaign or the name is invalid, or the system has no random numbers.
pub fn make(request: &TokenRequest, now: Millis) -> Result<(TokenRow, Secret), ApiError> {
    if let Some(campaign) = &request.campaign {
        let prefix = campaign.strip_suffix('*').unwrap_or(campaign);
        crate::service::check_id(prefix).map_err(|refused| {
            ApiError { code: ErrorCode::BadRequest, ..refused }
                .at("/campaign")
                .hint("give one id, or the start of several followed by `*`, such as `shop-*`")
        })?;
    }
    request.name.as_deref().map_or(Ok(()), check_name)?;
    let random = |error: getrandom::Error| {
        ApiError::new(ErrorCode::Internal, format!("the system has no random numbers: {error}"))
    };
    let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
    getrandom::fill(&mut id).map_err(random)?;
    getrandom::fill(&mut secret).map_err(random)?;
    let (id, secret) = (base62(&id), base62(&secret));
    let row = TokenRow {
        id: id.clone(),
        hash: digest(&secret),
        scopes: request.scopes.iter().map(|scope| scope.word().to_owned()).collect(),
        campaign: request.campaign.clone(),
        name: request.name.clone(),
        created_at: now,
        expires_at: request.good_for.map(|good_for| now.saturating_add(good_for)),
        revoked_at: None,
        last_used_at: None,
    };
    Ok((row, Secret(format!("{PREFIX}_{id}_{secret}"))))
}

/// Longest name of a token.
const MAX_NAME: usize = 64;

fn check_name(name: &str) -> Result<(), ApiError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_plain) {
        return Ok(());
    }
    let detail =
        format!("the name of a token is 1 to {MAX_NAME} letters, digits, `-`, `_` and `.`");
    Err(ApiError::new(ErrorCode::BadRequest, detail).at("/name"))
}

/// Whether a token restricted to `restriction` is valid for a campaign.
fn is_for(restriction: &str, campaign: &str) -> bool {
    match restriction.strip_suffix('*') {
        Some(prefix) => campaign.starts_with(prefix),
        None => campaign == restriction,
    }
}

/// Authentication is on from the first token; it must be one that can create others.
///
/// # Errors
/// If it does not have the scope admin for all campaigns.
pub fn check_first(request: &TokenRequest, is_first: bool) -> Result<(), ApiError> {
    if is_first && (!request.scopes.contains(&Scope::Admin) || request.campaign.is_some()) {
        let detail = "the first token must have the scope admin for all campaigns; otherwise no further tokens could be created";
        return Err(ApiError::new(ErrorCode::BadRequest, detail).at("/scopes"));
    }
    Ok(())
}

/// SHA-256 of a secret part.
fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The number of base-62 digits that encode this number of bytes.
fn base62_length(bytes: usize) -> usize {
    (bytes as f64 * 8.0 / 62_f64.log2()).ceil() as usize
}

/// A number in base 62, with the same length for the same number of bytes.
fn base62(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let length = base62_length(bytes.len());
    let mut number = bytes.to_vec();
    let mut text = vec![b'0'; length];
    for place in text.iter_mut().rev() {
        let mut rest = 0;
        for byte in &mut number {
            let value = rest * 256 + usize::from(*byte);
            *byte = (value / 62) as u8;
            rest = value % 62;
        }
        *place = DIGITS[rest];
    }
    text.into_iter().map(char::from).collect()
}

/// Uses of a token within this time after a recorded one are not recorded.
const NOTED_FOR: u64 = 3_600_000;
/// No use has been recorded.
const NEVER: Millis = Millis::MIN;

/// A token in memory.
#[derive(Debug)]
struct Known {
    row: TokenRow,
    /// The last recorded use, or [`NEVER`].
    used_at: AtomicI64,
}

impl Known {
    /// True if a use at this time must be recorded. Returns true once.
    fn is_to_be_noted(&self, now: Millis) -> bool {
        let noted = self.used_at.load(Ordering::Relaxed);
        // Also if the clock has gone back since.
        let is_due = now.abs_diff(noted) >= NOTED_FOR;
        is_due
            && self
                .used_at
                .compare_exchange(noted, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// The row with the last use.
    fn row(&self) -> TokenRow {
        let used_at = self.used_at.load(Ordering::Relaxed);
        TokenRow { last_used_at: (used_at != NEVER).then_some(used_at), ..self.row.clone() }
    }
}

/// All tokens, in memory.
#[derive(Debug)]
pub struct Tokens {
    store: Arc<dyn Store>,
    known: Arc<RwLock<Arc<HashMap<String, Known>>>>,
    /// Start of the last look-up of an unknown token.
    looked: tokio::sync::Mutex<Option<Instant>>,
}

/// Least time between two look-ups of unknown tokens, so that guessed tokens cannot load the store.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Tokens {
    /// Reads all tokens.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn load(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let tokens = Self { store, known: Arc::default(), looked: tokio::sync::Mutex::default() };
        tokens.reload()?;
        Ok(tokens)
    }

    /// Reads all tokens again; blocks.
    ///
    /// # Errors
    /// If the store cannot be read; the tokens in memory stay.
    pub fn reload(&self) -> Result<(), StoreError> {
        read(self.store.as_ref(), &self.known)
    }

    /// Looks up an unknown token in the store, because another process may have created it. The rate
    /// of look-ups is limited over all requests; a request between two look-ups waits for the next.
    pub async fn look_up(&self, token: &str) {
        let asked = Instant::now();
        let Some(id) = public_part(token).filter(|id| self.store.is_shared() && !self.is_known(id))
        else {
            return;
        };
        let mut looked = self.looked.lock().await;
        if self.is_known(id) || looked.is_some_and(|looked| looked > asked) {
            return;
        }
        if let Some(looked) = *looked {
            tokio::time::sleep(LOOK_EVERY.saturating_sub(looked.elapsed())).await;
        }
        *looked = Some(Instant::now());
        let (store, known) = (Arc::clone(&self.store), Arc::clone(&self.known));
        let found = tokio::task::spawn_blocking(move || read(store.as_ref(), &known)).await;
        if let Ok(Err(error)) = found {
            tracing::warn!(error = error.what, "cannot look up a token");
        }
    }

    fn is_known(&self, id: &str) -> bool {
        self.known().contains_key(id)
    }

    fn known(&self) -> Arc<HashMap<String, Known>> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if no token was ever created, so authentication is off. Revoking all tokens does not
    /// turn it off again.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.known().is_empty()
    }

    /// All tokens in the order of their creation.
    #[must_use]
    pub fn list(&self) -> Vec<TokenRow> {
        let mut rows: Vec<_> = self.known().values().map(Known::row).collect();
        rows.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        rows
    }

    /// Adds the names of the tokens to events.
    pub(crate) fn add_names(&self, events: &mut [EventEntry]) {
        let known = self.known();
        for event in events {
            event.token_name = known.get(&event.token).and_then(|token| token.row.name.clone());
        }
    }

    /// The holder of a token.
    ///
    /// # Errors
    /// If the token is unknown, revoked or expired. The message is the same for all of these.
    pub fn admit(&self, token: &str, now: Millis) -> Result<Holder, ApiError> {
        let bad = || {
            ApiError::new(ErrorCode::Unauthorised, "the token is unknown, expired or revoked")
                .hint("create one with `outlay token create` and send it as `Authorization: Bearer outlay_…`")
        };
        let mut parts = token.splitn(3, '_');
        let (Some(PREFIX), Some(id), Some(secret)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(bad());
        };
        let known = self.known();
        let token = known.get(id).ok_or_else(bad)?;
        let row = &token.row;
        let is_right = bool::from(digest(secret).ct_eq(&row.hash));
        let is_good =
            row.revoked_at.is_none() && row.expires_at.is_none_or(|expires_at| expires_at > now);
        if !is_right || !is_good {
            return Err(bad());
        }
        let scopes = row.scopes.iter().filter_map(|word| Scope::named(word)).collect();
        Ok(Holder {
            id: row.id.clone(),
            scopes,
            campaign: row.campaign.clone(),
            name: row.name.as_deref().map(Arc::from),
            is_to_be_noted: token.is_to_be_noted(now),
        })
    }
}

/// Reads all tokens.
fn read(store: &dyn Store, tokens: &RwLock<Arc<HashMap<String, Known>>>) -> Result<(), StoreError> {
    let rows = store.tokens()?;
    let before = Arc::clone(&tokens.read().unwrap_or_else(PoisonError::into_inner));
    let known = |row: TokenRow| {
        // A use that was recorded here may still be on its way to the store.
        let noted =
            before.get(&row.id).map_or(NEVER, |known| known.used_at.load(Ordering::Relaxed));
        let used_at = AtomicI64::new(row.last_used_at.unwrap_or(NEVER).max(noted));
        (row.id.clone(), Known { row, used_at })
    };
    let known = rows.into_iter().map(known).collect();
    *tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    Ok(())
}

/// The public part of a token, if its format is valid.
pub(crate) fn public_part(token: &str) -> Option<&str> {
    let (id, secret) = token.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
    let has_form = |text: &str, bytes: usize| {
        text.len() == base62_length(bytes) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    (has_form(id, ID_BYTES) && has_form(secret, SECRET_BYTES)).then_some(id)
}

/// The holder of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The token's public part.
    pub id: String,
    /// Name in lists and logs.
    pub name: Option<Arc<str>>,
    scopes: Vec<Scope>,
    campaign: Option<String>,
    /// Whether this use must be [recorded](crate::service::CampaignService::note_use): the first in
    /// an hour.
    pub is_to_be_noted: bool,
}

/// Subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// One campaign.
    Campaign(&'a str),
    /// All campaigns.
    Everything,
    /// No campaign: only the scope is checked.
    Nothing,
}

impl Holder {
    /// Checks a permission.
    ///
    /// # Errors
    /// If it is missing.
    pub fn may(&self, scope: Scope, subject: Subject<'_>) -> Result<(), ApiError> {
        if !self.scopes.contains(&scope) && !self.scopes.contains(&Scope::Admin) {
            let detail = format!("the token does not have the scope {}", scope.word());
            return Err(ApiError::new(ErrorCode::Forbidden, detail));
        }
        match (&self.campaign, subject) {
            (None, _) | (Some(_), Subject::Nothing) => Ok(()),
            (Some(own), Subject::Campaign(asked)) if is_for(own, asked) => Ok(()),
            (Some(_), Subject::Campaign(_)) => Err(ApiError::new(
                ErrorCode::Forbidden,
                "the token is restricted to other campaigns",
            )),
            (Some(_), Subject::Everything) => Err(ApiError::new(
                ErrorCode::Forbidden,
                "the token is restricted to some campaigns, but the request concerns all of them",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Command, MemoryStore, TokenRevocation, TokenUse};

    fn request(scopes: &[Scope], campaign: Option<&str>, good_for: Option<Millis>) -> TokenRequest {
        let campaign = campaign.map(str::to_owned);
        TokenRequest { scopes: scopes.to_vec(), campaign, name: None, good_for }
    }

    #[test]
    fn letters_and_digits_encode_the_number() {
        assert_eq!(base62(&[0]), "00");
        assert_eq!(base62(&[61]), "0z");
        assert_eq!(base62(&[62]), "10");
        assert_eq!(base62(&[255]), "47");
        assert_eq!(base62(&[255; 32]).len(), 43);
        assert_eq!(base62(&[0; 32]), "0".repeat(43));
    }

    #[test]
    fn a_token_is_good_until_it_expires_or_is_revoked() {
        let store = Arc::new(MemoryStore::new());
        let (row, secret) = make(&request(&[Scope::Read], None, Some(1000)), 5000).unwrap();
        let tokens = Tokens::load(store.clone()).unwrap();
        assert!(tokens.is_open());
        store.apply(&[Command::AddToken(row.clone())]).unwrap()[0].as_ref().unwrap();
        tokens.reload().unwrap();
        assert!(!tokens.is_open());
        assert_eq!(tokens.admit(secret.reveal(), 5999).unwrap().id, row.id);
        assert!(tokens.admit(secret.reveal(), 6000).is_err(), "expired");
        store.apply(&[Command::RevokeToken(TokenRevocation { id: row.id, at: 5500 })]).unwrap()[0]
            .as_ref()
            .unwrap();
        tokens.reload().unwrap();
        assert!(tokens.admit(secret.reveal(), 5999).is_err(), "revoked");
        assert!(!tokens.is_open(), "a revoked token keeps the door shut");
    }

    #[test]
    fn a_use_is_recorded_once_an_hour() {
        let store = Arc::new(MemoryStore::new());
        let (row, secret) = make(&request(&[Scope::Read], None, None), 0).unwrap();
        store.apply(&[Command::AddToken(row.clone())]).unwrap()[0].as_ref().unwrap();
        let tokens = Tokens::load(store.clone()).unwrap();
        let hour = NOTED_FOR as Millis;
        let is_noted = |now| tokens.admit(secret.reveal(), now).unwrap().is_to_be_noted;
        assert_eq!(tokens.list()[0].last_used_at, None);
        assert_eq!(
            [5, 6, hour + 4, hour + 5, hour + 6].map(is_noted),
            [true, false, false, true, false]
        );
        assert!(
            tokens.admit(&format!("{}x", secret.reveal()), 9 * hour).is_err(),
            "a wrong secret is no use of the token"
        );
        assert_eq!(tokens.list()[0].last_used_at, Some(hour + 5));
        tokens.reload().unwrap();
        assert_eq!(
            tokens.list()[0].last_used_at,
            Some(hour + 5),
            "the store does not know of it yet"
        );
        store.apply(&[Command::UseToken(TokenUse { id: row.id, at: 3 * hour })]).unwrap()[0]
            .as_ref()
            .unwrap();
        tokens.reload().unwrap();
        assert_eq!(
            [3, 4].map(|hours| is_noted(hours * hour + 1)),
            [false, true],
            "another process has noted one"
        );
        assert_eq!(
            [0, 1].map(|later| is_noted(hour + later)),
            [true, false],
            "the clock was wrong"
        );
    }

    #[test]
    fn only_the_complete_token_is_accepted() {
        let store = Arc::new(MemoryStore::new());
        let (row, secret) = make(&request(&[Scope::Admin], None, None), 0).unwrap();
        store.apply(&[Command::AddToken(row.clone())]).unwrap()[0].as_ref().unwrap();
        let tokens = Tokens::load(store).unwrap();
        let whole = secret.reveal();
        assert!(tokens.admit(whole, 0).is_ok());
        let digest: String = row.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let wrong = [
            "",
            "outlay",
            "outlay_",
            &whole[..whole.len() - 1],
            &format!("{whole}x"),
            &whole.replacen("outlay", "outlaw", 1),
        ];
        for token in wrong
            .into_iter()
            .chain([format!("outlay_{}_{digest}", row.id).as_str(), &format!("outlay_{}_", row.id)])
        {
            assert!(tokens.admit(token, 0).is_err(), "{token}");
        }
        assert!(!format!("{secret:?}").contains(&whole[7..]));
    }

    #[test]
    fn scopes_and_campaigns() {
        let holder = |scopes: &[Scope], campaign: Option<&str>| Holder {
            id: "x".to_owned(),
            name: None,
            scopes: scopes.to_vec(),
            campaign: campaign.map(str::to_owned),
            is_to_be_noted: false,
        };
        let reader = holder(&[Scope::Read], Some("a"));
        assert!(reader.may(Scope::Read, Subject::Campaign("a")).is_ok());
        assert!(reader.may(Scope::Read, Subject::Campaign("b")).is_err());
        assert!(reader.may(Scope::Read, Subject::Everything).is_err());
        assert!(reader.may(Scope::Read, Subject::Nothing).is_ok());
        assert!(reader.may(Scope::Decide, Subject::Campaign("a")).is_err());
        for scope in Scope::ALL {
            assert!(holder(&[Scope::Admin], None).may(scope, Subject::Everything).is_ok());
            assert!(holder(&[Scope::Admin], Some("a")).may(scope, Subject::Campaign("b")).is_err());
        }
        let group = holder(&[Scope::Read], Some("shop-*"));
        for campaign in ["shop-", "shop-a", "shop-a-b"] {
            assert!(group.may(Scope::Read, Subject::Campaign(campaign)).is_ok(), "{campaign}");
        }
        for campaign in ["shop", "sho", "Shop-a", "a-shop-a", "shop_a", "", "*"] {
            assert!(group.may(Scope::Read, Subject::Campaign(campaign)).is_err(), "{campaign}");
        }
        assert!(group.may(Scope::Read, Subject::Everything).is_err());
        assert!(group.may(Scope::Report, Subject::Campaign("shop-a")).is_err());
    }

    #[test]
    fn restrictions_and_names_are_checked() {
        let made = |campaign: Option<&str>, name: Option<&str>| {
            let name = name.map(str::to_owned);
            make(&TokenRequest { name, ..request(&[Scope::Read], campaign, None) }, 0)
                .map(|(row, _)| row)
        };
        let row = made(Some("shop-*"), Some("ci-bidder")).unwrap();
        assert_eq!(
            (row.campaign.as_deref(), row.name.as_deref()),
            (Some("shop-*"), Some("ci-bidder"))
        );
        for campaign in ["*", "a*b", "**", "a**", " a*", "", "../x"] {
            let error = made(Some(campaign), None).unwrap_err();
            assert_eq!(error.pointer.as_deref(), Some("/campaign"), "{campaign}");
        }
        for name in ["", "a b", "ü", "a\n", &"x".repeat(65)] {
            let error = made(None, Some(name)).unwrap_err();
            assert_eq!(error.pointer.as_deref(), Some("/name"), "{name}");
        }
    }
}
