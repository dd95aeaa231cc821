//! Measures running ONNX models, for DECISIONS: many rows at once and one.
//!
//! Run: `cargo run --release -p models --example onnx -- MODEL [ROWS]`.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use models::{OnnxModel, OnnxScratch};

const REPEATS: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: onnx MODEL [ROWS]")?;
    let count: usize = arguments.next().map_or(Ok(674), |text| text.parse())?;
    let started = Instant::now();
    let model = OnnxModel::read(&fs::read(path)?)?;
    let mut out = io::stdout().lock();
    writeln!(out, "read in {:?}", started.elapsed())?;
    let features = model.about().features;
    let rows = random_rows(count * features);
    let mut scratch = OnnxScratch::default();
    for at_once in [count, 64, 1] {
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            let started = Instant::now();
            for rows in rows.chunks(at_once * features) {
                black_box(model.run(black_box(rows), &mut scratch)?.output(0));
            }
            best = best.min(started.elapsed().as_secs_f64());
        }
        let each = best / count as f64;
        let name = format!("{at_once} at once");
        writeln!(out, "{name:12} {:10.0} rows/s  {:8.2} us/row", 1.0 / each, each * 1e6)?;
    }
    Ok(())
}

/// Normal enough, and the same in every run.
fn random_rows(count: usize) -> Vec<f32> {
    let mut state = 20_u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f32 / (1_u64 << 53) as f32
    };
    (0..count).map(|_| (0..4).map(|_| uniform()).sum::<f32>() * 1.7 - 3.4).collect()
}
