//! Numbers for the tests of this folder.

/// A small stream of numbers.
pub(in crate::oracle) struct Random(pub(in crate::oracle) u64);

impl Random {
    pub(in crate::oracle) fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(in crate::oracle) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
}
