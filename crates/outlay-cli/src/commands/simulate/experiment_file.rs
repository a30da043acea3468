//! Experiment files: the options of `outlay simulate` in TOML.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use outlay::feedback::Feedback;
use outlay::learner::LearnerSpec;
use toml::{Table, Value};

use super::grid::Grid;
use super::request::distinct;
use crate::args::MAX_REPLICATIONS;
use crate::failure::Failure;
use crate::input;
use crate::input::problem_source::ProblemSource;
use outlay::text::{nearest, whole_number_in};

const KEYS: [&str; 11] = [
    "problem",
    "problems",
    "learner",
    "learners",
    "horizon",
    "replications",
    "seed",
    "feedback",
    "ignore_seen",
    "out",
    "grid",
];
const GRID_KEYS: [&str; 2] = ["parameter", "values"];

/// The contents of an experiment file; all keys are optional.
#[derive(Debug, Default)]
pub(crate) struct ExperimentFile {
    pub(crate) problems: Option<Vec<ProblemSource>>,
    pub(crate) learners: Option<Vec<LearnerSpec>>,
    pub(crate) horizon: Option<u64>,
    pub(crate) replications: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) feedback: Option<Feedback>,
    pub(crate) ignore_seen: Option<bool>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) grid: Option<Grid>,
}

impl ExperimentFile {
    /// Reads and validates the file. Paths in it are relative to its folder.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path)?;
        let folder = if input::is_stdin(path) {
            Path::new("")
        } else {
            path.parent().unwrap_or(Path::new(""))
        };
        Self::parse(&text, folder)
            .map_err(|errors| Failure::many(&input::display_name(path), &errors))
    }

    fn parse(text: &str, folder: &Path) -> Result<Self, Vec<String>> {
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| vec![syntax_error(text, &error)])?;
        let mut fields = Fields { table: &table, prefix: "", errors: Vec::new() };
        fields.refuse_unknown(&KEYS);
        let file = Self {
            problems: fields.texts("problem", "problems", |text| ProblemSource::new(text, folder)),
            learners: fields.texts("learner", "learners", |text| {
                text.parse().map_err(|error: outlay::learner::LearnerError| error.to_string())
            }),
            horizon: fields.whole("horizon", 1..=u64::MAX),
            replications: fields.whole("replications", 1..=MAX_REPLICATIONS),
            seed: fields.whole("seed", 0..=u64::MAX),
            feedback: fields
                .text("feedback")
                .and_then(|text| fields.keep("feedback", feedback(&text))),
            ignore_seen: fields.flag("ignore_seen"),
            out: fields.text("out").map(|out| folder.join(out)),
            grid: fields.grid(),
        };
        if let Some(Err(message)) = file.learners.clone().map(distinct) {
            fields.errors.push(format!("learners: {message}"));
        }
        if fields.errors.is_empty() { Ok(file) } else { Err(fields.errors) }
    }
}

fn feedback(text: &str) -> Result<Feedback, String> {
    text.parse().map_err(|_| format!("must be censored, full or bandit, not \"{text}\""))
}

fn syntax_error(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    format!("line {}: {}", 1 + before.matches('\n').count(), error.message().trim())
}

/// A table of the file, and the errors found so far.
struct Fields<'t> {
    table: &'t Table,
    /// Prefix of its keys in messages.
    prefix: &'static str,
    errors: Vec<String>,
}

