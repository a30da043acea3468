//! `outlay reproduce`: tests the claims of the paper and our own by experiments.
//!
//! The claims are selected (`selection`), their experiments are run and saved (`crate::run`), the
//! library judges the results, and the output is written (`record`, `table`, `markdown`).

mod markdown;
mod record;
mod run_times;
mod selection;
mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use outlay::claims::{Claim, Evidence, Results, Scale, Setting, Verdict};
use outlay::simulation::Experiment;
use outlay_report::reproduction::{self, JudgedClaim};

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::output::atomic_file::{cannot_write, write_atomically};
use crate::output::progress::{Work, with_progress};
use crate::output::{CommandOutput, Ending, Format};
use crate::run::{
    Keep, Played, RunEnd, RunFolder, RunRecord, play_missing, rounds_missing, threads,
};
use run_times::RunTimes;

const INDEX: &str = "index.html";
const RESULTS: &str = "results.json";
const PICTURES: &str = "pictures";
const TABLES: &str = "tables";

pub(crate) fn run(arguments: &ReproduceArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let claims = selection::selected(&arguments.names)?;
    if arguments.list {
        return table::list(&claims, arguments.format);
    }
    let setting = Setting::new(if arguments.quick { Scale::Quick } else { Scale::Full });
    let default = if arguments.quick { "runs/reproduce-quick" } else { "runs/reproduce" };
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(default));
    let mut tests = claims
        .iter()
        .map(|claim| ClaimTest::open(claim, &setting, &folder))
        .collect::<Result<Vec<ClaimTest>, Failure>>()?;
    let mut run_times = RunTimes::read(&folder)?;
    if let RunEnd::Interrupted =
        play_all(&mut tests, threads(arguments.threads), &mut run_times, quiet)?
    {
        let (done, total) = (
            tests.iter().map(ClaimTest::done).sum::<usize>(),
            tests.iter().map(ClaimTest::total).sum::<usize>(),
        );
        let remark = format!(
            "interrupted: {done} of {total} replications are saved in {}; the same command resumes the run",
            folder.display()
        );
        return Ok(CommandOutput {
            result: String::new(),
            remarks: vec![remark],
            ending: Ending::Interrupted,
        });
    }
    let judged = tests
        .into_iter()
        .map(|test| test.judge(&setting, &mut run_times))
        .collect::<Result<Vec<JudgedClaim>, Failure>>()?;
    run_times.write()?;
    let command = command(arguments);
    write(&folder, &command, &judged)?;
    let result = match arguments.format {
        Format::Table => table::verdicts(&judged),
        Format::Json => record::json(&command, &judged)?,
        Format::Csv => record::csv(&judged)?,
    };
    let remarks = vec![format!("report: {}", folder.join(INDEX).display())];
    Ok(CommandOutput { result, remarks, ending: ending(&judged) })
}

/// The command fails if any claim is not shown.
fn ending(judged: &[JudgedClaim]) -> Ending {
    if judged.iter().all(|judged| judged.verdict != Verdict::NotShown) {
        Ending::Success
    } else {
        Ending::CheckFailed
    }
}

/// The command line that gives the same results.
fn command(arguments: &ReproduceArgs) -> String {
    let mut words = vec!["outlay", "reproduce"];
    words.extend(arguments.names.iter().map(String::as_str));
    words.extend(arguments.quick.then_some("--quick"));
    words.join(" ")
}

/// A claim with its experiments.
struct ClaimTest {
    claim: Claim,
    experiments: Vec<Experiment>,
    /// Results of each experiment.
    played: Vec<Played>,
    folders: Vec<RunFolder>,
}

impl ClaimTest {
    fn open(claim: &Claim, setting: &Setting, folder: &Path) -> Result<Self, Failure> {
        let experiments = claim.experiments(setting)?;
        let (mut played, mut folders) = (Vec::new(), Vec::new());
        for (position, experiment) in experiments.iter().enumerate() {
            let path = folder.join(claim.name).join((position + 1).to_string());
            let (folder, known) = RunFolder::open(path, &RunRecord::new(experiment)?, &[])?;
            played.push(Played::new(experiment, known));
            folders.push(folder);
        }
        Ok(Self { claim: *claim, experiments, played, folders })
    }

    fn done(&self) -> usize {
        self.played.iter().map(Played::done).sum()
    }

    fn total(&self) -> usize {
        self.played.iter().map(Played::total).sum()
    }

