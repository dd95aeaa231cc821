//! Measures scoring with trees, for DECISIONS: blocks of rows and rows one by one.
//!
//! Run: `cargo run --release -p models --example trees -- MODEL [ROWS [AT-ONCE…]]`.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use models::{TreeScratch, Trees};

const REPEATS: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: trees MODEL [ROWS [AT-ONCE…]]")?;
    let count: usize = arguments.next().map_or(Ok(674), |text| text.parse())?;
    let started = Instant::now();
    let model = Trees::read(&fs::read(path)?)?;
    let mut out = io::stdout().lock();
    let about = model.about();
    writeln!(out, "{} trees, read in {:?}", about.trees, started.elapsed())?;
    let rows = random_rows(count * about.features);
    let mut scores = vec![0.0; count * about.scores];
    let mut scratch = TreeScratch::default();
    let mut report = |name: &str, part: usize| -> Result<(), Box<dyn Error>> {
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            let started = Instant::now();
            let parts = rows.chunks(part * about.features);
            for (rows, scores) in parts.zip(scores.chunks_mut(part * about.scores)) {
                model.score(black_box(rows), &mut scratch, scores)?;
            }
            black_box(&scores);
            best = best.min(started.elapsed().as_secs_f64());
        }
        let each = best / count as f64;
        writeln!(out, "{name:12} {:10.0} rows/s  {:8.2} us/row", 1.0 / each, each * 1e6)?;
        Ok(())
    };
    let mut parts: Vec<usize> = arguments.map(|text| text.parse()).collect::<Result<_, _>>()?;
    if parts.is_empty() {
        parts = vec![count, 1, 8, 16, 32, 64];
    }
    for part in parts {
        report(&format!("{part} at once"), part)?;
    }
    Ok(())
}

/// Normal enough, and the same in every run.
fn random_rows(count: usize) -> Vec<f64> {
    let mut state = 20_u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| (0..4).map(|_| uniform()).sum::<f64>() * 1.7 - 3.4).collect()
}
