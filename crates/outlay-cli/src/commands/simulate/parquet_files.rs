//! Replications and curves as Parquet files.

use std::path::Path;
use std::sync::Arc;

use outlay::simulation::Summary;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::record::curve_rows;
use crate::failure::Failure;
use crate::output::atomic_file::write_atomically;

const REPLICATIONS: &str = "replications.parquet";
const CURVES: &str = "curves.parquet";

pub(crate) fn write(folder: &Path, summaries: &[Summary]) -> Result<(), Failure> {
    write_atomically(&folder.join(REPLICATIONS), &replications(summaries)?)?;
    write_atomically(&folder.join(CURVES), &curves(summaries)?)
}

/// One column of a file.
enum Column {
    Text(&'static str, Vec<ByteArray>),
    Whole(&'static str, Vec<i64>),
    Number(&'static str, Vec<f64>),
    /// An optional number: absent with a single replication or without a grid.
    Perhaps(&'static str, Vec<Option<f64>>),
}

impl Column {
    fn text<'a>(name: &'static str, texts: impl Iterator<Item = &'a str>) -> Self {
        Self::Text(name, texts.map(ByteArray::from).collect())
    }

    /// Parquet stores unsigned numbers as signed ones with the same bits.
    fn whole(name: &'static str, numbers: impl Iterator<Item = u64>) -> Self {
        Self::Whole(name, numbers.map(u64::cast_signed).collect())
    }

    fn schema(&self) -> String {
        match self {
            Self::Text(name, _) => format!("required binary {name} (UTF8);"),
            Self::Whole(name, _) => format!("required int64 {name} (INTEGER(64,false));"),
            Self::Number(name, _) => format!("required double {name};"),
            Self::Perhaps(name, _) => format!("optional double {name};"),
        }
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General("more columns than the schema has".to_owned()));
        };
        match self {
            Self::Text(_, texts) => {
                column.typed::<ByteArrayType>().write_batch(texts, None, None)?
            }
            Self::Whole(_, numbers) => {
                column.typed::<Int64Type>().write_batch(numbers, None, None)?
            }
            Self::Number(_, numbers) => {
                column.typed::<DoubleType>().write_batch(numbers, None, None)?
            }
            Self::Perhaps(_, numbers) => {
                let is_there: Vec<i16> =
                    numbers.iter().map(|number| i16::from(number.is_some())).collect();
                let there: Vec<f64> = numbers.iter().flatten().copied().collect();
                column.typed::<DoubleType>().write_batch(&there, Some(&is_there), None)?
            }
        };
        column.close()
    }
}

/// One row for each problem, learner and seed.
fn replications(summaries: &[Summary]) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<_> = summaries
        .iter()
        .flat_map(|summary| summary.learners.iter().map(move |learner| (summary, learner)))
        .flat_map(|(summary, learner)| {
            learner.replications.iter().map(move |replication| (summary, learner, replication))
        })
        .collect();
    file(&[
        Column::text("problem", rows.iter().map(|(summary, _, _)| summary.problem.as_str())),
        Column::text("learner", rows.iter().map(|(_, learner, _)| learner.learner.as_str())),
        Column::whole("seed", rows.iter().map(|(_, _, replication)| replication.seed)),
        Column::Number(
            "regret",
            rows.iter().map(|(_, _, replication)| replication.regret).collect(),
        ),
        Column::Number(
            "realised_regret",
            rows.iter().map(|(_, _, replication)| replication.realised_regret).collect(),
        ),
        Column::Number(
            "success_mass",
            rows.iter().map(|(_, _, replication)| replication.success_mass).collect(),
        ),
        Column::Perhaps(
            "parameter_value",
            rows.iter().map(|(summary, _, _)| Some(summary.parameter.as_ref()?.1)).collect(),
        ),
    ])
}

/// The rows of `curves.csv`.
fn curves(summaries: &[Summary]) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<_> = curve_rows(summaries).collect();
    file(&[
        Column::text("problem", rows.iter().map(|row| row.problem)),
        Column::text("learner", rows.iter().map(|row| row.learner)),
        Column::whole("round", rows.iter().map(|row| row.round)),
        Column::Number("mean", rows.iter().map(|row| row.mean).collect()),
        Column::Perhaps("low95", rows.iter().map(|row| row.low95).collect()),
        Column::Perhaps("high95", rows.iter().map(|row| row.high95).collect()),
        Column::Number("q10", rows.iter().map(|row| row.q10).collect()),
        Column::Number("q90", rows.iter().map(|row| row.q90).collect()),
        Column::Perhaps("parameter_value", rows.iter().map(|row| row.parameter_value).collect()),
    ])
}

/// The bytes of a file with these columns.
fn file(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let schema: String = columns.iter().map(Column::schema).collect();
    let schema = Arc::new(parse_message_type(&format!("message table {{ {schema} }}"))?);
    let mut writer = SerializedFileWriter::new(
        Vec::new(),
        schema,
        Arc::new(WriterProperties::builder().build()),
    )?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        column.write(&mut group)?;
    }
    group.close()?;
    writer.into_inner()
}
