//! Says in sentences what a trace has shown: what requests waited for, and what is no cause.
//!
//! Invariants: what requests paid is said before anything else. A peak that timers explain is named
//! as theirs, with the figure. No timer is cleared while requests wait for other threads: those may
//! be what the timer holds up. Without requests nothing is said to be a cause.

use screen::number::{count, of, percent, time};

use super::report::{OnPathTime, StraceReport};
use super::waits::WaitTotals;

/// Shares of the requests' time that are worth a sentence.
const SHARE_MIN: f64 = 0.02;
const SENTENCES_MAX: usize = 5;
/// Timers with fewer waits are not told.
const TIMER_CALLS_MIN: u64 = 5;

impl StraceReport {
    /// Returns what the trace shows, in sentences, the most telling first.
    pub fn findings(&self) -> Vec<String> {
        let mut out = Vec::new();
        match &self.requests {
            Some(requests) => {
                out.push(format!(
                    "{} took {} in all, half of them more than {}, one in a hundred more than {}.",
                    of(requests.count, "request", "requests"),
                    time(requests.total_s * 1000.0),
                    time(requests.p50_ms),
                    time(requests.p99_ms),
                ));
                self.paid(&mut out);
            }
            None => out.push(
                "No request of HTTP/1 was recognised, so nothing can be said to be on the path of \
                 one."
                    .to_owned(),
            ),
        }
        self.timers(&mut out);
        self.children_of_requests(&mut out);
        self.amplification(&mut out);
        out
    }

    /// Returns the same in a few sentences: what cost requests most, what they started and wrote,
    /// and the first timer.
    pub fn gist(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.requests.is_some() {
            self.paid(&mut out);
            out.truncate(1);
        }
        self.children_of_requests(&mut out);
        self.amplification(&mut out);
        let mut timers = Vec::new();
        self.timers(&mut timers);
        out.extend(timers.into_iter().take(1));
        out
    }

    /// What requests waited for.
    fn paid(&self, out: &mut Vec<String>) {
        let worth_telling =
            self.on_path.iter().filter(|it| it.share >= SHARE_MIN).take(SENTENCES_MAX);
        let before = out.len();
        for it in worth_telling {
            let target = match it.target.as_str() {
                "-" => String::new(),
                "child" => " for a child".to_owned(),
                "timer" => String::new(),
                "socket" | "pipe" => format!(" on a {}", it.target),
                path => format!(" on `{path}`"),
            };
            out.push(format!(
                "{} of the requests' time is `{}`{target}: {}, {} in all.",
                percent(it.share),
                it.call,
                of(it.calls, "call", "calls"),
                time(it.total_s * 1000.0),
            ));
        }
        if out.len() == before {
            out.push("No system call took a share of the requests' time worth telling.".to_owned());
        }
        let in_calls: f64 = self.on_path.iter().map(|it| it.share).sum();
        if in_calls < 1.0 - SHARE_MIN {
            out.push(format!(
                "{} of it is outside of system calls: the program computed, or waited for a core.",
                percent(1.0 - in_calls)
            ));
        }
    }

    /// The share of the requests' time in calls by which threads wait for each other.
    fn elsewhere(&self) -> f64 {
        let waits = |it: &&OnPathTime| {
            matches!(it.target.as_str(), "timer" | "pipe")
                || it.target == "socket" && it.call.starts_with("re")
        };
        self.on_path.iter().filter(waits).map(|it| it.share).sum()
    }

    /// Timers that ran out.
    fn timers(&self, out: &mut Vec<String>) {
        let elsewhere = self.elsewhere();
        let mut idle: Vec<&WaitTotals> = self
            .waits
            .iter()
            .filter(|it| it.calls >= TIMER_CALLS_MIN && it.ran_out * 2 > it.calls)
            .collect();
        idle.sort_by(|one, other| {
            let seconds = |it: &WaitTotals| it.idle_s + it.on_path_s;
            seconds(other).total_cmp(&seconds(one))
        });
        for it in idle.into_iter().take(SENTENCES_MAX) {
            let all = it.idle_s + it.on_path_s;
            let whose = if self.requests.is_none() {
                String::new()
            } else if it.on_path_s < 0.01 * all && elsewhere < SHARE_MIN {
                "; no request waited for them, so their peak is no cause".to_owned()
            } else if it.on_path_s < 0.01 * all {
                let share = percent(elsewhere);
                format!("; requests waited {share} of their time for other threads, perhaps these")
            } else {
                format!("; requests paid {} of it", percent(it.on_path_s / all))
            };
            out.push(format!(
                "`{}` with a timeout of {} is a timer: {} of {} ran out, in {}{whose}.",
                it.call,
                time(it.timeout_ms),
                count(it.ran_out),
                of(it.calls, "wait", "waits"),
                of(it.threads, "thread", "threads"),
            ));
        }
    }

    fn children_of_requests(&self, out: &mut Vec<String>) {
        let worth_telling =
            self.children.iter().filter(|it| it.of_requests > 0).take(SENTENCES_MAX);
        for it in worth_telling {
            out.push(format!(
                "Requests started `{}` {}; each lived {} on average.",
                it.command,
                of(it.of_requests, "time", "times"),
                time(it.lived_s * 1000.0 / it.count as f64),
            ));
        }
    }

    fn amplification(&self, out: &mut Vec<String>) {
        let Some(requests) = self.requests.as_ref().filter(|it| it.bytes_in > 0) else { return };
        let written: u64 = self.files.iter().map(|file| file.bytes_written).sum();
        if written > 0 {
            out.push(format!(
                "For each byte that requests brought, {:.1} bytes were written to files \
                 ({} for {}).",
                written as f64 / requests.bytes_in as f64,
                of(written, "byte", "bytes"),
                count(requests.bytes_in),
            ));
        }
    }
}
