//! Compensated summation: totals that are accurate to the last digit.

/// A running sum with Knuth's branch-free two-sum. Its error does not grow with the number of
/// terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    compensation: f64,
}

impl Sum {
    #[inline(always)]
    pub(crate) fn add(&mut self, term: f64) {
        let total = self.total + term;
        let rounded_term = total - self.total;
        self.compensation += (self.total - (total - rounded_term)) + (term - rounded_term);
        self.total = total;
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: Self) {
        self.add(other.total);
        self.compensation += other.compensation;
    }

    /// Adds the rounding error of another sum, which is below the last digit of its total.
    pub(crate) fn add_compensation(&mut self, compensation: f64) {
        self.compensation += compensation;
    }

    /// The sum of the negated terms.
    pub(crate) fn negated(self) -> Self {
        Self { total: -self.total, compensation: -self.compensation }
    }

    /// Whether the sum is larger than `limit`, digits below the last one of the total included.
    pub(crate) fn exceeds(self, limit: f64) -> bool {
        self.excess_over(limit) > 0.0
    }

    /// The sum less `limit`, digits below the last one of the total included.
    pub(crate) fn excess_over(self, limit: f64) -> f64 {
        (self.total - limit) + self.compensation
    }

    /// The compensated total.
    pub(crate) fn value(self) -> f64 {
        self.total + self.compensation
    }
}

impl From<f64> for Sum {
    fn from(total: f64) -> Self {
        Self { total, compensation: 0.0 }
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

/// `(sum of a*b, sum of b)` without compensation, in four independent chains each. Callers add the
/// results of short slices to a [`Sum`].
pub(crate) fn dot_and_sum(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (mut products, mut plain) = ([0.0; 4], [0.0; 4]);
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..4 {
            products[lane] += a[lane] * b[lane];
            plain[lane] += b[lane];
        }
    }
    let lanes = products.iter_mut().zip(&mut plain);
    for ((product, plain), (a, b)) in lanes.zip(a_rest.iter().zip(b_rest)) {
        *product += a * b;
        *plain += b;
    }
    let total = |lanes: [f64; 4]| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    (total(products), total(plain))
}
