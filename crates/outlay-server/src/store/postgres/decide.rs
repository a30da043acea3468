//! Decides which rows a batch of requests and reports writes, given what is known of the database.
//!
//! At first nothing is known: the batch is written as if all of it were new, and the rows that the
//! database leaves out are then read. If they explain everything, as for repeated reports, the
//! transaction continues. If a command must be rejected, the transaction is rolled back and decided
//! again with the new knowledge. Knowledge only grows and stays true, so this terminates.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::totals::Sums;
use crate::store::{Ask, Item, Millis, Outcome, Refusal, Tell, UsedKey};

/// A task in a round of a campaign.
pub(super) type Place = (i32, i64, i32);

/// Numbers that the database can store.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A request or a report, and the number of its campaign if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    Ask(&'a Ask, Option<i32>),
    Tell(&'a Tell, Option<i32>),
}

pub(super) fn place(campaign: i32, tell: &Tell, item: &Item) -> Place {
    (campaign, whole(tell.round), i32::try_from(item.task).unwrap_or(i32::MAX))
}

/// An earlier outcome.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) first: Outcome,
    /// After corrections.
    pub(super) counted: Outcome,
}

/// Known contents of the database.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) told: HashMap<Place, Stored>,
    /// By token and key, with the time of expiry.
    pub(super) keys: HashMap<(String, String), (UsedKey, Millis)>,
    /// Requests, by their index in the batch, whose rounds are taken.
    pub(super) taken: HashSet<usize>,
    /// Campaigns that were deleted.
    pub(super) deleted: HashSet<i32>,
    /// Numbers of amendments, once they were read; no campaign of the batch can be amended until the
    /// transaction ends.
    pub(super) amendments: Option<HashMap<i32, u64>>,
    /// Reports, by their index in the batch, about compacted rounds.
    pub(super) compacted: HashSet<usize>,
    /// Issued rounds of campaigns with a horizon, which are locked meanwhile.
    pub(super) handed_out: HashMap<i32, u64>,
    /// Sums of tasks for which several completions or a spend are reported.
    pub(super) sums: Sums,
}

/// Rows to write. Numbers are indices in the batch.
#[derive(Debug, Default)]
pub(super) struct Decision<'a> {
    pub(super) answers: Vec<Answer>,
    pub(super) asks: Vec<(usize, i32, &'a Ask)>,
    /// By token and key.
    pub(super) keys: BTreeMap<(&'a str, &'a str), (usize, i32, &'a Ask)>,
    /// In the order of writing, which prevents deadlocks: the report and the index in it.
    pub(super) items: BTreeMap<Place, (usize, usize, Item)>,
    /// Sums of several completions and of spends that the batch adds.
    added: Sums,
}

/// For one command.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Refused(Refusal),
    Asked,
    /// Which of its items are new.
    Told(Vec<bool>),
}

pub(super) fn decide<'a>(batch: &[Wanted<'a>], known: &Known) -> Decision<'a> {
    let mut decision = Decision::default();
    let mut rounds = BTreeMap::new();
    for (at, wanted) in batch.iter().enumerate() {
        let done = match *wanted {
            Wanted::Ask(_, None) | Wanted::Tell(_, None) => Err(Refusal::NoCampaign),
            Wanted::Ask(_, Some(campaign)) | Wanted::Tell(_, Some(campaign))
                if known.deleted.contains(&campaign) =>
            {
                Err(Refusal::NoCampaign)
            }
            Wanted::Tell(..) if known.compacted.contains(&at) => Err(Refusal::Compacted),
            Wanted::Ask(ask, Some(campaign)) => decision.ask(at, campaign, ask, known, &mut rounds),
            Wanted::Tell(tell, Some(campaign)) => decision.tell(at, campaign, tell, known),
        };
        decision.answers.push(done.unwrap_or_else(Answer::Refused));
    }
    decision
}

