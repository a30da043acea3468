//! Errors of requests: a stable code, the position in the request, and what to do. They are sent as
//! RFC 9457 problem details.

/// Every reason, with the code that clients may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The body is not JSON, or a key is unknown, missing or of the wrong kind.
    BadRequest,
    /// An invalid value in the path, the query or a header.
    BadParameter,
    /// The problem, the learner or the guards are invalid.
    BadProblem,
    /// An invalid outcome.
    BadFeedback,
    /// A limit of the service.
    TooLarge,
    /// The request's line and headers together.
    HeadersTooLarge,
    /// Missing or invalid token.
    Unauthorised,
    /// The token does not allow this.
    Forbidden,
    /// No such campaign.
    NoCampaign,
    /// No such round.
    NoRound,
    /// The round was replaced by its counts.
    RoundCompacted,
    /// No such token.
    NoToken,
    /// No such path.
    NoRoute,
    /// The path does not take this method.
    WrongMethod,
    /// A different campaign has this id.
    CampaignExists,
    /// `If-Match` is missing.
    NeedsIfMatch,
    /// `If-Match` names another version.
    VersionMoved,
    /// The campaign is paused.
    CampaignPaused,
    /// The campaign is closed.
    CampaignClosed,
    /// The campaign is not closed.
    CampaignNotClosed,
    /// The horizon is reached.
    HorizonExhausted,
    /// Too many rounds wait for outcomes.
    TooManyOpenRounds,
    /// The token exceeds its rate limit.
    TooManyRequests,
    /// The round is infeasible.
    BadRound,
    /// The idempotency key was used for a different request.
    KeyReused,
    /// A different outcome was already reported.
    Conflict,
    /// There is no outcome to correct.
    NothingToCorrect,
    /// The service is overloaded or stopping, or its store is unavailable.
    Busy,
    /// The media type of the body is not supported.
    WrongMediaType,
    /// The client was too slow.
    Timeout,
    /// A bug in the service.
    Internal,
}

impl ErrorCode {
    /// All of them, for the docs and for tests.
    pub const ALL: [Self; 31] = [
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
        Self::RoundCompacted,
        Self::NoToken,
        Self::NoRoute,
        Self::WrongMethod,
        Self::CampaignExists,
        Self::NeedsIfMatch,
        Self::VersionMoved,
        Self::CampaignPaused,
        Self::CampaignClosed,
        Self::CampaignNotClosed,
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

    /// The code with this identifier.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.info().word == word)
    }

