//! Arguments for the form of CSV files, shared by the commands that read them.

use clap::{Args, ValueEnum};
use outlay::table::Decimal;

use crate::input::csv_table::CsvForm;

/// The form of numbers in a CSV file.
#[derive(Debug, Args)]
pub(crate) struct DecimalArgs {
    /// Decimal sign of the numbers in the CSV file [default: a comma if the columns are separated
    /// by ; or tabs and the numbers show it, else a point]
    #[arg(long, value_enum, value_name = "SIGN")]
    pub(crate) decimal: Option<DecimalSign>,
}

/// The form of outcomes in a CSV file.
#[derive(Debug, Args)]
pub(crate) struct OutcomeCsvArgs {
    #[command(flatten)]
    pub(crate) decimal: DecimalArgs,

    /// Word for success in the CSV file, such as yes; the column may have one other word, for
    /// failure [default: only 1, 0, true and false are read]
    #[arg(long = "true", value_name = "WORD")]
    pub(crate) true_word: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecimalSign {
    /// 12.5
    #[value(name = ".")]
    Point,
    /// 12,5
    #[value(name = ",")]
    Comma,
}

impl DecimalArgs {
    pub(crate) fn form(&self) -> CsvForm<'_> {
        let decimal = self.decimal.map(|sign| match sign {
            DecimalSign::Point => Decimal::Point,
            DecimalSign::Comma => Decimal::Comma,
        });
        CsvForm { decimal, true_word: None }
    }
}

impl OutcomeCsvArgs {
    pub(crate) fn form(&self) -> CsvForm<'_> {
        CsvForm { true_word: self.true_word.as_deref().map(str::trim), ..self.decimal.form() }
    }
}