    /// Total and missing number of rounds.
    fn rounds(&self) -> (f64, f64) {
        let of = |experiment: &Experiment| {
            let jobs = experiment.learners.len() as f64 * experiment.replications as f64;
            jobs * experiment.cases.iter().map(|case| case.horizon as f64).sum::<f64>()
        };
        let missing = self
            .experiments
            .iter()
            .zip(&self.played)
            .map(|(experiment, played)| rounds_missing(experiment, played));
        (self.experiments.iter().map(of).sum(), missing.sum())
    }

    fn judge(self, setting: &Setting, run_times: &mut RunTimes) -> Result<JudgedClaim, Failure> {
        let started = Instant::now();
        let results: Vec<Results> = self.played.iter().map(Played::replications).collect();
        let finding = self.claim.judge(&Evidence {
            setting,
            experiments: &self.experiments,
            results: &results,
        })?;
        run_times.add(self.claim.name, started.elapsed());
        let most = self.experiments.iter().map(|experiment| experiment.replications).max();
        Ok(JudgedClaim {
            verdict: Verdict::of(self.claim.strength, &finding.checks),
            seeds: most
                .zip(self.experiments.first())
                .map(|(most, first)| (first.seed, first.seed + most - 1)),
            runs: self.total(),
            seconds: run_times.seconds(self.claim.name),
            claim: self.claim,
            finding,
        })
    }
}

/// Runs the missing replications of all claims with one progress bar.
fn play_all(
    tests: &mut [ClaimTest],
    threads: NonZeroUsize,
    run_times: &mut RunTimes,
    quiet: bool,
) -> Result<RunEnd, Failure> {
    let (total, missing) = tests
        .iter()
        .map(ClaimTest::rounds)
        .fold((0.0, 0.0), |(all, left), (total, missing)| (all + total, left + missing));
    let count = |number: fn(&ClaimTest) -> usize| tests.iter().map(number).sum::<usize>();
    let work = Work {
        steps_name: "replications",
        steps: count(ClaimTest::total),
        steps_done: count(ClaimTest::done),
        unit: None,
        total,
        done: total - missing,
    };
    with_progress(work, quiet, |progress| {
        for test in tests {
            let started = Instant::now();
            let keep = if test.claim.needs_traces { Keep::Everything } else { Keep::WithoutTrace };
            let parts = test.experiments.iter().zip(&mut test.played).zip(&mut test.folders);
            for ((experiment, played), folder) in parts {
                let ended = play_missing(experiment, keep, played, folder, threads, progress)?;
                if let RunEnd::Interrupted = ended {
                    run_times.add(test.claim.name, started.elapsed());
                    run_times.write()?;
                    return Ok(RunEnd::Interrupted);
                }
            }
            run_times.add(test.claim.name, started.elapsed());
            run_times.write()?;
        }
        Ok(RunEnd::Complete)
    })
}

/// Writes report, pictures, tables and results.
fn write(folder: &Path, command: &str, judged: &[JudgedClaim]) -> Result<(), Failure> {
    let [pictures, tables] = [PICTURES, TABLES].map(|name| folder.join(name));
    for path in [&pictures, &tables] {
        std::fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))?;
    }
    for judged in judged {
        write_atomically(
            &tables.join(format!("{}.md", judged.claim.name)),
            markdown::claim(judged).as_bytes(),
        )?;
    }
    let page = reproduction::page(command, judged);
    for (name, picture) in &page.pictures {
        write_atomically(&pictures.join(name), picture.as_bytes())?;
    }
    write_atomically(&folder.join(RESULTS), record::json(command, judged)?.as_bytes())?;
    write_atomically(&folder.join(INDEX), page.html.as_bytes())
}

#[cfg(test)]
mod tests {
    use outlay::claims::{CLAIMS, Check, Finding, Table, Wanted};

    use super::*;

    fn judged(measured: f64) -> JudgedClaim {
        let checks =
            vec![Check { what: "a ratio".to_owned(), measured, wanted: Wanted::AtMost(1.0) }];
        let claim = CLAIMS[0];
        let verdict = Verdict::of(claim.strength, &checks);
        JudgedClaim {
            claim,
            finding: Finding { checks, panels: Vec::new(), table: Table::default() },
            verdict,
            seeds: None,
            runs: 0,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_claim_that_fails_is_named_and_fails_the_command() {
        assert_eq!(ending(&[judged(0.5), judged(1.0)]), Ending::Success);
        let failed = [judged(0.5), judged(1.5)];
        assert_eq!(ending(&failed), Ending::CheckFailed);
        assert!(
            table::verdicts(&failed)
                .contains("theorem-1 is not shown:\n  a ratio is 1.500, wanted at most 1\n")
        );
        assert!(reproduction::page("outlay reproduce", &failed).html.contains("badge not-shown"));
    }
}
