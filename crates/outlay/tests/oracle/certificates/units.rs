//! The unit of money: in another unit the value is the same, and the price is per that unit, up to
//! rounding.

use outlay::{Allocation, Curve, Options, Oracle, ProblemSpec, TaskSpec};

use crate::support::Random;

/// Curves by kind and spends, so that they can be written in any unit.
#[derive(Debug, Clone)]
struct Shape {
    kind: usize,
    at: f64,
    width: f64,
    steepness: f64,
}

impl Shape {
    fn random(random: &mut Random, kinds: &[usize]) -> Self {
        Self {
            kind: kinds[random.below(kinds.len())],
            at: random.between(0.02, 0.6),
            width: random.between(0.01, 0.2),
            steepness: random.between(1.2, 5.0),
        }
    }

    fn curve(&self, unit: f64) -> Curve {
        let (at, width) = (self.at * unit, self.width * unit);
        match self.kind {
            0 => Curve::threshold(at),
            1 => Curve::steps(vec![at, at + width], vec![0.4, 0.9]),
            2 => Curve::exponential(at),
            3 => Curve::saturating(at),
            4 => Curve::piecewise(vec![0.0, at, at + width], vec![0.0, 0.2, 0.9]),
            5 => Curve::hill(at, self.steepness),
            _ => Curve::logistic(at, width),
        }
        .unwrap()
    }
}

const KINDS: [&[usize]; 5] = [&[0, 1], &[2, 3], &[4], &[0, 1, 2, 4], &[0, 1, 2, 3, 4, 5, 6]];

fn allocate(shapes: &[Shape], values: &[f64], budget: f64, unit: f64) -> Allocation {
    let tasks = shapes.iter().enumerate();
    let tasks = tasks.map(|(task, shape)| TaskSpec::new(format!("t{task}"), shape.curve(unit)));
    let budget = budget * unit;
    let spec = ProblemSpec { budget, tasks: tasks.collect(), ..ProblemSpec::default() };
    let problem = spec.check().unwrap();
    Oracle::new(&problem).allocate(values, budget, &Options::default()).unwrap().clone()
}

#[test]
fn value_and_price_do_not_depend_on_the_unit() {
    let mut random = Random::new(91);
    let mut optimal = 0;
    for round in 0..600 {
        let kinds = KINDS[random.below(KINDS.len())];
        let count = 2 + random.below(15);
        let shapes: Vec<Shape> = (0..count).map(|_| Shape::random(&mut random, kinds)).collect();
        let values: Vec<f64> = (0..count).map(|_| random.between(0.1, 1.0)).collect();
        let budget = random.between(0.1, 2.0);
        let plain = allocate(&shapes, &values, budget, 1.0);
        if kinds == KINDS[0] {
            // Spends are counted in a power of two of the budget.
            let scaled = allocate(&shapes, &values, budget, 1024.0);
            let spend: Vec<f64> = scaled.spend.iter().map(|spend| spend / 1024.0).collect();
            let figures = (scaled.value, scaled.upper_bound, scaled.price * 1024.0);
            assert_eq!(spend, plain.spend, "round {round}");
            assert_eq!(figures, (plain.value, plain.upper_bound, plain.price), "round {round}");
        }
        for unit in [0.25, 3.0, 0.01, 7e5] {
            let scaled = allocate(&shapes, &values, budget, unit);
            let tolerance = 1e-12 + plain.gap().max(scaled.gap());
            let difference = (scaled.value - plain.value).abs();
            assert!(difference <= tolerance * plain.value, "round {round}: {scaled:?} {plain:?}");
            if plain.gap() <= 1e-12 && scaled.gap() <= 1e-12 {
                optimal += 1;
                let price = scaled.price * unit;
                let is_same = (price - plain.price).abs() <= 1e-9 * plain.price.max(1e-300);
                assert!(is_same, "round {round}, unit {unit}: {price} {}\n{shapes:?}", plain.price);
            }
        }
    }
    assert!(optimal > 600, "{optimal}");
}
