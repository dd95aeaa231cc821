//! Prints results as a table, and writes docs/BENCHMARKS.md from the last result of every row.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::measure::Measurement;
use crate::results::{self, RowResult};
use crate::rows::{ROWS, Row};
use crate::setup::Setup;

const HEAD: &str = "\
# Benchmarks

Written by `cargo run --release -p bench -- --write`; do not edit.
Each figure is the median over alternating rounds on one machine, with the least and the \
greatest round behind it.
A server has one core to itself, with all its processes and threads.
The load generator (`crates/load`) and the origin share the other core.
CPU time is user and system time of the server's whole process tree, read from the scheduler.
Ratios and differences are taken within a round, then their median: compare them, not figures of \
different runs.
A noisy trial is repeated up to twice, and the quietest counts.
In a noisy trial, other programs use more than 2 % of the machine, or delay the load generator by \
more than half a millisecond (p99).
Where they used much more, CPU times and ratios still hold; latencies and rates do not.
";

/// The table for a terminal.
pub(crate) fn plain(result: &RowResult) -> String {
    let mut text = String::new();
    for m in &result.measurements {
        let aim = m.target.as_ref().map_or_else(String::new, |aim| {
            format!("  {}: {}", if aim.met { "reached" } else { "MISSED" }, aim.text)
        });
        push(
            &mut text,
            format_args!(
                "  {:34} {:28} {:>10} [{} – {}]{aim}\n",
                m.case,
                m.figure,
                short(m.value),
                short(m.min),
                short(m.max)
            ),
        );
    }
    let others = 100.0 * result.about.others;
    push(&mut text, format_args!("  others used {others:.0} % of the machine\n"));
    text
}

/// Writes docs/BENCHMARKS.md.
pub(crate) fn write(setup: &Setup) -> Result<()> {
    let mut text = HEAD.to_owned();
    let mut sections = String::new();
    text +=
        "\n| row | case | figure | target | reached | others used |\n|---|---|---|---|---|---|\n";
    for row in ROWS {
        if let Some(result) = results::last(setup, row)? {
            aims(&mut text, &result);
            section(&mut sections, row, &result);
        }
    }
    text += &sections;
    let path = setup.root().join("docs/BENCHMARKS.md");
    fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))
}

fn aims(text: &mut String, result: &RowResult) {
    for m in &result.measurements {
        let Some(aim) = &m.target else { continue };
        let reached = if aim.met { "yes" } else { "**no**" };
        push(
            text,
            format_args!(
                "| {} | {} | {}: {} | {} | {reached} | {:.0} % |\n",
                result.about.row,
                m.case,
                m.figure,
                short(m.value),
                aim.text,
                100.0 * result.about.others
            ),
        );
    }
}

fn section(text: &mut String, row: &Row, result: &RowResult) {
    let about = &result.about;
    push(text, format_args!("\n## {}: {}\n\n", row.name, row.what));
    push(text, format_args!("`{}`\n\n", about.command));
    push(text, format_args!("{}\n", row.notes));
    push(
        text,
        format_args!(
            "{}, commit {}, {}, Linux {}; {} rounds; other programs used {:.0} % of the machine.\n",
            about.date,
            about.commit,
            about.cpu,
            about.kernel,
            about.rounds,
            100.0 * about.others
        ),
    );
    push(text, format_args!("Measured: {}.\n\n", about.versions.join(", ")));
    *text += &chart(&result.measurements);
    *text += "| case | figure | median | min – max | target |\n|---|---|---|---|---|\n";
    for m in &result.measurements {
        line(text, m);
    }
}

/// Bars for what is to be drawn, the longest for the greatest value; empty without.
fn chart(measurements: &[Measurement]) -> String {
    const WIDTH: f64 = 50.0;
    let drawn = || measurements.iter().filter(|m| m.is_drawn);
    let Some(figure) = drawn().map(|m| &m.figure).next() else { return String::new() };
    let greatest = drawn().map(|m| m.value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let label = drawn().map(|m| m.case.chars().count()).max().unwrap_or(0);
    let mut text = format!("```\n{figure}\n");
    for m in drawn() {
        let bar = "█".repeat((WIDTH * m.value / greatest).round() as usize);
        push(&mut text, format_args!("{:label$}  {bar} {}\n", m.case, short(m.value)));
    }
    text + "```\n\n"
}

fn line(text: &mut String, m: &Measurement) {
    let aim = m.target.as_ref().map_or("", |aim| &aim.text);
    push(
        text,
        format_args!(
            "| {} | {} | {} | {} – {} | {aim} |\n",
            m.case,
            m.figure,
            short(m.value),
            short(m.min),
            short(m.max)
        ),
    );
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}

/// Three significant digits, with k and M for thousands and millions.
fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value.is_nan() => "–".to_owned(),
        _ if size >= 9_999_500.0 => format!("{:.1} M", value / 1e6),
        _ if size >= 999_500.0 => format!("{:.2} M", value / 1e6),
        _ if size >= 9_999.5 => format!("{:.1} k", value / 1e3),
        _ if size >= 99.95 || value.fract() == 0.0 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests;