    /// Status, title and advice: the one table for responses, pages and docs.
    #[must_use]
    pub fn info(self) -> ErrorInfo {
        match self {
            Self::BadRequest => info(
                "bad-request",
                400,
                "The request is malformed",
                "The body is not valid JSON, a key is unknown, missing, duplicated or of the wrong type, or the Host header is missing or invalid.",
                "Compare the request with the description at /openapi.json; `pointer` says where the body differs.",
            ),
            Self::BadParameter => info(
                "bad-parameter",
                400,
                "A parameter is invalid",
                "An id, number, ETag or key in the path, the query or a header has an invalid value.",
                "Correct the value that `detail` names and send the request again.",
            ),
            Self::BadProblem => info(
                "bad-problem",
                422,
                "The problem is invalid",
                "The body has the right structure, but the problem, the learner, the values or the guards are invalid.",
                "Correct the entries that `errors` lists; each has its position and what was expected.",
            ),
            Self::BadFeedback => info(
                "bad-feedback",
                422,
                "The outcome is invalid",
                "A report or correction contains an invalid outcome: an unknown task, a reward out of range, a success without a reward, or a task that appears twice.",
                "Correct the value at `pointer`. Nothing of the report was recorded.",
            ),
            Self::TooLarge => info(
                "too-large",
                413,
                "The request exceeds a limit",
                "The body, its nesting depth, the number of tasks or points, or the number of lines is above a limit of the service.",
                "Send less at a time; `hint` names the limit.",
            ),
            Self::HeadersTooLarge => info(
                "headers-too-large",
                431,
                "The headers are too large",
                "The request line and headers together are above a limit of the service.",
                "Send fewer or shorter headers; the limit is header_bytes.",
            ),
            Self::Unauthorised => info(
                "unauthorised",
                401,
                "A valid token is required",
                "The request has no token, or its token is unknown, expired or revoked.",
                "Send a valid token as `Authorization: Bearer outlay_…`; `outlay token create` creates one.",
            ),
            Self::Forbidden => info(
                "forbidden",
                403,
                "The token does not permit this request",
                "The token is valid but does not permit this request; or authentication is off and the request names a host other than this machine.",
                "Use a token with the required scope and campaign.",
            ),
            Self::NoCampaign => info(
                "no-campaign",
                404,
                "Campaign not found",
                "No campaign has this id.",
                "Create it with PUT /v1/campaigns/{id}; GET /v1/campaigns lists all campaigns.",
            ),
            Self::NoRound => info(
                "no-round",
                404,
                "Round not found",
                "The campaign has not issued this round.",
                "Report outcomes of issued rounds; GET …/rounds lists them.",
            ),
            Self::RoundCompacted => info(
                "round-compacted",
                410,
                "The round is too old",
                "The round expired longer ago than the service keeps rounds. Its outcomes still count, but it can no longer be reported or corrected.",
                "Report outcomes earlier, or start the service with a larger --retain.",
            ),
            Self::NoToken => info(
                "no-token",
                404,
                "Token not found",
                "No token has this public part.",
                "`outlay token list` lists the tokens; the public part is between the two underscores.",
            ),
            Self::NoRoute => info(
                "no-route",
                404,
                "Path not found",
                "The service has no resource at this path.",
                "See /openapi.json for the available paths.",
            ),
            Self::WrongMethod => info(
                "wrong-method",
                405,
                "Method not allowed",
                "The path exists but does not support this method.",
                "Use a method that the header `Allow` lists.",
            ),
            Self::CampaignExists => info(
                "campaign-exists",
                409,
                "The id belongs to a different campaign",
                "A campaign with this id was created by a different request. It is unchanged.",
                "Choose another id, or send the request that created the campaign. PUT …/problem changes the problem of a campaign.",
            ),
            Self::NeedsIfMatch => info(
                "needs-if-match",
                428,
                "The change requires If-Match",
                "A change of a campaign must name the version that it applies to.",
                "Send the ETag of a GET as `If-Match`.",
            ),
            Self::VersionMoved => info(
                "version-moved",
                412,
                "The campaign has changed",
                "The status or the problem of the campaign changed after the version that the request names. Nothing was changed.",
                "Read the campaign again, and repeat the change with the new ETag if it is still wanted.",
            ),
            Self::CampaignPaused => info(
                "campaign-paused",
                409,
                "The campaign is paused",
                "The campaign does not issue rounds while it is paused. It still accepts reports.",
                "Set its status to open, or try again later.",
            ),
            Self::CampaignClosed => info(
                "campaign-closed",
                409,
                "The campaign is closed",
                "The campaign has ended. It issues no rounds, and accepts reports for one week.",
                "Create a new campaign.",
            ),
            Self::CampaignNotClosed => info(
                "campaign-not-closed",
                409,
                "The campaign is not closed",
                "Only a closed campaign is deleted, so that none is deleted by mistake while it is in use.",
                "Close it first with PATCH, or delete it with ?force=true.",
            ),
            Self::HorizonExhausted => info(
                "horizon-exhausted",
                409,
                "All rounds of the horizon have been issued",
                "The campaign was created for a fixed number of rounds, and all of them have been issued.",
                "Create a new campaign, or one whose learner needs no horizon.",
            ),
            Self::TooManyOpenRounds => info(
                "too-many-open-rounds",
                429,
                "Too many rounds are open",
                "The number of rounds that wait for outcomes has reached its limit.",
                "Report the outcomes of earlier rounds, or wait until they expire.",
            ),
            Self::TooManyRequests => info(
                "too-many-requests",
                429,
                "Too many requests",
                "The token exceeds the limit requests_per_second.",
                "Wait for the number of seconds in `Retry-After`.",
            ),
            Self::BadRound => info(
                "bad-round",
                422,
                "The round is infeasible",
                "No allocation exists for this budget, number of rounds and set of tasks.",
                "Correct the value at `pointer` and ask again.",
            ),
            Self::KeyReused => info(
                "key-reused",
                422,
                "The idempotency key was used for a different request",
                "The Idempotency-Key was sent before with a different request.",
                "Use a new key for a new request.",
            ),
            Self::Conflict => info(
                "conflict",
                409,
                "A different outcome was already reported",
                "The report contradicts an earlier one; `stored` has the recorded outcome. Nothing of the report was recorded.",
                "If the earlier report was wrong, correct it with POST …/corrections.",
            ),
            Self::NothingToCorrect => info(
                "nothing-to-correct",
                409,
                "No outcome to correct",
                "A correction changes a recorded outcome, and none was reported for this task in this round.",
                "Report it with PUT …/feedback.",
            ),
            Self::Busy => info(
                "busy",
                503,
                "The service is temporarily unavailable",
                "The service is overloaded or about to stop, or its store is unavailable.",
                "Repeat the request after `Retry-After` seconds: asks with their Idempotency-Key, reports unchanged.",
            ),
            Self::WrongMediaType => info(
                "wrong-media-type",
                415,
                "Unsupported media type",
                "The `Content-Type` of the body is not the one that the path accepts, or the body is compressed.",
                "Send the `Content-Type` that `detail` names, without `Content-Encoding`.",
            ),
            Self::Timeout => info(
                "timeout",
                408,
                "The request took too long to arrive",
                "The body did not arrive in time.",
                "Repeat the request; nothing of it was carried out.",
            ),
            Self::Internal => info(
                "internal",
                500,
                "Internal error",
                "The request failed because of a bug in outlay.",
                "Please report it with the request id. It is safe to repeat the request.",
            ),
        }
    }
}

/// Status, title and advice of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The code as it is sent.
    pub word: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// A short title.
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

/// A rejected request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct ApiError {
    /// The code.
    pub code: ErrorCode,
    /// One sentence about this request.
    pub detail: String,
    /// JSON pointer into the body, if there is one.
    pub pointer: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// All errors, if there are several: pointers and messages.
    pub errors: Vec<(String, String)>,
    /// The recorded outcome, for a conflict.
    pub stored: Option<Box<serde_json::Value>>,
}

/// A key in a JSON pointer, as RFC 6901 writes it.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
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
    /// An error with a list of all errors: JSON pointers and messages.
    #[must_use]
    pub(crate) fn with_errors(mut self, errors: Vec<(String, String)>) -> Self {
        let short = |(pointer, message)| {
            (shortened(pointer, MOST_POINTER), shortened(message, MOST_DETAIL))
        };
        self.errors = errors.into_iter().map(short).collect();
        self
    }

    /// An error with a detail.
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

    /// Adds the position in the body.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(shortened(pointer.into(), MOST_POINTER));
        self
    }

    /// Converts a position within a part of the body into one in the whole body.
    #[must_use]
    pub(crate) fn below(mut self, part: &str) -> Self {
        self.pointer = self.pointer.map(|pointer| format!("{part}{pointer}"));
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
