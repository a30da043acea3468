//! The service learns like the library even if reports are late, repeated or out of order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignOptions, Guards, RoundConditions};
use outlay::feedback::Feedback as Shown;
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::problem::NoFiles;
use outlay::random::{Draws, Purpose};
use outlay_server::api::{
    Ask, CampaignChange, Correction, Feedback, NewCampaign, NewProblem, RoundStatus, Rounds,
    TaskResult, Told,
};
use outlay_server::clock::SetClock;
use outlay_server::error::{ApiError, ErrorCode};
use outlay_server::limits::Limits;
use outlay_server::service::{CampaignService, CurvePart};
use outlay_server::store::{CampaignStatus, MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::json;

use crate::support::trace::{done, failed, outcomes, problem, told};

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 3600 * 1000;

fn request(learner: &str) -> NewCampaign {
    NewCampaign {
        problem: problem(),
        learner: Some(learner.to_owned()),
        horizon: Some(500),
        seed: Some(7),
        guards: None,
        ignore_seen: None,
        expiry_seconds: None,
    }
}

struct World {
    store: Arc<dyn Store>,
    clock: Arc<SetClock>,
    service: CampaignService,
}

impl World {
    fn new(limits: Limits) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let clock = Arc::new(SetClock::new(NOW));
        let service =
            CampaignService::open(Arc::clone(&store), Arc::clone(&clock) as _, limits).unwrap();
        Self { store, clock, service }
    }

    async fn with(learner: &str) -> Self {
        let world = Self::new(Limits::default());
        world.service.create("c", request(learner), "").await.unwrap();
        world
    }

    /// Opens the same store again, like a new process.
    fn restart(&mut self) {
        self.service = CampaignService::open(
            Arc::clone(&self.store),
            Arc::clone(&self.clock) as _,
            Limits::default(),
        )
        .unwrap();
    }

    async fn ask(&self) -> Rounds {
        self.service.ask("c", Ask::default(), None, "").await.unwrap()
    }

    async fn tell(&self, round: u64, results: Vec<TaskResult>) -> Result<Told, ApiError> {
        self.service.tell("c", round, Feedback { results }, "").await
    }
}

fn spends(rounds: &Rounds) -> Vec<u64> {
    rounds.tasks.iter().map(|task| task.spend.to_bits()).collect()
}

async fn compare_with_the_library(learner: &str, guards: Option<Guards>, restarts: bool) {
    let problem = Problem::from_json(&problem().to_string(), &NoFiles).unwrap();
    let mut campaign = Campaign::new(
        &problem,
        CampaignOptions {
            learner: learner.parse().unwrap(),
            horizon: Some(500),
            feedback: Some(Shown::Censored),
            seed: 7,
            guards: guards.unwrap_or_default(),
            always_cold: true,
            ..CampaignOptions::default()
        },
    )
    .unwrap();
    let mut world = World::new(Limits::default());
    world.service.create("c", NewCampaign { guards, ..request(learner) }, "").await.unwrap();
    let draws = Draws::new(3, Purpose::Completion);
    for round in 1..=300 {
        // Available tasks and budgets vary.
        let (budget, without) = (
            if round % 7 == 0 { 60.0 } else { 100.0 },
            if round % 5 == 0 { vec!["web".to_owned()] } else { Vec::new() },
        );
        let available = (round % 5 == 0).then_some([true, false, true]);
        let has_scale = round % 6 == 1 && learner.parse::<LearnerSpec>().unwrap().allows_scale();
        let scale = has_scale.then_some([1.3, 0.7, 1.0]);
        let conditions = RoundConditions {
            scale: scale.as_ref().map(<[f64; 3]>::as_slice),
            ..RoundConditions::new(budget, available.as_ref().map(<[bool; 3]>::as_slice))
        };
        let ticket = campaign.issue(&conditions).unwrap();
        let spend = ticket.allocation.spend.clone();
        let scale = [("tv".to_owned(), 1.3), ("web".to_owned(), 0.7)].into();
        let scale = if has_scale { scale } else { BTreeMap::new() };
        let ask = Ask { budget: Some(budget), without, scale, ..Ask::default() };
        let rounds = world.service.ask("c", ask, None, "").await.unwrap();
        assert_eq!(rounds.rounds, [round], "{learner}");
        let there = |task: &usize| available.is_none_or(|available| available[*task]);
        let expected: Vec<u64> = (0..3).filter(there).map(|task| spend[task].to_bits()).collect();
        assert_eq!(spends(&rounds), expected, "{learner} round {round}");
        let mut completed = outcomes(&problem, &spend, &draws, round);
        completed.retain(|completion| there(&completion.task));
        let mut results = told(&problem, &completed);
        results.retain(|result| result.task != "web" || available.is_none());
        if learner == "uniform" {
            campaign.observe_gain(round, 0.0).unwrap();
        } else {
            campaign.observe_completed(round, &completed).unwrap();
        }
        world.tell(round, results).await.unwrap();
        if restarts && round % 60 == 0 {
            world.restart();
        }
    }
}

