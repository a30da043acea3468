//! Files written with the feature `parquet` have the numbers of the JSON output.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};

fn rows(path: &Path) -> (Vec<String>, Vec<Row>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let names = reader
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name().to_owned())
        .collect();
    (names, reader.get_row_iter(None).unwrap().map(Result::unwrap).collect())
}

fn run(folder: &Path, replications: &str) -> serde_json::Value {
    let arguments = [
        "simulate",
        "power",
        "--horizon",
        "50",
        "--replications",
        replications,
        "--seed",
        "7",
        "--format",
        "json",
        "--out",
    ];
    let output =
        Command::new(env!("CARGO_BIN_EXE_outlay")).args(arguments).arg(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn files_hold_the_numbers_of_the_json() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parquet");
    let _ = std::fs::remove_dir_all(&folder);
    let json = run(&folder, "3");
    let (names, rows_of_replications) = rows(&folder.join("replications.parquet"));
    assert_eq!(
        names,
        [
            "problem",
            "learner",
            "seed",
            "regret",
            "realised_regret",
            "success_mass",
            "parameter_value"
        ]
    );
    assert_eq!(rows_of_replications.len(), 9);
    let row = &rows_of_replications[4];
    let expected = &json["learners"][1]["replications"][1];
    assert_eq!(
        (row.get_string(0).unwrap().as_str(), row.get_string(1).unwrap().as_str()),
        ("power", "algorithm-1")
    );
    assert_eq!(row.get_ulong(2).unwrap(), 8);
    assert_eq!(Some(row.get_double(3).unwrap()), expected["regret"].as_f64());
    assert_eq!(Some(row.get_double(4).unwrap()), expected["realised_regret"].as_f64());
    assert_eq!(Some(row.get_double(5).unwrap()), expected["success_mass"].as_f64());
    let (names, curves) = rows(&folder.join("curves.parquet"));
    assert_eq!(
        names,
        ["problem", "learner", "round", "mean", "low95", "high95", "q10", "q90", "parameter_value"]
    );
    let points = json["learners"][0]["curve"].as_array().unwrap();
    assert_eq!(curves.len(), 3 * points.len());
    assert_eq!(curves[2].get_ulong(2).ok(), points[2]["round"].as_u64());
    assert_eq!(curves[2].get_double(4).ok(), points[2]["low95"].as_f64());
}

#[test]
fn a_single_replication_has_no_interval() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parquet-single");
    let _ = std::fs::remove_dir_all(&folder);
    run(&folder, "1");
    let (_, curves) = rows(&folder.join("curves.parquet"));
    assert!(curves[0].get_double(3).is_ok() && curves[0].get_double(4).is_err());
}
