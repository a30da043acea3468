//! Tables for terminals and Markdown.

pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|&name| name.to_owned()).collect()] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn print(&self, title: &str) {
        println!("\n## {title}\n");
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        for (position, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(column, cell)| format!("{cell:<0$}", width(column)))
                .collect();
            println!("| {} |", cells.join(" | "));
            if position == 0 {
                let dashes: Vec<String> =
                    (0..row.len()).map(|column| "-".repeat(width(column))).collect();
                println!("| {} |", dashes.join(" | "));
            }
        }
    }
}

/// Seconds in a readable unit.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{} µs", digits(s * 1e6)),
        s if s < 1.0 => format!("{} ms", digits(s * 1e3)),
        s => format!("{s:.2} s"),
    }
}

fn digits(number: f64) -> String {
    if number < 10.0 {
        format!("{number:.2}")
    } else if number < 100.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// The smallest and the largest as `a` or `a .. b`.
pub fn span<T: Copy>(
    items: &[T],
    less: impl Fn(&T, &T) -> std::cmp::Ordering,
    show: impl Fn(T) -> String,
) -> String {
    let least = items.iter().copied().min_by(&less).map(&show).unwrap_or_default();
    let most = items.iter().copied().max_by(&less).map(&show).unwrap_or_default();
    if least == most { least } else { format!("{least} .. {most}") }
}
