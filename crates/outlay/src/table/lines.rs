//! Line numbers.

/// Counts the lines up to increasing positions in a text. (After empty lines or Windows line ends,
/// the line number of the CSV parser itself is that of the row before.)
pub(super) struct Lines<'t> {
    rest: &'t [u8],
    passed: usize,
    line: u64,
    /// The byte that ends a line: a carriage return only in texts without line feeds.
    line_end: u8,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let rest = text.as_bytes();
        let line_end = if rest.contains(&b'\n') { b'\n' } else { b'\r' };
        Self { rest, passed: 0, line: 1, line_end }
    }

    /// The line of the first character at or after `position` that is not a line end.
    pub(super) fn at(&mut self, position: usize) -> u64 {
        let (before, rest) =
            self.rest.split_at(position.saturating_sub(self.passed).min(self.rest.len()));
        let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let ends = rest.iter().position(|byte| !is_line_end(byte)).unwrap_or(rest.len());
        let (ends, rest) = rest.split_at(ends);
        self.line += (self.count(before) + self.count(ends)) as u64;
        self.passed += before.len() + ends.len();
        self.rest = rest;
        self.line
    }

    fn count(&self, text: &[u8]) -> usize {
        text.iter().filter(|byte| **byte == self.line_end).count()
    }
}