#[tokio::test]
async fn every_learner_is_bit_identical_to_the_library() {
    let served = LEARNERS
        .iter()
        .filter(|entry| entry.feedback == Shown::Censored || entry.name == "uniform");
    let mut count = 0;
    for entry in served {
        compare_with_the_library(entry.name, None, false).await;
        compare_with_the_library(entry.name, None, true).await;
        count += 1;
    }
    assert_eq!(count, 12);
}

#[tokio::test]
async fn guards_match_the_library_even_after_a_restart() {
    let guards = Guards { max_change: Some(5.0), floor: Some(1.0), min_move: Some(0.5) };
    for learner in ["kl-ucb-plus", "thompson"] {
        compare_with_the_library(learner, Some(guards), false).await;
        compare_with_the_library(learner, Some(guards), true).await;
    }
}

#[tokio::test]
async fn the_order_and_the_number_of_reports_do_not_matter() {
    let draws = Draws::new(11, Purpose::Completion);
    let mut ends = Vec::new();
    for order in 0..6 {
        let world = World::with("kl-ucb-plus").await;
        let rounds = world
            .service
            .ask("c", Ask { count: Some(40), ..Ask::default() }, None, "")
            .await
            .unwrap()
            .rounds;
        assert_eq!(rounds, (1..=40).collect::<Vec<_>>());
        let mut reports: Vec<(u64, TaskResult)> = Vec::new();
        for round in rounds {
            for (place, task) in ["tv", "web", "mail"].into_iter().enumerate() {
                let number = draws.round(round).uniform(place);
                let result = if number < 0.6 {
                    done(task, (number * 1e3).floor() / 1e3)
                } else {
                    failed(task)
                };
                reports.push((round, result));
            }
        }
        // A different order each time, with some repetitions.
        let shuffle = Draws::new(order, Purpose::Learner).round(1);
        let mut keyed: Vec<(u64, (u64, TaskResult))> = reports
            .into_iter()
            .enumerate()
            .map(|(place, report)| ((shuffle.uniform(place) * 1e9) as u64, report))
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut accepted = 0;
        for (key, (round, result)) in keyed {
            for _ in 0..1 + key % 3 {
                accepted += world.tell(round, vec![result.clone()]).await.unwrap().accepted;
            }
        }
        assert_eq!(accepted, 120);
        let state = world.service.campaign("c").await.unwrap();
        assert_eq!((state.stats_version, state.open_rounds), (120, 0));
        ends.push((state, world.ask().await));
    }
    ends.dedup();
    assert_eq!(ends.len(), 1, "the order of reports changed the result");
}

#[tokio::test]
async fn a_report_is_accepted_completely_or_not_at_all() {
    let world = World::with("kl-ucb-plus").await;
    let round = world.ask().await.rounds[0];
    assert_eq!(
        world.tell(round, vec![done("tv", 1.5)]).await.unwrap(),
        Told { accepted: 1, duplicate: 0, late: 0, clipped: 0 }
    );
    let refused = world.tell(round, vec![failed("web"), done("tv", 1.0)]).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.stored.map(|stored| *stored)),
        (ErrorCode::Conflict, Some(json!({"task": "tv", "completed": true, "reward": 1.5})))
    );
    assert_eq!(world.service.campaign("c").await.unwrap().stats_version, 1);
    let again = world.tell(round, vec![failed("web"), done("tv", 1.5)]).await.unwrap();
    assert_eq!(again, Told { accepted: 1, duplicate: 1, late: 0, clipped: 0 });
}

#[tokio::test]
async fn impossible_outcomes_are_refused_with_their_place() {
    let world = World::with("kl-ucb-plus").await;
    let round = world
        .service
        .ask("c", Ask { without: vec!["web".to_owned()], ..Ask::default() }, None, "")
        .await
        .unwrap()
        .rounds[0];
    let success = |reward: Option<f64>| TaskResult {
        task: "tv".to_owned(),
        completed: Some(true),
        reward,
        ..TaskResult::default()
    };
    let cases = [
        (vec![success(None)], ErrorCode::BadFeedback, "/results/0/reward"),
        (vec![success(Some(2.1))], ErrorCode::BadFeedback, "/results/0/reward"),
        (vec![success(Some(-0.1))], ErrorCode::BadFeedback, "/results/0/reward"),
        (vec![success(Some(f64::NAN))], ErrorCode::BadFeedback, "/results/0/reward"),
        (
            vec![failed("mail"), TaskResult { reward: Some(0.5), ..failed("tv") }],
            ErrorCode::BadFeedback,
            "/results/1/reward",
        ),
        (vec![failed("tv"), failed("tv")], ErrorCode::BadFeedback, "/results/1/task"),
        (vec![failed("web")], ErrorCode::BadFeedback, "/results/0/task"),
        (vec![failed("radio")], ErrorCode::BadFeedback, "/results/0/task"),
    ];
    for (results, code, pointer) in cases {
        let refused = world.tell(round, results.clone()).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.pointer.as_deref()),
            (code, Some(pointer)),
            "{results:?}"
        );
    }
    assert_eq!(world.tell(99, vec![failed("tv")]).await.unwrap_err().code, ErrorCode::NoRound);
    assert_eq!(world.tell(0, vec![failed("tv")]).await.unwrap_err().code, ErrorCode::NoRound);
    assert_eq!(world.service.campaign("c").await.unwrap().stats_version, 0);
    assert_eq!(
        world
            .tell(round, vec![TaskResult { reward: Some(0.0), ..failed("tv") }])
            .await
            .unwrap()
            .accepted,
        1
    );
}

