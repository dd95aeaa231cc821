//! Renders a report for the terminal, in the order of `page`: name and summary, plot, histogram,
//! quantiles, steps, attributes, notes, second target, verdict, comparison.
//!
//! The verdict comes last, beside the prompt; after it, only how the second target compares.
//! Without a name it has no title line, for `lab load` prints its own. The page docs/lab/report.md
//! shows this text.
//! Invariant: no line is wider than the style says, from 20 columns on. Only bars whose numbers
//! leave them no room may be wider (`screen`). A section that has nothing to show is left out.
//! Bound: of failures, and of rows left out, eight reasons each are shown, the rest is dropped
//! without a word. Bins are put together where there is less room. Notes are those of the first
//! target only.
//! Charts and tables are drawn by `screen`, figures formatted by its `number`.

use screen::{
    Align, Bar, Bins, Cell, Column, Histogram, Ink, PairedBars, Plot, Style, Table, WIDTH_MIN, cut,
    wrapped,
};
use verdicts::Verdict;

use super::beside::SignalCourse;
use super::sentences::{comparison, line_title, summary};
use super::words::{in_words, named};
use super::{LatencyHistogram, Report};
use screen::number::{count, p, percent, tick, time};

/// Rows of the line plot and of the histogram.
pub(crate) const PLOT_ROWS: usize = 10;
const HISTOGRAM_ROWS: usize = 8;
const SIGNAL_ROWS: usize = 5;
/// Failures and left-out rows that are told one by one.
const REASONS_MAX: usize = 8;

impl Report<'_> {
    /// Returns the report as lines of text.
    pub fn to_text(&self, style: &Style) -> String {
        TextReport { report: self, style }.page()
    }
}

/// A report on its way to a terminal.
pub(super) struct TextReport<'r> {
    pub(super) report: &'r Report<'r>,
    pub(super) style: &'r Style,
}

