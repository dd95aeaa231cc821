//! Prints benchmarks as text: hyperfine's lines, then quantiles, peak memory, totals as `time`
//! prints them, verdicts, warnings.
//!
//! Also the summary of several commands, and the paired difference of two, both with the verdict on
//! the change. The page
//! docs/lab/bench.md shows this text, and tests of the binary look for parts of it. Options that
//! warnings name (`-N`, `--warmup`, `--prepare`) are declared in the binary, `cli/lab/bench.rs`.
//! Invariant: no line is wider than the style says, from 20 columns on. A quantile is shown only
//! where a run lies beyond it. `summary` shows no ratio where a mean is 0. Verdicts are those of a
//! [`Report`] with default options, each as title and sentence, without its figures.
//! Figures are computed in `outcome.rs` and `export.rs`. [`TimeUnit`] is for texts and for the
//! tables of `export.rs`; JSON and CSV have seconds.

use screen::{Ink, Style, wrapped};
use verdicts::{Difference, RelativeChange, Sorted, paired};

use super::outcome::{BenchResult, OUTLIER, Warning};
use crate::report::change_sentences;
use crate::{Report, ReportOptions, in_words};

/// A unit of time to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// µs
    Microsecond,
    /// ms
    Millisecond,
    /// s
    Second,
}

impl TimeUnit {
    /// Returns the unit in which a time reads best.
    pub fn of(seconds: f64) -> Self {
        match seconds {
            _ if seconds < 0.001 => Self::Microsecond,
            _ if seconds < 1.0 => Self::Millisecond,
            _ => Self::Second,
        }
    }

    /// Returns its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Microsecond => "µs",
            Self::Millisecond => "ms",
            Self::Second => "s",
        }
    }

    /// Returns the number of a time in this unit.
    pub fn number(self, seconds: f64) -> String {
        match self {
            Self::Microsecond => format!("{:.1}", seconds * 1e6),
            Self::Millisecond => format!("{:.1}", seconds * 1e3),
            Self::Second => format!("{seconds:.3}"),
        }
    }

    fn text(self, seconds: f64) -> String {
        format!("{} {}", self.number(seconds), self.sign())
    }
}

/// Returns what is said of one command.
pub fn text(number: usize, benched: &BenchResult, unit: Option<TimeUnit>, style: &Style) -> String {
    let unit = unit.unwrap_or_else(|| TimeUnit::of(benched.mean));
    let mut out = String::new();
    let mut line = |text: &str, ink: Ink| out += &indented(text, ink, style);
    line(&format!("Benchmark {number}: {}", benched.title), Ink::Bold);
    let (user, system) = (unit.text(benched.user), unit.text(benched.system));
    let runs = benched.times.len();
    match benched.stddev {
        None => line(
            &format!(
                "  Time (abs ≡): {} [User: {user}, System: {system}]",
                unit.text(benched.mean)
            ),
            Ink::Plain,
        ),
        Some(deviation) => {
            let (mean, deviation) = (unit.text(benched.mean), unit.text(deviation));
            let times =
                format!("  Time (mean ± σ): {mean} ± {deviation} [User: {user}, System: {system}]");
            line(&times, Ink::First);
            let (min, max) = (unit.text(benched.min), unit.text(benched.max));
            line(&format!("  Range (min … max): {min} … {max}, {runs} runs"), Ink::Plain);
            line(&quantiles(benched, unit), Ink::Plain);
        }
    }
    line(&peak(benched), Ink::Plain);
    line(&totals(benched), Ink::Plain);
    for words in verdicts(benched) {
        line(&words, Ink::Plain);
    }
    for warning in &benched.warnings {
        line(&format!("  Warning: {warning}"), Ink::Second);
    }
    out
}

/// Returns the comparison of several commands with the reference, each a line.
pub fn summary(
    results: &[&BenchResult],
    reference: &BenchResult,
    is_by_time: bool,
    style: &Style,
) -> String {
    let mut order: Vec<&BenchResult> = results.to_vec();
    if is_by_time {
        order.sort_by(|one, other| one.mean.total_cmp(&other.mean));
    }
    let mut out = style.paint(Ink::Bold, "Summary") + "\n";
    let mut line = |text: &str| out += &indented(text, Ink::Plain, style);
    if results.iter().any(|one| one.mean == 0.0) {
        line("  no comparison: of some commands nothing is left after the shell's start; try -N");
        return out;
    }
    line(&format!("  {} ran", reference.title));
    for other in order.into_iter().filter(|other| !std::ptr::eq(*other, reference)) {
        let ((ratio, spread), words) = match other.mean < reference.mean {
            true => (reference.times_as_long_as(other), "slower"),
            false => (other.times_as_long_as(reference), "faster"),
        };
        let spread = spread.map_or(String::new(), |spread| format!(" ± {spread:.2}"));
        line(&format!("    {ratio:.2}{spread} times {words} than {}", other.title));
        for text in changes(reference, other, false) {
            line(&format!("      {text}"));
        }
    }
    out
}

/// Returns how much slower the second command is, by runs made in turns.
pub fn versus(first: &BenchResult, second: &BenchResult, style: &Style) -> String {
    let milliseconds =
        |one: &BenchResult| one.times.iter().map(|time| 1e3 * time).collect::<Vec<_>>();
    let Some(found) = paired(&milliseconds(first), &milliseconds(second)) else {
        return String::new();
    };
    let mut out = style.paint(Ink::Bold, "In pairs") + "\n";
    for text in difference(first, second, &found) {
        out += &indented(&text, Ink::Plain, style);
    }
    out
}

