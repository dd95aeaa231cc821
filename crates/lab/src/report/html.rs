//! Renders a report as one HTML page: nothing is loaded from elsewhere, no script runs.
//!
//! Histogram, quantiles, steps and attributes have their figures beside them as a table; the line
//! of calls has none. Light and dark follow the reader's system, and a phone shows it without
//! zooming. A new class needs its rule in `page.css` of `screen`. docs/lab/report.md
//! shows a picture of the page.
//! Invariant: every text that comes from users goes through `escaped` and cannot become markup.
//! What stands between backticks in verdicts and in notes is code.
//! Page and charts are those of `screen`. All reasons of failures are shown; `text.rs` shows eight.
//! Notes are those of the first target only.

use screen::Ink;
use verdicts::{Sorted, Verdict};

use super::Report;
use super::beside::SignalRow as _;
use super::sentences::{comparison, line_title, summary};
use super::words::{in_words, named};
use screen::number::{count, p, percent, time};
use screen::page::{self, figure, folded, table};
use screen::svg::{self, Pair, Title, escaped};

impl Report<'_> {
    /// Returns the report as one self-contained HTML page.
    pub fn to_html(&self) -> String {
        HtmlReport(self).page()
    }
}

/// A report on its way to a page.
pub(super) struct HtmlReport<'r>(pub(super) &'r Report<'r>);

