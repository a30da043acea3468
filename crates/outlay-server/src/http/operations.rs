//! Everything that the API can be asked to do: what it is called, and who does it.

use axum::response::{IntoResponse, Response};
use utoipa::OpenApi;

use super::call::Call;
use super::error;
use super::handlers::{allocate, campaigns, feedback, health, problem_types, rounds, tokens};

/// Makes the operations, their description and the way from one to its handler out of one list. The
/// names are those that the handlers have as `operation_id`.
macro_rules! operations {
    ($($operation:ident $name:literal $room:ident::$handler:ident,)*) => {
        /// One of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Operation {
            $($operation,)*
        }

        impl Operation {
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$operation),)*
                    _ => None,
                }
            }

            /// Has it done. One future for all of them, and none is boxed: what a connection needs
            /// is there from its beginning.
            pub(crate) async fn carry_out(self, call: &mut Call<'_>) -> Response {
                match self {
                    $(Self::$operation => $room::$handler(call).await.into_response(),)*
                }
            }
        }

        /// The description of all of them.
        #[derive(OpenApi)]
        #[openapi(
            info(
                title = "outlay",
                description = "Campaigns that split a budget over tasks and learn from what comes back. Ask for rounds, tell what happened: late, twice and in any order is fine.",
                license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
            ),
            paths($($room::$handler,)*),
            components(schemas(error::ProblemDetails, error::Fault)),
            servers((url = "/"))
        )]
        pub(super) struct Api;
    };
}

operations! {
    ListCampaigns "list_campaigns" campaigns::list,
    GetCampaign "get_campaign" campaigns::get,
    BeginCampaign "begin_campaign" campaigns::put,
    ChangeCampaign "change_campaign" campaigns::patch,
    GetCurves "get_curves" campaigns::curves,
    ListEvents "list_events" campaigns::events,
    ListRounds "list_rounds" rounds::list,
    Ask "ask" rounds::post,
    Tell "tell" feedback::put,
    TellMany "tell_many" feedback::bulk,
    Correct "correct" feedback::correct,
    Allocate "allocate" allocate::post,
    ListTokens "list_tokens" tokens::list,
    MakeToken "make_token" tokens::post,
    RevokeToken "revoke_token" tokens::delete,
    Livez "livez" health::livez,
    Readyz "readyz" health::readyz,
    Metrics "metrics" health::metrics,
    Openapi "openapi" health::openapi,
    Explain "explain" problem_types::explain,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_that_is_described_has_a_handler() {
        let api = serde_json::to_value(Api::openapi()).unwrap();
        let items = api["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|item| item.as_object().unwrap().values());
        let names: Vec<_> =
            items.map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names.len(), 20);
        names.iter().for_each(|name| assert!(Operation::named(name).is_some(), "{name}"));
        assert_eq!(Operation::named("nothing"), None);
    }
}
