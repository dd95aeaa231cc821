//! Makes the tables of signals of docs/lab/trust.md again.
//!
//! `cargo run --release -p verdicts --example signals -- [SETS [SEED]]`: each cell has 100 sets of
//! seed 9,401, unless said otherwise.
//!
//! Prints Markdown to stdout, cell by cell as it is counted, on two threads.

use std::io::{self, Write};
use std::ops::Range;
use std::thread;

use verdicts::calibration::hosts::{
    BlamedSignals, FoundSignals, HOST_SIZES, SlowCalls, found_signals,
};

const THREADS: u64 = 2;
const PARTS: [f64; 3] = [0.3, 0.6, 0.9];

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().ok());
    let sets = numbers.next().flatten().unwrap_or(100);
    let seed = numbers.next().flatten().unwrap_or(9_401);
    let mut out = io::stdout();
    blamed(sets, seed, &mut out)?;
    found(sets, seed, &mut out)
}

/// The table of signals that are behind nothing.
fn blamed(sets: u64, seed: u64, out: &mut io::Stdout) -> io::Result<()> {
    write!(out, "| slow are; sets of {sets} with a signal blamed |")?;
    HOST_SIZES.iter().try_for_each(|calls| write!(out, " {calls} calls |"))?;
    writeln!(
        out,
        " signals blamed | intervals that hold 0 |\n|---|---:|---:|---:|---:|---:|---:|"
    )?;
    for slow in SlowCalls::ALL {
        write!(out, "| {} ", slow.name())?;
        let mut all = BlamedSignals::default();
        for calls in HOST_SIZES {
            let mut cell = 0;
            for part in parts(sets, |part| slow.blamed(seed, calls, part)) {
                cell += part.sets;
                all.signals += part.signals;
                all.right += part.right;
                all.looked_at += part.looked_at;
            }
            write!(out, "| {cell} ")?;
            out.flush()?;
        }
        let right = 100.0 * all.right as f64 / all.looked_at.max(1) as f64;
        writeln!(out, "| {} of {} | {right:.1} % |", all.signals, all.looked_at)?;
    }
    writeln!(out)
}

/// The table of a signal that is behind a part of the slow calls.
fn found(sets: u64, seed: u64, out: &mut io::Stdout) -> io::Result<()> {
    writeln!(
        out,
        "| behind | calls | found, of {sets} | interval holds it | others blamed |\n\
         |---|---:|---:|---:|---:|"
    )?;
    for behind in PARTS {
        for calls in HOST_SIZES {
            let mut all = FoundSignals::default();
            for part in parts(sets, |part| found_signals(behind, seed, calls, part)) {
                all.found += part.found;
                all.right += part.right;
                all.others += part.others;
            }
            let FoundSignals { found, right, others } = all;
            let percent = 100.0 * behind;
            writeln!(out, "| {percent} % | {calls} | {found} | {right} of {found} | {others} |")?;
        }
    }
    Ok(())
}

/// Counts in parts, each on a thread.
fn parts<T: Send>(sets: u64, count: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let share = sets.div_ceil(THREADS);
    thread::scope(|scope| {
        let count = &count;
        let part = |thread: u64| {
            let part = thread * share..((thread + 1) * share).min(sets);
            scope.spawn(move || count(part))
        };
        let running: Vec<_> = (0..THREADS).map(part).collect();
        let joined = running.into_iter().map(|thread| thread.join().expect("no count panics"));
        joined.collect()
    })
}