fn difference(first: &BenchResult, second: &BenchResult, found: &Difference) -> Vec<String> {
    let unit = TimeUnit::of(found.shift_ms.abs() / 1e3);
    let time = |ms: f64| unit.number(ms / 1e3);
    let interval = match found.shift_ci_ms {
        Some([low, high]) => format!(" (95 % {} … {} {})", time(low), time(high), unit.sign()),
        None => " (too few pairs for an interval; six are needed)".to_owned(),
    };
    let mut lines = vec![format!("  `{}` beside `{}`:", second.title, first.title)];
    lines.extend(changes(first, second, true).iter().map(|text| format!("    {text}")));
    lines.push(format!("  second − first: {} {}{interval}", time(found.shift_ms), unit.sign()));
    lines.push(format!("  {} pairs, signed-rank test p = {:.2e}", found.calls[0], found.p));
    lines
}

/// What the runs of two commands say of the second; nothing where that cannot be told.
fn changes(first: &BenchResult, second: &BenchResult, is_paired: bool) -> Vec<String> {
    let found = RelativeChange::of(&first.times, &second.times, is_paired);
    found.map_or_else(Vec::new, |found| change_sentences(&found))
}

/// A text in lines as far to the right as it begins, those after the first a little more.
fn indented(text: &str, ink: Ink, style: &Style) -> String {
    let words = text.trim_start();
    let indent = (text.len() - words.len()).min(style.columns() / 4);
    let narrower = Style { width: style.columns() - indent, ..*style };
    // Narrower than the narrowest that is drawn for, an indent would not fit.
    let (indent, narrower) =
        if narrower.columns() > narrower.width { (0, *style) } else { (indent, narrower) };
    let lines = wrapped(words, 2, &narrower);
    lines.iter().map(|line| format!("{}{}\n", " ".repeat(indent), style.paint(ink, line))).collect()
}

fn quantiles(benched: &BenchResult, unit: TimeUnit) -> String {
    let sorted = Sorted::new(&benched.times);
    let mut parts = Vec::new();
    for (name, q) in [("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        // Beyond the last run but one a quantile is the slowest run once more.
        if benched.times.len() as f64 * (1.0 - q) < 1.0 {
            break;
        }
        let quantile = sorted.quantile(q);
        let [low, high] = quantile.ci_ms.map(|bound| bound.map(|bound| unit.number(bound)));
        let interval = match (low, high) {
            (Some(low), Some(high)) => format!(" ({low} … {high})"),
            _ => String::new(),
        };
        parts.push(format!("{name} {}{interval}", unit.text(quantile.ms)));
    }
    format!("  Quantiles (95 %): {}", parts.join(", "))
}

fn peak(benched: &BenchResult) -> String {
    let sorted = Sorted::of(benched.memory_usage_byte.iter().map(|bytes| *bytes as f64 / 1e6));
    let (median, most) = (sorted.median(), sorted.at(1.0));
    let floor = benched.peak_floor_bytes as f64 / 1e6;
    if most <= floor {
        return format!("  Peak memory: under {floor:.0} MB, which this program has itself");
    }
    let at_most = if median <= floor { "under " } else { "" };
    format!("  Peak memory: median {at_most}{median:.1} MB, most {most:.1} MB")
}

/// The sums as the shell's `time` prints them, and the mean.
fn totals(benched: &BenchResult) -> String {
    let sum = |of: fn(&super::Trial) -> f64| benched.trials.iter().map(of).sum::<f64>();
    format!(
        "  All {} runs: real {} user {} sys {}; avg run time: ~ {}",
        benched.times.len(),
        minutes(sum(|trial| trial.real)),
        minutes(sum(|trial| trial.user)),
        minutes(sum(|trial| trial.system)),
        TimeUnit::of(benched.mean).text(benched.mean),
    )
}

fn minutes(seconds: f64) -> String {
    format!("{}m{:.3}s", (seconds / 60.0).floor(), seconds % 60.0)
}

/// What the laboratory says of the runs.
fn verdicts(benched: &BenchResult) -> Vec<String> {
    let series = benched.series();
    let report = Report::new(&series, &ReportOptions::default());
    let words = report.verdicts.iter().map(in_words);
    words.map(|words| format!("  Verdict: {}. {}", words.title, words.sentence)).collect()
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fast { at_zero, shell } => {
                let shell = TimeUnit::Millisecond.text(*shell);
                write!(
                    f,
                    "runs are hardly longer than the shell's start ({shell}), which is taken off"
                )?;
                if *at_zero > 0 {
                    write!(f, "; of {at_zero} nothing was left")?;
                }
                f.write_str("; -N, or `-- COMMAND`, runs without a shell")
            }
            Self::Failed(runs) => write!(f, "{runs} runs failed, which was to be ignored"),
            Self::SlowFirst { seconds, is_warm, is_prepared } => {
                let first = TimeUnit::of(*seconds).text(*seconds);
                write!(f, "the first run took {first}, much longer than the others: ")?;
                f.write_str(match (is_warm, is_prepared) {
                    (false, false) => {
                        "caches were cold; `--warmup 3` fills them, `--prepare` empties them"
                    }
                    (true, _) => {
                        "though there was a warm-up; a longer one, or a quiet machine, may help"
                    }
                    (false, true) => "`--prepare` does not make all runs alike; see `--warmup`",
                })
            }
            Self::Outliers(runs) => write!(
                f,
                "{runs} runs are outliers (over {OUTLIER} median deviations from the median); \
                 nothing was left out; a quiet machine or `--warmup` may help"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
