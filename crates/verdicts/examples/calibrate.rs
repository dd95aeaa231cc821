//! Makes the calibration tables of docs/lab/trust.md again.
//!
//! `cargo run --release -p verdicts --example calibrate -- [SETS [POWER_SETS [TABLES]]]`:
//! a cell has 1,000 sets, and 200 sets of power, unless said otherwise. TABLES is `combs`, `humps`,
//! `clocks` or `switches` for two tables alone, or `power` for the second one of combs.
//!
//! Prints Markdown to stdout, cell by cell as it is counted, on two threads.

use std::io::{self, Write};
use std::ops::Range;
use std::thread;

use verdicts::calibration::clocks::{Starts, locked_alarms, ticks_found};
use verdicts::calibration::handlers::{Coverage, Handler};
use verdicts::calibration::modes::{OneMode, TwoModes};
use verdicts::calibration::switches::{BLOCKS, Background, PlantedEffect, SwitchCounts};
use verdicts::calibration::{CombCounts, CombSample, NullFamily, SIZES, false_alarms, found};

const THREADS: u64 = 2;

/// Shares of calls that end with a tick.
const TICKED: [f64; 2] = [0.5, 1.0];
/// Sizes of the samples of handlers.
const HANDLED: [usize; 3] = [250, 1_000, 5_000];

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().ok());
    let sets = numbers.next().flatten().unwrap_or(1_000);
    let power_sets = numbers.next().flatten().unwrap_or(200);
    let mut out = io::stdout();
    match std::env::args().nth(3).as_deref() {
        Some("combs") => combs(sets, power_sets, &mut out),
        Some("power") => power(power_sets, &mut out),
        Some("humps") => modes(sets, power_sets, &mut out),
        Some("clocks") => clocks(sets, power_sets, &mut out),
        Some("switches") => switches(sets, power_sets, &mut out),
        Some(word) => Err(io::Error::other(format!(
            "`{word}` is no table; there are combs, power, humps, clocks and switches"
        ))),
        None => {
            combs(sets, power_sets, &mut out)?;
            modes(sets, power_sets, &mut out)?;
            clocks(sets, power_sets, &mut out)?;
            switches(sets, power_sets, &mut out)
        }
    }
}

/// The tables of combs.
fn combs(sets: u64, power_sets: u64, out: &mut io::Stdout) -> io::Result<()> {
    writeln!(out, "| without a comb | N = 50 | N = 500 | N = 5,000 | of {sets} sets each |")?;
    writeln!(out, "|---|---:|---:|---:|---|")?;
    for family in NullFamily::ALL {
        write!(out, "| {} ", family.name())?;
        for calls in SIZES {
            let count = |part: std::ops::Range<u64>| false_alarms(family, calls, part);
            let alarms: u64 = parts(sets, count).into_iter().sum();
            write!(out, "| {alarms} ")?;
            out.flush()?;
        }
        writeln!(out, "| |")?;
    }
    writeln!(out)?;
    power(power_sets, out)
}

/// The table of how often a comb is found that is there.
fn power(power_sets: u64, out: &mut io::Stdout) -> io::Result<()> {
    writeln!(
        out,
        "| with a comb | teeth | the others | found | another quantum | interval holds it |"
    )?;
    writeln!(out, "|---|---:|---|---:|---:|---:|")?;
    for combed in CombSample::ALL {
        let mut counts = CombCounts::default();
        parts(power_sets, |part| found(combed, part)).into_iter().for_each(|part| counts.add(part));
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let CombSample { calls, share, teeth, beside } = combed;
        writeln!(
            out,
            "| {calls} calls, {:.0} % on teeth | {teeth} | {} | {:.1} % | {} | {:.1} % |",
            100.0 * share,
            beside.name(),
            percent(counts.found, counts.sets),
            counts.other,
            percent(counts.covered, counts.found),
        )?;
        out.flush()?;
    }
    Ok(())
}

/// The tables of modes.
fn modes(sets: u64, power_sets: u64, out: &mut io::Stdout) -> io::Result<()> {
    heading("one hump, called several", out)?;
    for family in OneMode::ALL {
        row(family.name(), sets, &|calls, part| family.alarms(calls, part), out)?;
    }
    heading("two humps, called several", out)?;
    for modes in TwoModes::all() {
        let TwoModes { slow, ratio, sigma } = modes;
        let name = format!("{:.0} % of calls {ratio} times slower, sigma {sigma}", 100.0 * slow);
        row(&name, power_sets, &|calls, part| modes.found(calls, part), out)?;
    }
    Ok(())
}