#[tokio::test]
async fn late_feedback_counts_and_expired_rounds_free_their_places() {
    let world = World::new(Limits { open_rounds: 3, ..Limits::default() });
    world.service.create("c", request("kl-ucb-plus"), "").await.unwrap();
    let rounds = world
        .service
        .ask("c", Ask { count: Some(3), ..Ask::default() }, None, "")
        .await
        .unwrap()
        .rounds;
    assert_eq!(
        world.service.ask("c", Ask::default(), None, "").await.unwrap_err().code,
        ErrorCode::TooManyOpenRounds
    );
    world.tell(rounds[0], vec![done("tv", 1.0), failed("web"), failed("mail")]).await.unwrap();
    world.ask().await;
    world.clock.set(NOW + DAY);
    assert_eq!(world.service.campaign("c").await.unwrap().open_rounds, 0);
    let late = world.tell(rounds[1], vec![done("tv", 1.0), failed("web")]).await.unwrap();
    assert_eq!(late, Told { accepted: 2, duplicate: 0, late: 2, clipped: 0 });
    let state = world.service.campaign("c").await.unwrap();
    assert_eq!((state.late, state.tasks[0].completions, state.tasks[0].mean), (2, 2, Some(1.0)));
    // The clock goes back: rounds continue in order.
    world.clock.set(NOW - 365 * DAY);
    assert_eq!(world.ask().await.rounds, [5]);
}

/// The number of open rounds agrees with the list after any change of the clock.
#[tokio::test]
async fn expired_rounds_do_not_reopen() {
    let world = World::with("kl-ucb-plus").await;
    let agree = async |expected: u64| {
        let open_rounds = world.service.campaign("c").await.unwrap().open_rounds;
        let list = world.service.rounds("c", 0, 100).await.unwrap().rounds;
        let listed = list.iter().filter(|round| round.status == RoundStatus::Open).count();
        assert_eq!((open_rounds, listed as u64), (expected, expected));
    };
    world.service.ask("c", Ask { count: Some(3), ..Ask::default() }, None, "").await.unwrap();
    agree(3).await;
    world.clock.set(NOW + DAY);
    agree(0).await;
    world.clock.set(NOW);
    agree(0).await;
    world.service.ask("c", Ask { count: Some(2), ..Ask::default() }, None, "").await.unwrap();
    agree(2).await;
    world.clock.set(NOW - DAY / 2);
    agree(2).await;
    world.clock.set(NOW + DAY);
    agree(0).await;
}

/// A round that expired before the restart is no longer in memory, but its spends still count.
#[tokio::test]
async fn late_feedback_has_the_same_effect_after_a_restart() {
    for learner in ["kl-ucb-plus", "lattimore", "explore-then-commit"] {
        let mut ends = Vec::new();
        for restarts in [false, true] {
            let mut world = World::with(learner).await;
            for _ in 0..6 {
                world.ask().await;
            }
            world.clock.set(NOW + DAY);
            if restarts {
                world.restart();
            }
            for round in 1..=6 {
                let results = vec![
                    if round % 2 == 0 { done("tv", 1.0) } else { failed("tv") },
                    done("web", 0.5),
                    failed("mail"),
                ];
                assert_eq!(world.tell(round, results).await.unwrap().late, 3);
            }
            ends.push((spends(&world.ask().await), world.service.campaign("c").await.unwrap()));
        }
        assert_eq!(ends[0], ends[1], "{learner}");
    }
}

