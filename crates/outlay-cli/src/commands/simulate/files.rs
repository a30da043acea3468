//! The result files of a finished run.

use std::path::Path;

use outlay::simulation::Summary;

use super::plan::SimulationPlan;
use super::record;
use crate::failure::Failure;
use crate::output::atomic_file::{cannot_write, write_atomically};
use outlay_report::{Page, simulation};

pub(crate) const REPORT: &str = "report.html";
const RESULTS_JSON: &str = "results.json";
const RESULTS_CSV: &str = "results.csv";
const CURVES_CSV: &str = "curves.csv";
const PICTURES: &str = "pictures";

/// Names of all result files, which must not exist in a folder without a run.
pub(crate) const RESULT_FILES: [&str; 7] = [
    REPORT,
    RESULTS_JSON,
    RESULTS_CSV,
    CURVES_CSV,
    PICTURES,
    "replications.parquet",
    "curves.parquet",
];

/// Writes all files. They do not depend on the clock, on the number of threads, or on
/// interruptions.
pub(crate) fn write(
    folder: &Path,
    plan: &SimulationPlan,
    summaries: &[Summary],
) -> Result<(), Failure> {
    let file = |name: &str, text: &str| write_atomically(&folder.join(name), text.as_bytes());
    file(RESULTS_JSON, &record::json(summaries, plan.is_single)?)?;
    file(RESULTS_CSV, &record::csv(summaries)?)?;
    file(CURVES_CSV, &record::curves_csv(summaries)?)?;
    #[cfg(feature = "parquet")]
    super::parquet_files::write(folder, summaries)?;
    let Page { html, pictures } = simulation::page(&plan.title, &plan.command, summaries);
    if !pictures.is_empty() {
        let path = folder.join(PICTURES);
        std::fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        for (name, picture) in &pictures {
            write_atomically(&path.join(name), picture.as_bytes())?;
        }
    }
    file(REPORT, &html)
}
