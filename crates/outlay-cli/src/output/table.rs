//! Tables with aligned columns. Empty columns are omitted.

pub(crate) use outlay_report::selection::{hidden_line, most_important};

/// Wraps text at 100 columns.
pub(crate) fn wrapped(text: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines.push('\n');
    lines
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table with a header and an optional row of totals.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
    totals: Option<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), totals: None }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    pub(crate) fn totals(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len());
        self.totals = Some(cells);
    }

    pub(crate) fn render(&self) -> String {
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&column| self.rows.iter().any(|row| !row[column].is_empty()))
            .collect();
        let lines = || self.rows.iter().chain(&self.totals);
        let width = |column: usize| {
            let cells = lines().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = shown.iter().map(|&column| width(column)).collect();
        let line = |cells: &dyn Fn(usize) -> String| {
            let padded =
                shown.iter().zip(&widths).map(|(&column, &width)| match self.columns[column].1 {
                    Align::Left => format!("{:<width$}", cells(column)),
                    Align::Right => format!("{:>width$}", cells(column)),
                });
            format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
        };
        let rule = format!(
            "{}\n",
            "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1))
        );
        let mut text = line(&|column| self.columns[column].0.to_owned());
        text.push_str(&rule);
        for row in &self.rows {
            text.push_str(&line(&|column| row[column].clone()));
        }
        if let Some(totals) = &self.totals {
            text.push_str(&rule);
            text.push_str(&line(&|column| totals[column].clone()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_ones_go() {
        let mut table =
            Table::new(&[("task", Align::Left), ("note", Align::Left), ("spend", Align::Right)]);
        table.row(vec!["search".into(), String::new(), "1.5".into()]);
        table.row(vec!["tv".into(), String::new(), "12.5".into()]);
        table.totals(vec!["total".into(), String::new(), "14.0".into()]);
        assert_eq!(
            table.render(),
            "task    spend\n─────────────\nsearch    1.5\ntv       12.5\n─────────────\ntotal    14.0\n"
        );
    }
}
