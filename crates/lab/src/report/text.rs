//! A report for the terminal: line plot, histogram, quantiles, steps, attributes, and last, beside
//! the prompt, the verdict in words.
//!
//! Invariant: no line is wider than the style says, from 20 columns on.

use screen::{
    Align, Bar, Bins, Cell, Column, Histogram, Ink, PairedBars, Plot, Style, Table, WIDTH_MIN, cut,
    wrapped,
};

use super::number::{count, of, p, percent, tick, time};
use super::words::{in_words, named};
use super::{LatencyHistogram, Report};

/// Rows of the line plot and of the histogram.
const PLOT_ROWS: usize = 10;
const HISTOGRAM_ROWS: usize = 8;
/// Failures and left-out rows that are told one by one.
const REASONS_MAX: usize = 8;

impl Report<'_> {
    /// Returns the report as lines of text.
    pub fn to_text(&self, style: &Style) -> String {
        let mut out = self.head(style);
        let heading = |title: &str| {
            format!("\n{}\n", style.paint(Ink::Bold, &cut(title, style.columns(), style)))
        };
        let mut section = |title: &str, body: String| {
            if !body.is_empty() {
                out += &heading(title);
                out += &body;
            }
        };
        section(self.line_title(), self.line(style));
        section("Calls by latency", self.histogram(style));
        section("Quantiles, with 95 % intervals", self.quantiles(style));
        section("Steps", self.steps(style));
        section("Steps, slow calls against typical ones", self.step_table(style));
        section("Attributes, slow calls against typical ones", self.attributes(style));
        section("Notes", bullets(self.notes.iter().map(String::as_str), style));
        if let Some(versus) = &self.versus {
            out += &heading("Second target");
            out += &versus.report.head(style);
            out += &versus.report.verdicts(style);
        }
        out += &heading("Verdict");
        out + &self.verdicts(style) + &self.difference(style)
    }

    /// What was called, how often, when, and what failed.
    fn head(&self, style: &Style) -> String {
        let mut out = String::new();
        if !self.name.is_empty() {
            out += &style.paint(Ink::Bold, &cut(self.name, style.columns(), style));
            out.push('\n');
        }
        push_wrapped(&mut out, &self.summary(), 0, style);
        for (reason, number) in self.failures.iter().take(REASONS_MAX) {
            push_wrapped(&mut out, &format!("failed: {} × {reason}", count(*number)), 2, style);
        }
        for (reason, number) in self.left_out.iter().take(REASONS_MAX) {
            push_wrapped(&mut out, &format!("left out: {} × {reason}", count(*number)), 2, style);
        }
        out
    }

    /// One sentence of what was measured.
    pub(super) fn summary(&self) -> String {
        let mut text = of(self.calls, "call", "calls");
        if let Some(span) = self.span_ms {
            text += &format!(" in {}", time(span));
        }
        if let Some(began) = self.began_unix_ms {
            let mut at = Vec::new();
            exchange::write_rfc3339((began.max(0.0) * 1000.0) as u64, &mut at);
            text += &format!(" from {}", String::from_utf8_lossy(&at));
        }
        if self.failed > 0 {
            text += &format!(", {} failed", count(self.failed));
        }
        let left_out: u64 = self.left_out.values().sum();
        if left_out > 0 {
            text += &format!(", {} left out", of(left_out, "row", "rows"));
        }
        if let Some(moments) = self.moments {
            let (min, mean, max) =
                (time(moments.min_ms), time(moments.mean_ms), time(moments.max_ms));
            text += &format!("; least {min}, mean {mean}, most {max}");
        }
        text + "."
    }

    pub(super) fn line_title(&self) -> &'static str {
        if self.has_times() { "Calls over time" } else { "Calls in their order" }
    }

    fn line(&self, style: &Style) -> String {
        let clock = self.clock();
        let points = self.points(clock);
        let others = self.versus.as_ref().map(|versus| versus.report.points(clock));
        let others = others.unwrap_or_default();
        let lines: Vec<&[(f64, f64)]> =
            [&points[..], &others[..]].into_iter().filter(|line| !line.is_empty()).collect();
        let is_log = self.histogram.as_ref().is_some_and(|histogram| histogram.log);
        let x = |value: f64| clock.label(value);
        Plot { lines: &lines, rows: PLOT_ROWS, is_log, x: &x, y: &tick }.render(style)
    }

    fn histogram(&self, style: &Style) -> String {
        let Some(counted) = &self.histogram else { return String::new() };
        let bins = bins(counted, Histogram::bins_max(style));
        let marks = self.marks();
        Histogram { bins: &bins, rows: HISTOGRAM_ROWS, marks: &marks, x: &tick }.render(style)
    }

    fn quantiles(&self, style: &Style) -> String {
        let mut columns = vec![
            Column::new("", Align::Left),
            Column::new("latency", Align::Right),
            Column::new("from", Align::Right),
            Column::new("to", Align::Right),
        ];
        let other = self.versus.as_ref().map(|versus| &versus.report);
        if other.is_some() {
            columns.push(Column::new("second", Align::Right));
        }
        let mut table = Table::new(columns);
        for (at, (name, quantile)) in self.quantiles.iter().enumerate() {
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

    /// Source document 002's two bars: probability of a slow-down, median time.
    fn steps(&self, style: &Style) -> String {
        if self.phases.is_empty() {
            return String::new();
        }
        let row = |phase: &super::PhaseSummary| {
            let slowed = Bar { value: phase.slowed, text: percent(phase.slowed) };
            let median = Bar { value: phase.median_ms, text: time(phase.median_ms) };
            (phase.name.clone(), [slowed, median], self.is_significant(&phase.name))
        };
        let rows = self.phases.iter().map(row).collect();
        PairedBars { titles: ["slow-downs, of calls", "median time"], rows, is_shared: false }
            .render(style)
    }

    fn step_table(&self, style: &Style) -> String {
        let mut table = Table::new(vec![
            Column::new("step", Align::Left),
            Column::new("longer by", Align::Right),
            Column::new("from", Align::Right),
            Column::new("to", Align::Right),
            Column::new("of excess", Align::Right),
            Column::new("p99", Align::Right),
        ]);
        let whole: f64 = self.shares.iter().map(|share| share.excess_ms).sum();
        for share in &self.shares {
            let of_whole =
                if whole > 0.0 { percent(share.excess_ms / whole) } else { "-".to_owned() };
            let p99 = self.phases.iter().find(|phase| phase.name == share.step);
            let ink = if self.is_significant(&share.step) { Ink::Alarm } else { Ink::Plain };
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

    fn attributes(&self, style: &Style) -> String {
        if self.attributes.is_empty() {
            return String::new();
        }
        let row = |found: &verdicts::AttributeVerdict| {
            let slow = Bar {
                value: found.share_slow,
                text: format!("{} ({})", percent(found.share_slow), p(found.p)),
            };
            let typical = Bar { value: found.share_typical, text: percent(found.share_typical) };
            (named(found), [slow, typical], self.is_blamed(found))
        };
        let rows = self.attributes.iter().map(row).collect();
        PairedBars { titles: ["of slow calls", "of typical calls"], rows, is_shared: true }
            .render(style)
    }

    fn verdicts(&self, style: &Style) -> String {
        let mut out = String::new();
        for verdict in &self.verdicts {
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

    fn difference(&self, style: &Style) -> String {
        let mut out = String::new();
        push_wrapped(&mut out, &self.comparison().unwrap_or_default(), 2, style);
        if out == "\n" { String::new() } else { out }
    }

    /// How the second target compares, in a sentence.
    pub(super) fn comparison(&self) -> Option<String> {
        let versus = self.versus.as_ref()?;
        let Some(found) = &versus.difference else {
            return Some("second target: nothing to compare.".to_owned());
        };
        // By how much it is faster is told as a positive time, and so are the ends of that.
        let is_faster = found.shift_ms < 0.0;
        let shift = found.shift_ci_ms.map_or_else(String::new, |[low, high]| {
            let [low, high] = if is_faster { [-high, -low] } else { [low, high] };
            format!(" (95 % {} to {})", time(low), time(high))
        });
        let slower = if is_faster { "faster" } else { "slower" };
        let how = if versus.paired { "call by call" } else { "as two samples" };
        let (by, test) = (time(found.shift_ms.abs()), &found.test);
        Some(format!("second target: {by} {slower} {how}{shift}, {} ({test}).", p(found.p)))
    }

    /// Whether a verdict blames this value.
    pub(super) fn is_blamed(&self, found: &verdicts::AttributeVerdict) -> bool {
        self.verdicts.iter().any(
            |verdict| matches!(verdict, verdicts::Verdict::Attribute(blamed) if blamed == found),
        )
    }
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

fn bullets<'a>(texts: impl Iterator<Item = &'a str>, style: &Style) -> String {
    let mut out = String::new();
    texts.for_each(|text| push_bullet(&mut out, text, style));
    out
}

fn push_bullet(out: &mut String, text: &str, style: &Style) {
    push_wrapped(out, &format!("- {text}"), 2, style);
}

fn push_wrapped(out: &mut String, text: &str, indent: usize, style: &Style) {
    let indent = if style.columns() < 2 * WIDTH_MIN { indent.min(2) } else { indent };
    for line in wrapped(text, indent, style) {
        *out += &line;
        out.push('\n');
    }
}