impl HtmlReport<'_> {
    fn page(&self) -> String {
        let name = if self.0.name.is_empty() { "Latencies" } else { self.0.name };
        let mut out = format!("<header>\n<h1>{}</h1>\n", escaped(name));
        out += &format!("<p class=\"faint\">{}</p>\n", escaped(&summary(self.0)));
        out += &self.reasons();
        out += "</header>\n";
        if let Some(story) = self.0.story() {
            let story = with_code(&story);
            out += &format!("<section>\n<h2>What happened</h2>\n<p>{story}</p>\n</section>\n");
        }
        out += "<section>\n<h2>Verdict</h2>\n";
        out += &self.verdicts();
        if let Some(text) = comparison(self.0) {
            out += &format!("<p>{}</p>\n", escaped(&text));
        }
        out += "</section>\n";
        if self.0.counts.calls > 0 {
            out += &self.line();
            out += &self.signal();
            out += &self.histogram();
            out += &self.quantiles();
            out += &self.steps();
            out += &self.attributes();
            out += &self.beside();
        }
        if let Some(versus) = &self.0.versus {
            let (name, summary) = (escaped(versus.report.name), escaped(&summary(&versus.report)));
            out += &format!("<section>\n<h2>Second target: {name}</h2>\n<p>{summary}</p>\n");
            out += &HtmlReport(&versus.report).reasons();
            out += &HtmlReport(&versus.report).verdicts();
            out += "</section>\n";
        }
        out += &notes(self.0.notes);
        out += "<footer>Made by <code>tidegate lab report</code>. Intervals are at 95 %; slow \
                calls are those over ";
        out += &escaped(&time(self.0.slow_over_ms));
        page::whole(&format!("{name} · latency report"), &(out + ".</footer>\n"))
    }

    pub(super) fn reasons(&self) -> String {
        let mut out = String::new();
        for (what, reasons) in
            [("failed", self.0.counts.failures), ("left out", self.0.counts.left_out)]
        {
            for (reason, number) in reasons {
                let (number, reason) = (count(*number), escaped(reason));
                out += &format!("<p class=\"faint\">{what}: {number} × {reason}</p>\n");
            }
        }
        out
    }

    fn verdicts(&self) -> String {
        verdicts(&self.0.verdicts)
    }

    fn line(&self) -> String {
        let clock = self.0.clock();
        let points = self.0.points(clock);
        let others = self.0.versus.as_ref().map(|versus| versus.report.points(clock));
        let others = others.unwrap_or_default();
        let lines: Vec<&[(f64, f64)]> =
            [&points[..], &others[..]].into_iter().filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return String::new();
        }
        let about = "Latency of each call; marks are changes that the verdict names.";
        let title = Title { short: line_title(self.0), about };
        let (marks, x) = (self.0.changed(clock), |at: f64| clock.label(at));
        let drawing = svg::line(title, &lines, &marks, &x, self.is_log());
        figure(line_title(self.0), &drawing, &self.keys())
    }

    /// The signal that goes together with slow calls, under their line.
    fn signal(&self) -> String {
        let Some(drawn) = self.0.drawn_signal() else { return String::new() };
        let clock = self.0.clock();
        let about = "The signal of the host that goes together with most of the slow calls.";
        let name = drawn.title();
        let title = Title { short: &name, about };
        let labels: [&dyn Fn(f64) -> String; 2] =
            [&|at| clock.label(at), &|value| drawn.amount(value)];
        let (points, marks) = (drawn.by(clock.unit_ms), self.0.changed(clock));
        let drawing = svg::course(title, &[&points], &marks, labels, false);
        figure(&name, &drawing, "")
    }

    fn histogram(&self) -> String {
        let Some(counted) = &self.0.histogram else { return String::new() };
        let marks = self.0.marks();
        let title = Title {
            short: "Calls by latency",
            about: "How many calls took how long; marks are teeth or humps that the verdict names.",
        };
        let bins = screen::Bins {
            low: counted.low_ms,
            high: counted.high_ms,
            is_log: counted.log,
            counts: counted.counts.clone(),
            below: 0,
            above: 0,
        };
        let rows = bins.counts.iter().enumerate().filter(|(_, calls)| **calls > 0);
        let rows = rows.map(|(at, calls)| {
            let (low, high) = bins.ends(at);
            (vec![format!("{} to {}", time(low), time(high)), count(*calls)], false)
        });
        let table = table(&["latency", "calls"], rows);
        figure("Calls by latency", &svg::histogram(title, &bins, &marks), &folded(&table))
    }

    fn quantiles(&self) -> String {
        let sorted = Sorted::new(&self.0.series.total_ms);
        let other =
            self.0.versus.as_ref().map(|versus| Sorted::new(&versus.report.series.total_ms));
        let lines: Vec<&[f64]> = std::iter::once(&sorted)
            .chain(&other)
            .map(Sorted::values)
            .filter(|values| !values.is_empty())
            .collect();
        let title = Title {
            short: "Latency by quantile",
            about: "To the right calls become rarer by tenfold steps, and slower.",
        };
        let mut heads = vec!["", "latency", "from", "to"];
        if other.is_some() {
            heads.push("second");
        }
        let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), time);
        let rows = self.0.quantiles.iter().enumerate().map(|(at, (name, quantile))| {
            let [low, high] = quantile.ci_ms;
            let mut row = vec![(*name).to_owned(), time(quantile.ms), bound(low), bound(high)];
            if let Some(versus) = &self.0.versus {
                let second = versus.report.quantiles.get(at);
                row.push(second.map_or_else(|| "–".to_owned(), |(_, second)| time(second.ms)));
            }
            (row, false)
        });
        let drawing = svg::quantiles(title, &lines, self.is_log());
        figure("Latency by quantile", &drawing, &table(&heads, rows))
    }

    pub(super) fn steps(&self) -> String {
        if self.0.phases.is_empty() {
            return String::new();
        }
        let pair = |phase: &super::PhaseSummary| Pair {
            name: phase.name.clone(),
            bars: [(phase.slowed, percent(phase.slowed)), (phase.median_ms, time(phase.median_ms))],
            is_significant: self.0.is_significant(&phase.name),
        };
        let pairs: Vec<Pair> = self.0.phases.iter().map(pair).collect();
        let title = Title {
            short: "Steps",
            about: "Left, the share of calls in which each step was slowed down; right, its median \
                    time. Alike, they say that the cause is outside; one that sticks out on the \
                    left is slow by itself.",
        };
        let heads = ["slow-downs, of calls", "median time"];
        let whole: f64 = self.0.shares.iter().map(|share| share.excess_ms).sum();
        let rows = self.0.shares.iter().map(|share| {
            let part = if whole > 0.0 { percent(share.excess_ms / whole) } else { "–".into() };
            let p99 = self.0.phases.iter().find(|phase| phase.name == share.step);
            let row = vec![
                share.step.clone(),
                time(share.excess_ms),
                time(share.ci_ms[0]),
                time(share.ci_ms[1]),
                part,
                p99.map_or_else(String::new, |phase| time(phase.p99_ms)),
            ];
            (row, self.0.is_significant(&share.step))
        });
        let heads_below =
            ["slow calls against typical", "longer by", "from", "to", "of excess", "p99"];
        let about = format!("<p class=\"faint\">{}</p>", escaped(title.about));
        figure(
            "Steps",
            &svg::pairs(title, heads, &pairs, false),
            &(about + &table(&heads_below, rows)),
        )
    }

    fn attributes(&self) -> String {
        if self.0.attributes.is_empty() {
            return String::new();
        }
        let pair = |found: &verdicts::AttributeVerdict| Pair {
            name: named(found),
            bars: [
                (found.share_slow, percent(found.share_slow)),
                (found.share_typical, percent(found.share_typical)),
            ],
            is_significant: self.0.is_blamed(found),
        };
        let pairs: Vec<Pair> = self.0.attributes.iter().map(pair).collect();
        let title = Title {
            short: "Attributes",
            about: "The share of slow calls that have each value, beside that of typical calls.",
        };
        let rows = self.0.attributes.iter().map(|found| {
            let points = |share: f64| format!("{:+.0}", share * 100.0);
            let row = vec![
                named(found),
                percent(found.share_slow),
                percent(found.share_typical),
                format!("{} to {}", points(found.ci[0]), points(found.ci[1])),
                p(found.p),
            ];
            (row, self.0.is_blamed(found))
        });
        let heads = ["", "slow", "typical", "points more", "by chance"];
        let drawing = svg::pairs(title, ["of slow calls", "of typical calls"], &pairs, true);
        figure("Attributes", &drawing, &folded(&table(&heads, rows)))
    }

    /// The signals of the host, and what a trace shows.
    fn beside(&self) -> String {
        let Some(beside) = &self.0.beside else { return String::new() };
        let mut out = String::new();
        if !beside.signals.is_empty() {
            let heads = ["signal", "slow", "typical", "explains", "95 %", "lag", "p"];
            let rows = beside.signals.iter().map(|look| (look.row(), look.is_significant()));
            let table = table(&heads, rows);
            out += &format!("<section>\n<h2>Signals of the host</h2>\n{table}</section>\n");
        }
        if let Some(trace) = &beside.trace {
            out += "<section>\n<h2>System calls</h2>\n";
            out += &trace.to_fragment();
            out += "</section>\n";
        }
        out
    }

    /// Which line is which, where there are two.
    fn keys(&self) -> String {
        let versus = self.0.versus.as_ref();
        versus.map_or_else(String::new, |versus| keys(self.0.name, versus.report.name))
    }

    fn is_log(&self) -> bool {
        self.0.histogram.as_ref().is_some_and(|histogram| histogram.log)
    }
}

