//! The counter-based random stream of the engine, `outlay::random`.

use numpy::PyArray1;
use outlay::random::{Draws as EngineDraws, Purpose};
use pyo3::prelude::*;

use crate::errors::SimulationError;

/// The purposes by name, in the order of their streams.
const PURPOSES: [(&str, Purpose); 10] = [
    ("completion", Purpose::Completion),
    ("reward", Purpose::Reward),
    ("learner", Purpose::Learner),
    ("instance", Purpose::Instance),
    ("budget", Purpose::Budget),
    ("delay", Purpose::Delay),
    ("availability", Purpose::Availability),
    ("fit", Purpose::Fit),
    ("record", Purpose::Record),
    ("permutation", Purpose::Permutation),
];

/// All draws of one seed for one purpose.
///
/// A draw is a function of seed, purpose, round and task, and of nothing else: the same on every
/// machine, in any order, and bit for bit that of the engine.
///
/// Parameters
/// ----------
/// seed : int
///     The seed.
/// purpose : str
///     One of `outlay.random.PURPOSES`; each purpose has its own stream.
///
/// Raises
/// ------
/// SimulationError
///     If the purpose is unknown.
///
/// Examples
/// --------
/// >>> from outlay.random import Draws
/// >>> Draws(1, "completion").uniform(round=1, tasks=2).tolist()
/// [0.9250777258326593, 0.06893801751033912]
#[pyclass(frozen, module = "outlay.random")]
pub(crate) struct Draws {
    draws: EngineDraws,
    seed: u64,
    purpose: &'static str,
}

#[pymethods]
impl Draws {
    #[new]
    fn new(seed: u64, purpose: &str) -> PyResult<Self> {
        let known = PURPOSES.into_iter().find(|(name, _)| *name == purpose);
        let (purpose, stream) = known.ok_or_else(|| {
            let names: Vec<&str> = PURPOSES.iter().map(|(name, _)| *name).collect();
            SimulationError::new_err(format!(
                "purpose: must be one of {}, not {purpose}",
                names.join(", ")
            ))
        })?;
        Ok(Self { draws: EngineDraws::new(seed, stream), seed, purpose })
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The purpose.
    #[getter]
    fn purpose(&self) -> &'static str {
        self.purpose
    }

    /// One number in [0, 1) per task, each a multiple of 2**-53.
    ///
    /// Parameters
    /// ----------
    /// round : int
    ///     The round, counted from 1.
    /// tasks : int
    ///     The number of tasks.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     Numbers in [0, 1).
    ///
    /// Examples
    /// --------
    /// >>> from outlay.random import Draws
    /// >>> Draws(1, "reward").uniform(round=1, tasks=1).tolist()
    /// [0.3805995096134631]
    fn uniform<'py>(&self, py: Python<'py>, round: u64, tasks: usize) -> Bound<'py, PyArray1<f64>> {
        let draws = self.draws.round(round);
        PyArray1::from_iter(py, (0..tasks).map(|task| draws.uniform(task)))
    }

    /// 64 random bits per task.
    ///
    /// Parameters
    /// ----------
    /// round : int
    ///     The round, counted from 1.
    /// tasks : int
    ///     The number of tasks.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     Unsigned integers of 64 bits.
    ///
    /// Examples
    /// --------
    /// >>> from outlay.random import Draws
    /// >>> Draws(1, "learner").bits(round=1, tasks=3).dtype
    /// dtype('uint64')
    fn bits<'py>(&self, py: Python<'py>, round: u64, tasks: usize) -> Bound<'py, PyArray1<u64>> {
        let draws = self.draws.round(round);
        PyArray1::from_iter(py, (0..tasks).map(|task| draws.bits(task)))
    }

    /// A sequence of numbers in (0, 1) for one task, for draws that need more than one number.
    ///
    /// Parameters
    /// ----------
    /// round : int
    ///     The round, counted from 1.
    /// task : int
    ///     The task, counted from 0.
    /// count : int
    ///     How many numbers.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     Numbers in (0, 1).
    ///
    /// Examples
    /// --------
    /// >>> from outlay.random import Draws
    /// >>> Draws(1, "learner").sequence(round=1, task=0, count=5).shape
    /// (5,)
    fn sequence<'py>(
        &self,
        py: Python<'py>,
        round: u64,
        task: usize,
        count: usize,
    ) -> Bound<'py, PyArray1<f64>> {
        let mut bits = self.draws.round(round).many(task);
        PyArray1::from_iter(py, (0..count).map(|_| bits.next_uniform()))
    }

    fn __repr__(&self) -> String {
        format!("Draws(seed={}, purpose='{}')", self.seed, self.purpose)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (u64, &'static str))> {
        let class = py.import("outlay._outlay")?.getattr("Draws")?;
        Ok((class, (self.seed, self.purpose)))
    }
}

/// The names of the purposes, in the order of their streams.
#[pyfunction]
pub(crate) fn purposes() -> Vec<&'static str> {
    PURPOSES.iter().map(|(name, _)| *name).collect()
}
