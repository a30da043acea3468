//! CSV files in the forms that spreadsheets and other programs write, read by every command.

use std::path::{Path, PathBuf};
use std::process::Output;

use super::{run, text};

/// A small table that every command can read. The first column needs an encoding.
const TABLE: [[&str; 6]; 3] = [
    ["für wen", "round", "task", "spend", "completed", "reward"],
    ["Käufer", "1", "search", "1.5", "1", "0.5"],
    ["Übrige", "1", "social", "0.25", "0", ""],
];

const PROBLEM: &str = "budget = 2\n\
    [[task]]\nname = 'search'\ncurve = { family = 'saturating', full_at = 2 }\nvalue = 0.5\n\
    [[task]]\nname = 'social'\ncurve = { family = 'saturating', full_at = 1 }\nvalue = 0.25\n";

/// A problem whose samples, or tasks, are in `table.csv`.
const SAMPLES: &str =
    "[[task]]\nvalue = 1\ncurve = { family = 'empirical', file = 'table.csv', column = 'spend' }\n";
const TASKS: &str = "tasks = { file = 'table.csv' }\n";
const TASK_TABLE: [[&str; 5]; 3] = [
    ["name", "family", "full_at", "value", "exclude"],
    ["Käufer", "saturating", "1.5", "0.5", "0.0"],
    ["Übrige", "saturating", "0.25", "0.125", "TRUE"],
];

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("csv_files").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A command that reads `table.csv` in a folder.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reader {
    Fit,
    Tell,
    Replay,
    Plan,
    Samples,
    Tasks,
}

const READERS: [Reader; 6] =
    [Reader::Fit, Reader::Tell, Reader::Replay, Reader::Plan, Reader::Samples, Reader::Tasks];
/// The commands whose files contain outcomes.
const OUTCOME_READERS: [Reader; 3] = [Reader::Fit, Reader::Tell, Reader::Replay];

impl Reader {
    /// The table that the command can read.
    fn table(self) -> Vec<Vec<String>> {
        let owned = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        match self {
            Self::Tasks => TASK_TABLE.iter().map(|row| owned(row)).collect(),
            _ => TABLE.iter().map(|row| owned(row)).collect(),
        }
    }

    /// Runs the command on these bytes.
    fn run(self, folder: &Path, table: &[u8], flags: &[&str]) -> Output {
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let (csv, problem, state) = (path("table.csv"), path("problem.toml"), path("state.json"));
        std::fs::write(&csv, table).unwrap();
        let content = match self {
            Self::Samples => SAMPLES,
            Self::Tasks => TASKS,
            _ => PROBLEM,
        };
        std::fs::write(&problem, content).unwrap();
        let line = match self {
            Self::Fit => {
                format!("fit {csv} --task task --spend spend --success completed --reward reward")
            }
            Self::Tell => {
                let _ = std::fs::remove_file(&state);
                succeeds(&run(&["new", &state, "--problem", &problem], ""));
                succeeds(&run(&["next", &state], ""));
                format!("tell {state} {csv}")
            }
            Self::Replay => format!(
                "replay {problem} {csv} --spend spend --success completed --rounds 3 \
                 --replications 2"
            ),
            Self::Plan => format!("evaluate {problem} --plan {csv}"),
            Self::Samples | Self::Tasks => format!("allocate {problem}"),
        };
        let words = line.split(' ').chain(["--format", "csv"]).chain(flags.iter().copied());
        run(&words.collect::<Vec<_>>(), "")
    }
}

