//! Shows the progress of a probe on stderr: calls, the last latency and failures.
//!
//! At a terminal that is one line, which is drawn anew; of several targets, a table with a row
//! each. Without a planned number it shows the time that has passed. Elsewhere there is a line at
//! the start, and one every few seconds, so that whoever reads a file of it sees that it lives. A
//! plug-in says nothing.
//! Invariant: the terminal's line is cleared when its value is dropped. Its figures change only
//! with the number of calls. Refuses: results, which go to stdout.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::probe::{Arrivals, End, Plan, Progress, TargetCalls};
use lab::{TargetRow, target_table};
use screen::Style;
use stdx::Span;
use verdicts::Sorted;

use crate::output;

const COUNTED: &str = "{pos} of {len}, {eta} left{wide_msg}";
const TIMED: &str = "{pos} calls, {elapsed}{wide_msg}";
const REDRAW: Duration = Duration::from_millis(200);
/// Time between two lines where stderr is no terminal.
const BETWEEN: Duration = Duration::from_secs(5);

/// How progress is shown.
pub(in crate::lab) enum ProbeProgress {
    /// On the line of a terminal, which goes with its value.
    Line(ProgressBar),
    /// On lines of a terminal, with a row for each target.
    Rows(LiveTable),
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
        if plan.targets.len() > 1 {
            return Self::Rows(LiveTable::new(plan));
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
                    crate::output::tell!("{line}");
                }
            }
            Self::Rows(table) => table.show(progress),
            Self::Line(_) | Self::Silent => {}
        }
    }
}

impl Drop for ProbeProgress {
    fn drop(&mut self) {
        match self {
            Self::Line(bar) => bar.finish_and_clear(),
            Self::Rows(table) => table.clear(),
            Self::Lines(_) | Self::Silent => {}
        }
    }
}

/// The table of several targets at a terminal. A thread draws it, so that calls are not sent late
/// for it.
pub(in crate::lab) struct LiveTable {
    drawer: Option<JoinHandle<()>>,
    seen: Option<Sender<Progress>>,
    sent: Option<Duration>,
}

impl LiveTable {
    fn new(plan: &Plan) -> Self {
        let names: Vec<String> = plan.targets.iter().map(ToString::to_string).collect();
        let (seen, all) = channel();
        let drawer = thread::spawn(move || draw(&names, &all));
        Self { drawer: Some(drawer), seen: Some(seen), sent: None }
    }

    fn show(&mut self, progress: &Progress) {
        if self.sent.is_none_or(|sent| progress.elapsed >= sent + REDRAW) {
            self.sent = Some(progress.elapsed);
            // Without a drawer the calls go on all the same.
            self.seen.iter().for_each(|seen| drop(seen.send(progress.clone())));
        }
    }

    fn clear(&mut self) {
        self.seen = None;
        self.drawer.take().map(JoinHandle::join);
    }
}

/// Draws what is seen of a probe until it ends, and clears it then.
fn draw(names: &[String], all: &Receiver<Progress>) {
    let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let mut lines: Vec<ProgressBar> = Vec::new();
    for progress in all {
        let text = live(names, &progress, &output::live_style());
        let texts: Vec<&str> = text.lines().collect();
        // Where the table became a list, it has grown by lines, or lost some.
        while lines.len() < texts.len() {
            let style = ProgressStyle::with_template("{wide_msg}").expect("it is well-formed");
            lines.push(screen.add(ProgressBar::new_spinner().with_style(style)));
        }
        for (at, line) in lines.iter().enumerate() {
            line.set_message(texts.get(at).copied().unwrap_or_default().to_owned());
        }
    }
    // Where nobody looks any more, nothing is to be cleared.
    let _ = screen.clear();
}

/// How far it is, and a row for each target.
fn live(names: &[String], progress: &Progress, style: &Style) -> String {
    let done = match progress.planned {
        Some(planned) => format!("{} of {planned} calls", progress.done),
        None => format!("{} calls", progress.done),
    };
    let head = format!("{done}, {}", whole_seconds(progress.elapsed));
    let row = |(name, calls): (&String, &TargetCalls)| TargetRow {
        name: name.clone(),
        times: Sorted::new(&calls.ms),
        failed: calls.failed,
        beside: String::new(),
    };
    let rows: Vec<TargetRow> = names.iter().zip(&progress.targets).map(row).collect();
    format!("{}\n{}", screen::cut(&head, style.columns(), style), target_table(&rows, style))
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
