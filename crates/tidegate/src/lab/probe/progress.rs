//! Shows the progress of a probe on stderr: calls, the last latency and failures.
//!
//! At a terminal that is one line, which is drawn anew; without a planned number it shows the time
//! that has passed. Elsewhere there is a line at the start, and one every few seconds, so that
//! whoever reads a file of it sees that it lives. A plug-in says nothing.
//! Invariant: the terminal's line is cleared when its value is dropped. Its figures change only
//! with the number of calls. Refuses: results, which go to stdout.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::probe::{Arrivals, End, Plan, Progress};
use stdx::Span;

const COUNTED: &str = "{pos} of {len}, {eta} left{wide_msg}";
const TIMED: &str = "{pos} calls, {elapsed}{wide_msg}";
const REDRAW: Duration = Duration::from_millis(200);
/// Time between two lines where stderr is no terminal.
const BETWEEN: Duration = Duration::from_secs(5);

/// How progress is shown.
pub(in crate::lab) enum ProbeProgress {
    /// On the line of a terminal, which goes with its value.
    Line(ProgressBar),
    /// By lines of their own.
    Lines(Lines),
    /// Not at all.
    Silent,
}

impl ProbeProgress {
    /// Begins to show the progress of a plan.
    pub(in crate::lab) fn new(plan: &Plan) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Lines(Lines { begun: Some(begun(plan)), last: Duration::ZERO });
        }
        let planned = plan.planned();
        let bar = ProgressBar::with_draw_target(planned, ProgressDrawTarget::stderr());
        let template = if planned.is_some() { COUNTED } else { TIMED };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
        bar.enable_steady_tick(REDRAW);
        Self::Line(bar)
    }

    /// Shows how far it is.
    pub(in crate::lab) fn show(&mut self, progress: &Progress) {
        match self {
            Self::Line(bar) if bar.position() != progress.done => {
                bar.set_message(details(progress));
                bar.set_position(progress.done);
            }
            Self::Lines(lines) => {
                for line in lines.begun.take().into_iter().chain(lines.line(progress)) {
                    eprintln!("{line}");
                }
            }
            Self::Line(_) | Self::Silent => {}
        }
    }
}

impl Drop for ProbeProgress {
    fn drop(&mut self) {
        if let Self::Line(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// The lines of a probe.
#[derive(Debug, Default)]
pub(in crate::lab) struct Lines {
    /// The first line, which waits until the plan has been found to make sense.
    begun: Option<String>,
    /// When the last one was written.
    last: Duration,
}

impl Lines {
    /// A line, if it is time for one.
    fn line(&mut self, progress: &Progress) -> Option<String> {
        if progress.elapsed < self.last + BETWEEN {
            return None;
        }
        self.last = progress.elapsed;
        let passed = whole_seconds(progress.elapsed);
        let done = match progress.planned {
            Some(planned) => format!("{} of {planned} calls after {passed}", progress.done),
            None => format!("{} calls after {passed}", progress.done),
        };
        let left = progress.planned.filter(|_| progress.done > 0).map(|planned| {
            let left = planned.saturating_sub(progress.done) as f64 / progress.done as f64;
            format!(", about {} left", whole_seconds(progress.elapsed.mul_f64(left)))
        });
        Some(format!("{done}{}{}", left.unwrap_or_default(), details(progress)))
    }
}

/// What is going to be done, and for how long.
fn begun(plan: &Plan) -> String {
    let targets: Vec<String> = plan.targets.iter().map(ToString::to_string).collect();
    let calls = plan.planned();
    let how = match (plan.end, plan.arrivals) {
        (End::After(time), _) => format!("for {}", Span(time)),
        (End::Count(arrivals), Arrivals::Poisson(Some(rate)) | Arrivals::Uniform(Some(rate))) => {
            // A rate that makes no sense is refused with the plan.
            let time = Duration::try_from_secs_f64(arrivals as f64 / rate).unwrap_or_default();
            format!("at {rate} a second, which takes {}", whole_seconds(time))
        }
        (_, Arrivals::Closed) => "one after the other".to_owned(),
        // Whether these are the target's own latencies is known after the first five.
        _ => {
            let example = Duration::from_millis(4 * 150 * calls.unwrap_or_default());
            let example = whole_seconds(example);
            format!("four latencies apart on average; at 150 ms each that takes {example}")
        }
    };
    let calls = calls.map_or_else(|| "calls".to_owned(), |calls| format!("{calls} calls"));
    format!("probing {}: {calls}, {how}", targets.join(" and "))
}

/// A time in seconds, or in milliseconds where it is shorter than two.
fn whole_seconds(time: Duration) -> Span {
    match time.as_secs() {
        0 | 1 => Span(Duration::from_millis(time.as_millis() as u64)),
        _ => Span(Duration::from_secs(time.as_secs_f64().round() as u64)),
    }
}

fn details(progress: &Progress) -> String {
    let last = progress.last_ms.map_or(String::new(), |ms| format!(", last {ms:.1} ms"));
    let failed = match progress.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    last + &failed
}

#[cfg(test)]
mod tests;
