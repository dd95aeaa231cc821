//! Makes the table of planted causes of docs/lab/trust.md again.
//!
//! `cargo run --release -p verdicts --example truth -- [SETS [SEED [TEXT]]]`: each row has 100
//! sets of seed 9,001, unless said otherwise; TEXT chooses the rows whose name has it. Rows of very
//! many calls have a quarter of the sets.
//!
//! Prints Markdown to stdout, row by row as it is counted, on two threads. Intervals are Wilson's,
//! of 95 %.

use std::io::{self, Write};
use std::thread;

use verdicts::calibration::truth::{TruthRow, rows};

const THREADS: u64 = 2;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: u64| {
        words.get(place).and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let (sets, seed) = (number(0, 100), number(1, 9_001));
    let chosen = words.get(2).map_or("", String::as_str);
    let mut out = io::stdout();
    writeln!(out, "| {sets} sets each, seed {seed} | claim | holds | 95 % |")?;
    writeln!(out, "|---|---|---:|---:|")?;
    for (place, row) in rows().iter().enumerate().filter(|(_, row)| row.name.contains(chosen)) {
        let sets = if row.is_large { sets.div_ceil(4) } else { sets };
        let counts = counted(row, place, sets, seed);
        for (at, (claim, [held, of])) in row.claims.iter().zip(counts).enumerate() {
            let name = if at == 0 { row.name.as_str() } else { "" };
            let [low, high] = wilson(held as f64, of as f64).map(|part| 100.0 * part);
            writeln!(out, "| {name} | {claim} | {held} of {of} | {low:.0} to {high:.0} % |")?;
        }
        out.flush()?;
    }
    Ok(())
}

/// The counts of a row, its sets shared by all threads.
fn counted(row: &TruthRow, place: usize, sets: u64, seed: u64) -> [[u64; 2]; 3] {
    let edge = |part: u64| sets * part / THREADS;
    thread::scope(|scope| {
        let part = |part| scope.spawn(move || row.count(seed, place, edge(part)..edge(part + 1)));
        let running: Vec<_> = (0..THREADS).map(part).collect();
        let mut counts = [[0; 2]; 3];
        for part in running {
            let part = part.join().expect("counting does not panic");
            for (count, part) in counts.iter_mut().zip(part) {
                *count = [count[0] + part[0], count[1] + part[1]];
            }
        }
        counts
    })
}

/// Wilson's interval of a proportion ("Probable inference", 1927).
fn wilson(held: f64, of: f64) -> [f64; 2] {
    const Z: f64 = 1.96;
    if of == 0.0 {
        return [0.0, 1.0];
    }
    let (share, square) = (held / of, Z * Z / of);
    let middle = (share + square / 2.0) / (1.0 + square);
    let margin = Z / (1.0 + square) * (share * (1.0 - share) / of + square / of / 4.0).sqrt();
    [middle - margin, middle + margin]
}