impl<'a> Decision<'a> {
    fn ask(
        &mut self,
        at: usize,
        campaign: i32,
        ask: &'a Ask,
        known: &Known,
        rounds: &mut BTreeMap<(i32, u64), u64>,
    ) -> Result<Answer, Refusal> {
        if let Some(key) = &ask.key {
            let before = self
                .keys
                .get(&(ask.token.as_str(), key.key.as_str()))
                .and_then(|(_, _, first)| Some((first.key.as_ref()?, first)));
            if let Some((first_key, first)) =
                before.filter(|(first_key, _)| first_key.expires_at > ask.at)
            {
                return Err(Refusal::KeyUsed {
                    request: first_key.request,
                    rounds: first.rounds.clone(),
                });
            }
            let stored = known.keys.get(&(ask.token.clone(), key.key.clone()));
            if let Some((used, _)) =
                stored.filter(|(_, expires_at)| before.is_none() && *expires_at > ask.at)
            {
                return Err(Refusal::KeyUsed {
                    request: used.request,
                    rounds: used.rounds.clone(),
                });
            }
        }
        let amendments = known.amendments.as_ref();
        let amended = |known: &HashMap<i32, u64>| known.get(&campaign).copied().unwrap_or(0);
        if amendments.is_some_and(|known| amended(known) != ask.amendments) {
            return Err(Refusal::Amended);
        }
        let Range { start, end } = ask.rounds;
        let before = rounds.range(..(campaign, end)).next_back();
        if known.taken.contains(&at)
            || before.is_some_and(|((owner, _), end)| *owner == campaign && *end > start)
        {
            return Err(Refusal::RoundsTaken);
        }
        if let Some(horizon) = ask.horizon {
            let asked = self.asks.iter().filter(|(_, other, _)| *other == campaign);
            let in_batch: u64 = asked.map(|(.., ask)| ask.rounds.end - ask.rounds.start).sum();
            let rounds = known.handed_out.get(&campaign).copied().unwrap_or(0) + in_batch;
            if rounds.saturating_add(end.saturating_sub(start)) > horizon {
                return Err(Refusal::BeyondHorizon { rounds });
            }
        }
        rounds.insert((campaign, start), end);
        self.asks.push((at, campaign, ask));
        if let Some(key) = &ask.key {
            self.keys.insert((ask.token.as_str(), key.key.as_str()), (at, campaign, ask));
        }
        Ok(Answer::Asked)
    }

    fn tell(
        &mut self,
        at: usize,
        campaign: i32,
        tell: &Tell,
        known: &Known,
    ) -> Result<Answer, Refusal> {
        let mut is_new = Vec::with_capacity(tell.items.len());
        for item in &tell.items {
            let place = place(campaign, tell, item);
            let in_batch = self
                .items
                .get(&place)
                .map(|(.., item)| Stored { first: item.outcome, counted: item.outcome });
            match in_batch.or_else(|| known.told.get(&place).copied()) {
                None => is_new.push(true),
                Some(Stored { first, counted })
                    if item.outcome.repeats(&first) || item.outcome.repeats(&counted) =>
                {
                    is_new.push(false)
                }
                Some(stored) => {
                    return Err(Refusal::Conflict { task: item.task, stored: stored.counted });
                }
            }
        }
        let new = || tell.items.iter().zip(&is_new).enumerate().filter(|(_, (_, is_new))| **is_new);
        if let Some((_, (item, _))) =
            new().find(|(_, (item, _))| !self.has_room(campaign, item, known))
        {
            return Err(Refusal::TooLarge { task: item.task });
        }
        for (number, (item, _)) in new() {
            let place = place(campaign, tell, item);
            if !item.outcome.is_single(item.expected) {
                let added = self.added.entry((campaign, place.2)).or_default();
                added.add(item.outcome, item.expected);
            }
            self.items.insert(place, (at, number, *item));
        }
        Ok(Answer::Told(is_new))
    }

    /// Whether the sums of a task have room for an outcome.
    fn has_room(&self, campaign: i32, item: &Item, known: &Known) -> bool {
        if item.outcome.is_single(item.expected) {
            return true;
        }
        let task = (campaign, i32::try_from(item.task).unwrap_or(i32::MAX));
        let mut sums = known.sums.get(&task).copied().unwrap_or_default();
        sums.merge(self.added.get(&task).copied().unwrap_or_default());
        sums.has_room_for(item.outcome, item.expected)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Answer, Known, Stored, Wanted, decide};
    use crate::store::{Ask, Item, Key, Outcome, Refusal, Split, Tell};

    const YES: Outcome = Outcome::success(5);
    const NO: Outcome = Outcome::FAILED;

    fn tell(round: u64, items: &[(u32, Outcome)]) -> Tell {
        let items = items
            .iter()
            .map(|(task, outcome)| Item { task: *task, outcome: *outcome, expected: 0 })
            .collect();
        Tell { campaign: "c".into(), round, items, is_late: false, at: 0, token: String::new() }
    }

    fn ask(rounds: std::ops::Range<u64>, key: Option<&str>) -> Ask {
        let split = Split { budget: 1.0, ..Split::default() };
        let key = key.map(|key| Key {
            key: key.into(),
            request: [rounds.start as u8; 32],
            expires_at: 10,
        });
        Ask {
            campaign: "c".into(),
            rounds,
            split: Arc::new(split),
            amendments: 0,
            stats_version: 0,
            at: 0,
            expires_at: 5,
            token: "t".into(),
            key,
            horizon: None,
        }
    }