impl Fields<'_> {
    fn fault(&mut self, key: &str, message: impl AsRef<str>) {
        self.errors.push(format!("{}{key}: {}", self.prefix, message.as_ref()));
    }

    fn keep<T>(&mut self, key: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.fault(key, message)).ok()
    }

    fn refuse_unknown(&mut self, known: &[&'static str]) {
        for key in self.table.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = match nearest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            self.errors.push(format!("{}{}: unknown key; {hint}", self.prefix, key.escape_debug()));
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.table.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => self.keep(key, Err(format!("must be a string, not {}", kind(other)))),
        }
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.table.get(key)?;
        let wanted = || format!("must be true or false, not {}", kind(value));
        self.keep(key, value.as_bool().ok_or_else(wanted))
    }

    fn whole(&mut self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.table.get(key)?;
        let number = value
            .as_integer()
            .and_then(|number| u64::try_from(number).ok())
            .filter(|number| range.contains(number));
        let wanted = || format!("must be {}, not {}", whole_number_in(&range), kind(value));
        self.keep(key, number.ok_or_else(wanted))
    }

    /// A list of strings under `many`, or a single one under `one`.
    fn texts<T>(
        &mut self,
        one: &str,
        many: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        if self.table.contains_key(one) && self.table.contains_key(many) {
            self.fault(one, format!("is given together with {many}; use only one of them"));
            return None;
        }
        if let Some(text) = self.text(one) {
            return self.keep(one, read(&text)).map(|item| vec![item]);
        }
        let value = self.table.get(many)?;
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            return self.keep(many, Err(format!("must be a list of strings, not {}", kind(value))));
        };
        let mut items = Vec::new();
        for (position, item) in list.iter().enumerate() {
            let item = item
                .as_str()
                .ok_or_else(|| format!("must be a string, not {}", kind(item)))
                .and_then(&read);
            items.extend(self.keep(&format!("{many}[{position}]"), item));
        }
        Some(items)
    }

    fn grid(&mut self) -> Option<Grid> {
        let table = match self.table.get("grid")? {
            Value::Table(table) => table,
            other => {
                return self.keep(
                    "grid",
                    Err(format!("must be a table with parameter and values, not {}", kind(other))),
                );
            }
        };
        let mut fields = Fields { table, prefix: "grid.", errors: Vec::new() };
        fields.refuse_unknown(&GRID_KEYS);
        for key in GRID_KEYS.iter().filter(|key| !table.contains_key(**key)) {
            fields.fault(key, "is missing");
        }
        let parameter = fields.text("parameter");
        let values = fields.numbers("values");
        let grid = parameter
            .zip(values)
            .and_then(|(parameter, values)| fields.keep("values", Grid::new(&parameter, values)));
        self.errors.append(&mut fields.errors);
        grid
    }

    fn numbers(&mut self, key: &str) -> Option<Vec<f64>> {
        let value = self.table.get(key)?;
        let Some(list) = value.as_array() else {
            return self.keep(key, Err(format!("must be a list of numbers, not {}", kind(value))));
        };
        let number = |item: &Value| {
            item.as_float().or_else(|| item.as_integer().map(|number| number as f64))
        };
        let read = |item: &Value| {
            number(item).ok_or_else(|| format!("must be numbers, not {}", kind(item)))
        };
        let numbers = list.iter().map(read).collect::<Result<Vec<f64>, String>>();
        self.keep(key, numbers)
    }
}

/// Description of a value, for "must be a string, not …".
fn kind(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string \"{}\"", text.escape_debug()),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(list) if list.is_empty() => "an empty list".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        ExperimentFile::parse(text, Path::new("")).unwrap_err()
    }

    #[test]
    fn a_file_is_equivalent_to_the_same_flags() {
        let text = "problems = ['power', 'm-set:plays=2']\nlearners = ['algorithm-1', 'epsilon-greedy:epsilon=0.1']\nhorizon = 100\n\
            replications = 3\nseed = 0\nfeedback = 'full'\nignore_seen = true\nout = 'runs/x'\n[grid]\nparameter = 'tasks'\nvalues = [2, 5.0]\n";
        let file = ExperimentFile::parse(text, Path::new("folder")).unwrap();
        assert_eq!(
            file.problems.unwrap().iter().map(ProblemSource::name).collect::<Vec<_>>(),
            ["power", "m-set:plays=2"]
        );
        assert_eq!(file.learners.unwrap().len(), 2);
        assert_eq!(file.ignore_seen, Some(true));
        assert_eq!((file.horizon, file.replications, file.seed), (Some(100), Some(3), Some(0)));
        assert_eq!(
            (file.feedback, file.out),
            (Some(Feedback::Full), Some(PathBuf::from("folder/runs/x")))
        );
        assert_eq!(file.grid.unwrap(), Grid { parameter: "tasks".into(), values: vec![2.0, 5.0] });
    }

    #[test]
    fn every_error_names_its_key() {
        let text = "horizn = 3\nproblems = ['power', 7]\nlearners = ['kl-ucb-plsu', 'algorithm-1', 'algorithm-1']\nreplications = 0\nseed = 'one'\n\
            feedback = 'much'\nignore_seen = 1\ngrid = { parameter = 3, value = [1] }\n";
        let expected = [
            "horizn: unknown key; did you mean horizon?",
            "problems[1]: must be a string, not 7",
            "learners[0]: learner `kl-ucb-plsu`: unknown name `kl-ucb-plsu`: did you mean `kl-ucb-plus`?",
            "replications: must be a whole number of at least 1 and at most 1000000, not 0",
            "seed: must be a whole number of at least 0, not the string \"one\"",
            "feedback: must be censored, full or bandit, not \"much\"",
            "ignore_seen: must be true or false, not 1",
            "grid.value: unknown key; did you mean values?",
            "grid.values: is missing",
            "grid.parameter: must be a string, not 3",
            "learners: learner algorithm-1 is given twice",
        ];
        assert_eq!(errors(text), expected);
    }

    #[test]
    fn one_and_many_are_exclusive() {
        assert_eq!(
            errors("problem = 'power'\nproblems = ['power']"),
            ["problem: is given together with problems; use only one of them"]
        );
        assert_eq!(
            errors("problems = []"),
            ["problems: must be a list of strings, not an empty list"]
        );
        assert!(errors("problem = ")[0].starts_with("line 1: "));
    }
}