impl TextReport<'_> {
    fn page(&self) -> String {
        let style = self.style;
        let mut out = self.head();
        let mut section = |title: &str, body: String| push_section(&mut out, title, &body, style);
        section("What happened", self.story());
        section(line_title(self.report), self.line());
        if let Some(drawn) = self.report.drawn_signal() {
            section(&drawn.title(), self.signal(drawn));
        }
        section("Calls by latency", self.histogram());
        section("Quantiles, with 95 % intervals", self.quantiles());
        section("Steps", self.steps());
        section("Steps, slow calls against typical ones", self.step_table());
        section("Attributes, slow calls against typical ones", self.attributes());
        if let Some(beside) = &self.report.beside {
            section("Signals of the host, in slow calls and beside them", beside.table(style));
            if let Some(trace) = &beside.trace {
                section("System calls", trace.to_text(style));
            }
        }
        section("Notes", bullets(self.report.notes.iter().map(String::as_str), style));
        if let Some(versus) = &self.report.versus {
            let second = TextReport { report: &versus.report, style };
            push_section(&mut out, "Second target", &(second.head() + &second.verdicts()), style);
        }
        push_section(&mut out, "Verdict", &(self.verdicts() + &self.difference()), style);
        out
    }

    fn story(&self) -> String {
        let mut out = String::new();
        if let Some(story) = self.report.story() {
            push_wrapped(&mut out, &story, 0, self.style);
        }
        out
    }

    /// What was called, how often, when, and what failed.
    pub(super) fn head(&self) -> String {
        let style = self.style;
        let mut out = String::new();
        if !self.report.name.is_empty() {
            out += &style.paint(Ink::Bold, &cut(self.report.name, style.columns(), style));
            out.push('\n');
        }
        push_wrapped(&mut out, &summary(self.report), 0, style);
        for (reason, number) in self.report.counts.failures.iter().take(REASONS_MAX) {
            push_wrapped(&mut out, &format!("failed: {} × {reason}", count(*number)), 2, style);
        }
        for (reason, number) in self.report.counts.left_out.iter().take(REASONS_MAX) {
            push_wrapped(&mut out, &format!("left out: {} × {reason}", count(*number)), 2, style);
        }
        out
    }

    fn line(&self) -> String {
        let style = self.style;
        let clock = self.report.clock();
        let points = self.report.points(clock);
        let others = self.report.versus.as_ref().map(|versus| versus.report.points(clock));
        let others = others.unwrap_or_default();
        let lines: Vec<&[(f64, f64)]> =
            [&points[..], &others[..]].into_iter().filter(|line| !line.is_empty()).collect();
        let is_log = self.report.histogram.as_ref().is_some_and(|histogram| histogram.log);
        let x = |value: f64| clock.label(value);
        let marks = self.report.changed(clock);
        Plot { lines: &lines, rows: PLOT_ROWS, is_log, marks: &marks, x: &x, y: &tick }
            .render(style)
    }

    /// The signal that goes together with slow calls, under their line.
    fn signal(&self, drawn: &SignalCourse) -> String {
        let clock = self.report.clock();
        let (points, marks) = (drawn.by(clock.unit_ms), self.report.changed(clock));
        let (x, y) = (|at: f64| clock.label(at), |value: f64| drawn.amount(value));
        let plot = Plot {
            lines: &[&points],
            rows: SIGNAL_ROWS,
            is_log: false,
            marks: &marks,
            x: &x,
            y: &y,
        };
        plot.render(self.style)
    }

    fn histogram(&self) -> String {
        let style = self.style;
        let Some(counted) = &self.report.histogram else { return String::new() };
        let bins = bins(counted, Histogram::bins_max(style));
        let marks = self.report.marks();
        Histogram { bins: &bins, rows: HISTOGRAM_ROWS, marks: &marks, x: &tick }.render(style)
    }

    fn quantiles(&self) -> String {
        let style = self.style;
        let mut columns = vec![
            Column::new("", Align::Left),
            Column::new("latency", Align::Right),
            Column::new("from", Align::Right),
            Column::new("to", Align::Right),
        ];
        let other = self.report.versus.as_ref().map(|versus| &versus.report);
        if other.is_some() {
            columns.push(Column::new("second", Align::Right));
        }
        let mut table = Table::new(columns);
        for (at, (name, quantile)) in self.report.quantiles.iter().enumerate() {
            let bound =
                |bound: Option<f64>| Cell::new(bound.map_or_else(|| "-".into(), time), Ink::Faint);
            let [low, high] = quantile.ci_ms;
            let mut row = vec![(*name).into(), time(quantile.ms).into(), bound(low), bound(high)];
            if let Some(other) = other {
                let second =
                    other.quantiles.get(at).map_or_else(|| "-".into(), |(_, q)| time(q.ms));
                row.push(second.into());
            }
            table.push(row);
        }
        if table.is_empty() { String::new() } else { table.render(style) }
    }

    /// Two bars for each step: how likely it is to be slow, and its median time.
    ///
    /// They are those of Stephen Wolfram, "Scientific Bug Hunting in the Cloud" (2015).
    pub(super) fn steps(&self) -> String {
        let style = self.style;
        if self.report.phases.is_empty() {
            return String::new();
        }
        let row = |phase: &super::PhaseSummary| {
            let slowed = Bar { value: phase.slowed, text: percent(phase.slowed) };
            let median = Bar { value: phase.median_ms, text: time(phase.median_ms) };
            (phase.name.clone(), [slowed, median], self.report.is_significant(&phase.name))
        };
        let rows = self.report.phases.iter().map(row).collect();
        PairedBars { titles: ["slow-downs, of calls", "median time"], rows, is_shared: false }
            .render(style)
    }

    pub(super) fn step_table(&self) -> String {
        let style = self.style;
        let mut table = Table::new(vec![
            Column::new("step", Align::Left),
            Column::new("longer by", Align::Right),
            Column::new("from", Align::Right),
            Column::new("to", Align::Right),
            Column::new("of excess", Align::Right),
            Column::new("p99", Align::Right),
        ]);
        let whole: f64 = self.report.shares.iter().map(|share| share.excess_ms).sum();
        for share in &self.report.shares {
            let of_whole =
                if whole > 0.0 { percent(share.excess_ms / whole) } else { "-".to_owned() };
            let p99 = self.report.phases.iter().find(|phase| phase.name == share.step);
            let ink = if self.report.is_significant(&share.step) { Ink::Alarm } else { Ink::Plain };
            table.push(vec![
                Cell::new(&*share.step, ink),
                time(share.excess_ms).into(),
                Cell::new(time(share.ci_ms[0]), Ink::Faint),
                Cell::new(time(share.ci_ms[1]), Ink::Faint),
                of_whole.into(),
                p99.map_or_else(String::new, |phase| time(phase.p99_ms)).into(),
            ]);
        }
        if table.is_empty() { String::new() } else { table.render(style) }
    }

    fn attributes(&self) -> String {
        let style = self.style;
        if self.report.attributes.is_empty() {
            return String::new();
        }
        let row = |found: &verdicts::AttributeVerdict| {
            let slow = Bar {
                value: found.share_slow,
                text: format!("{} ({})", percent(found.share_slow), p(found.p)),
            };
            let typical = Bar { value: found.share_typical, text: percent(found.share_typical) };
            (named(found), [slow, typical], self.report.is_blamed(found))
        };
        let rows = self.report.attributes.iter().map(row).collect();
        PairedBars { titles: ["of slow calls", "of typical calls"], rows, is_shared: true }
            .render(style)
    }

    fn verdicts(&self) -> String {
        verdicts(&self.report.verdicts, self.style)
    }

    fn difference(&self) -> String {
        let style = self.style;
        let mut out = String::new();
        push_wrapped(&mut out, &comparison(self.report).unwrap_or_default(), 2, style);
        if out == "\n" { String::new() } else { out }
    }
}

