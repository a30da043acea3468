//! The record of a run: two runs with the same record have the same results.

use outlay::Problem;
use outlay::feedback::Feedback;
use outlay::instance::Instance;
use outlay::learner::LearnerSpec;
use outlay::simulation::{Case, Experiment, Source};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// All inputs that determine the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    /// Version of outlay.
    pub(crate) outlay: String,
    /// Digest of all fields below except the number of replications, which may grow.
    pub(crate) digest: String,
    pub(crate) seed: u64,
    pub(crate) replications: u64,
    pub(crate) feedback: Option<Feedback>,
    pub(crate) learners: Vec<String>,
    /// Whether learners start from the `seen` of a problem. Earlier versions ignored it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) starts_from_seen: bool,
    pub(crate) cases: Vec<CaseRecord>,
}

/// One problem of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseRecord {
    pub(crate) name: String,
    pub(crate) horizon: u64,
    pub(crate) parameter: Option<(String, f64)>,
    /// Digest of the problem's contents.
    pub(crate) digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
    /// The problem with the contents of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<serde_json::Value>,
}

impl RunRecord {
    pub(crate) fn new(experiment: &Experiment) -> Result<Self, Failure> {
        let mut record = Self {
            outlay: env!("CARGO_PKG_VERSION").to_owned(),
            digest: String::new(),
            seed: experiment.seed,
            replications: 0,
            feedback: experiment.feedback,
            learners: experiment.learners.iter().map(ToString::to_string).collect(),
            starts_from_seen: experiment.cases.iter().any(has_seen),
            cases: experiment.cases.iter().map(CaseRecord::new).collect::<Result<_, Failure>>()?,
        };
        record.digest = record.own_digest()?;
        record.replications = experiment.replications;
        Ok(record)
    }

    /// The digest of everything but the number of replications.
    fn own_digest(&self) -> Result<String, Failure> {
        let digested = Self { digest: String::new(), replications: 0, ..self.clone() };
        Ok(digest(&serde_json::to_string(&digested)?))
    }

    /// The same record with each learner under its present name: earlier versions used names that
    /// are aliases now.
    pub(crate) fn with_present_names(mut self) -> Result<Self, Failure> {
        let present = |name: &String| {
            name.parse::<LearnerSpec>().map_or_else(|_| name.clone(), |spec| spec.to_string())
        };
        let learners: Vec<String> = self.learners.iter().map(present).collect();
        if learners != self.learners {
            self.learners = learners;
            self.digest = self.own_digest()?;
        }
        Ok(self)
    }

    /// Differences from the requested run; empty if it can resume this one.
    pub(crate) fn differences(&self, asked: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, there: String, asked: String| {
            if there != asked {
                differences.push(format!("{what} {there}, not {asked}"));
            }
        };
        let feedback = |record: &Self| {
            record.feedback.map_or_else(|| "as needed".to_owned(), |feedback| feedback.to_string())
        };
        compare("outlay", self.outlay.clone(), asked.outlay.clone());
        compare("learners", self.learners.join(" "), asked.learners.join(" "));
        compare("seed", self.seed.to_string(), asked.seed.to_string());
        compare("feedback", feedback(self), feedback(asked));
        let start = |record: &Self| if record.starts_from_seen { "`seen`" } else { "nothing" };
        compare("learners that start from", start(self).to_owned(), start(asked).to_owned());
        compare("problems", self.names().join(" and "), asked.names().join(" and "));
        if let Some((there, asked)) = self
            .cases
            .iter()
            .zip(&asked.cases)
            .find(|(there, asked)| there.horizon != asked.horizon)
        {
            compare("horizon", there.horizon.to_string(), asked.horizon.to_string());
        }
        if differences.is_empty() && self.digest != asked.digest {
            let changed = self
                .cases
                .iter()
                .zip(&asked.cases)
                .find(|(there, asked)| there.digest != asked.digest);
            differences
                .push(format!("another problem {}", changed.map_or("", |(there, _)| &there.name)));
        }
        differences
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.cases.iter().map(|case| label(&case.name, case.parameter.as_ref())).collect()
    }
}

impl CaseRecord {
    fn new(case: &Case) -> Result<Self, Failure> {
        let (instance, problem) = match &case.source {
            Source::Instance(instance) => (Some(instance.to_string()), None),
            Source::Problem(problem) => (None, Some(serde_json::to_value(problem.as_ref())?)),
        };
        Ok(Self {
            name: case.name.clone(),
            horizon: case.horizon,
            parameter: case.parameter.clone(),
            digest: digest(&serde_json::to_string(&(&instance, &problem))?),
            instance,
            problem,
        })
    }

    /// True if this is the given problem, independent of file paths and spelling.
    pub(crate) fn is_about(&self, problem: &Problem, seed: u64) -> bool {
        let same = match (&self.instance, &self.problem) {
            (Some(instance), _) => {
                let made = instance
                    .parse::<Instance>()
                    .and_then(|instance| instance.problem(self.horizon, seed));
                made.ok().and_then(|made| serde_json::to_value(made).ok())
            }
            (None, Some(problem)) => Some(problem.clone()),
            (None, None) => None,
        };
        // The horizon of a run is recorded separately and does not identify the problem.
        let without_horizon = |value: Option<serde_json::Value>| {
            value.map(|mut value| {
                value.as_object_mut().map(|fields| fields.remove("horizon"));
                value
            })
        };
        let asked = without_horizon(serde_json::to_value(problem).ok());
        asked.is_some() && without_horizon(same) == asked
    }
}

/// Whether a task of the case's problem has `seen`; those of instances have not.
fn has_seen(case: &Case) -> bool {
    match &case.source {
        Source::Problem(problem) => problem.tasks().iter().any(|task| task.seen().is_some()),
        Source::Instance(_) => false,
    }
}

/// Name of a case: the problem and the parameter of a grid.
pub(crate) fn label(name: &str, parameter: Option<&(String, f64)>) -> String {
    match parameter {
        Some((parameter, value)) => format!("{name} {parameter}={value}"),
        None => name.to_owned(),
    }
}

/// The 64-bit FNV-1a hash in hexadecimal. It detects accidental differences and is not
/// cryptographic.
fn digest(text: &str) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = text.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_fnv() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("foobar"), "85944171f73967e8");
    }
}