#[tokio::test]
async fn keys_return_the_same_rounds() {
    let mut world = World::with("kl-ucb-plus").await;
    let ask = |count: u32| Ask { count: Some(count), ..Ask::default() };
    let first = world.service.ask("c", ask(2), Some("k"), "a").await.unwrap();
    world.tell(1, vec![done("tv", 2.0), done("web", 0.1)]).await.unwrap();
    world.restart();
    assert_eq!(world.service.ask("c", ask(2), Some("k"), "a").await.unwrap(), first);
    assert_eq!(
        world.service.ask("c", ask(1), Some("k"), "a").await.unwrap_err().code,
        ErrorCode::KeyReused
    );
    assert_ne!(world.service.ask("c", ask(2), Some("k"), "b").await.unwrap().rounds, first.rounds);
    world.clock.set(NOW + DAY);
    assert_ne!(world.service.ask("c", ask(2), Some("k"), "a").await.unwrap().rounds, first.rounds);
    for bad in ["", "with space", "ä"] {
        assert_eq!(
            world.service.ask("c", ask(1), Some(bad), "a").await.unwrap_err().code,
            ErrorCode::BadParameter
        );
    }
}

#[tokio::test]
async fn a_correction_counts_like_an_original_report() {
    for learner in ["kl-ucb-plus", "lattimore", "explore-then-commit"] {
        let (right, wrong) = (World::with(learner).await, World::with(learner).await);
        for world in [&right, &wrong] {
            world
                .service
                .ask("c", Ask { count: Some(2), ..Ask::default() }, None, "")
                .await
                .unwrap();
        }
        right.tell(1, vec![done("tv", 0.25), failed("web")]).await.unwrap();
        wrong.tell(1, vec![failed("tv"), done("web", 2.0)]).await.unwrap();
        let correction = |task: &str, completed, reward| Correction {
            task: task.to_owned(),
            completed: Some(completed),
            completions: None,
            reward,
            spend: None,
            why: "typo".to_owned(),
        };
        let corrected =
            wrong.service.correct("c", 1, correction("tv", true, Some(0.25)), "").await.unwrap();
        assert_eq!((corrected.from, corrected.to), (failed("tv"), done("tv", 0.25)));
        wrong.service.correct("c", 1, correction("web", false, None), "").await.unwrap();
        assert_eq!(spends(&right.ask().await), spends(&wrong.ask().await), "{learner}");
        // Both the first report and the corrected outcome are known.
        assert_eq!(wrong.tell(1, vec![failed("tv")]).await.unwrap().duplicate, 1);
        assert_eq!(wrong.tell(1, vec![done("tv", 0.25)]).await.unwrap().duplicate, 1);
        assert_eq!(
            wrong.tell(1, vec![done("tv", 0.5)]).await.unwrap_err().code,
            ErrorCode::Conflict
        );
        assert_eq!(
            wrong
                .service
                .correct("c", 2, correction("tv", false, None), "")
                .await
                .unwrap_err()
                .code,
            ErrorCode::NothingToCorrect
        );
    }
}

#[tokio::test]
async fn campaigns_pause_close_and_end_at_their_horizon() {
    let world = World::with("algorithm-1").await;
    let set =
        |status, version| world.service.set_status("c", CampaignChange { status }, version, "");
    world.ask().await;
    assert_eq!(set(CampaignStatus::Paused, 2).await.unwrap_err().code, ErrorCode::VersionMoved);
    assert_eq!(set(CampaignStatus::Paused, 1).await.unwrap().version, 2);
    assert_eq!(
        world.service.ask("c", Ask::default(), None, "").await.unwrap_err().code,
        ErrorCode::CampaignPaused
    );
    world.tell(1, vec![done("tv", 1.0)]).await.unwrap();
    set(CampaignStatus::Open, 2).await.unwrap();
    for _ in 0..2 {
        world.service.ask("c", Ask { count: Some(249), ..Ask::default() }, None, "").await.unwrap();
    }
    let refused = world
        .service
        .ask("c", Ask { count: Some(2), ..Ask::default() }, None, "")
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::HorizonExhausted);
    world.ask().await;
    set(CampaignStatus::Closed, 3).await.unwrap();
    for status in [CampaignStatus::Open, CampaignStatus::Paused, CampaignStatus::Closed] {
        assert_eq!(set(status, 4).await.unwrap_err().code, ErrorCode::CampaignClosed);
    }
    assert_eq!(
        world.service.ask("c", Ask::default(), None, "").await.unwrap_err().code,
        ErrorCode::CampaignClosed
    );
    world.tell(2, vec![done("tv", 1.0)]).await.unwrap();
    world.clock.set(NOW + 7 * DAY);
    assert_eq!(
        world.tell(2, vec![done("web", 1.0)]).await.unwrap_err().code,
        ErrorCode::CampaignClosed
    );
}

