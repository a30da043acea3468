//! Output of the commands: tables, JSON, CSV, progress and files.

pub(crate) mod atomic_file;
pub(crate) mod command_line;
mod command_output;
pub(crate) mod console;
pub(crate) mod progress;
mod report_file;
#[cfg(feature = "serve")]
pub(crate) mod store_contents;
pub(crate) mod table;

pub(crate) use command_output::{CommandOutput, Ending, Format, csv, json, without_underflow};
pub(crate) use report_file::ReportFile;
