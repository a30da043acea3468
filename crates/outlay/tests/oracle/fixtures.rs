//! The oracle against the splits of an independent implementation
//! (`tests/data/reference_runs.json`).

use outlay::{Curve, Problem, Status};
use serde_json::Value;

use crate::support::*;

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The curves of an instance: `power` x^a, `top` one from 1/M on, `sat` min(1, x/nu).
fn instance(description: &Value) -> Problem {
    let tasks = description["K"].as_u64().unwrap() as usize;
    let curves: Vec<Curve> = match description["kind"].as_str().unwrap() {
        "power" => numbers(&description["a"])
            .into_iter()
            .map(|exponent| Curve::power(exponent, 1.0).unwrap())
            .collect(),
        "top" => vec![Curve::threshold(1.0 / description["M"].as_f64().unwrap()).unwrap(); tasks],
        "sat" => numbers(&description["nu"])
            .into_iter()
            .map(|full_at| Curve::saturating(full_at).unwrap())
            .collect(),
        kind => panic!("unknown kind {kind}"),
    };
    assert_eq!(curves.len(), tasks);
    problem_of(curves, 1.0)
}

#[test]
fn every_reference_split_is_found() {
    let fixture: Value = serde_json::from_str(include_str!("../data/reference_runs.json")).unwrap();
    assert_eq!(fixture["oracle"]["columns"], serde_json::json!(["instance", "m", "x", "value"]));
    let rows = fixture["oracle"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 15);
    for row in rows {
        let name = row[0].as_str().unwrap();
        let problem = instance(&fixture["instances"][name]);
        let (values, spends, value) =
            (numbers(&row[1]), numbers(&row[2]), row[3].as_f64().unwrap());
        let (found, checked) = solve(&problem, &values, 1.0);
        assert!(
            (found.value - value).abs() <= 1e-10,
            "{name} {values:?}: value {} for {value}",
            found.value
        );
        // The optima of these rows are unique and spend the whole budget.
        for (task, (spend, expected)) in found.spend.iter().zip(&spends).enumerate() {
            assert!(
                (spend - expected).abs() <= 1e-9,
                "{name} {values:?} task {task}: spend {spend} for {expected}"
            );
        }
        assert!(found.gap() <= 1e-12 && found.status == Status::Optimal, "{name}: {found:?}");
        assert!(checked.price_proves_bound, "{name}: {checked:?}");
    }
}
