//! Sums that do not lose digits: budgets must add up to the last unit.

/// A running sum that keeps what rounding loses (Knuth's two-sum, without a branch): the error does
/// not grow with the number of terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    #[inline(always)]
    pub(crate) fn add(&mut self, term: f64) {
        let total = self.total + term;
        let kept = total - self.total;
        self.lost += (self.total - (total - kept)) + (term - kept);
        self.total = total;
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: Self) {
        self.add(other.total);
        self.lost += other.lost;
    }

    /// Adds what was lost elsewhere: less than the last digit of the total.
    pub(crate) fn add_lost(&mut self, lost: f64) {
        self.lost += lost;
    }

    pub(crate) fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl From<f64> for Sum {
    fn from(total: f64) -> Self {
        Self { total, lost: 0.0 }
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<T: IntoIterator<Item = f64>>(terms: T) -> Self {
        let mut sum = Self::default();
        for term in terms {
            sum.add(term);
        }
        sum
    }
}

/// The compensated sum of `terms`.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().collect::<Sum>().value()
}

/// `(sum of a*b, sum of b)`, four short chains each: for sums of a few tasks that are then added up
/// with care.
pub(crate) fn dot_and_sum(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (mut products, mut plain) = ([0.0; 4], [0.0; 4]);
    let ((a_fours, a_rest), (b_fours, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a_fours.iter().zip(b_fours) {
        for lane in 0..4 {
            products[lane] += a[lane] * b[lane];
            plain[lane] += b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        products[lane] += a * b;
        plain[lane] += b;
    }
    let total = |lanes: [f64; 4]| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    (total(products), total(plain))
}
