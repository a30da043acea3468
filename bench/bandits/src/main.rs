//! outlay and the UCB1 of other libraries in the same loop on Bernoulli arms: choose an arm, draw
//! its reward, report it to the library. Prints one line of JSON per library.
//!
//! `peers HORIZON SECONDS MEAN...`: the fastest run by the wall clock counts. All use the width of
//! outlay's `cucb`, sqrt(1.5 log t / N), and outlay's random stream, which
//! docs/explanation/model.md defines.

use std::hint::black_box;
use std::time::Instant;

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Completion, Feedback, Reward};
use rl_bandit::bandit::Bandit as _;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const TASK_STEP: u64 = 0xd134_2543_de82_ef95;
const SEED: u64 = 1;

fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 30;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 27;
    bits = bits.wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The arms: their means and the stream of rewards.
struct Arms {
    means: Vec<f64>,
    best: f64,
    stream: u64,
}

impl Arms {
    fn reward(&self, round: u64, arm: usize) -> f64 {
        let round = mix(self.stream.wrapping_add(GOLDEN.wrapping_mul(round + 1)));
        let bits = mix(round.wrapping_add(TASK_STEP.wrapping_mul(arm as u64 + 1)));
        let uniform = (bits >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
        f64::from(u8::from(uniform < self.means[arm]))
    }

    fn regret(&self, arm: usize) -> f64 {
        self.best - self.means[arm]
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("usage: peers HORIZON SECONDS MEAN...");
    let horizon: u64 = next().parse().expect("HORIZON: a whole number");
    let seconds: f64 = next().parse().expect("SECONDS: a number");
    let means: Vec<f64> = arguments.map(|mean| mean.parse().expect("MEAN: a number")).collect();
    let best = means.iter().copied().fold(0.0, f64::max);
    let arms = Arms { means, best, stream: mix(SEED.wrapping_add(GOLDEN.wrapping_mul(2))) };
    report("rl-bandit", horizon, seconds, || rl_bandit(&arms, horizon));
    report("outlay-cucb", horizon, seconds, || outlay_as_a_bandit("cucb", &arms, horizon));
    report("outlay-algorithm-1", horizon, seconds, || outlay_as_a_bandit("algorithm-1", &arms, horizon));
    #[cfg(feature = "others")]
    {
        report("rill-ml", horizon, seconds, || others::rill_ml(&arms, horizon));
        report("trashpanda", horizon, seconds, || others::trashpanda(&arms, horizon));
    }
}

fn report(library: &str, horizon: u64, seconds: f64, mut run: impl FnMut() -> f64) {
    let (begin, mut least, mut regret) = (Instant::now(), f64::INFINITY, 0.0);
    while least.is_infinite() || begin.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        regret = black_box(run());
        least = least.min(start.elapsed().as_secs_f64());
    }
    println!(r#"{{"library": "{library}", "horizon": {horizon}, "rounds_per_second": {}, "regret": {regret}}}"#, horizon as f64 / least);
}

fn rl_bandit(arms: &Arms, horizon: u64) -> f64 {
    let mut bandit = rl_bandit::bandits::ucb::UCB::new(arms.means.len(), 1.5f64.sqrt());
    let mut regret = 0.0;
    for round in 1..=horizon {
        let arm = bandit.choose();
        bandit.update(arm, arms.reward(round, arm));
        regret += arms.regret(arm);
    }
    regret
}

/// outlay in the same loop: the arm is the task that gets the whole budget, found by the oracle
/// with its certificate.
fn outlay_as_a_bandit(learner: &str, arms: &Arms, horizon: u64) -> f64 {
    let curve = outlay::Curve::threshold(1.0).expect("a curve");
    let tasks = (0..arms.means.len()).map(|arm| outlay::TaskSpec::new(format!("arm-{arm}"), curve.clone())).collect();
    let problem = outlay::ProblemSpec { tasks, ..Default::default() }.check().expect("a problem");
    let learner = learner.parse().expect("a learner");
    let mut campaign = {
        let options = CampaignOptions {
            learner,
            horizon: Some(horizon),
            feedback: Some(Feedback::Censored),
            seed: SEED,
            ..CampaignOptions::default()
        };
        Campaign::new(&problem, options).expect("a campaign")
    };
    let mut regret = 0.0;
    for round in 1..=horizon {
        let split = &campaign.allocate(1.0, None).expect("a split").allocation.spend;
        let task = split.iter().position(|spend| *spend > 0.0).expect("an arm");
        let reward = if arms.reward(round, task) > 0.0 { Reward::MAX } else { Reward::ZERO };
        campaign.observe_completed(round, &[Completion { task, reward }]).expect("an open round");
        regret += arms.regret(task);
    }
    regret
}

#[cfg(feature = "others")]
mod others {
    use rill_ml::bandit::{Bandit, Ucb1, Ucb1Config};

    use super::Arms;

    /// Both libraries define the width as c sqrt(2 log t / N).
    const WIDTH: f64 = 0.75;

    pub fn rill_ml(arms: &Arms, horizon: u64) -> f64 {
        let mut config = Ucb1Config::default();
        config.exploration_constant = WIDTH.sqrt();
        let mut bandit = Ucb1::new(arms.means.len(), config).expect("arms");
        // UCB1 draws no random numbers, but the signature requires a generator.
        let mut unused = rand08::rngs::mock::StepRng::new(0, 1);
        let mut regret = 0.0;
        for round in 1..=horizon {
            let arm = bandit.select(&mut unused).expect("an arm");
            bandit.update(arm, arms.reward(round, arm)).expect("a reward");
            regret += arms.regret(arm);
        }
        regret
    }

    pub fn trashpanda(arms: &Arms, horizon: u64) -> f64 {
        let mut bandit = trashpanda::Bandit::ucb(0..arms.means.len(), WIDTH.sqrt()).expect("arms");
        let mut unused = rand09::rng();
        let mut regret = 0.0;
        for round in 1..=horizon {
            let arm = bandit.predict_simple(&mut unused).expect("an arm");
            bandit.partial_fit_simple(&[arm], &[arms.reward(round, arm)]).expect("a reward");
            regret += arms.regret(arm);
        }
        regret
    }
}