/// Adds a section, unless it is empty.
pub(crate) fn push_section(out: &mut String, title: &str, body: &str, style: &Style) {
    if !body.is_empty() {
        let title = style.paint(Ink::Bold, &cut(title, style.columns(), style));
        *out += &format!("\n{title}\n{body}");
    }
}

/// Verdicts in words, each with what it stands on.
pub(crate) fn verdicts(verdicts: &[Verdict], style: &Style) -> String {
    let mut out = String::new();
    for verdict in verdicts {
        let words = in_words(verdict);
        let text = format!("{}: {}", words.title, words.sentence);
        let mut lines = wrapped(&text, 2, style);
        // The title alone is coloured, so that wrapping sees no escape sequences.
        if let Some(rest) = lines[0].strip_prefix(&words.title) {
            lines[0] = style.paint(words.ink, &words.title) + rest;
        }
        lines.iter().for_each(|line| {
            out += line;
            out.push('\n');
        });
        words.figures.iter().for_each(|figure| push_bullet(&mut out, figure, style));
    }
    out
}

/// The histogram in at most `count` bins: neighbours together where there is less room.
fn bins(counted: &LatencyHistogram, count: usize) -> Bins {
    let together = counted.counts.len().div_ceil(count.max(1));
    let counts: Vec<u64> =
        counted.counts.chunks(together).map(|chunk| chunk.iter().sum()).collect();
    // The last bin may be made of fewer than the others: it reaches beyond the end then.
    let whole = (counts.len() * together) as f64 / counted.counts.len() as f64;
    let high = if counted.log {
        counted.low_ms * (counted.high_ms / counted.low_ms).powf(whole)
    } else {
        counted.low_ms + (counted.high_ms - counted.low_ms) * whole
    };
    Bins { low: counted.low_ms, high, is_log: counted.log, counts, below: 0, above: 0 }
}

pub(crate) fn bullets<'a>(texts: impl Iterator<Item = &'a str>, style: &Style) -> String {
    let mut out = String::new();
    texts.for_each(|text| push_bullet(&mut out, text, style));
    out
}

fn push_bullet(out: &mut String, text: &str, style: &Style) {
    push_wrapped(out, &format!("- {text}"), 2, style);
}

pub(crate) fn push_wrapped(out: &mut String, text: &str, indent: usize, style: &Style) {
    let indent = if style.columns() < 2 * WIDTH_MIN { indent.min(2) } else { indent };
    for line in wrapped(text, indent, style) {
        *out += &line;
        out.push('\n');
    }
}
