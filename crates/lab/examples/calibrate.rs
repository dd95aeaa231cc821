//! Makes the calibration table of docs/LAB.md again: `cargo run --release -p lab --example
//! calibrate -- [SETS [POWER_SETS]]`, 1,000 and 200 sets a cell unless said otherwise.
//!
//! Prints Markdown to stdout, cell by cell as it is counted, on two threads.

use std::io::{self, Write};
use std::thread;

use lab::calibration::{Combed, Counts, Family, SIZES, false_alarms, found};

const THREADS: u64 = 2;

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().ok());
    let sets = numbers.next().flatten().unwrap_or(1_000);
    let power_sets = numbers.next().flatten().unwrap_or(200);
    let mut out = io::stdout();
    writeln!(out, "| without a comb | N = 50 | N = 500 | N = 5,000 | of {sets} sets each |")?;
    writeln!(out, "|---|---:|---:|---:|---|")?;
    for family in Family::ALL {
        write!(out, "| {} ", family.name())?;
        for calls in SIZES {
            let count = |part: std::ops::Range<u64>| false_alarms(family, calls, part);
            let alarms: u64 = parts(sets, count).into_iter().sum();
            write!(out, "| {alarms} ")?;
            out.flush()?;
        }
        writeln!(out, "| |")?;
    }
    writeln!(
        out,
        "\n| with a comb | teeth | found | another quantum | interval holds the quantum |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    for combed in Combed::ALL {
        let mut counts = Counts::default();
        parts(power_sets, |part| found(combed, part)).into_iter().for_each(|part| counts.add(part));
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let Combed { calls, share, teeth } = combed;
        writeln!(
            out,
            "| {calls} calls, {:.0} % on teeth | {teeth} | {:.1} % | {} | {:.1} % |",
            100.0 * share,
            percent(counts.found, counts.sets),
            counts.other,
            percent(counts.covered, counts.found),
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Counts the parts of `sets` on all threads.
fn parts<T: Send>(sets: u64, count: impl Fn(std::ops::Range<u64>) -> T + Sync) -> Vec<T> {
    let edge = |part: u64| sets * part / THREADS;
    thread::scope(|scope| {
        let part = |part| {
            scope.spawn({
                let count = &count;
                move || count(edge(part)..edge(part + 1))
            })
        };
        let running: Vec<_> = (0..THREADS).map(part).collect();
        running.into_iter().map(|part| part.join().expect("counting does not panic")).collect()
    })
}
