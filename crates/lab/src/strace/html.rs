//! Draws a report of a trace as one page of HTML: sentences, latencies of calls, tables.
//!
//! Invariant: nothing is loaded from elsewhere, and no script runs (`screen::page`).

use screen::Bins;
use screen::number::{count, percent, tick, time};
use screen::page::{self, figure, table};
use screen::svg::{self, Title, escaped};

use super::report::StraceReport;
use super::text::peaks;

const FOOTER: &str =
    "<footer>Made by <code>tidegate lab strace</code>. Latencies are within 3 %.</footer>\n";
const ROWS_MAX: usize = 100;
const DRAWN_MAX: usize = 8;
const BINS: usize = 80;
const SHORTEST_MS: f64 = 0.001;

impl StraceReport {
    /// Returns the report as a page; `source` is what was read.
    pub fn to_html(&self, source: &str) -> String {
        let mut out =
            format!("<header>\n<h1>System calls of {}</h1>\n</header>\n", escaped(source));
        out += &self.to_fragment();
        out += FOOTER;
        page::whole(&format!("System calls of {source}"), &out)
    }

    /// Returns what a page shows of the trace, to be put into another page.
    pub fn to_fragment(&self) -> String {
        TracePage(self).drawn()
    }
}

/// A report that is drawn.
struct TracePage<'r>(&'r StraceReport);

impl TracePage<'_> {
    fn drawn(&self) -> String {
        let mut out = String::new();
        for finding in self.0.findings() {
            out += &format!("<p>{}</p>\n", escaped(&finding));
        }
        let unused = self.0.counts.to_string();
        if !unused.is_empty() {
            out += &format!("<p class=\"faint\">not used: {}</p>\n", escaped(&unused));
        }
        let ms = |seconds: f64| time(seconds * 1000.0);
        let rows = self.0.on_path.iter().take(ROWS_MAX).map(|it| {
            let texts = [it.call.clone(), it.target.clone(), count(it.calls)];
            (texts.into_iter().chain([ms(it.total_s), percent(it.share)]).collect(), false)
        });
        section(
            &mut out,
            "What requests waited for",
            &["call", "target", "calls", "total", "share"],
            rows,
        );
        out += &self.latencies();
        let rows = self.0.syscalls.iter().take(ROWS_MAX).map(|it| {
            let ms = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), time);
            let total = ms(it.total_s.map(|s| s * 1000.0));
            let figures = [total, ms(it.p50_ms), ms(it.p99_ms), ms(it.max_ms), peaks(it)];
            ([it.name.clone(), count(it.calls)].into_iter().chain(figures).collect(), false)
        });
        let heads = ["call", "calls", "total", "p50", "p99", "max", "peaks"];
        section(&mut out, "System calls", &heads, rows);
        let rows = self.0.waits.iter().take(ROWS_MAX).map(|it| {
            let texts = vec![
                it.call.clone(),
                time(it.timeout_ms),
                count(it.calls),
                count(it.ran_out),
                count(it.threads),
                ms(it.idle_s),
                ms(it.on_path_s),
            ];
            (texts, it.on_path_s > 0.0)
        });
        let heads = ["call", "timeout", "waits", "ran out", "threads", "idle", "on path"];
        section(&mut out, "Waits with a timeout", &heads, rows);
        let rows = self.0.files.iter().take(ROWS_MAX).map(|it| {
            let numbers = [it.opens, it.reads, it.writes, it.bytes_written, it.syncs, it.renames];
            let numbers = numbers.map(count);
            let path = [it.path.clone()].into_iter().chain(numbers);
            (path.chain([ms(it.on_path_s)]).collect(), false)
        });
        let heads =
            ["file", "opens", "reads", "writes", "bytes written", "syncs", "renames", "on path"];
        section(&mut out, "Files", &heads, rows);
        let rows = self.0.children.iter().take(ROWS_MAX).map(|it| {
            let each = ms(it.lived_s / it.count.max(1) as f64);
            let texts = vec![
                it.parent.clone(),
                it.command.clone(),
                count(it.count),
                count(it.of_requests),
                each,
            ];
            (texts, it.of_requests > 0)
        });
        let heads = ["parent", "command", "count", "of requests", "each lived"];
        section(&mut out, "Children", &heads, rows);
        out
    }

    /// Latencies of the calls that took the most time.
    fn latencies(&self) -> String {
        let mut out = String::new();
        for (it, bins) in self.0.syscalls.iter().zip(&self.0.bins).take(DRAWN_MAX) {
            let values: Vec<(f64, u64)> =
                bins.values().map(|(ms, count)| (ms.max(SHORTEST_MS), count)).collect();
            let Some((low, high)) = values.first().zip(values.last()) else { continue };
            let (low, high) = (low.0, high.0.max(low.0 * 1.1));
            let drawn = Bins::weighted(values.into_iter(), BINS, (low, high), true);
            let short = format!("Latency of {}", it.name);
            let title = Title { short: &short, about: "How many calls took how long." };
            let marks: Vec<f64> = it.peaks.iter().take(3).map(|peak| peak.ms).collect();
            let places: Vec<String> =
                it.peaks.iter().take(3).map(|peak| format!("{} ms", tick(peak.ms))).collect();
            let below = match places.is_empty() {
                true => String::new(),
                false => {
                    format!("<p class=\"faint\">peaks at {}</p>\n", escaped(&places.join(", ")))
                }
            };
            out += &figure(&short, &svg::histogram(title, &drawn, &marks), &below);
        }
        out
    }
}

fn section(
    out: &mut String,
    title: &str,
    heads: &[&str],
    rows: impl Iterator<Item = (Vec<String>, bool)>,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_some() {
        *out += &format!("<section>\n<h2>{title}</h2>\n{}</section>\n", table(heads, rows));
    }
}
