//! Says in a paragraph what calls, signals and a trace tell together.
//!
//! It names what happened, since when, what goes together with how many of the slow calls, and what
//! was ruled out.
//! Invariant: it says nothing that a verdict, or the trace's findings, do not say. That a signal
//! goes together is never called a reason.

use screen::number::{percent, time};
use verdicts::{SignalLooks, SignalVerdict, Signals, Sorted, Split, Verdict, cores, signals};

use super::Report;
use super::beside::{NAMES_MAX, SignalCourse};
use super::words::{in_words, listed};
use crate::strace::StraceReport;

/// Signals that get a verdict of their own.
const VERDICTS_MAX: usize = 5;
/// How many times slower a hump of slow calls is than the main one, at least.
const MODE_SLOWER: f64 = 2.0;
/// Calls of such humps that are enough, and their share at most.
const MODE_CALLS_MIN: f64 = 5.0;
const MODE_SHARE_MAX: f64 = 0.25;

impl Report<'_> {
    /// Adds the signals of the host, and what they have to do with slow calls.
    #[must_use]
    pub fn with_signals(
        mut self,
        measured: &Signals,
        slow_over_ms: Option<f64>,
        seed: u64,
    ) -> Self {
        let modes_over_ms = if slow_over_ms.is_none() { self.slow_modes() } else { None };
        let split = Split::new(&self.series.total_ms, slow_over_ms.or(modes_over_ms));
        let SignalLooks { looks, constant, reason } = signals(self.series, &split, measured, seed);
        let blamed = looks.iter().filter(|look| look.is_significant()).take(VERDICTS_MAX);
        self.verdicts.extend(blamed.cloned().map(Verdict::Signal));
        self.verdicts.extend(cores(&measured.cores, seed).map(Verdict::Cores));
        let first = looks.iter().find(|look| look.is_significant());
        let drawn = first.and_then(|look| SignalCourse::of(look, measured, &self.series.began_ms));
        let beside = self.beside.get_or_insert_default();
        beside.drawn = drawn;
        (beside.signals, beside.constant, beside.reason) = (looks, constant, reason);
        beside.slow_over_ms = split.slow_over_ms;
        self
    }

    /// Over what calls stand at humps that are slow beside the main one.
    ///
    /// The slowest twentieth would mix a hump of fewer calls with others, whose reasons are others.
    fn slow_modes(&self) -> Option<f64> {
        let modes = self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Multimodal(found) => Some(&found.modes),
            _ => None,
        })?;
        let main = modes.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
        let slow = modes.iter().filter(|mode| mode.at_ms >= MODE_SLOWER * main.at_ms);
        let share: f64 = slow.map(|mode| mode.share).sum();
        let is_seen = share * self.series.len() as f64 >= MODE_CALLS_MIN;
        let sorted = Sorted::new(&self.series.total_ms);
        (is_seen && share <= MODE_SHARE_MAX).then(|| sorted.at(1.0 - share))
    }

    /// Adds what a trace of system calls shows.
    #[must_use]
    pub fn with_trace(mut self, trace: StraceReport) -> Self {
        self.beside.get_or_insert_default().trace = Some(trace);
        self
    }

    /// What happened, since when, what goes together with it, and what was ruled out; nothing
    /// where calls are all that was measured.
    pub(super) fn story(&self) -> Option<String> {
        let beside = self.beside.as_deref()?;
        let mut out = Vec::new();
        if let Some((_, slow)) = self.quantiles.iter().find(|(name, _)| *name == "p95") {
            let median = self.quantiles.first().map_or(0.0, |(_, quantile)| quantile.ms);
            out.push(format!(
                "Half of the calls took more than {}, one in twenty more than {}.",
                time(median),
                time(slow.ms)
            ));
        }
        let sentences = |is_wanted: fn(&Verdict) -> bool| {
            let wanted = self.verdicts.iter().filter(move |verdict| is_wanted(verdict));
            wanted.map(|verdict| in_words(verdict).sentence)
        };
        out.extend(sentences(|it| {
            matches!(it, Verdict::Quantised(_) | Verdict::Multimodal(_) | Verdict::Locked(_))
        }));
        out.extend(sentences(|it| matches!(it, Verdict::Change(_))));
        out.extend(sentences(|it| matches!(it, Verdict::Step(_) | Verdict::Outside(_))));
        if beside.slow_over_ms > 0.0 {
            out.push(format!("Slow are calls over {} here.", time(beside.slow_over_ms)));
        }
        out.extend(sentences(|it| matches!(it, Verdict::Signal(_))).take(1));
        out.extend(self.others());
        out.extend(sentences(|it| matches!(it, Verdict::Cores(_))));
        if let Some(trace) = &beside.trace {
            out.extend(trace.gist());
        }
        out.extend(
            beside.reason.iter().map(|reason| format!("Of signals nothing is said: {reason}.")),
        );
        out.extend(beside.ruled_out());
        out.extend(beside.unchanged());
        Some(out.join(" "))
    }

    /// The signals that go together with slow calls beside the first.
    fn others(&self) -> Option<String> {
        let found = self.beside.as_deref()?.signals.iter().filter(|it| it.is_significant()).skip(1);
        let in_words = |it: &SignalVerdict| {
            let when = match it.lag_ms {
                lag if lag > 0.0 => ", later",
                lag if lag < 0.0 => ", earlier",
                _ => "",
            };
            format!("`{}` ({}{when})", it.signal, percent(it.explained))
        };
        let mut names: Vec<String> = found.map(in_words).collect();
        let more = names.len().saturating_sub(NAMES_MAX);
        names.truncate(NAMES_MAX);
        names.extend((more > 0).then(|| format!("{more} more")));
        (!names.is_empty())
            .then(|| format!("Together with slow calls go, too: {}.", listed(&names)))
    }
}