/// The table of clocks.
fn clocks(sets: u64, power_sets: u64, out: &mut io::Stdout) -> io::Result<()> {
    heading("locked", out)?;
    for starts in Starts::ALL {
        let name = format!("no clock, {}", starts.name());
        row(&name, sets, &|calls, part| locked_alarms(starts, calls, part), out)?;
    }
    for share in TICKED {
        let name = format!("{:.0} % end with a tick, and locked to it", 100.0 * share);
        row(&name, power_sets, &|calls, part| ticks_found(share, calls, part), out)?;
    }
    handlers(sets, out)
}

fn heading(what: &str, out: &mut io::Stdout) -> io::Result<()> {
    writeln!(out, "\n| {what} | N = 50 | N = 500 | N = 5,000 | of |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")
}

/// A row of one count for each size.
fn row(
    name: &str,
    sets: u64,
    count: &(dyn Fn(usize, Range<u64>) -> u64 + Sync),
    out: &mut io::Stdout,
) -> io::Result<()> {
    write!(out, "| {name} ")?;
    for calls in SIZES {
        let counted: u64 = parts(sets, |part| count(calls, part)).into_iter().sum();
        write!(out, "| {counted} ")?;
        out.flush()?;
    }
    writeln!(out, "| {sets} |")
}

/// The table of the intervals of steps.
fn handlers(sets: u64, out: &mut io::Stdout) -> io::Result<()> {
    writeln!(
        out,
        "\n| truth in the interval, of {sets} sets | N | most | others | part | ratio | rate |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|")?;
    for handler in Handler::ALL {
        for calls in HANDLED {
            let mut coverage = Coverage::default();
            parts(sets, |part| handler.coverage(calls, part))
                .into_iter()
                .for_each(|part| coverage.add(part));
            write!(out, "| {} | {calls} ", handler.name())?;
            let Coverage { most, others, part, ratio, rate } = coverage;
            for [hits, of] in [most, others, part, ratio, rate] {
                // Of less than a tenth of the sets nothing can be said.
                match of * 10 < sets {
                    true => write!(out, "| ")?,
                    false => write!(out, "| {:.1} % ", 100.0 * hits as f64 / of as f64)?,
                }
            }
            writeln!(out, "|")?;
            out.flush()?;
        }
    }
    Ok(())
}

/// The tables of experiments with a switch.
fn switches(sets: u64, power_sets: u64, out: &mut io::Stdout) -> io::Result<()> {
    let counted = |background: Background, effect, blocks, sets| {
        let mut counts = SwitchCounts::default();
        parts(sets, |part| background.counts(effect, blocks, part))
            .into_iter()
            .for_each(|part| counts.add(part));
        counts
    };
    let [few, some, many] = BLOCKS;
    writeln!(out, "\n| convicted, of {sets} | {few} blocks | {some} blocks | {many} blocks |")?;
    writeln!(out, "|---|---:|---:|---:|")?;
    for background in Background::ALL {
        write!(out, "| nothing; {} ", background.name())?;
        for blocks in BLOCKS {
            let counts = counted(background, PlantedEffect::None, blocks, sets);
            write!(out, "| {} ", counts.significant)?;
            out.flush()?;
        }
        writeln!(out, "|")?;
    }
    writeln!(out, "\n| of {power_sets} | blocks | convicted | median | p95 | slow calls |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    for effect in PlantedEffect::REAL {
        for background in Background::ALL {
            for blocks in BLOCKS {
                let counts = counted(background, effect, blocks, power_sets);
                let percent = |part: u64| 100.0 * part as f64 / counts.sets.max(1) as f64;
                let [median, p95, slow] = counts.covered.map(percent);
                writeln!(
                    out,
                    "| {}; {} | {blocks} | {:.1} % | {median:.1} % | {p95:.1} % | {slow:.1} % |",
                    effect.name(),
                    background.name(),
                    percent(counts.significant)
                )?;
            }
        }
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
