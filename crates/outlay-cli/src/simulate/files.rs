//! The files that a finished run leaves in its folder.

use std::path::Path;

use outlay::simulation::Summary;

use super::plan::Plan;
use super::record;
use crate::failure::Failure;
use crate::simulation_report::{self, Page};
use crate::whole_file::{cannot_write, write_whole};

pub(crate) const REPORT: &str = "report.html";
const RESULTS_JSON: &str = "results.json";
const RESULTS_CSV: &str = "results.csv";
const CURVES_CSV: &str = "curves.csv";
const PICTURES: &str = "pictures";

/// What must not be overwritten where no run is.
pub(crate) const RESULT_FILES: [&str; 7] = [
    REPORT,
    RESULTS_JSON,
    RESULTS_CSV,
    CURVES_CSV,
    PICTURES,
    "replications.parquet",
    "curves.parquet",
];

/// Writes everything. Nothing of it depends on the clock, on threads, or on whether the run was
/// resumed.
pub(crate) fn write(folder: &Path, plan: &Plan, summaries: &[Summary]) -> Result<(), Failure> {
    let file = |name: &str, text: &str| write_whole(&folder.join(name), text.as_bytes());
    file(RESULTS_JSON, &record::json(summaries, plan.is_single)?)?;
    file(RESULTS_CSV, &record::csv(summaries)?)?;
    file(CURVES_CSV, &record::curves_csv(summaries)?)?;
    #[cfg(feature = "parquet")]
    super::parquet_files::write(folder, summaries)?;
    let Page { html, pictures } = simulation_report::page(&plan.title, &plan.command, summaries);
    if !pictures.is_empty() {
        let path = folder.join(PICTURES);
        std::fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        for (name, picture) in &pictures {
            write_whole(&path.join(name), picture.as_bytes())?;
        }
    }
    file(REPORT, &html)
}
