//! Says in a paragraph what calls, signals and a trace tell together.
//!
//! It names what happened, since when, what goes together with how many of the slow calls, and what
//! was ruled out.
//! Invariant: it says nothing that a verdict, or the trace's findings, do not say. That a signal
//! goes together is never called a reason.

use screen::number::{percent, time};
use verdicts::{SignalLooks, Signals, Split, Verdict, cores, signals};

use super::Report;
use super::beside::NAMES_MAX;
use super::words::{in_words, listed};
use crate::strace::StraceReport;

/// Signals that get a verdict of their own.
const VERDICTS_MAX: usize = 5;

impl Report<'_> {
    /// Adds the signals of the host, and what they have to do with slow calls.
    #[must_use]
    pub fn with_signals(
        mut self,
        measured: &Signals,
        slow_over_ms: Option<f64>,
        seed: u64,
    ) -> Self {
        let split = Split::new(&self.series.total_ms, slow_over_ms);
        let SignalLooks { looks, constant, reason } = signals(self.series, &split, measured, seed);
        let blamed = looks.iter().filter(|look| look.is_significant()).take(VERDICTS_MAX);
        self.verdicts.extend(blamed.cloned().map(Verdict::Signal));
        self.verdicts.extend(cores(&measured.cores, seed).map(Verdict::Cores));
        let beside = self.beside.get_or_insert_default();
        (beside.signals, beside.constant, beside.reason) = (looks, constant, reason);
        self
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
        let names = found.map(|it| format!("`{}` ({})", it.signal, percent(it.explained)));
        let names: Vec<String> = names.take(NAMES_MAX).collect();
        (!names.is_empty()).then(|| format!("So do {}.", listed(&names)))
    }
}
