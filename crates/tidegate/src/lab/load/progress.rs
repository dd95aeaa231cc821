//! Shows the progress of a load test on stderr, with the figures of the last second.
//!
//! At a terminal that is one line, which is drawn anew. Elsewhere it is a line each five seconds,
//! without bars, so that whoever reads a file of it sees that it lives. It has rate, quantiles,
//! failures, connections, an open loop's backlog, and the p99 of up to 30 seconds as bars. The bars
//! are heights in proportion to the greatest among them.
//! Invariant: the line is cleared when its value is dropped. Refuses: results, which go to stdout.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::load_test::{LoadTest, Pacing, Second};
use load::Stop;

const REDRAW: Duration = Duration::from_millis(200);
/// Seconds between two lines where stderr is no terminal.
const BETWEEN_S: u64 = 5;
/// Seconds whose p99 is drawn.
const SPARKS_MAX: usize = 30;
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The line; it is cleared when this is dropped.
pub(super) struct LoadProgress {
    bar: ProgressBar,
    /// Where stderr is no terminal: seconds of the warm-up and the run, as far as that is known.
    lines: Option<String>,
    warm_up_s: u64,
    failed: u64,
    is_open: bool,
    /// After so many seconds nothing more is due.
    due_s: Option<u64>,
    p99_ms: Vec<f64>,
}

impl LoadProgress {
    /// Begins to show a run.
    pub(super) fn new(plan: &LoadTest) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let time = match plan.stop {
            Stop::After(span) if span < Duration::from_secs(86_400) => Some(span),
            _ => None,
        };
        let whole = time
            .map_or_else(String::new, |span| format!(" of {}s", (span + plan.warm_up).as_secs()));
        // Cut at the terminal's edge: a line that is broken could not be drawn anew.
        let template = format!("{{elapsed}}{whole}  {{wide_msg}}");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        bar.set_style(style);
        bar.set_message(if plan.warm_up.is_zero() { "connecting" } else { "warming up" });
        bar.enable_steady_tick(REDRAW);
        let lines = (!std::io::stderr().is_terminal()).then_some(whole);
        let warm_up_s = plan.warm_up.as_secs();
        let is_open = !matches!(plan.pace, Pacing::Closed { .. });
        let due_s = time.filter(|_| is_open).map(|span| span.as_secs());
        Self { bar, lines, warm_up_s, failed: 0, is_open, due_s, p99_ms: Vec::new() }
    }

    /// Shows the second that is over.
    pub(super) fn show(&mut self, second: &Second) {
        self.failed += second.failed;
        let at = |quantile: f64| second.latency.value_at_quantile(quantile) as f64 / 1e6;
        self.p99_ms.push(at(0.99));
        let from = self.p99_ms.len().saturating_sub(SPARKS_MAX);
        let backlog = match self.is_open {
            true => format!(", backlog {}", second.backlog),
            false => String::new(),
        };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let is_over = self.due_s.is_some_and(|due| second.index >= due);
        let over = if is_over { "time is over, calls wait: " } else { "" };
        let figures = format!(
            "{over}{}/s, p50 {:.2} p99 {:.2} ms{failed}{backlog}, {} connections",
            second.succeeded,
            at(0.5),
            at(0.99),
            second.connections
        );
        match &self.lines {
            None => self.bar.set_message(format!("{figures}  {}", sparks(&self.p99_ms[from..]))),
            Some(whole) => {
                let passed_s = self.warm_up_s + second.index + 1;
                if passed_s.is_multiple_of(BETWEEN_S) {
                    crate::output::tell!("{passed_s}s{whole}: {figures}");
                }
            }
        }
    }

    /// Shows that the calls are looked at.
    pub(super) fn judge(&self) {
        self.bar.set_message("the run is over; its calls are looked at");
    }
}

impl Drop for LoadProgress {
    /// Clears the line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Heights in proportion, on a scale from nothing to the greatest.
fn sparks(values: &[f64]) -> String {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let height = |value: &f64| {
        let share = if greatest > 0.0 { value / greatest } else { 0.0 };
        SPARKS[((share * 7.0).round() as usize).min(7)]
    };
    values.iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sparks_are_as_high_as_their_share() {
        assert_eq!(super::sparks(&[0.0, 3.5, 7.0]), "▁▅█");
        assert_eq!(super::sparks(&[0.0]), "▁");
    }
}
