//! The desk: where rounds are asked for and outcomes told. It knows every campaign, has everything
//! written before it answers, and changes its own memory only after the store has.
//!
//! Whoever waits for it may stop waiting at any time: what was on its way to the store gets there,
//! and the memory follows.

mod ask;
mod figures;
mod line;
mod live;
mod pages;
mod plan;
mod queue;
mod rounds;
mod show;
mod tell;

pub use figures::{CampaignFigures, Figures, Histogram};
pub(crate) use plan::{check_amount, read_problem};

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::clock::Clock;
use crate::limits::Limits;
use crate::refusal::{Code, Refused};
use crate::shapes::{CampaignChange, CampaignState, NewCampaign};
use crate::store::{
    self, CampaignRow, Command, Done, Millis, Refusal, StatusChange, Store, StoreError,
    TokenRevocation, TokenRow, TokenUse,
};
use figures::Tallies;
use live::Live;
use plan::Plan;
use queue::{Answer, Queue, Trouble};

/// Where requests are dealt with. Cheap to clone: all clones are the same desk.
#[derive(Debug, Clone)]
pub struct Desk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    queue: Queue,
    tallies: Arc<Tallies>,
    campaigns: RwLock<HashMap<String, Arc<Live>>>,
    /// Campaigns that were in the store at the start.
    found: u64,
}

/// Campaign ids are at most this long.
pub const MOST_ID_BYTES: usize = 128;
const PAGE: usize = 1000;

