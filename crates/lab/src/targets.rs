//! Reports on several targets of one probe: a table with a row each, then what can be said of each.
//!
//! [`target_table`] draws the table, also while the probe runs. Each target is compared with the
//! first, in turns where no more than a fifth of them lack a call.
//! Invariant: a row shows a quantile only where its target has a call beyond it. The JSON is a list
//! of reports in the order of the targets, each with its `change` beside the first.
//! One target, or two that `--vs` compares, are `report.rs`.

use screen::number::{count, percent, time};
use screen::{Align, Cell, Column, Ink, Style, Table, wrapped};
use serde::Serialize;
use verdicts::{Direction, RelativeChange, Series, Sorted};

use crate::report::{change, change_sentences};
use crate::{Report, ReportOptions, in_words};

/// Quantiles that a row has.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// What a row shows of a target.
#[derive(Debug, Clone, Default)]
pub struct TargetRow {
    /// What is called.
    pub name: String,
    /// Milliseconds of the calls that succeeded.
    pub times: Sorted,
    /// Calls that failed.
    pub failed: u64,
    /// How it compares with the first; empty while that is not known.
    pub beside: String,
}

/// A report on several targets.
#[derive(Debug, Serialize)]
pub struct TargetsReport<'a> {
    /// Each of them, in the order in which they were named.
    pub targets: Vec<ComparedTarget<'a>>,
}

/// A target, beside the first.
#[derive(Debug, Serialize)]
pub struct ComparedTarget<'a> {
    /// What can be said of it alone.
    #[serde(flatten)]
    pub report: Report<'a>,
    /// By which part it is slower than the first; absent for that, and where it cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<RelativeChange>,
    #[serde(skip)]
    series: &'a Series,
}

impl<'a> TargetsReport<'a> {
    /// Reports on each of the series, whose rows stand beside each other when `is_paired`.
    pub fn new(series: &'a [Series], is_paired: bool, options: &ReportOptions) -> Self {
        let one = |(at, one): (usize, &'a Series)| ComparedTarget {
            report: Report::new(one, options),
            change: (at > 0).then(|| change(&series[0], one, is_paired)).flatten(),
            series: one,
        };
        Self { targets: series.iter().enumerate().map(one).collect() }
    }

    /// Returns the table, then the verdicts on each target, and the notes.
    pub fn to_text(&self, style: &Style) -> String {
        let rows: Vec<TargetRow> = self.targets.iter().map(row).collect();
        let mut out = target_table(&rows, style);
        for target in &self.targets {
            let name = screen::cut(target.report.name, style.columns(), style);
            out += &format!("\n{}\n", style.paint(Ink::Bold, &name));
            for text in sentences(target) {
                wrapped(&text, 2, style).iter().for_each(|line| out += &format!("{line}\n"));
            }
        }
        let notes = self.targets.iter().flat_map(|target| target.report.notes);
        let notes: Vec<String> = notes.map(|note| format!("- {note}")).collect();
        if !notes.is_empty() {
            out += &format!("\n{}\n", style.paint(Ink::Bold, "Notes"));
        }
        for line in notes.iter().flat_map(|note| wrapped(note, 2, style)) {
            out += &format!("{line}\n");
        }
        out
    }
}

impl<'a> ComparedTarget<'a> {
    /// Returns its calls.
    pub fn series(&self) -> &'a Series {
        self.series
    }
}

/// Draws a row for each target.
pub fn target_table(rows: &[TargetRow], style: &Style) -> String {
    let mut columns = vec![Column::new("target", Align::Left)];
    let titles = ["calls", "failed"].into_iter().chain(QUANTILES.map(|(name, _)| name));
    columns.extend(titles.chain(["most"]).map(|title| Column::new(title, Align::Right)));
    let is_compared = rows.iter().any(|row| !row.beside.is_empty());
    if is_compared {
        columns.push(Column::new("beside the first", Align::Left));
    }
    let mut table = Table::new(columns);
    for row in rows {
        let calls = row.times.len() as f64;
        let quantile = |(_, q): &(&str, f64)| match calls * (1.0 - q) >= 0.5 {
            true => time(row.times.at(*q)),
            false => "-".to_owned(),
        };
        let most = if row.times.is_empty() { "-".to_owned() } else { time(row.times.at(1.0)) };
        let failed = if row.failed > 0 { Ink::Alarm } else { Ink::Plain };
        let mut cells = vec![
            Cell::from(row.name.clone()),
            count(row.times.len() as u64).into(),
            Cell::new(count(row.failed), failed),
        ];
        cells.extend(QUANTILES.iter().map(quantile).chain([most]).map(Cell::from));
        cells.push(row.beside.clone().into());
        table.push(cells);
    }
    table.render(style)
}

fn row(target: &ComparedTarget<'_>) -> TargetRow {
    TargetRow {
        name: target.report.name.to_owned(),
        times: Sorted::new(&target.series.total_ms),
        failed: target.report.counts.failed,
        beside: target.change.as_ref().map_or_else(String::new, beside),
    }
}

/// A change in a few letters.
fn beside(found: &RelativeChange) -> String {
    let parts = |low: f64, high: f64| {
        let (low, high) = (percent(low), percent(high));
        format!("{} to {high}", low.trim_end_matches(" %"))
    };
    match (found.verdict, found.ci) {
        (Direction::Slower, Some([low, high])) => format!("{} slower", parts(low, high)),
        (Direction::Faster, Some([low, high])) => format!("{} faster", parts(-high, -low)),
        (Direction::NoDifference, _) => "no difference seen".to_owned(),
        _ => "too few calls".to_owned(),
    }
}

/// How it compares, what failed, and the verdicts.
fn sentences(target: &ComparedTarget<'_>) -> Vec<String> {
    let report = &target.report;
    let failures = report.counts.failures.iter();
    let mut all: Vec<String> =
        failures.map(|(words, number)| format!("failed: {} × {words}", count(*number))).collect();
    let verdicts = report.verdicts.iter().map(in_words);
    all.extend(verdicts.map(|words| format!("{}: {}", words.title, words.sentence)));
    if let Some(found) = &target.change {
        all.push(format!("beside the first: {}.", change_sentences(found).join(". ")));
    }
    all
}

#[cfg(test)]
mod tests;
