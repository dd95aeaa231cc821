//! Writes results of benchmarks: hyperfine's JSON and CSV, and tables in Markdown, AsciiDoc and
//! org.
//!
//! Also computes how many times as long one command takes as another, for tables and `text.rs`.
//! Both know the reference by its address: it has to be one of the results themselves.
//! Invariant: names and order of columns are hyperfine's 1.20, for scripts read them. Keys of the
//! JSON are the fields of `BenchResult` (`outcome.rs`), and `import/generators/hyperfine.rs` reads
//! it back. A new field appears in the JSON alone.
//! Times in JSON and CSV are seconds, whatever unit is shown; memory is bytes, in JSON only. The
//! columns of parameters in CSV are named by the first result. An absent deviation is 0 in CSV,
//! null in JSON.
//! Never here: files; callers write the text that is returned.

use serde::Serialize;

use super::{BenchResult, TimeUnit};
use crate::LabError;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFile {
    /// hyperfine's JSON: everything.
    Json,
    /// hyperfine's CSV: a line for each command.
    Csv,
    /// A table.
    Markup(Markup),
}

/// A language of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Markdown.
    Markdown,
    /// AsciiDoc.
    Asciidoc,
    /// Emacs org-mode.
    Org,
}

#[derive(Serialize)]
struct Results<'a> {
    results: &'a [&'a BenchResult],
}

/// Returns hyperfine's JSON.
///
/// # Errors
/// When a number is not finite, which no run gives.
pub fn to_json(results: &[&BenchResult]) -> Result<String, LabError> {
    let text = serde_json::to_string_pretty(&Results { results });
    text.map(|text| text + "\n").map_err(|error| LabError::Input(error.to_string()))
}

/// Returns hyperfine's CSV.
pub fn to_csv(results: &[&BenchResult]) -> String {
    let mut out = "command,mean,stddev,median,user,system,min,max".to_owned();
    for name in results.iter().take(1).flat_map(|first| first.parameters.keys()) {
        out += &format!(",{}", quoted(&format!("parameter_{name}")));
    }
    out.push('\n');
    for result in results {
        out += &quoted(&result.command);
        let stddev = result.stddev.unwrap_or(0.0);
        let BenchResult { mean, median, user, system, min, max, .. } = result;
        for number in [*mean, stddev, *median, *user, *system, *min, *max] {
            out += &format!(",{number}");
        }
        for value in result.parameters.values() {
            out += &format!(",{}", quoted(value));
        }
        out.push('\n');
    }
    out
}

/// Returns a table: mean, fastest, slowest, and how many times as long as the reference.
pub fn to_markup(
    results: &[&BenchResult],
    reference: &BenchResult,
    markup: Markup,
    unit: Option<TimeUnit>,
) -> String {
    let unit = unit.unwrap_or_else(|| TimeUnit::of(results.first().map_or(0.0, |one| one.mean)));
    let sign = unit.sign();
    let titles = ["Command".to_owned()]
        .into_iter()
        .chain(["Mean", "Min", "Max"].map(|title| format!("{title} [{sign}]")))
        .chain(["Relative".to_owned()]);
    let mut out = markup.head(&titles.collect::<Vec<_>>());
    for result in results {
        let deviation = match result.stddev {
            Some(deviation) => format!(" ± {}", unit.number(deviation)),
            None => String::new(),
        };
        let (ratio, spread) = result.times_as_long_as(reference);
        let relative = match spread.filter(|_| !std::ptr::eq(*result, reference)) {
            Some(spread) => format!("{ratio:.2} ± {spread:.2}"),
            None => format!("{ratio:.2}"),
        };
        out += &markup.row(&[
            markup.command(&result.title),
            format!("{}{deviation}", unit.number(result.mean)),
            unit.number(result.min),
            unit.number(result.max),
            relative,
        ]);
    }
    out + markup.foot()
}

impl BenchResult {
    /// Returns how many times as long this takes in the mean, and the standard deviation of that by
    /// propagation of both, taken as independent.
    pub fn times_as_long_as(&self, reference: &Self) -> (f64, Option<f64>) {
        let ratio = self.mean / reference.mean;
        let relative = |one: &Self| one.stddev.map(|deviation| (deviation / one.mean).powi(2));
        let spread = relative(self).zip(relative(reference)).map(|(a, b)| ratio * (a + b).sqrt());
        (ratio, spread.filter(|spread| spread.is_finite()))
    }
}

impl Markup {
    fn head(self, titles: &[String]) -> String {
        match self {
            Self::Markdown => self.row(titles) + "|:---|---:|---:|---:|---:|\n",
            Self::Asciidoc => {
                format!("[cols=\"<,>,>,>,>\"]\n|===\n{}\n", self.row(titles).trim_end()) + "\n"
            }
            Self::Org => self.row(titles) + "|--+--+--+--+--|\n",
        }
    }

    fn row(self, cells: &[String]) -> String {
        match self {
            Self::Markdown => format!("| {} |\n", cells.join(" | ")),
            Self::Org => format!("| {}  |\n", cells.join("  |  ")),
            Self::Asciidoc => cells.iter().map(|cell| format!("| {cell}\n")).collect(),
        }
    }

    fn command(self, text: &str) -> String {
        let text = text.replace('|', "\\|");
        match self {
            Self::Markdown | Self::Asciidoc => format!("`{text}`"),
            Self::Org => format!("={text}="),
        }
    }

    fn foot(self) -> &'static str {
        if self == Self::Asciidoc { "|===\n" } else { "" }
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