impl Desk {
    /// Opens a desk over a store, and starts the threads that write to it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let tallies = Arc::new(Tallies::new());
        let queue = Queue::open(&store, &tallies, limits.queue, limits.batch);
        let found = count_campaigns(store.as_ref())?;
        let campaigns = RwLock::new(HashMap::new());
        Ok(Self {
            shared: Arc::new(Shared { store, clock, limits, queue, tallies, campaigns, found }),
        })
    }

    /// How much it takes on.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Where everything is kept.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// What it tells the time by.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    fn now(&self) -> Millis {
        self.shared.clock.now()
    }

    /// Begins a campaign. The same request again is answered like the first one; `true` for the
    /// first.
    ///
    /// # Errors
    /// If the request does not hold together, or the id is taken by another campaign.
    pub async fn create(
        &self,
        id: &str,
        request: NewCampaign,
        token: &str,
    ) -> Result<(CampaignState, bool), Refused> {
        check_id(id)?;
        let plan = Plan::new(&request, self.limits())?;
        if self.shared.found + self.shared.tallies.campaigns() >= self.limits().campaigns as u64
            && self.read(id, |store, id| store.campaign(&id)).await?.is_none()
        {
            let detail = format!(
                "there are {} campaigns already, as many as the service takes",
                self.limits().campaigns
            );
            return Err(Refused::new(Code::TooLarge, detail));
        }
        let new = store::NewCampaign {
            id: id.to_owned(),
            spec: serde_json::to_string(&request)
                .map_err(|error| Refused::new(Code::BadRequest, error.to_string()))?,
            tasks: plan.problem.tasks().len() as u32,
            at: self.now(),
            token: token.to_owned(),
        };
        let is_new = match self.apply(Command::Create(new), None).await? {
            Ok(Done::Created) => true,
            Ok(_) => false,
            // The same may be said in other words: keys in another order, what is usual spelt out.
            Err(Refusal::OtherCampaign) if self.live(id).await?.plan == plan => false,
            Err(Refusal::OtherCampaign) => {
                let refused = Refused::new(
                    Code::CampaignExists,
                    format!("campaign {id} is there, with another problem, learner or settings"),
                );
                return Err(refused.hint("take another id; what a campaign is about never changes"));
            }
            Err(refusal) => return Err(unexpected(&refusal)),
        };
        Ok((self.campaign(id).await?, is_new))
    }

    /// A campaign as it stands.
    ///
    /// # Errors
    /// If there is none of this id.
    pub async fn campaign(&self, id: &str) -> Result<CampaignState, Refused> {
        let live = self.fresh(id).await?;
        show::campaign(&live, self.now(), self.store().is_shared())
    }

    /// Pauses a campaign, opens it again or closes it, if its version is still `version`.
    ///
    /// # Errors
    /// If there is none of this id, or the version has moved.
    pub async fn set_status(
        &self,
        id: &str,
        change: CampaignChange,
        version: u64,
        token: &str,
    ) -> Result<CampaignState, Refused> {
        let live = self.live(id).await?;
        let change = StatusChange {
            campaign: id.to_owned(),
            to: change.status,
            only_if: version,
            at: self.now(),
            token: token.to_owned(),
        };
        match self.apply(Command::SetStatus(change), Some(&live)).await? {
            Ok(_) => self.campaign(id).await,
            Err(Refusal::OtherVersion { version: now }) => {
                let detail = format!("campaign {id} has version {now} by now, not {version}");
                Err(Refused::new(Code::VersionMoved, detail)
                    .hint("read the campaign again and decide anew"))
            }
            Err(refusal) => Err(unexpected(&refusal)),
        }
    }

    /// Makes a token known.
    ///
    /// # Errors
    /// If one of the same id is.
    pub async fn add_token(&self, token: TokenRow) -> Result<(), Refused> {
        self.apply(Command::AddToken(token), None)
            .await?
            .map(|_| ())
            .map_err(|refusal| unexpected(&refusal))
    }

    /// Makes a token useless.
    ///
    /// # Errors
    /// If there is none of this id.
    pub async fn revoke_token(&self, id: &str) -> Result<(), Refused> {
        let revocation = TokenRevocation { id: id.to_owned(), at: self.now() };
        let revoked = self.apply(Command::RevokeToken(revocation), None).await?;
        revoked
            .map(|_| ())
            .map_err(|_| Refused::new(Code::NoRoute, format!("there is no token {id}")))
    }

    /// Notes that a token was used. Nobody waits for it, and where the store is too busy it is left
    /// out.
    pub fn note_use(&self, id: &str) {
        let used = TokenUse { id: id.to_owned(), at: self.now() };
        drop(self.shared.queue.send(vec![Command::UseToken(used)], None));
    }

    /// What it has done, and how it stands.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let (now, is_shared) = (self.now(), self.store().is_shared());
        let campaigns = self.shared.campaigns.read().unwrap_or_else(PoisonError::into_inner);
        let campaigns =
            campaigns.values().map(|live| show::figures(live, now, is_shared)).collect();
        Figures { queue_depth: self.shared.queue.depth(), campaigns, ..self.shared.tallies.read() }
    }

    /// What went wrong for good, if something did: the process must end, and another one start from
    /// the store.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.queue.failure()
    }

    /// Takes nothing more, and waits until everything that was taken is written and the store is
    /// tidy.
    ///
    /// # Errors
    /// If the store cannot be closed. What was acknowledged is safe all the same.
    pub async fn drain(&self) -> Result<(), StoreError> {
        let desk = self.clone();
        let closed = tokio::task::spawn_blocking(move || {
            desk.shared.queue.drain();
            desk.shared.store.close()
        });
        closed.await.unwrap_or_else(|_| {
            Err(StoreError {
                what: "closing the store was interrupted".to_owned(),
                is_fatal: false,
            })
        })
    }

    /// The campaign in memory, from the store if it is not there yet.
    async fn live(&self, id: &str) -> Result<Arc<Live>, Refused> {
        if let Some(live) =
            self.shared.campaigns.read().unwrap_or_else(PoisonError::into_inner).get(id)
        {
            return Ok(Arc::clone(live));
        }
        let now = self.now();
        let loaded = self
            .read(id, move |store, id| {
                store.campaign(&id)?.map(|row| load(store, row, now)).transpose()
            })
            .await?;
        let loaded = Arc::new(loaded.ok_or_else(|| no_campaign(id))?);
        let mut campaigns = self.shared.campaigns.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(campaigns.entry(id.to_owned()).or_insert(loaded)))
    }

    /// The campaign with counts that are recent enough.
    async fn fresh(&self, id: &str) -> Result<Arc<Live>, Refused> {
        let live = self.live(id).await?;
        if live.is_outdated() {
            let again = Arc::clone(&live);
            self.read(id, move |store, _| again.rebuild(store)).await?;
        } else if self.store().is_shared() {
            let (now, read_at) = (self.now(), live.state().read_at);
            if (0..self.limits().staleness_ms).contains(&(now - read_at)) {
                return Ok(live);
            }
            let again = Arc::clone(&live);
            let again = move |store: &dyn Store| {
                again.refresh(store, now).and_then(|()| again.look_elsewhere(store, now))
            };
            self.read(id, move |store, _| again(store)).await?;
        }
        Ok(live)
    }

    /// Reads from the store, off the threads that answer requests.
    async fn read<T: Send + 'static>(
        &self,
        id: &str,
        read: impl FnOnce(&dyn Store, String) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refused> {
        let (store, id) = (Arc::clone(self.store()), id.to_owned());
        let read = tokio::task::spawn_blocking(move || read(store.as_ref(), id)).await;
        read.map_err(|error| Refused::new(Code::Internal, error.to_string()))?
            .map_err(|error| busy(&error))
    }

    async fn apply(&self, command: Command, live: Option<&Arc<Live>>) -> Result<Answer, Refused> {
        only(self.apply_all(vec![command], live).await?)
    }

    async fn apply_all(
        &self,
        commands: Vec<Command>,
        live: Option<&Arc<Live>>,
    ) -> Result<Vec<Answer>, Refused> {
        let waiting =
            self.shared.queue.send(commands, live).map_err(|trouble| not_written(&trouble))?;
        waiting.answer().await.map_err(|trouble| not_written(&trouble))
    }
}

