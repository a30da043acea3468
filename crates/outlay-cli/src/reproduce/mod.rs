//! `outlay reproduce`: the claims of the paper and our own, played again and judged.
//!
//! What is to be played is chosen (`choice`), played and kept (`crate::run`), judged by the
//! library, and written (`record`, `table`, `markdown`, `index`).

mod choice;
mod index;
mod markdown;
mod panel;
mod record;
mod run_times;
mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use outlay::claims::{Claim, Evidence, Finding, Results, Scale, Setting, Verdict};
use outlay::simulation::Experiment;

use crate::arguments::ReproduceArguments;
use crate::console::{Progress, Work};
use crate::failure::Failure;
use crate::report::{Ending, Format, Report};
use crate::run::{
    Ended, Keep, Played, RunFolder, RunRecord, play_missing, rounds_missing, threads,
};
use crate::whole_file::{cannot_write, write_whole};
use run_times::RunTimes;

const INDEX: &str = "index.html";
const RESULTS: &str = "results.json";
const PICTURES: &str = "pictures";
const TABLES: &str = "tables";

/// A claim with what came out.
pub(crate) struct Judged {
    pub(crate) claim: Claim,
    pub(crate) finding: Finding,
    pub(crate) verdict: Verdict,
    /// Seeds of the runs, first and last; absent where the claim draws its own.
    pub(crate) seeds: Option<(u64, u64)>,
    pub(crate) runs: usize,
    /// All sessions together.
    pub(crate) seconds: f64,
}

pub(crate) fn run(arguments: &ReproduceArguments, quiet: bool) -> Result<Report, Failure> {
    let claims = choice::chosen(&arguments.names)?;
    if arguments.list {
        return table::list(&claims, arguments.format);
    }
    let setting = Setting::new(if arguments.quick { Scale::Quick } else { Scale::Full });
    let default = if arguments.quick { "runs/reproduce-quick" } else { "runs/reproduce" };
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(default));
    let mut tries = claims
        .iter()
        .map(|claim| Try::open(claim, &setting, &folder))
        .collect::<Result<Vec<Try>, Failure>>()?;
    let mut run_times = RunTimes::read(&folder)?;
    if let Ended::Stopped = play_all(&mut tries, threads(arguments.threads), &mut run_times, quiet)?
    {
        let (done, total) = (
            tries.iter().map(Try::done).sum::<usize>(),
            tries.iter().map(Try::total).sum::<usize>(),
        );
        let remark = format!(
            "stopped: {done} of {total} replications are kept in {}; the same command goes on",
            folder.display()
        );
        return Ok(Report {
            result: String::new(),
            remarks: vec![remark],
            ending: Ending::Stopped,
        });
    }
    let judged = tries
        .into_iter()
        .map(|tried| tried.judge(&setting, &mut run_times))
        .collect::<Result<Vec<Judged>, Failure>>()?;
    run_times.write()?;
    let command = command(arguments);
    write(&folder, &command, &judged)?;
    let result = match arguments.format {
        Format::Table => table::verdicts(&judged),
        Format::Json => record::json(&command, &judged)?,
        Format::Csv => record::csv(&judged)?,
    };
    let remarks = vec![format!("report: {}", folder.join(INDEX).display())];
    Ok(Report { result, remarks, ending: ending(&judged) })
}

/// One claim that is not shown is enough.
fn ending(judged: &[Judged]) -> Ending {
    if judged.iter().all(|judged| judged.verdict != Verdict::NotShown) {
        Ending::Done
    } else {
        Ending::CheckFailed
    }
}

/// A command that gives the same results.
fn command(arguments: &ReproduceArguments) -> String {
    let mut words = vec!["outlay", "reproduce"];
    words.extend(arguments.names.iter().map(String::as_str));
    words.extend(arguments.quick.then_some("--quick"));
    words.join(" ")
}

/// A claim that is being tried.
struct Try {
    claim: Claim,
    experiments: Vec<Experiment>,
    /// An experiment each.
    played: Vec<Played>,
    folders: Vec<RunFolder>,
}