#[track_caller]
fn succeeds(output: &Output) -> (String, String) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    (text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

/// Checks that the command fails with this message and prints nothing. `FILE` is the table's path.
#[track_caller]
fn refuses(output: &Output, folder: &Path, message: &str) {
    let file = folder.join("table.csv");
    let shown = text(&output.stderr).replace(file.to_str().unwrap(), "FILE");
    assert_eq!(shown, message);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
}

/// The text of a table.
fn written(table: &[Vec<String>], separator: &str, decimal: &str, line_end: &str) -> String {
    let cell = |cell: &String| {
        let is_number = cell.parse::<f64>().is_ok();
        if is_number { cell.replace('.', decimal) } else { cell.clone() }
    };
    let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(separator);
    table.iter().map(|row| line(row) + line_end).collect()
}

fn plain(reader: Reader) -> String {
    written(&reader.table(), ",", ".", "\n")
}

fn utf_16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The letters of these tables are the same in Latin-1 and Windows-1252.
fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

/// Checks that every command gives the output of the plain form.
#[track_caller]
fn every_command_reads(name: &str, form: impl Fn(Reader) -> Vec<u8>) {
    for reader in READERS {
        let folder = folder(&format!("{name}-{reader:?}"));
        let (expected, _) = succeeds(&reader.run(&folder, plain(reader).as_bytes(), &[]));
        let (found, remarks) = succeeds(&reader.run(&folder, &form(reader), &[]));
        assert_eq!(found, expected, "{reader:?} {remarks}");
    }
}

#[test]
fn separators_are_detected() {
    every_command_reads("semicolons", |reader| {
        written(&reader.table(), ";", ".", "\n").into_bytes()
    });
    every_command_reads("tabs", |reader| written(&reader.table(), "\t", ".", "\n").into_bytes());
    every_command_reads("declared", |reader| {
        format!("sep=;\r\n{}", written(&reader.table(), ";", ".", "\r\n")).into_bytes()
    });
}

#[test]
fn decimal_commas_are_detected() {
    for (name, separator) in [("comma-semicolons", ";"), ("comma-tabs", "\t")] {
        every_command_reads(name, |reader| {
            written(&reader.table(), separator, ",", "\n").into_bytes()
        });
    }
}

#[test]
fn encodings_are_detected() {
    every_command_reads("bom", |reader| format!("\u{feff}{}", plain(reader)).into_bytes());
    every_command_reads("utf-16", |reader| utf_16(&plain(reader)));
    every_command_reads("utf-16-bom", |reader| utf_16(&format!("\u{feff}{}", plain(reader))));
    every_command_reads("utf-16-be", |reader| {
        let text = format!("\u{feff}{}", plain(reader));
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    });
    every_command_reads("latin-1", |reader| latin_1(&plain(reader)));
    let folder = folder("latin-1-remark");
    for reader in [Reader::Fit, Reader::Tell, Reader::Replay, Reader::Plan] {
        let (_, remarks) = succeeds(&reader.run(&folder, &latin_1(&plain(reader)), &[]));
        let expected = "is not UTF-8 and was read as Windows-1252 (Latin-1); if letters are \
                        wrong, save it as UTF-8\n";
        assert!(remarks.contains(expected), "{reader:?}: {remarks}");
    }
}

#[test]
fn rows_of_separators_and_spaces_are_skipped() {
    every_command_reads("blank", |reader| {
        let columns = reader.table()[0].len();
        let blank = ",".repeat(columns - 1);
        let table = plain(reader).replace(",search,", ", search ,").replace("Käufer", " Käufer ");
        let (header, rows) = table.split_once('\n').unwrap();
        format!("{header}\n\n{blank}\n{}{blank},,\n , ,\n", rows.replace('\n', ",,\n")).into_bytes()
    });
}

/// Checks the error for every command that reads outcomes or a plan.
#[track_caller]
fn every_log_is_refused(name: &str, table: &[u8], flags: &[&str], message: &str) {
    for reader in [Reader::Fit, Reader::Tell, Reader::Replay, Reader::Plan] {
        let folder = folder(&format!("{name}-{reader:?}"));
        let output = reader.run(&folder, table, flags);
        assert!(folder.join("state.json").exists() == (reader == Reader::Tell));
        refuses(&output, &folder, message);
    }
}

/// The same table in a problem file.
#[track_caller]
fn every_problem_is_refused(name: &str, table: &[u8], message: &str) {
    for (reader, path) in [(Reader::Samples, "task[0].curve.file"), (Reader::Tasks, "tasks.file")] {
        let folder = folder(&format!("{name}-{reader:?}"));
        let output = reader.run(&folder, table, &[]);
        let problem = folder.join("problem.toml");
        let message = format!(
            "error: {} has 1 error\n  {path}: cannot read `table.csv`: {message}\n",
            problem.display()
        );
        refuses(&output, &folder, &message);
    }
}

#[test]
fn spreadsheets_and_other_formats_are_refused() {
    for (name, bytes, message) in [
        (
            "xlsx",
            &b"PK\x03\x04\x14\0\x06\0"[..],
            "it is an Excel workbook (.xlsx) or another zip archive; save the sheet as CSV (in \
             Excel: Save As, CSV UTF-8)",
        ),
        (
            "xls",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "it is an Excel workbook (.xls); save the sheet as CSV (in Excel: Save As, CSV UTF-8)",
        ),
        ("gzip", b"\x1f\x8b\x08", "it is compressed; unpack it with gunzip"),
        ("parquet", b"PAR1\x15", "it is a Parquet file; write the table as CSV"),
        ("binary", b"ab\xff\0cd", "it is not text; save the table as CSV in UTF-8"),
        (
            "half-utf-16",
            b"\xff\xfea\0\0\xd8",
            "it starts as UTF-16 text but is not valid UTF-16; save it as UTF-8",
        ),
        ("empty", b"", "it is empty; its first line must name the columns"),
    ] {
        every_log_is_refused(name, bytes, &[], &format!("error: cannot read FILE: {message}\n"));
        every_problem_is_refused(name, bytes, message);
    }
}

#[test]
fn duplicate_headers_are_refused() {
    let table = b"round,task,spend, spend,completed,reward\n1,search,1,2,1,1\n";
    every_log_is_refused(
        "duplicate",
        table,
        &[],
        "error: FILE has 1 error\n  line 1: the column `spend` appears twice; rename one\n",
    );
    let folder = folder("duplicate-problem");
    let problem = folder.join("problem.toml").display().to_string();
    refuses(
        &Reader::Samples.run(&folder, table, &[]),
        &folder,
        &format!(
            "error: {problem} has 1 error\n  task[0].curve.file: cannot read `table.csv`: the \
             column `spend` appears twice; rename one\n"
        ),
    );
    refuses(
        &Reader::Tasks.run(&folder, b"family,full_at,full_at \nsaturating,1,1\n", &[]),
        &folder,
        &format!(
            "error: {problem} has 1 error\n  table.csv line 1: the column `full_at` appears \
             twice\n"
        ),
    );
}

/// The table with this spend in its first row, which is line 2.
fn with_spend(spend: &str, separator: &str, line_end: &str) -> String {
    let mut table = Reader::Fit.table();
    table[1][3] = spend.to_owned();
    written(&table, separator, ".", line_end)
}

/// The errors of numbers, for the commands with a column `spend`.
#[test]
fn numbers_in_other_forms_are_refused_with_a_hint() {
    let cases = [
        ("\"1,234.5\"", ",", &[][..], "\"1,234.5\"; write it without thousands separators"),
        ("1.234.567", ",", &[], "\"1.234.567\"; write it without thousands separators"),
        ("1 234", ",", &[], "\"1 234\"; write it without thousands separators"),
        ("\"12,5\"", ",", &[], "\"12,5\"; with decimal commas add --decimal ,"),
        ("1.234,5", ";", &["--decimal", ","], "\"1.234,5\"; write it without thousands separators"),
        ("12 EUR", ",", &[], "\"12 EUR\""),
    ];
    for (spend, separator, flags, message) in cases {
        let mut table = Reader::Fit.table();
        table[1][3] = spend.to_owned();
        let decimal = if flags.is_empty() { "." } else { "," };
        let table = written(&table, separator, decimal, "\n");
        for reader in [Reader::Fit, Reader::Replay, Reader::Plan] {
            let folder = folder("numbers");
            let of = if reader == Reader::Plan { " of search" } else { "" };
            refuses(
                &reader.run(&folder, table.as_bytes(), flags),
                &folder,
                &format!(
                    "error: FILE has 1 error\n  line 2: spend{of}: must be a number, not \
                     {message}\n"
                ),
            );
        }
    }
}

#[test]
fn a_comma_that_can_be_read_in_two_ways_needs_a_flag() {
    let folder = folder("ambiguous");
    let mut table = Reader::Plan.table();
    table[1][3] = "1,234".to_owned();
    table[2][3] = "0".to_owned();
    table.iter_mut().for_each(|row| row.truncate(5));
    let table = written(&table, ";", ".", "\n");
    refuses(
        &Reader::Plan.run(&folder, table.as_bytes(), &[]),
        &folder,
        "error: FILE has 1 error\n  line 2: spend of search: must be a number, not \"1,234\"; add \
         --decimal , if its comma is a decimal comma, or remove the thousands separator\n",
    );
    let read = Reader::Plan.run(&folder, table.as_bytes(), &["--decimal", ","]);
    let pointed = Reader::Plan.run(&folder, table.replace("1,234", "1.234").as_bytes(), &[]);
    assert_eq!(succeeds(&read).0, succeeds(&pointed).0);
}

#[test]
fn problem_files_give_the_same_hints() {
    let folder = folder("problem-numbers");
    let problem = folder.join("problem.toml").display().to_string();
    refuses(
        &Reader::Samples.run(&folder, with_spend("\"1,234.5\"", ",", "\n").as_bytes(), &[]),
        &folder,
        &format!(
            "error: {problem} has 1 error\n  task[0].curve.column: `table.csv` line 2 must have a \
             number, finite and not negative, not the text \"1,234.5\": write it without \
             thousands separators\n"
        ),
    );
    refuses(
        &Reader::Tasks.run(&folder, b"family,full_at\nsaturating,\"1,5\"\n", &[]),
        &folder,
        &format!(
            "error: {problem} has 1 error\n  table.csv line 2, full_at: must be a number, not the \
             text \"1,5\": write it with a decimal point\n"
        ),
    );
}

#[test]
fn line_numbers_count_every_line() {
    for (name, line_end) in [("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r")] {
        let table = with_spend("x", ",", line_end);
        // An empty line and a row of separators come before the error.
        let table = table.replacen(line_end, &format!("{line_end}{line_end},,{line_end}"), 1);
        for reader in [Reader::Fit, Reader::Replay, Reader::Plan] {
            let folder = folder(&format!("lines-{name}"));
            let of = if reader == Reader::Plan { " of search" } else { "" };
            refuses(
                &reader.run(&folder, table.as_bytes(), &[]),
                &folder,
                &format!(
                    "error: FILE has 1 error\n  line 4: spend{of}: must be a number, not \"x\"\n"
                ),
            );
        }
        let folder = folder(&format!("lines-{name}"));
        let output = Reader::Samples.run(&folder, table.as_bytes(), &[]);
        assert!(text(&output.stderr).contains("`table.csv` line 4 must"));
        let tasks = format!("family,full_at{line_end}{line_end}saturating,0{line_end}");
        let output = Reader::Tasks.run(&folder, tasks.as_bytes(), &[]);
        assert!(text(&output.stderr).contains("\n  table.csv line 3, full_at: must"));
        let tell = plain(Reader::Tell).replace(",1,search", ",0,search").replace('\n', line_end);
        refuses(
            &Reader::Tell.run(&folder, tell.as_bytes(), &[]),
            &folder,
            "error: FILE has 1 error\n  line 2: round: must be a whole number of at least 1, not \
             \"0\"\n",
        );
    }
}

/// The table with these words for success and failure.
fn with_words(success: &str, failure: &str) -> String {
    plain(Reader::Fit)
        .replace(",1.5,1,", &format!(",1.5,{success},"))
        .replace(",0.25,0,", &format!(",0.25,{failure},"))
}

#[test]
fn words_for_success_are_given_by_a_flag() {
    for reader in OUTCOME_READERS {
        let folder = folder(&format!("words-{reader:?}"));
        let (expected, _) = succeeds(&reader.run(&folder, plain(reader).as_bytes(), &[]));
        for (success, failure, flags) in [
            ("1.0", "0.0", &[][..]),
            ("TRUE", "False", &[]),
            ("yes", "no", &["--true", "yes"]),
            ("Ja", "Nein", &["--true", "ja"]),
            ("Ja", "0", &["--true", "ja"]),
        ] {
            let table = with_words(success, failure);
            let (found, _) = succeeds(&reader.run(&folder, table.as_bytes(), flags));
            assert_eq!(found, expected, "{reader:?} {success}");
        }
        let column = if reader == Reader::Replay { "success" } else { "completed" };
        refuses(
            &reader.run(&folder, with_words("Yes", "0").as_bytes(), &[]),
            &folder,
            &format!(
                "error: FILE has 1 error\n  line 2: {column}: must be 1 or 0 (or true, false), not \
                 \"Yes\"; if a word means success, give it with --true\n"
            ),
        );
        let third = with_words("ja", "nein") + "Neue,1,social,0.25,Vielleicht,\n";
        refuses(
            &reader.run(&folder, third.as_bytes(), &["--true", "ja"]),
            &folder,
            &format!(
                "error: FILE has 1 error\n  line 4: {column}: must be ja (--true) or nein as in \
                 the rows before, not \"Vielleicht\"\n"
            ),
        );
    }
}

#[test]
fn similar_names_cause_a_warning() {
    let expected = "names that differ only in case or spaces count as different tasks: \"search\" \
                    and \"Search\"\n";
    let table = plain(Reader::Fit) + "Neue,1,Search ,0.25,0,\n";
    for reader in [Reader::Fit, Reader::Replay] {
        let folder = folder(&format!("similar-{reader:?}"));
        let (_, remarks) = succeeds(&reader.run(&folder, table.as_bytes(), &[]));
        assert!(remarks.contains(expected), "{remarks}");
    }
    for (reader, problem) in [(Reader::Tell, "tell"), (Reader::Plan, "plan")] {
        let folder = folder(&format!("similar-{problem}"));
        refuses(
            &reader.run(&folder, table.as_bytes(), &[]),
            &folder,
            "error: FILE has 1 error\n  line 4: no task is named Search; did you mean search?\n",
        );
    }
    let tasks = "[[task]]\nname = 'search'\ncurve = { family = 'saturating', full_at = 1 }\n\
                 [[task]]\nname = 'Search'\ncurve = { family = 'saturating', full_at = 1 }\n";
    let (_, remarks) = succeeds(&run(&["check", "-"], tasks));
    assert!(remarks.contains(expected), "{remarks}");
}

const WIDE: [&str; 8] =
    ["fit", "-", "--wide", "--spend", "{task}_spend", "--success", "{task}_won", "--format=csv"];
const WIDE_LOG: &str = "day;search_spend;search_won;tv_spend;tv_won;total_won\n\
    1;1,5;1;2,5;0;1\n2;0,5;0;;;0\n3;1;1;3;1;2\n";

#[test]
fn wide_logs_are_long_logs() {
    let long = "task,spend,won\nsearch,1.5,1\ntv,2.5,0\nsearch,0.5,0\nsearch,1,1\ntv,3,1\n";
    let flags = "fit - --task task --spend spend --success won --format csv";
    let (expected, _) = succeeds(&run(&flags.split(' ').collect::<Vec<_>>(), long));
    let (found, remarks) = succeeds(&run(&WIDE, WIDE_LOG));
    assert_eq!(found, expected);
    assert_eq!(remarks, "columns ignored, because they have no spend: total_won\n");
}

#[test]
fn wide_logs_that_cannot_be_fitted() {
    let refused = |flags: &[&str], log: &str, message: &str| {
        let output = run(flags, log);
        assert_eq!(text(&output.stderr), message);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    };
    let with = |flag: &str, value: &'static str| -> Vec<&'static str> {
        let position = WIDE.iter().position(|word| *word == flag).unwrap();
        let mut flags = WIDE.to_vec();
        flags[position + 1] = value;
        flags
    };
    refused(
        &with("--success", "total_won"),
        WIDE_LOG,
        "error: --success total_won: it is one outcome for all tasks, but --wide needs one column \
         per task, such as {task}_won. To divide a common outcome among channels is a \
         marketing-mix problem, which fit does not solve: fit the log with Robyn, pymc-marketing \
         or Meridian and import the curves (docs/how-to/interop.md)\n",
    );
    refused(
        &with("--spend", "tv_spend"),
        WIDE_LOG,
        "error: --spend tv_spend: with --wide it must contain {task}\n",
    );
    refused(
        &with("--spend", "{task}_cost"),
        WIDE_LOG,
        "error: no column matches --spend '{task}_cost'; the file has day, search_spend, \
         search_won, tv_spend, tv_won, total_won\n",
    );
    refused(
        &WIDE,
        "a_spend,a_won,b_spend\n1,1,1\n",
        "error: standard input has 1 error\n  line 1: no column b_won (given by --success); the \
         file has a_spend, a_won, b_spend; did you mean a_won?\n",
    );
    refused(
        &WIDE,
        "a_spend,a_won\n1,1\n2,\n",
        "error: standard input has 1 error\n  line 3: a_won: must be 1 or 0 (or true, false), not \
         \"\"\n",
    );
    refused(
        &["fit", "-", "--spend", "{task}_spend", "--success", "won"],
        WIDE_LOG,
        "error: --spend {task}_spend: {task} is for wide logs; add --wide\n",
    );
}