#[tokio::test]
async fn an_invalid_campaign_is_refused_with_all_errors() {
    let world = World::new(Limits::default());
    let create = |request: NewCampaign| world.service.create("c", request, "");
    let mut two = request("kl-ucb-plus");
    two.problem["budget"] = json!(-1);
    two.problem["task"][2]["curve"]["scale"] = json!(0);
    let refused = create(two).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::BadProblem);
    let places: Vec<&str> = refused.errors.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(places, ["/problem/task/2/curve/scale", "/problem/budget"]);
    for learner in ["oful", "full", "grid-ucb", "sharpest"] {
        let refused = create(request(learner)).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.pointer.as_deref()),
            (ErrorCode::BadProblem, Some("/learner")),
            "{learner}"
        );
        assert!(refused.hint.unwrap().contains("lattimore"));
    }
    let no_horizon = NewCampaign { horizon: None, ..request("algorithm-1") };
    assert_eq!(create(no_horizon).await.unwrap_err().pointer.as_deref(), Some("/learner"));
    let guards = Some(Guards { max_change: Some(-1.0), ..Guards::default() });
    assert_eq!(
        create(NewCampaign { guards, ..request("kl-ucb-plus") })
            .await
            .unwrap_err()
            .pointer
            .as_deref(),
        Some("/guards")
    );
    assert_eq!(
        create(NewCampaign { expiry_seconds: Some(0), ..request("kl-ucb-plus") })
            .await
            .unwrap_err()
            .code,
        ErrorCode::BadProblem
    );
    for id in ["", "a/b", "ä", ".", "..", &"x".repeat(129)] {
        assert_eq!(
            world.service.create(id, request("kl-ucb-plus"), "").await.unwrap_err().code,
            ErrorCode::BadParameter
        );
    }
    assert_eq!(world.service.campaign("c").await.unwrap_err().code, ErrorCode::NoCampaign);
    assert!(world.service.create("c", request("kl-ucb-plus"), "").await.unwrap().1);
    assert!(!world.service.create("c", request("kl-ucb-plus"), "").await.unwrap().1);
    assert_eq!(
        world.service.create("c", request("kl-ucb-mixture"), "").await.unwrap_err().code,
        ErrorCode::CampaignExists
    );
}

/// A request with the scale or the volume of one task.
fn of_round(task: &str, number: f64, is_volume: bool) -> Ask {
    let named = [(task.to_owned(), number)].into();
    if is_volume {
        Ask { volume: named, ..Ask::default() }
    } else {
        Ask { scale: named, ..Ask::default() }
    }
}

#[tokio::test]
async fn a_key_belongs_to_one_set_of_conditions() {
    let mut world = World::with("kl-ucb-plus").await;
    let service = world.service.clone();
    let ask = |ask: Ask| service.ask("c", ask, Some("k"), "");
    let busy = of_round("web", 1.3, false);
    let first = ask(busy.clone()).await.unwrap();
    assert_eq!(first.tasks.iter().map(|task| task.scale).collect::<Vec<_>>(), {
        let scale = |task: &str| Some(if task == "web" { 1.3 } else { 1.0 });
        first.tasks.iter().map(|task| scale(&task.task)).collect::<Vec<_>>()
    });
    let mut same = busy.clone();
    same.scale.insert("tv".to_owned(), 1.0);
    assert_eq!(ask(same).await.unwrap(), first);
    for other in [Ask::default(), of_round("web", 1.4, false), of_round("tv", 1.3, false)] {
        assert_eq!(ask(other).await.unwrap_err().code, ErrorCode::KeyReused);
    }
    // Rounds after it have the usual curves, and another process has the same splits.
    let usual = world.ask().await;
    world.restart();
    let next = world.service.ask("c", busy, None, "").await.unwrap();
    assert_eq!(spends(&next), spends(&first));
    assert_ne!(spends(&usual), spends(&first));
    assert!(usual.tasks.iter().all(|task| task.scale.is_none()));
}

#[tokio::test]
async fn impossible_requests_for_rounds_use_no_number() {
    let world = World::with("kl-ucb-plus").await;
    let ask = |ask: Ask| world.service.ask("c", ask, None, "");
    let all = vec!["tv".to_owned(), "web".to_owned(), "mail".to_owned()];
    let cases = [
        (Ask { count: Some(0), ..Ask::default() }, ErrorCode::BadRound, "/count"),
        (Ask { count: Some(257), ..Ask::default() }, ErrorCode::BadRound, "/count"),
        (Ask { budget: Some(-1.0), ..Ask::default() }, ErrorCode::BadRound, "/budget"),
        (Ask { without: all, ..Ask::default() }, ErrorCode::BadRound, "/without"),
        (
            Ask { without: vec!["radio".to_owned()], ..Ask::default() },
            ErrorCode::BadRound,
            "/without/0",
        ),
        (of_round("radio", 2.0, false), ErrorCode::BadRound, "/scale/radio"),
        (of_round("web", 0.0, false), ErrorCode::BadRound, "/scale/web"),
        (of_round("web", 1e7, false), ErrorCode::BadRound, "/scale/web"),
        (of_round("web", 2.0, true), ErrorCode::BadRound, "/volume"),
        (of_round("radio", 2.0, true), ErrorCode::BadRound, "/volume/radio"),
    ];
    for (request, code, pointer) in cases {
        let refused = ask(request.clone()).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.pointer.as_deref()),
            (code, Some(pointer)),
            "{request:?}"
        );
    }
    assert_eq!(world.service.campaign("c").await.unwrap().open_rounds, 0);
    assert_eq!(world.ask().await.rounds, [1]);
}