fn load(store: &dyn Store, row: CampaignRow, now: Millis) -> Result<Live, StoreError> {
    let damaged = |what: String| StoreError {
        what: format!("campaign {}: what is stored cannot be read: {what}", row.id),
        is_fatal: false,
    };
    let request: NewCampaign =
        serde_json::from_str(&row.spec).map_err(|error| damaged(error.to_string()))?;
    let plan = Plan::again(&request).map_err(|refused| damaged(refused.detail))?;
    Live::load(store, row, plan, now)
}

fn count_campaigns(store: &dyn Store) -> Result<u64, StoreError> {
    let mut count = 0;
    let mut after: Option<String> = None;
    loop {
        let page = store.campaigns(after.as_deref(), PAGE)?;
        count += page.len() as u64;
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.id),
            None => return Ok(count),
        }
    }
}

pub(crate) fn check_id(id: &str) -> Result<(), Refused> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    // Clients resolve `.` and `..` before they ask: such campaigns could never be reached.
    if id.is_empty() || id.len() > MOST_ID_BYTES || !id.bytes().all(is_good) || id.starts_with('.')
    {
        let detail = format!(
            "a campaign's id is up to {MOST_ID_BYTES} letters, digits, `-`, `_` and `.`, and does not begin with a `.`"
        );
        return Err(Refused::new(Code::BadParameter, detail));
    }
    Ok(())
}

fn no_campaign(id: &str) -> Refused {
    let shown: String = id.chars().take(60).flat_map(char::escape_debug).collect();
    Refused::new(Code::NoCampaign, format!("there is no campaign {shown}"))
        .hint("make it with PUT /v1/campaigns/{id}")
}

/// The answer to a single command.
fn only(mut answers: Vec<Answer>) -> Result<Answer, Refused> {
    answers.pop().ok_or_else(|| Refused::new(Code::Internal, "the store gave no answer"))
}

fn not_written(trouble: &Trouble) -> Refused {
    match trouble {
        Trouble::Full => Refused::new(Code::Busy, "too many requests wait for the store")
            .hint("try again in a second"),
        Trouble::Store(error) => busy(error),
    }
}

fn busy(error: &StoreError) -> Refused {
    Refused::new(Code::Busy, error.what.clone())
        .hint("try again in a second; nothing that was acknowledged is lost")
}

/// A refusal that no request should ever bring about.
fn unexpected(refusal: &Refusal) -> Refused {
    match refusal {
        Refusal::NoCampaign => Refused::new(Code::NoCampaign, "there is no such campaign"),
        refusal => Refused::new(Code::Internal, format!("the store refused: {refusal:?}")),
    }
}
