//! Why a request is refused: a stable code, where in the request, and what to do. On the wire as RFC 9457.

/// Every reason, with the code that clients may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The body is not JSON, or a key is unknown, missing or of the wrong kind.
    BadRequest,
    /// A name in the path or in the query that cannot be one.
    BadParameter,
    /// The problem, the learner or the guards do not hold together.
    BadProblem,
    /// An outcome that cannot be one.
    BadFeedback,
    /// A limit of the service.
    TooLarge,
    /// No or no good token.
    Unauthorised,
    /// The token does not allow this.
    Forbidden,
    /// No such campaign.
    NoCampaign,
    /// No such round.
    NoRound,
    /// No such token.
    NoToken,
    /// No such page.
    NoRoute,
    /// The path does not take this method.
    WrongMethod,
    /// Another campaign has this id.
    CampaignExists,
    /// `If-Match` is missing.
    NeedsIfMatch,
    /// `If-Match` names another version.
    VersionMoved,
    /// The campaign is paused.
    CampaignPaused,
    /// The campaign is closed.
    CampaignClosed,
    /// The horizon is reached.
    HorizonExhausted,
    /// Too many rounds wait for feedback.
    TooManyOpenRounds,
    /// The budget or the mask of a round does not fit.
    BadRound,
    /// The idempotency key was used for another request.
    KeyReused,
    /// Something else was told before.
    Conflict,
    /// Nothing was told that could be corrected.
    NothingToCorrect,
    /// The store has too much to do, or cannot be reached.
    Busy,
    /// The body is not of a kind that is understood.
    WrongMediaType,
    /// The client was too slow.
    Timeout,
    /// A fault of the service.
    Internal,
}

impl Code {
    /// All of them, for the docs and for tests.
    pub const ALL: [Self; 27] = [
        Self::BadRequest,
        Self::BadParameter,
        Self::BadProblem,
        Self::BadFeedback,
        Self::TooLarge,
        Self::Unauthorised,
        Self::Forbidden,
        Self::NoCampaign,
        Self::NoRound,
        Self::NoToken,
        Self::NoRoute,
        Self::WrongMethod,
        Self::CampaignExists,
        Self::NeedsIfMatch,
        Self::VersionMoved,
        Self::CampaignPaused,
        Self::CampaignClosed,
        Self::HorizonExhausted,
        Self::TooManyOpenRounds,
        Self::BadRound,
        Self::KeyReused,
        Self::Conflict,
        Self::NothingToCorrect,
        Self::Busy,
        Self::WrongMediaType,
        Self::Timeout,
        Self::Internal,
    ];

    /// The word on the wire, the HTTP status, and a title.
    #[must_use]
    pub fn facts(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", 400, "The request cannot be understood"),
            Self::BadParameter => ("bad-parameter", 400, "A name or number in the address cannot be one"),
            Self::BadProblem => ("bad-problem", 422, "The campaign cannot be made"),
            Self::BadFeedback => ("bad-feedback", 422, "The outcome cannot be one"),
            Self::TooLarge => ("too-large", 413, "More than the service takes on"),
            Self::Unauthorised => ("unauthorised", 401, "A token is needed"),
            Self::Forbidden => ("forbidden", 403, "The token does not allow this"),
            Self::NoCampaign => ("no-campaign", 404, "There is no such campaign"),
            Self::NoRound => ("no-round", 404, "There is no such round"),
            Self::NoToken => ("no-token", 404, "There is no such token"),
            Self::NoRoute => ("no-route", 404, "There is nothing at this address"),
            Self::WrongMethod => ("wrong-method", 405, "The address does not take this method"),
            Self::CampaignExists => ("campaign-exists", 409, "Another campaign has this id"),
            Self::NeedsIfMatch => ("needs-if-match", 428, "The change must name the version that it is for"),
            Self::VersionMoved => ("version-moved", 412, "The campaign has changed"),
            Self::CampaignPaused => ("campaign-paused", 409, "The campaign is paused"),
            Self::CampaignClosed => ("campaign-closed", 409, "The campaign is closed"),
            Self::HorizonExhausted => ("horizon-exhausted", 409, "All rounds of the horizon are handed out"),
            Self::TooManyOpenRounds => ("too-many-open-rounds", 429, "Too many rounds wait for feedback"),
            Self::BadRound => ("bad-round", 422, "There is no split for this budget and these tasks"),
            Self::KeyReused => ("key-reused", 422, "The idempotency key belongs to another request"),
            Self::Conflict => ("conflict", 409, "Something else was told before"),
            Self::NothingToCorrect => ("nothing-to-correct", 409, "Nothing was told that could be corrected"),
            Self::Busy => ("busy", 503, "The service has too much to do"),
            Self::WrongMediaType => ("wrong-media-type", 415, "The body is of a kind that is not understood"),
            Self::Timeout => ("timeout", 408, "The request took too long to arrive"),
            Self::Internal => ("internal", 500, "A fault of the service"),
        }
    }
}

/// A request is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct Refused {
    /// Why.
    pub code: Code,
    /// What exactly, in a sentence.
    pub detail: String,
    /// JSON pointer to the place in the body, where there is one.
    pub pointer: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Everything that is wrong, where there is more than one thing: pointer and sentence.
    pub errors: Vec<(String, String)>,
    /// What is stored instead, for a conflict.
    pub stored: Option<Box<serde_json::Value>>,
}

impl Refused {
    /// With a sentence that says what exactly.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), pointer: None, hint: None, errors: Vec::new(), stored: None }
    }

    /// With the place in the body.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// With what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
