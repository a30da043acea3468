//! What the machine itself needs for one pass over so many numbers.

use std::hint::black_box;

use crate::clock::{Effort, time};

/// Seconds for `a[i] = b[i] + s c[i]`.
pub fn triad(count: usize, effort: Effort) -> f64 {
    let (mut a, b, c) = (vec![0.0f64; count], vec![1.0f64; count], vec![2.0f64; count]);
    time(effort, || {
        let scale = black_box(0.5);
        for ((a, b), c) in a.iter_mut().zip(&b).zip(&c) {
            *a = b + scale * c;
        }
        black_box(&mut a);
    })
}

/// Seconds for one exponential of the system's library a number.
pub fn exponentials(count: usize, effort: Effort) -> f64 {
    let (mut a, b) = (vec![0.0f64; count], arguments(count));
    time(effort, || {
        for (a, b) in a.iter_mut().zip(&b) {
            *a = b.exp();
        }
        black_box(&mut a);
    })
}

/// Seconds for one exponential a number, written so that the compiler can use vectors.
pub fn vector_exponentials(count: usize, effort: Effort) -> f64 {
    let (mut a, b) = (vec![0.0f64; count], arguments(count));
    time(effort, || {
        for (a, &b) in a.iter_mut().zip(&b) {
            *a = exponential(b);
        }
        black_box(&mut a);
    })
}

fn arguments(count: usize) -> Vec<f64> {
    (0..count).map(|position| -20.0 * position as f64 / count as f64).collect()
}

/// `e^x` for `|x| < 700` to about two units in the last place, without a branch.
#[inline(always)]
fn exponential(x: f64) -> f64 {
    // Adding this constant rounds to a whole number and leaves it in the low bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    let rest = (x - whole * 6.931_471_803_691_238e-1) - whole * 1.908_214_929_270_587_7e-10;
    let mut sum = 1.0 / 6_227_020_800.0;
    for factor in [12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0] {
        // 1/n! by Horner's rule: each term is the next factorial's reciprocal, folded at compile time.
        sum = sum * rest + reciprocal_factorial(factor);
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
    arguments(1000).into_iter().map(|x| (exponential(x) / x.exp() - 1.0).abs()).fold(0.0, f64::max)
}
