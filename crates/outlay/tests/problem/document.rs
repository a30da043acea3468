//! Replaces numbers of a problem file by their path.

use outlay::problem::{Document, NoFiles};

const TWO: &str = "budget = 2\n[environment]\ndelay = { law = 'geometric', mean = 3 }\n\
    [[task]]\nvalue = 1\ncurve = { family = 'power', exponent = 0.5 }\n\
    [[task]]\nvalue = 1\ncurve = { family = 'exponential', scale = 1 }\n";

fn rejection(path: &str) -> String {
    Document::from_toml(TWO).unwrap().set(path, 1.0).unwrap_err().to_string()
}

#[test]
fn numbers_are_written_where_the_path_leads() {
    let mut document = Document::from_toml(TWO).unwrap();
    for (path, number) in [
        ("budget", 5.0),
        ("task[1].curve.scale", 2.5),
        ("task[*].value", 0.5),
        ("environment.delay.mean", 7.0),
    ] {
        document.set(path, number).unwrap();
    }
    let problem = document.problem(&NoFiles).unwrap();
    assert_eq!((problem.budget(), problem.values()), (5.0, Some(vec![0.5; 2])));
    assert_eq!(problem.tasks()[1].curve().success(2.5), 1.0 - (-1.0_f64).exp());
}

#[test]
fn paths_that_do_not_exist() {
    assert_eq!(rejection("task[2].value"), "task[2].value: task has 2 entries, counted from 0");
    assert_eq!(rejection("task.value"), "task.value: task is a list, not a table");
    assert_eq!(rejection("budget[0]"), "budget[0]: budget is the number 2, not a list");
    assert_eq!(
        rejection("enviroment.delay.mean"),
        "enviroment.delay.mean: the problem has no `enviroment`"
    );
    assert!(rejection("task[x].value").contains("is not a path"));
    assert!(rejection("").contains("is not a path"));
}

#[test]
fn an_unknown_last_key_is_rejected_by_the_check() {
    let mut document = Document::from_toml(TWO).unwrap();
    document.set("bugdet", 1.0).unwrap();
    let message = document.problem(&NoFiles).unwrap_err().to_string();
    assert_eq!(message, "problem: unknown key `bugdet`: did you mean `budget`?");
}