/// Says which of two lines is which.
pub(crate) fn keys(first: &str, second: &str) -> String {
    let (first, second) = (escaped(first), escaped(second));
    format!(
        "<p class=\"faint\"><span class=\"key\"></span>{first} \
         <span class=\"key second\"></span>{second}</p>"
    )
}

/// Verdicts in words, each with what it stands on.
pub(crate) fn verdicts(verdicts: &[Verdict]) -> String {
    let mut out = String::new();
    for verdict in verdicts {
        let words = in_words(verdict);
        let class = match words.ink {
            Ink::Alarm => "verdict alarm",
            Ink::Fine => "verdict fine",
            _ => "verdict",
        };
        let (title, sentence) = (escaped(&words.title), with_code(&words.sentence));
        out += &format!("<div class=\"{class}\"><p><strong>{title}.</strong> {sentence}</p>");
        if !words.figures.is_empty() {
            let items =
                words.figures.iter().map(|figure| format!("<li>{}</li>", with_code(figure)));
            out += &format!("<ul>{}</ul>", items.collect::<String>());
        }
        out += "</div>\n";
    }
    out
}

/// Notes as a section; nothing without any.
pub(crate) fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items = notes.iter().map(|note| format!("<li>{}</li>\n", with_code(note)));
    format!("<section>\n<h2>Notes</h2>\n<ul>\n{}</ul>\n</section>\n", items.collect::<String>())
}

/// Text of which what stands between backticks is code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    });
    parts.collect()
}

#[cfg(test)]
mod tests;
