//! Renders what was seen as one HTML page: counts, tables, latencies by route, and over time.
//!
//! Invariants: nothing is loaded from elsewhere, and no script runs (`screen::page`). Text of a
//! source is escaped twice: control characters as on a terminal, then markup.
//! Bounds: [`ROWS_MAX`] rows of a table and [`HISTOGRAMS_MAX`] histograms; the page says what it
//! leaves out.

use screen::Bins;
use screen::number::{count, of, percent, tick, time};
use screen::page::{self, figure, folded, table};
use screen::svg::{self, Title, escaped};

use crate::limits::WatchCounts;
use crate::tally::{Dimension, ExchangeTally, Row, bin_low_us, date};

const ROWS_MAX: usize = 50;
const HISTOGRAMS_MAX: usize = 12;
/// Bins of a histogram.
const BINS: usize = 60;
/// Columns of the heat map.
const COLUMNS: usize = 120;
/// The shortest latency that is drawn, in milliseconds.
const SHORTEST_MS: f64 = 0.001;

const HEADS: [&str; 7] = ["count", "share", "errors", "p50", "p90", "p99", "bytes"];

/// What a page says of itself.
#[derive(Debug, Clone, Copy)]
pub struct ReportAbout<'a> {
    /// What was read.
    pub source: &'a str,
    /// Filters and queries; empty where all was shown.
    pub selected: &'a str,
    /// What was read of it.
    pub counts: &'a WatchCounts,
    /// Exchanges that came too fast.
    pub dropped: u64,
}

impl ExchangeTally {
    /// Returns a page about what was seen. What is dropped is in none of it.
    pub fn to_html(&self, about: &ReportAbout<'_>) -> String {
        let ReportAbout { source, selected, counts, dropped } = *about;
        let mut out = format!("<header>\n<h1>Traffic of {}</h1>\n", escaped(source));
        let mut say = |text: &str| out += &format!("<p class=\"faint\">{}</p>\n", escaped(text));
        if let Some((first, last)) = self.span_us() {
            say(&format!("{} to {} UTC", date(first), date(last)));
        }
        if !selected.is_empty() {
            say(&format!("only what satisfies {selected}"));
        }
        let exchanges = of(self.exchanges(), "exchange", "exchanges");
        let (lines, requests) = (count(counts.lines), count(counts.requests));
        say(&format!("{exchanges} of {requests} requests in {lines} lines"));
        if dropped > 0 {
            say(&format!("{} not counted, for they came too fast", count(dropped)));
        }
        let unused = counts.to_string();
        if !unused.is_empty() {
            say(&format!("not used: {unused}"));
        }
        out += "</header>\n";
        out += &self.over_time();
        out += &self.latencies();
        for dimension in Dimension::ALL {
            out += &self.by(dimension);
        }
        out += "<footer>Made by <code>tidegate traffic --report</code>. Errors are answers with \
                500 or more; quantiles are within 1 %.</footer>\n";
        page::whole(&format!("Traffic of {source}"), &out)
    }

    fn by(&self, dimension: Dimension) -> String {
        let rows = self.table(dimension).rows();
        let name = dimension.name();
        let mut heads = vec![name];
        heads.extend(HEADS);
        let all = self.exchanges();
        let cells = rows.iter().take(ROWS_MAX).map(|(key, row)| {
            let mut cells = vec![key.clone()];
            cells.extend(figures(row, all));
            (cells, row.errors > 0)
        });
        let table = table(&heads, cells);
        let rest = rows.len().saturating_sub(ROWS_MAX);
        let rest = match rest {
            0 => String::new(),
            _ => format!("<p class=\"faint\">{} more</p>\n", count(rest as u64)),
        };
        format!("<section>\n<h2>By {name}</h2>\n{table}{rest}</section>\n")
    }

    /// A histogram for each of the most frequent routes.
    fn latencies(&self) -> String {
        let routes = self.table(Dimension::Route).rows();
        let mut out = histogram("all exchanges", self.all());
        if routes.len() > 1 {
            let drawn = routes.iter().take(HISTOGRAMS_MAX);
            out.extend(drawn.map(|(name, row)| histogram(name, row)));
        }
        let rest = routes.len().saturating_sub(HISTOGRAMS_MAX);
        if rest > 0 {
            out += &format!(
                "<p class=\"faint\">{} not drawn</p>\n",
                of(rest as u64, "route", "routes")
            );
        }
        out
    }

    fn over_time(&self) -> String {
        let drawn = self.heat_map().columns(COLUMNS);
        let columns: Vec<Vec<u64>> = drawn.columns.iter().map(|column| column.to_vec()).collect();
        let title = Title {
            short: "Latency over time",
            about: "How many exchanges took how long, and when; the darker, the more.",
        };
        let x = |at: usize| {
            let begin = drawn.begin_us.saturating_add(drawn.span_us.saturating_mul(at as u64));
            date(begin).split(' ').next_back().unwrap_or_default().to_owned()
        };
        let y = |bin: usize| tick(bin_low_us(bin) / 1000.0);
        let drawing = svg::heat_map(title, &columns, &x, &y);
        if drawing.is_empty() {
            return String::new();
        }
        let span = time(drawn.span_us as f64 / 1000.0);
        let below = format!("<p class=\"faint\">A column is {}.</p>", escaped(&span));
        figure(title.short, &drawing, &below)
    }
}

fn figures(row: &Row, all: u64) -> [String; 7] {
    let share = if all > 0 { row.count as f64 / all as f64 } else { 0.0 };
    let quantile = |q| row.quantile_ms(q).map_or_else(|| "–".to_owned(), time);
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(quantile);
    [count(row.count), percent(share), count(row.errors), p50, p90, p99, count(row.bytes_out)]
}

fn histogram(name: &str, row: &Row) -> String {
    let Some((low, high)) = row.quantile_ms(0.0).zip(row.quantile_ms(1.0)) else {
        return String::new();
    };
    let (low, high) = (low.max(SHORTEST_MS), high.max(SHORTEST_MS));
    let values = row.latencies.values().map(|(us, count)| ((us / 1000.0).clamp(low, high), count));
    let bins = Bins::weighted(values, BINS, (low, high), true);
    let quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];
    let marks: Vec<f64> = quantiles.iter().filter_map(|(_, q)| row.quantile_ms(*q)).collect();
    let short = format!("Latency of {name}");
    let title = Title {
        short: &short,
        about: "How many exchanges took how long; marks are p50, p90 and p99.",
    };
    let figures =
        quantiles.iter().zip(&marks).map(|((name, _), ms)| format!("{name} {}", time(*ms)));
    let figures = figures.collect::<Vec<String>>().join(", ");
    let rows = bins.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(at, met)| {
        let (from, to) = bins.ends(at);
        (vec![format!("{} to {}", time(from), time(to)), count(*met)], false)
    });
    let table = folded(&table(&["latency", "exchanges"], rows));
    let below = format!("<p class=\"faint\">{}</p>\n{table}", escaped(&figures));
    figure(&short, &svg::histogram(title, &bins, &marks), &below)
}

#[cfg(test)]
mod tests;