    #[test]
    fn items_of_a_refused_report_can_be_reported_again() {
        let mut known = Known::default();
        known.told.insert((1, 7, 1), Stored { first: NO, counted: NO });
        let (first, second) = (tell(7, &[(0, YES), (1, YES)]), tell(7, &[(0, NO)]));
        let decision =
            decide(&[Wanted::Tell(&first, Some(1)), Wanted::Tell(&second, Some(1))], &known);
        assert_eq!(
            decision.answers,
            [Answer::Refused(Refusal::Conflict { task: 1, stored: NO }), Answer::Told(vec![true])]
        );
        assert_eq!(
            decision
                .items
                .iter()
                .map(|(place, (at, _, item))| (*place, *at, item.outcome))
                .collect::<Vec<_>>(),
            [((1, 7, 0), 1, NO)]
        );
    }

    #[test]
    fn the_first_and_the_corrected_outcome_are_both_repetitions() {
        let mut known = Known::default();
        known.told.insert((1, 7, 0), Stored { first: NO, counted: YES });
        for outcome in [NO, YES] {
            assert_eq!(
                decide(&[Wanted::Tell(&tell(7, &[(0, outcome)]), Some(1))], &known).answers,
                [Answer::Told(vec![false])]
            );
        }
    }

    #[test]
    fn a_key_is_used_by_the_first_ask_that_is_not_refused() {
        let known = Known { taken: [0].into(), ..Known::default() };
        let (first, second, third) =
            (ask(1..3, Some("k")), ask(3..5, Some("k")), ask(5..6, Some("k")));
        let decision = decide(
            &[
                Wanted::Ask(&first, Some(1)),
                Wanted::Ask(&second, Some(1)),
                Wanted::Ask(&third, Some(1)),
            ],
            &known,
        );
        let used = Answer::Refused(Refusal::KeyUsed { request: [3; 32], rounds: 3..5 });
        assert_eq!(decision.answers, [Answer::Refused(Refusal::RoundsTaken), Answer::Asked, used]);
        assert_eq!(decision.keys.len(), 1);
    }

    #[test]
    fn rounds_of_one_batch_stay_within_the_horizon() {
        let within = |rounds| Ask { horizon: Some(5), ..ask(rounds, None) };
        let asks = [within(1..3), within(3..6), within(6..7), ask(7..9, None)];
        let batch: Vec<_> = asks.iter().map(|ask| Wanted::Ask(ask, Some(1))).collect();
        let known = Known { handed_out: [(1, 2)].into(), ..Known::default() };
        let beyond = Answer::Refused(Refusal::BeyondHorizon { rounds: 4 });
        let answers = [Answer::Asked, beyond, Answer::Asked, Answer::Asked];
        assert_eq!(decide(&batch, &known).answers, answers);
    }

    /// Rounds that were decided before an amendment are not issued after it.
    #[test]
    fn rounds_belong_to_the_present_problem() {
        let asks = [1, 0].map(|amendments| Ask { amendments, ..ask(1..2, None) });
        let batch: Vec<_> = asks.iter().map(|ask| Wanted::Ask(ask, Some(1))).collect();
        let amended = || Answer::Refused(Refusal::Amended);
        let known = |amendments| Known { amendments: Some(amendments), ..Known::default() };
        assert_eq!(decide(&batch, &known([(1, 1)].into())).answers, [Answer::Asked, amended()]);
        assert_eq!(decide(&batch, &known([(2, 1)].into())).answers, [amended(), Answer::Asked]);
    }

    #[test]
    fn rounds_of_one_batch_do_not_overlap() {
        let asks = [ask(1..5, None), ask(4..6, None), ask(5..6, None), ask(1..2, None)];
        let batch: Vec<_> = asks.iter().map(|ask| Wanted::Ask(ask, Some(1))).collect();
        let taken = || Answer::Refused(Refusal::RoundsTaken);
        assert_eq!(
            decide(&batch, &Known::default()).answers,
            [Answer::Asked, taken(), Answer::Asked, taken()]
        );
        let elsewhere = [
            Wanted::Ask(&asks[0], Some(1)),
            Wanted::Ask(&asks[1], Some(2)),
            Wanted::Ask(&asks[2], None),
        ];
        assert_eq!(
            decide(&elsewhere, &Known::default()).answers,
            [Answer::Asked, Answer::Asked, Answer::Refused(Refusal::NoCampaign)]
        );
    }
}
