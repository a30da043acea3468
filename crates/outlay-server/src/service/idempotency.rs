//! Idempotency keys of requests for rounds.

use std::ops::Range;
use std::sync::Arc;

use super::CampaignService;
use super::campaign_cache::CachedCampaign;
use super::spec::CampaignSpec;
use crate::api::{self, Rounds};
use crate::error::{ApiError, ErrorCode};
use crate::store::{Key, Millis};

/// How long an idempotency key is kept.
const KEY_LIFETIME: Millis = 24 * 3600 * 1000;
/// The longest idempotency key.
pub(super) const MOST_KEY_BYTES: usize = 256;

impl CampaignService {
    pub(super) fn key(
        &self,
        spec: &CampaignSpec,
        id: &str,
        ask: &api::Ask,
        key: &str,
    ) -> Result<Key, ApiError> {
        if key.is_empty()
            || key.len() > MOST_KEY_BYTES
            || !key.bytes().all(|byte| byte.is_ascii_graphic())
        {
            let detail =
                format!("Idempotency-Key: up to {MOST_KEY_BYTES} visible ASCII characters");
            return Err(ApiError::new(ErrorCode::BadParameter, detail));
        }
        Ok(Key {
            key: key.to_owned(),
            request: digest_of(id, ask, spec.problem.budget())?,
            expires_at: self.now() + KEY_LIFETIME,
        })
    }

    /// The rounds that were issued under a key before, if any.
    pub(super) async fn rounds_of_key(
        &self,
        cached: &Arc<CachedCampaign>,
        ask: &api::Ask,
        key: &Key,
        token: &str,
    ) -> Result<Option<Rounds>, ApiError> {
        let (token, name, now) = (token.to_owned(), key.key.clone(), self.now());
        let Some(used) =
            self.read(&cached.id, move |store, _| store.used_key(&token, &name, now)).await?
        else {
            return Ok(None);
        };
        // Rounds of another campaign cannot be those of this request.
        if used.campaign != cached.id {
            return Err(key_reused());
        }
        self.rounds_again(cached, ask, used.request, used.rounds).await.map(Some)
    }

    /// Rounds that were issued under a key, if their request was this one: under the problem of that
    /// time, whose budget may be left out.
    pub(super) async fn rounds_again(
        &self,
        cached: &Arc<CachedCampaign>,
        ask: &api::Ask,
        request: [u8; 32],
        rounds: Range<u64>,
    ) -> Result<Rounds, ApiError> {
        let spec = cached.spec();
        // Another process may have amended the campaign.
        let is_first = spec.amendments == 0 && !self.store().is_shared();
        if is_first && digest_of(&cached.id, ask, spec.problem.budget())? != request {
            return Err(key_reused());
        }
        let row = self.split(cached, rounds.start).await?;
        let spec = self.spec_of(cached, &row).await?;
        let problem = self.problem_of(cached, &spec, &row).await?;
        if digest_of(&cached.id, ask, problem.budget())? != request {
            return Err(key_reused());
        }
        self.show_rounds(cached, spec, row).await
    }
}

/// A digest of a request, which may be written with or without defaults.
fn digest_of(id: &str, ask: &api::Ask, budget: f64) -> Result<[u8; 32], ApiError> {
    let mut ask = ask.clone();
    ask.count = ask.count.filter(|count| *count != 1);
    ask.budget = ask.budget.filter(|given| *given != budget);
    ask.without.sort_unstable();
    ask.without.dedup();
    ask.scale.retain(|_, scale| *scale != 1.0);
    let request = serde_json::to_vec(&(id, ask))
        .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?;
    Ok(digest(&request))
}

pub(super) fn key_reused() -> ApiError {
    ApiError::new(ErrorCode::KeyReused, "the Idempotency-Key was used for a different request")
        .hint("use a new key for a new request")
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).into()
}
