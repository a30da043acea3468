//! A campaign: allocations out, outcomes in, and a learner that improves with them.
//!
//! Run with `cargo run -p outlay --example learn`.

use outlay::campaign::{Campaign, CampaignOptions, CampaignState};
use outlay::feedback::{Completion, Reward};
use outlay::{Curve, ProblemSpec, TaskSpec};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problem = ProblemSpec {
        budget: 100.0,
        tasks: vec![
            TaskSpec::new("search", Curve::exponential(30.0)?),
            TaskSpec::new("social", Curve::exponential(30.0)?),
        ],
        ..ProblemSpec::default()
    }
    .check()?;
    let mut campaign = Campaign::new(&problem, CampaignOptions::default())?;

    for _ in 0..50 {
        let round = campaign.allocate(problem.budget(), None)?.round;
        // In reality the outcomes are observed. Here both tasks succeed, but "social" pays little.
        let completed = [
            Completion { task: 0, reward: Reward::from_share(0.8) },
            Completion { task: 1, reward: Reward::from_share(0.1) },
        ];
        campaign.observe_completed(round, &completed)?;
    }

    // The state is a JSON document. A loaded campaign continues where the saved one stopped.
    let json = campaign.save().to_json();
    let mut campaign = Campaign::load(&problem, &CampaignState::from_json(&json)?)?;
    let issued = campaign.allocate(problem.budget(), None)?;
    println!("round {}", issued.round);
    for (task, spend) in problem.tasks().iter().zip(&issued.allocation.spend) {
        println!("{:8} {spend:6.2}", task.name());
    }
    Ok(())
}
