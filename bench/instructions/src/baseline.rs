//! Instruction counts by case, compared with a baseline.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Instructions by case.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The properties of a machine that determine the counts of the same source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The version that the compiler prints.
    pub(crate) compiler: String,
    /// Architecture, and the vector instructions by which the engine chooses its code.
    pub(crate) processor: String,
    /// The C library: its `exp` and `log` choose by the processor as well.
    pub(crate) library: String,
}

impl Machine {
    /// The machine as this process sees it; valgrind hides some features.
    pub(crate) fn here(compiler: &str, library: &str) -> Self {
        let mut processor = std::env::consts::ARCH.to_owned();
        for (name, is_there) in features() {
            if is_there {
                processor += " ";
                processor += name;
            }
        }
        Self { compiler: compiler.to_owned(), processor, library: library.to_owned() }
    }
}

#[cfg(target_arch = "x86_64")]
fn features() -> [(&'static str, bool); 3] {
    use std::arch::is_x86_feature_detected as has;
    [("avx2", has!("avx2")), ("fma", has!("fma")), ("avx512f", has!("avx512f"))]
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> [(&'static str, bool); 0] {
    []
}

impl fmt::Display for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}, {}", self.compiler, self.processor, self.library)
    }
}

/// The committed counts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) machine: Machine,
    pub(crate) instructions: Counts,
}

/// A readable table of all cases, and the faults found.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    lines: Vec<String>,
    pub(crate) faults: Vec<String>,
}

impl Baseline {
    /// Explains why counts made `here` cannot be compared with the baseline; `None` if they can.
    pub(crate) fn not_comparable(&self, here: &Machine) -> Option<String> {
        let there = &self.machine;
        (here != there).then(|| {
            format!(
                "skipped: instruction counts of different machines cannot be compared\n  baseline: {there}\n  here:     {here}\n\
                 `bench/instructions/run --save` makes a baseline for this machine"
            )
        })
    }

    /// Compares counts. A case that has grown by a tenth or more is a fault, and so is a case
    /// missing on either side.
    pub(crate) fn compare(&self, counted: &Counts) -> Compared {
        let mut compared = Compared::default();
        for (case, &now) in counted {
            let Some(&before) = self.instructions.get(case) else {
                compared.faults.push(format!("{case} is not in the baseline"));
                continue;
            };
            let change = 100.0 * (now as f64 / before as f64 - 1.0);
            compared.lines.push(format!("{case:<32} {before:>12} -> {now:>12}  {change:+7.2} %"));
            if u128::from(now) * 10 >= u128::from(before) * 11 {
                compared.faults.push(format!(
                    "{case} takes {change:.1} % more instructions than the baseline"
                ));
            }
        }
        let lost = self.instructions.keys().filter(|case| !counted.contains_key(*case));
        compared
            .faults
            .extend(lost.map(|case| format!("{case} is in the baseline and was not counted")));
        compared
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        for fault in &self.faults {
            writeln!(out, "FAILED: {fault}")?;
        }
        if !self.faults.is_empty() {
            writeln!(
                out,
                "if this is intended, run `bench/instructions/run --save` and give the reason in the commit"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(instructions: &[(&str, u64)]) -> Baseline {
        let machine = Machine::here("rustc 1.89.0", "glibc 2.36");
        Baseline { machine, instructions: of(instructions) }
    }

    fn of(instructions: &[(&str, u64)]) -> Counts {
        instructions.iter().map(|&(case, count)| (case.to_owned(), count)).collect()
    }

    #[test]
    fn a_tenth_more_fails_and_one_less_does_not() {
        let baseline = baseline(&[("cold", 1000), ("warm", 500)]);
        assert_eq!(
            baseline.compare(&of(&[("cold", 1099), ("warm", 500)])).faults,
            Vec::<String>::new()
        );
        let grown = baseline.compare(&of(&[("cold", 1100), ("warm", 500)]));
        assert_eq!(grown.faults, ["cold takes 10.0 % more instructions than the baseline"]);
        assert!(grown.to_string().contains("FAILED: cold"));
    }

    #[test]
    fn fewer_instructions_are_no_fault_and_are_shown() {
        let compared = baseline(&[("cold", 1000)]).compare(&of(&[("cold", 400)]));
        assert!(compared.faults.is_empty());
        assert!(compared.to_string().contains("-60.00 %"), "{compared}");
    }

    #[test]
    fn a_case_that_only_one_side_knows_fails() {
        let compared =
            baseline(&[("cold", 1000), ("gone", 1)]).compare(&of(&[("cold", 1000), ("new", 1)]));
        assert_eq!(
            compared.faults,
            ["new is not in the baseline", "gone is in the baseline and was not counted"]
        );
    }

    #[test]
    fn another_compiler_processor_or_library_is_skipped_with_a_message() {
        let baseline = baseline(&[]);
        let same = baseline.machine.clone();
        assert_eq!(baseline.not_comparable(&same), None);
        for other in [
            Machine { compiler: "rustc 1.95.0".to_owned(), ..same.clone() },
            Machine { processor: "another".to_owned(), ..same.clone() },
            Machine { library: "glibc 2.39".to_owned(), ..same.clone() },
        ] {
            let reason = baseline.not_comparable(&other).unwrap();
            assert!(
                reason.starts_with("skipped")
                    && reason.contains(&same.to_string())
                    && reason.contains(&other.to_string()),
                "{reason}"
            );
        }
        assert_eq!(
            serde_json::from_str::<Machine>(&serde_json::to_string(&same).unwrap()).unwrap(),
            same
        );
    }
}
