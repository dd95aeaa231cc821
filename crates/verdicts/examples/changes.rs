//! Makes the tables of changes over time of docs/lab/trust.md again.
//!
//! `cargo run --release -p verdicts --example changes -- [SETS [SEED [TEXT]]]`: each cell has 200
//! sets of seed 9,101, unless said otherwise; TEXT chooses the rows whose name has it.
//!
//! Prints Markdown to stdout, cell by cell as it is counted, on two threads.

use std::io::{self, Write};
use std::ops::Range;
use std::thread;

use verdicts::calibration::drifts::{
    DRIFT_SIZES, FalseChanges, FoundChanges, PlantedChange, SteadyCalls,
};

const THREADS: u64 = 2;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: u64| {
        words.get(place).and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let (sets, seed) = (number(0, 200), number(1, 9_101));
    let chosen = words.get(2).map_or("", String::as_str);
    let mut out = io::stdout();
    steady(sets, seed, chosen, &mut out)?;
    planted(sets, seed, chosen, &mut out)
}

/// The table of false changes.
fn steady(sets: u64, seed: u64, chosen: &str, out: &mut io::Stdout) -> io::Result<()> {
    write!(out, "| of {sets} sets, seed {seed}: changes told |")?;
    for calls in DRIFT_SIZES {
        write!(out, " {calls} calls |")?;
    }
    writeln!(out, " for 1,000 bins |\n|---|---:|---:|---:|---:|---:|")?;
    for steady in SteadyCalls::ALL.iter().filter(|steady| steady.name().contains(chosen)) {
        write!(out, "| {} ", steady.name())?;
        let mut all = FalseChanges::default();
        for calls in DRIFT_SIZES {
            let mut counts = FalseChanges::default();
            for part in parts(sets, |part| steady.alarms(seed, calls, part)) {
                counts.add(part);
            }
            write!(out, "| {} in {} ", counts.changes, counts.sets)?;
            out.flush()?;
            all.add(counts);
        }
        writeln!(out, "| {:.3} |", 1e3 * all.changes as f64 / all.bins.max(1) as f64)?;
    }
    writeln!(out)
}

/// The table of planted changes.
fn planted(sets: u64, seed: u64, chosen: &str, out: &mut io::Stdout) -> io::Result<()> {
    writeln!(
        out,
        "| planted, of {sets} sets | calls | found | within 2 bins | bins off, median | shape \
         | size held | place held | others |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    for planted in PlantedChange::ALL.iter().filter(|planted| planted.name().contains(chosen)) {
        for calls in DRIFT_SIZES {
            let mut counts = FoundChanges::default();
            for part in parts(sets, |part| planted.found(seed, calls, part)) {
                counts.add(part);
            }
            counts.off.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
            let percent = |part: u64, of: u64| match of {
                0 => String::new(),
                _ => format!("{:.0} %", 100.0 * part as f64 / of as f64),
            };
            let off = counts.off.get(counts.off.len() / 2);
            writeln!(
                out,
                "| {} | {calls} | {} | {} | {} | {} | {} | {} | {} |",
                planted.name(),
                percent(counts.found, counts.planted),
                percent(counts.near, counts.found),
                off.map_or_else(String::new, |off| format!("{:.1}", off.abs())),
                percent(counts.shaped, counts.found),
                percent(counts.covered, counts.asked),
                percent(counts.placed, counts.found),
                counts.others
            )?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Counts the parts of `sets` on all threads.
fn parts<T: Send>(sets: u64, count: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let edge = |part: u64| sets * part / THREADS;
    thread::scope(|scope| {
        let count = &count;
        let part = |part| scope.spawn(move || count(edge(part)..edge(part + 1)));
        let running: Vec<_> = (0..THREADS).map(part).collect();
        running.into_iter().map(|part| part.join().expect("counting does not panic")).collect()
    })
}