async fn compare_with_reads(learner: &str, guards: Option<Guards>) {
    let (looked, left) = (World::new(Limits::default()), World::new(Limits::default()));
    for world in [&looked, &left] {
        world.service.create("c", NewCampaign { guards, ..request(learner) }, "").await.unwrap();
    }
    for round in 1..=20 {
        let next = looked.service.campaign("c").await.unwrap();
        looked
            .service
            .ask("c", Ask { budget: Some(-1.0), count: Some(4), ..Ask::default() }, None, "")
            .await
            .unwrap_err();
        let (one, other) = (looked.ask().await, left.ask().await);
        assert_eq!(spends(&one), spends(&other), "{learner}, round {round}");
        let shown: Vec<u64> = next.tasks.iter().map(|task| task.spend.to_bits()).collect();
        assert_eq!(
            shown,
            spends(&one),
            "{learner}, round {round}: the next round differs from the split shown"
        );
        for world in [&looked, &left] {
            world.tell(round, vec![done("web", 1.9), failed("tv")]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn reads_and_refused_requests_change_nothing() {
    let guards = Some(Guards { max_change: Some(3.0), ..Guards::default() });
    for entry in
        LEARNERS.iter().filter(|entry| entry.feedback == Shown::Censored || entry.name == "uniform")
    {
        compare_with_reads(entry.name, None).await;
    }
    compare_with_reads("kl-ucb-plus", guards).await;
    compare_with_reads("explore-then-commit:rounds=5", guards).await;
}

#[tokio::test]
async fn equivalent_specs_create_the_same_campaign() {
    let world = World::new(Limits::default());
    let create = |text: &str| world.service.create("c", serde_json::from_str(text).unwrap(), "");
    let first = r#"{"problem": {"budget": 40, "task": [{"name": "a", "curve": {"family": "exponential", "scale": 2}}]}}"#;
    assert!(create(first).await.unwrap().1);
    for same in [
        r#"{"problem": {"task": [{"curve": {"scale": 2.0, "family": "exponential"}, "name": "a"}], "budget": 40.0}}"#,
        &first.replace(
            "{\"problem\"",
            r#"{"learner": "kl-ucb-plus", "seed": 1, "expiry_seconds": 86400, "guards": {}, "problem""#,
        ),
        &first.replace("{\"budget\"", r#"{"reward_max": 1, "budget""#),
    ] {
        assert!(!create(same).await.unwrap().1, "{same}");
    }
    for other in [
        first.replace("40", "41"),
        first.replace("{\"problem\"", r#"{"seed": 2, "problem""#),
        first.replace("\"a\"", "\"b\""),
    ] {
        assert_eq!(create(&other).await.unwrap_err().code, ErrorCode::CampaignExists, "{other}");
    }
}

#[tokio::test]
async fn numbers_and_names_that_would_break_answers_are_refused() {
    let world = World::new(Limits::default());
    let with = |pointer: &str, value: serde_json::Value| {
        let mut asked = request("kl-ucb-plus");
        *asked.problem.pointer_mut(pointer).unwrap() = value;
        asked
    };
    let cases = [
        (with("/budget", json!(1e300)), "/problem/budget", ErrorCode::BadProblem),
        (with("/budget", json!(1e-300)), "/problem/budget", ErrorCode::BadProblem),
        (with("/reward_max", json!(1e300)), "/problem/reward_max", ErrorCode::BadProblem),
        (with("/task/1/name", json!("n".repeat(257))), "/problem/task/1/name", ErrorCode::TooLarge),
        (
            NewCampaign { horizon: Some(0), ..request("kl-ucb-plus") },
            "/horizon",
            ErrorCode::BadProblem,
        ),
    ];
    for (asked, pointer, code) in cases {
        let refused = world.service.create("c", asked, "").await.unwrap_err();
        assert_eq!((refused.code, refused.pointer.as_deref()), (code, Some(pointer)));
    }
    world.service.create("c", with("/task/1/name", json!("n".repeat(256))), "").await.unwrap();
    for budget in [1e300, 1e-300] {
        let refused = world
            .service
            .ask("c", Ask { budget: Some(budget), ..Ask::default() }, None, "")
            .await
            .unwrap_err();
        assert_eq!(
            (refused.code, refused.pointer.as_deref()),
            (ErrorCode::BadRound, Some("/budget"))
        );
    }
    assert_eq!(
        world
            .service
            .ask("c", Ask { budget: Some(0.0), ..Ask::default() }, None, "")
            .await
            .unwrap()
            .budget,
        0.0
    );
}

#[tokio::test]
async fn the_effect_of_guards_is_shown() {
    let world = World::new(Limits::default());
    let guards = Some(Guards { floor: Some(30.0), max_change: Some(5.0), ..Guards::default() });
    world.service.create("c", NewCampaign { guards, ..request("kl-ucb-plus") }, "").await.unwrap();
    world.ask().await;
    let shown = world.service.campaign("c").await.unwrap().guards.unwrap();
    assert!(
        shown.floor_cost.is_some_and(|cost| cost >= 0.0)
            && shown.max_change_cost.is_some()
            && shown.min_move_cost.is_none()
    );
    assert!(!shown.gave_way);
    world.service.create("free", request("kl-ucb-plus"), "").await.unwrap();
    assert_eq!(world.service.campaign("free").await.unwrap().guards, None);
    // Lower bounds that add up to the budget except for rounding, without guards.
    let mut tight = request("kl-ucb-plus");
    tight.problem["budget"] = json!(0.3);
    for (task, min) in [(0, 0.1), (1, 0.2)] {
        tight.problem["task"][task]["min"] = json!(min);
    }
    world.service.create("tight", tight, "").await.unwrap();
}

#[tokio::test]
async fn pages_of_many_tasks_are_shorter_and_complete() {
    let world = World::new(Limits { page_tasks: 7, ..Limits::default() });
    world.service.create("c", request("kl-ucb-plus"), "").await.unwrap();
    let tasks = problem()["task"].as_array().unwrap().len();
    let most = 7 / tasks;
    for _ in 0..5 {
        world.ask().await;
    }
    let (mut rounds, mut after, mut pages) = (Vec::new(), Some(0), 0);
    while let Some(from) = after {
        let page = world.service.rounds("c", from, 1000).await.unwrap();
        assert!(page.rounds.len() <= most);
        rounds.extend(page.rounds.iter().map(|round| round.round));
        (after, pages) = (page.next, pages + 1);
    }
    assert_eq!((rounds, pages), (vec![1, 2, 3, 4, 5], 5 / most + 1));
    let last = world.service.rounds("c", 5 - most as u64, 1000).await.unwrap();
    assert_eq!((last.rounds.len(), last.next), (most, None), "the last page is exactly full");
    assert_eq!(world.service.events("c", 0, 1000).await.unwrap().events.len(), most);
    let points = |curves: outlay_server::api::CurveList| {
        curves.curves.iter().map(|curve| curve.spend.len()).collect::<Vec<_>>()
    };
    let part = CurvePart { points: 1000, task: None, up_to: None };
    assert_eq!(points(world.service.curves("c", part).await.unwrap()), vec![most.max(2); tasks]);
}

#[tokio::test]
async fn campaign_lists_are_complete_for_any_page_size() {
    let world = World::new(Limits::default());
    let ids: Vec<String> = (0..45).map(|number| format!("c{number:02}")).collect();
    for id in &ids {
        world.service.create(id, request("algorithm-1"), "").await.unwrap();
    }
    for limit in [1, 19, 20, 21, 40, 45, 46, 1000] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = world.service.campaigns(after.as_deref(), limit).await.unwrap();
            assert!(page.campaigns.iter().all(|campaign| campaign.learner == "algorithm-1"));
            listed.extend(page.campaigns.into_iter().map(|campaign| campaign.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ids, "{limit} per page");
    }
    let empty = World::new(Limits::default()).service.campaigns(None, 20).await.unwrap();
    assert!(empty.campaigns.is_empty() && empty.next.is_none());
}

/// Campaigns stored by an earlier version with other names of learners, and the next spends that it
/// computed for each.
const RENAMED: [(&str, &str, [f64; 3]); 4] = [
    ("sharp", "kl-ucb-plus", [14.035963553659364, 17.59785341724155, 8.366183029099085]),
    ("paper", "algorithm-1", [14.045903621614901, 17.403952007216045, 8.550144371169052]),
    ("tight", "kl-ucb-mixture", [13.001617374326642, 17.102534062918483, 9.895848562754873]),
    ("kl-log", "kl-ucb", [14.202476976884116, 17.66906380701266, 8.128459216103224]),
];

async fn renamed_learners_continue(store: Arc<dyn Store>) {
    let service =
        CampaignService::open(store, Arc::new(SetClock::new(1_794_963_800_000)), Limits::default())
            .unwrap();
    for (id, learner, expected) in RENAMED {
        assert_eq!(service.campaign(id).await.unwrap().learner, learner);
        let rounds = service.ask(id, Ask::default(), None, "").await.unwrap();
        assert_eq!(rounds.rounds, [4]);
        for (task, expected) in rounds.tasks.iter().zip(expected) {
            // The last digits may differ between versions of the oracle.
            assert!((task.spend - expected).abs() <= 1e-9 * expected, "{id}: {}", task.spend);
        }
    }
}

#[tokio::test]
async fn campaigns_with_earlier_names_of_learners_continue() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/renamed-learners");
    let memory = MemoryStore::new();
    let export = std::fs::read(folder.join("export.ndjson")).unwrap();
    outlay_server::archive::import(&memory, &mut export.as_slice()).unwrap();
    renamed_learners_continue(Arc::new(memory)).await;
    let place = tempfile::tempdir().unwrap();
    std::fs::copy(folder.join("outlay.db"), place.path().join("outlay.db")).unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    renamed_learners_continue(Arc::new(SqliteStore::open(place.path(), &options).unwrap())).await;
}

/// The problem with another task in place of `web`.
fn without_web() -> serde_json::Value {
    let mut problem = problem();
    let tasks = problem["task"].as_array_mut().unwrap();
    tasks[1] = json!({ "name": "radio", "current": 5, "curve": { "family": "power", "exponent": 0.6, "scale": 70.0 } });
    problem
}

/// Old rounds are compacted between two asks, with a restart and with amendments: every learner that is
/// compacted at all decides the same as without, and those that need every round keep them.
#[tokio::test]
async fn compaction_changes_no_decision() {
    for entry in LEARNERS.iter() {
        for guards in [None, Some(Guards { max_change: Some(0.5), ..Guards::default() })] {
            let new = NewCampaign { guards, expiry_seconds: Some(60), ..request(entry.name) };
            let (mut plain, mut compacted) =
                (World::new(Limits::default()), World::new(Limits::default()));
            if plain.service.create("c", new.clone(), "").await.is_err() {
                continue;
            }
            compacted.service.create("c", new, "").await.unwrap();
            let learner = entry.name.parse::<LearnerSpec>().unwrap();
            let is_count_based = learner.is_count_based();
            for turn in 0..30_u64 {
                for world in [&plain, &compacted] {
                    world.clock.set(NOW + 100_000 * turn as i64);
                    let problem = match turn {
                        12 => without_web(),
                        20 => problem(),
                        _ => continue,
                    };
                    if learner.amendment_obstacle().is_none() {
                        let new = NewProblem { problem };
                        world.service.amend("c", new, None, "").await.unwrap();
                    }
                }
                let without = if turn % 4 == 1 { vec!["web".to_owned()] } else { Vec::new() };
                let ask = Ask { without, ..Ask::default() };
                let one = plain.service.ask("c", ask.clone(), None, "").await.unwrap();
                let other = compacted.service.ask("c", ask, None, "").await.unwrap();
                assert_eq!(spends(&one), spends(&other), "{} at {turn}", entry.name);
                let task = one.tasks[turn as usize % one.tasks.len()].task.clone();
                let reward = 0.1 * (turn % 7) as f64;
                let result = TaskResult {
                    task,
                    completed: Some(turn % 3 > 0),
                    reward: None,
                    ..TaskResult::default()
                };
                let reward = result.completed.filter(|completed| *completed).map(|_| reward);
                let result = TaskResult { reward, ..result };
                plain.tell(one.rounds[0], vec![result.clone()]).await.unwrap();
                compacted.tell(other.rounds[0], vec![result]).await.unwrap();
                if turn % 5 == 4 {
                    let retain = std::time::Duration::from_secs(60);
                    let report = compacted.service.sweep(retain, false, retain).await.unwrap();
                    assert_eq!(report.kept.is_empty(), is_count_based, "{}", entry.name);
                    assert_eq!(report.rounds > 0, is_count_based, "{} {report:?}", entry.name);
                    plain.restart();
                    compacted.restart();
                }
            }
            assert_eq!(plain.store.standing("c").unwrap(), compacted.store.standing("c").unwrap());
            assert_eq!(compacted.store.verify().unwrap().faults, Vec::<String>::new());
        }
    }
}

/// A late report is refused after its campaign was deleted, and by a new campaign with the same id.
#[tokio::test]
async fn late_reports_are_refused_by_a_new_campaign_with_the_same_id() {
    let world = World::with("kl-ucb-plus").await;
    let asked = world.ask().await;
    let task = asked.tasks[0].task.clone();
    let result = TaskResult { task, completed: Some(false), reward: None, ..TaskResult::default() };
    world.service.delete("c", 1, true, "").await.unwrap();
    let late = world.tell(asked.rounds[0], vec![result.clone()]).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::NoCampaign);
    world.service.create("c", request("kl-ucb-plus"), "").await.unwrap();
    let late = world.tell(asked.rounds[0], vec![result]).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::NoRound);
    assert_eq!(world.ask().await.rounds, [1]);
}
