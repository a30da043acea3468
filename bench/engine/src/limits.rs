//! Time of one pass over an array with the machine's vector instructions: the lower limit of a call.

use std::hint::black_box;

use pulp::Arch;

use crate::clock::{Effort, time};

/// `a[i] = b[i] + s c[i]`: reads 16 bytes and writes 8 per number.
pub struct Triad {
    arch: Arch,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Triad {
    pub fn new(count: usize) -> Self {
        Self { arch: Arch::new(), a: vec![0.0; count], b: vec![1.0; count], c: vec![2.0; count] }
    }

    pub fn pass(&mut self) {
        let (a, b, c, scale) = (&mut self.a, &self.b, &self.c, black_box(0.5));
        self.arch.dispatch(|| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + scale * c;
            }
        });
        black_box(&mut self.a);
    }
}

/// One exponential per number, with vector instructions.
pub struct Exponentials {
    arch: Arch,
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Exponentials {
    pub fn new(count: usize) -> Self {
        Self { arch: Arch::new(), a: vec![0.0; count], b: arguments(count) }
    }

    pub fn pass(&mut self) {
        let (a, b) = (&mut self.a, &self.b);
        if matches!(self.arch, Arch::Scalar) {
            // Without the instruction, `mul_add` is emulated in software, which is slow.
            a.iter_mut().zip(b).for_each(|(a, &b)| *a = exponential(b, |x, y, z| x * y + z));
        } else {
            self.arch.dispatch(|| {
                for (a, &b) in a.iter_mut().zip(b) {
                    *a = exponential(b, f64::mul_add);
                }
            });
        }
        black_box(&mut self.a);
    }
}

/// Seconds for a triad.
pub fn triad(count: usize, effort: Effort) -> f64 {
    let mut triad = Triad::new(count);
    time(effort, || triad.pass())
}

/// Seconds for one exponential per number with the system's library.
pub fn exponentials(count: usize, effort: Effort) -> f64 {
    let (mut a, b) = (vec![0.0f64; count], arguments(count));
    time(effort, || {
        for (a, b) in a.iter_mut().zip(&b) {
            *a = b.exp();
        }
        black_box(&mut a);
    })
}

/// Seconds for one exponential per number with vector instructions.
pub fn vector_exponentials(count: usize, effort: Effort) -> f64 {
    let mut exponentials = Exponentials::new(count);
    time(effort, || exponentials.pass())
}

fn arguments(count: usize) -> Vec<f64> {
    (0..count).map(|position| -20.0 * position as f64 / count as f64).collect()
}

/// `e^x` for `|x| < 700` to about two units in the last place, without a branch; `fused(x, y, z)`
/// is `x y + z`.
#[inline(always)]
fn exponential(x: f64, fused: impl Fn(f64, f64, f64) -> f64) -> f64 {
    // Adding this constant rounds to a whole number and leaves it in the low bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let shifted = fused(x, std::f64::consts::LOG2_E, ROUNDER);
    let whole = shifted - ROUNDER;
    let rest =
        fused(whole, -1.908_214_929_270_587_7e-10, fused(whole, -6.931_471_803_691_238e-1, x));
    let mut sum = 1.0 / 6_227_020_800.0;
    for factor in [12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0] {
        // 1/n! by Horner's rule: each term is the next factorial's reciprocal, folded at compile
        // time.
        sum = fused(sum, rest, reciprocal_factorial(factor));
    }
    f64::from_bits((sum.to_bits() as i64 + ((shifted.to_bits() as i64) << 52)) as u64)
}

#[inline(always)]
fn reciprocal_factorial(n: f64) -> f64 {
    let mut product = 1.0;
    let mut factor = 2.0;
    while factor <= n {
        product *= factor;
        factor += 1.0;
    }
    1.0 / product
}

/// The largest relative error of the vector exponential over its arguments here.
pub fn vector_error() -> f64 {
    let mut ours = Exponentials::new(1000);
    ours.pass();
    ours.a.iter().zip(&ours.b).map(|(ours, x)| (ours / x.exp() - 1.0).abs()).fold(0.0, f64::max)
}
