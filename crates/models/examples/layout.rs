//! Measures row-major against column-major item features, for DECISIONS.
//!
//! Run: `cargo run --release -p models --example layout`.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use multiversion::multiversion;

const LANES: usize = 7;
const COLUMNS: usize = LANES * 8;
const BLOCK: usize = 128;

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Lane([f32; 8]);

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn by_rows(lanes: &[Lane], weights: &[[f64; 8]], rows: &[u32], scores: &mut [f64]) {
    for (row, score) in rows.iter().zip(scores) {
        let start = *row as usize * LANES;
        let mut sums = [0.0_f64; 8];
        for (lane, weight) in lanes[start..start + LANES].iter().zip(weights) {
            for index in 0..8 {
                sums[index] += f64::from(lane.0[index]) * weight[index];
            }
        }
        *score = sums.iter().sum();
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn by_columns_all(columns: &[Vec<f32>], weights: &[f64], scores: &mut [f64]) {
    for (block, scores) in scores.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let mut sums = [0.0_f64; BLOCK];
        for (column, weight) in columns.iter().zip(weights) {
            let part = &column.as_chunks::<BLOCK>().0[block];
            for index in 0..BLOCK {
                sums[index] += f64::from(part[index]) * weight;
            }
        }
        *scores = sums;
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn by_columns_ids(columns: &[Vec<f32>], weights: &[f64], rows: &[u32], scores: &mut [f64]) {
    for (rows, scores) in rows.chunks(64).zip(scores.chunks_mut(64)) {
        let mut sums = [0.0_f64; 64];
        for (column, weight) in columns.iter().zip(weights) {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum += f64::from(column[*row as usize]) * weight;
            }
        }
        scores.copy_from_slice(&sums[..scores.len()]);
    }
}

fn report(items: usize, name: &str, count: usize, mut work: impl FnMut()) -> io::Result<()> {
    let mut rounds: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            let mut times = 0.0;
            while start.elapsed().as_millis() < 150 {
                work();
                times += 1.0;
            }
            start.elapsed().as_secs_f64() / times * 1e9 / count as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    writeln!(io::stdout(), "{items:8} items  {name:30} {:7.2} ns a candidate", rounds[3])
}

fn main() -> io::Result<()> {
    for items in [4400, 100_000, 1_000_000] {
        let value = |row: usize, n: usize| ((row * 31 + n * 17) % 1009) as f32;
        let columns: Vec<Vec<f32>> =
            (0..50).map(|n| (0..items).map(|row| value(row, n)).collect()).collect();
        let mut lanes = vec![Lane::default(); items * LANES];
        for (n, column) in columns.iter().enumerate() {
            for (row, value) in column.iter().enumerate() {
                lanes[row * LANES + n / 8].0[n % 8] = *value;
            }
        }
        let weights: Vec<f64> = (0..COLUMNS).map(|n| (n as f64).sin()).collect();
        let packed: Vec<[f64; 8]> =
            weights.chunks(8).map(|part| part.try_into().expect("eight")).collect();
        let all: Vec<u32> = (0..items as u32).collect();
        // A different 674 each time, so that a large table does not stay in the cache.
        let sets: Vec<Vec<u32>> = (0..300)
            .map(|set| (0..674).map(|n| ((n * 2741 + set * 7919) % items) as u32).collect())
            .collect();
        let mut scores = vec![0.0; items];
        let mut turn = 0;
        report(items, "rows, everything", items, || {
            by_rows(black_box(&lanes), &packed, &all, &mut scores);
        })?;
        report(items, "columns, everything", items, || {
            by_columns_all(black_box(&columns), &weights[..50], &mut scores);
        })?;
        report(items, "rows, 674 ids", 674, || {
            turn = (turn + 1) % sets.len();
            by_rows(black_box(&lanes), &packed, &sets[turn], &mut scores);
        })?;
        report(items, "columns, 674 ids", 674, || {
            turn = (turn + 1) % sets.len();
            by_columns_ids(black_box(&columns), &weights[..50], &sets[turn], &mut scores);
        })?;
    }
    Ok(())
}