impl Try {
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

    /// Rounds in all, and those still to be played.
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

    fn judge(self, setting: &Setting, run_times: &mut RunTimes) -> Result<Judged, Failure> {
        let started = Instant::now();
        let results: Vec<Results> = self.played.iter().map(Played::replications).collect();
        let finding = self.claim.judge(&Evidence {
            setting,
            experiments: &self.experiments,
            results: &results,
        })?;
        run_times.add(self.claim.name, started.elapsed());
        let most = self.experiments.iter().map(|experiment| experiment.replications).max();
        Ok(Judged {
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

/// Plays what is missing of every claim under one bar.
fn play_all(
    tries: &mut [Try],
    threads: NonZeroUsize,
    run_times: &mut RunTimes,
    quiet: bool,
) -> Result<Ended, Failure> {
    let (total, missing) = tries
        .iter()
        .map(Try::rounds)
        .fold((0.0, 0.0), |(all, left), (total, missing)| (all + total, left + missing));
    let work = Work { unit: None, total, before: total - missing, done: total - missing };
    let count = |number: fn(&Try) -> usize| tries.iter().map(number).sum::<usize>();
    let progress =
        Progress::resumed("replications", count(Try::total), count(Try::done), work, quiet);
    progress.during(|progress| {
        for tried in tries {
            let started = Instant::now();
            let keep = if tried.claim.needs_traces { Keep::Everything } else { Keep::Ends };
            let parts = tried.experiments.iter().zip(&mut tried.played).zip(&mut tried.folders);
            for ((experiment, played), folder) in parts {
                let ended = play_missing(experiment, keep, played, folder, threads, progress)?;
                if let Ended::Stopped = ended {
                    run_times.add(tried.claim.name, started.elapsed());
                    run_times.write()?;
                    return Ok(Ended::Stopped);
                }
            }
            run_times.add(tried.claim.name, started.elapsed());
            run_times.write()?;
        }
        Ok(Ended::Complete)
    })
}

/// Everything that a person or a program wants to look at.
fn write(folder: &Path, command: &str, judged: &[Judged]) -> Result<(), Failure> {
    let [pictures, tables] = [PICTURES, TABLES].map(|name| folder.join(name));
    for path in [&pictures, &tables] {
        std::fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))?;
    }
    for judged in judged {
        write_whole(
            &tables.join(format!("{}.md", judged.claim.name)),
            markdown::claim(judged).as_bytes(),
        )?;
    }
    let page = index::page(command, judged);
    for (name, picture) in &page.pictures {
        write_whole(&pictures.join(name), picture.as_bytes())?;
    }
    write_whole(&folder.join(RESULTS), record::json(command, judged)?.as_bytes())?;
    write_whole(&folder.join(INDEX), page.html.as_bytes())
}

#[cfg(test)]
mod tests {
    use outlay::claims::{CLAIMS, Check, Table, Wanted};

    use super::*;

    fn judged(measured: f64) -> Judged {
        let checks =
            vec![Check { what: "a ratio".to_owned(), measured, wanted: Wanted::AtMost(1.0) }];
        let claim = CLAIMS[0];
        let verdict = Verdict::of(claim.strength, &checks);
        Judged {
            claim,
            finding: Finding { checks, panels: Vec::new(), table: Table::default() },
            verdict,
            seeds: None,
            runs: 0,
            seconds: 1.0,
        }
    }

    #[test]
    fn one_claim_that_is_not_shown_fails_the_command_and_is_named() {
        assert_eq!(ending(&[judged(0.5), judged(1.0)]), Ending::Done);
        let failed = [judged(0.5), judged(1.5)];
        assert_eq!(ending(&failed), Ending::CheckFailed);
        assert!(
            table::verdicts(&failed)
                .contains("theorem-1 is not shown:\n  a ratio is 1.500, wanted at most 1\n")
        );
        assert!(index::page("outlay reproduce", &failed).html.contains("badge not-shown"));
    }
}
