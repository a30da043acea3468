//! Why a request is refused: a stable code, where in the request, and what to do. On the wire as
//! RFC 9457.

/// Every reason, with the code that clients may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
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
    /// The request's line and headers together.
    HeadersTooLarge,
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
    /// The token asks too often.
    TooManyRequests,
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

impl ErrorCode {
    /// All of them, for the docs and for tests.
    pub const ALL: [Self; 29] = [
        Self::BadRequest,
        Self::BadParameter,
        Self::BadProblem,
        Self::BadFeedback,
        Self::TooLarge,
        Self::HeadersTooLarge,
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
        Self::TooManyRequests,
        Self::BadRound,
        Self::KeyReused,
        Self::Conflict,
        Self::NothingToCorrect,
        Self::Busy,
        Self::WrongMediaType,
        Self::Timeout,
        Self::Internal,
    ];

    /// The code of this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.info().word == word)
    }

    /// What is known of it: the one table that answers, pages and docs are made from.
    #[must_use]
    pub fn info(self) -> ErrorInfo {
        match self {
            Self::BadRequest => info(
                "bad-request",
                400,
                "The request cannot be understood",
                "The body is not JSON, or a key is unknown, missing, given twice or of the wrong kind.",
                "Compare the body with the description at /openapi.json; `pointer` says where it differs.",
            ),
            Self::BadParameter => info(
                "bad-parameter",
                400,
                "A name or number in the address cannot be one",
                "Something in the address or in a header is not what it must be: an id, a number, an ETag, a key.",
                "Mend what `detail` names and send the request again.",
            ),
            Self::BadProblem => info(
                "bad-problem",
                422,
                "The problem does not hold together",
                "The problem, or the learner, the values or the guards beside it, cannot be worked with, although the body has the right shape.",
                "Mend what `errors` lists; every entry has its place and what is expected there.",
            ),
            Self::BadFeedback => info(
                "bad-feedback",
                422,
                "The outcome cannot be one",
                "A report or a correction cannot be true: an unknown task, a reward out of range, a success without reward, a task twice.",
                "Mend what `pointer` names. Nothing of the report was taken.",
            ),
            Self::TooLarge => info(
                "too-large",
                413,
                "More than the service takes on",
                "The body, its depth, the number of tasks or points, or the number of lines is above a limit.",
                "Send less at a time; `hint` names the limit.",
            ),
            Self::HeadersTooLarge => info(
                "headers-too-large",
                431,
                "The headers are too long",
                "The request's line and headers are longer than the service takes.",
                "Send fewer or shorter headers; the limit is header_bytes.",
            ),
            Self::Unauthorised => info(
                "unauthorised",
                401,
                "A token is needed",
                "The request has no token, or one that is unknown, expired or revoked.",
                "Send a good one as `Authorization: Bearer outlay_…`; `outlay token create` makes it.",
            ),
            Self::Forbidden => info(
                "forbidden",
                403,
                "The token does not allow this",
                "The token is good, but not for this; or there are no tokens yet and the request names another machine.",
                "Take a token with the scope and the campaign that are needed.",
            ),
            Self::NoCampaign => info(
                "no-campaign",
                404,
                "There is no such campaign",
                "No campaign has this id.",
                "Begin it with PUT /v1/campaigns/{id}, or look at GET /v1/campaigns.",
            ),
            Self::NoRound => info(
                "no-round",
                404,
                "There is no such round",
                "The campaign never handed out this round.",
                "Tell of rounds that were asked for; GET …/rounds lists them.",
            ),
            Self::NoToken => info(
                "no-token",
                404,
                "There is no such token",
                "No token has this public part.",
                "Look at `outlay token list`; the public part stands between the two _.",
            ),
            Self::NoRoute => info(
                "no-route",
                404,
                "There is nothing at this address",
                "Nothing is at this address.",
                "Look at /openapi.json for what there is.",
            ),
            Self::WrongMethod => info(
                "wrong-method",
                405,
                "The address does not take this method",
                "The address is right, the method is not.",
                "Take one that the header `Allow` names.",
            ),
            Self::CampaignExists => info(
                "campaign-exists",
                409,
                "Another campaign has this id",
                "The id belongs to a campaign that was begun with another request. It is unchanged.",
                "Take another id, or send the same request as the first time.",
            ),
            Self::NeedsIfMatch => info(
                "needs-if-match",
                428,
                "The change must name the version that it is for",
                "A change of a campaign must say which version it is meant for.",
                "Send the ETag that GET has given as `If-Match`.",
            ),
            Self::VersionMoved => info(
                "version-moved",
                412,
                "The campaign has changed",
                "Somebody else changed the campaign's status in the meantime. Nothing was changed.",
                "Look at it again, and repeat the change with the new ETag if it is still wanted.",
            ),
            Self::CampaignPaused => info(
                "campaign-paused",
                409,
                "The campaign is paused",
                "The campaign hands out no rounds now. It still takes reports.",
                "Set its status to open, or ask later.",
            ),
            Self::CampaignClosed => info(
                "campaign-closed",
                409,
                "The campaign is closed",
                "The campaign has ended: it hands out no rounds, and takes reports only for a week more.",
                "Begin a new campaign.",
            ),
            Self::HorizonExhausted => info(
                "horizon-exhausted",
                409,
                "All rounds of the horizon are handed out",
                "The campaign was begun for a number of rounds, and no more are left.",
                "Begin a new campaign, or one whose learner needs no horizon.",
            ),
            Self::TooManyOpenRounds => info(
                "too-many-open-rounds",
                429,
                "Too many rounds wait for feedback",
                "As many rounds as may wait for feedback do.",
                "Tell what came back of earlier rounds, or wait until they expire.",
            ),
            Self::TooManyRequests => info(
                "too-many-requests",
                429,
                "The token asks too often",
                "The token asks more often than requests_per_second allows.",
                "Wait for as many seconds as `Retry-After` says.",
            ),
            Self::BadRound => info(
                "bad-round",
                422,
                "There is no split for this budget and these tasks",
                "No split fits: the budget, the number of rounds or the tasks left out cannot be.",
                "Mend what `pointer` names and ask again.",
            ),
            Self::KeyReused => info(
                "key-reused",
                422,
                "The idempotency key belongs to another request",
                "The Idempotency-Key was sent before, with another request.",
                "Take a new key for a new request.",
            ),
            Self::Conflict => info(
                "conflict",
                409,
                "Something else was told before",
                "The report contradicts what was told before; `stored` has that. Nothing of the report was taken.",
                "If the first report was wrong, correct it with POST …/corrections.",
            ),
            Self::NothingToCorrect => info(
                "nothing-to-correct",
                409,
                "Nothing was told that could be corrected",
                "A correction changes what was told, and nothing was told of this task in this round.",
                "Tell it with PUT …/feedback.",
            ),
            Self::Busy => info(
                "busy",
                503,
                "The service has too much to do",
                "The store has too much to do or cannot be reached, or the service is about to stop.",
                "Send the same again after `Retry-After` seconds: asks with their Idempotency-Key, reports as they are.",
            ),
            Self::WrongMediaType => info(
                "wrong-media-type",
                415,
                "The body is of a kind that is not understood",
                "The body is not announced as what the address takes, or it is compressed.",
                "Send it with the `Content-Type` that `detail` names, and without `Content-Encoding`.",
            ),
            Self::Timeout => info(
                "timeout",
                408,
                "The request took too long to arrive",
                "The body did not arrive in time.",
                "Send the request again; nothing of it was done.",
            ),
            Self::Internal => info(
                "internal",
                500,
                "A fault of the service",
                "This is a bug in outlay.",
                "Please report it with the request id. Sending the same again does no harm.",
            ),
        }
    }
}

/// What is known of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The word on the wire.
    pub word: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// In a few words.
    pub title: &'static str,
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

const fn info(
    word: &'static str,
    status: u16,
    title: &'static str,
    meaning: &'static str,
    advice: &'static str,
) -> ErrorInfo {
    ErrorInfo { word, status, title, meaning, advice }
}

/// A request is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct ApiError {
    /// Why.
    pub code: ErrorCode,
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

/// Longest detail, in characters; it may quote the request.
const MOST_DETAIL: usize = 1000;
/// Longest JSON pointer, in characters; it contains keys of the request.
const MOST_POINTER: usize = 300;

/// Truncates a text, so that a response does not echo a whole request.
fn shortened(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

impl ApiError {
    /// With the list of all errors: JSON pointers and messages.
    #[must_use]
    pub(crate) fn with_errors(mut self, errors: Vec<(String, String)>) -> Self {
        let short = |(pointer, message)| {
            (shortened(pointer, MOST_POINTER), shortened(message, MOST_DETAIL))
        };
        self.errors = errors.into_iter().map(short).collect();
        self
    }

    /// With a sentence that says what exactly.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: shortened(detail.into(), MOST_DETAIL),
            pointer: None,
            hint: None,
            errors: Vec::new(),
            stored: None,
        }
    }

    /// With the place in the body.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(shortened(pointer.into(), MOST_POINTER));
        self
    }

    /// With its place within a part of the body, as one in the whole body.
    #[must_use]
    pub(crate) fn below(mut self, part: &str) -> Self {
        self.pointer = self.pointer.map(|pointer| format!("{part}{pointer}"));
        self
    }

    /// With what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
