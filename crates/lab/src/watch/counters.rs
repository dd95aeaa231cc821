//! Turns readings of counters into what they grew by, and from when to when.
//!
//! A source reads its files and reports each signal by name. That is a counter that only grows, a
//! level such as dirty pages, or an amount. The first reading of a counter tells nothing.
//! Invariant: a counter that falls was reset, and what it lost is not reported. A signal gets its
//! number at its first report; numbers are of this run, and ascend by one.
//! Bound: [`SIGNALS_MAX`] signals; more are not taken, `is_full` says so, and the watch notes it.

use std::collections::HashMap;

use verdicts::SignalKind;

/// Signals at most: programs of many names must not fill the memory.
pub(super) const SIGNALS_MAX: usize = 400;

/// Reads signals.
pub(super) trait SignalSource: Send {
    /// Reports what there is now.
    fn sample(&mut self, found: &mut SignalReadings);
}

/// What a signal grew by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grown<'a> {
    pub(super) number: usize,
    pub(super) name: &'a str,
    pub(super) unit: &'static str,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) amount: f64,
    pub(super) kind: SignalKind,
    pub(super) is_program: bool,
}

/// The readings of all signals.
#[derive(Debug, Default)]
pub(super) struct SignalReadings {
    now_ns: u64,
    before_ns: u64,
    numbers: HashMap<String, usize>,
    signals: Vec<KnownSignal>,
    reports: Vec<Report>,
    /// Whether a signal was not taken.
    is_full: bool,
}

#[derive(Debug)]
struct KnownSignal {
    name: String,
    unit: &'static str,
    is_program: bool,
    /// Whether it was reported.
    is_known: bool,
    last: Option<(u64, f64)>,
}

#[derive(Debug, Clone, Copy)]
struct Report {
    number: usize,
    from_ns: u64,
    to_ns: u64,
    amount: f64,
    kind: SignalKind,
}

impl SignalReadings {
    /// Begins a round of readings at a moment.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.before_ns = self.now_ns;
        self.now_ns = now_ns;
        self.reports.clear();
    }

    /// The moment of this round.
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Reports the reading of a counter that only grows.
    pub(super) fn counter(&mut self, name: &str, unit: &'static str, reading: f64) {
        let Some(number) = self.number(name, unit) else { return };
        let last = self.signals[number].last.replace((self.now_ns, reading));
        let Some((from_ns, before)) = last else { return };
        // That one did not grow is told once, so that it is known to have been looked at.
        let is_first = !std::mem::replace(&mut self.signals[number].is_known, true);
        if reading > before || is_first {
            let amount = (reading - before).max(0.0);
            self.report(number, [from_ns, self.now_ns], amount, SignalKind::Sum);
        }
    }

    /// Reports a level, such as a number of bytes that wait now.
    pub(super) fn level(&mut self, name: &str, unit: &'static str, reading: f64) {
        let Some(number) = self.number(name, unit) else { return };
        self.report(number, [self.before_ns, self.now_ns], reading, SignalKind::Level);
    }

    /// Reports an amount of which the source knows when it came up.
    pub(super) fn amount(&mut self, name: &str, unit: &'static str, span_ns: [u64; 2], sum: f64) {
        if sum <= 0.0 {
            return;
        }
        if let Some(number) = self.number(name, unit) {
            self.report(number, span_ns, sum, SignalKind::Sum);
        }
    }

    /// Reports an amount that programs of one name have used.
    pub(super) fn of_program(
        &mut self,
        name: &str,
        unit: &'static str,
        span_ns: [u64; 2],
        sum: f64,
    ) {
        self.amount(name, unit, span_ns, sum);
        if let Some(number) = self.numbers.get(name) {
            self.signals[*number].is_program = true;
        }
    }

    /// Reports what holds for a span that the source knows, where the most counts.
    pub(super) fn peak(&mut self, name: &str, unit: &'static str, span_ns: [u64; 2], most: f64) {
        if let Some(number) = self.number(name, unit) {
            self.report(number, span_ns, most, SignalKind::Peak);
        }
    }

    /// Hands over what was reported in this round.
    pub(super) fn grown(&self, each: &mut dyn FnMut(Grown<'_>)) {
        for report in &self.reports {
            let signal = &self.signals[report.number];
            each(Grown {
                number: report.number,
                name: &signal.name,
                unit: signal.unit,
                from_ns: report.from_ns,
                to_ns: report.to_ns,
                amount: report.amount,
                kind: report.kind,
                is_program: signal.is_program,
            });
        }
    }

    /// Whether signals were not taken because there are too many.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    fn report(&mut self, number: usize, [from_ns, to_ns]: [u64; 2], amount: f64, kind: SignalKind) {
        self.reports.push(Report { number, from_ns, to_ns, amount, kind });
    }

    fn number(&mut self, name: &str, unit: &'static str) -> Option<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.signals.len() >= SIGNALS_MAX {
            self.is_full = true;
            return None;
        }
        let number = self.signals.len();
        self.numbers.insert(name.to_owned(), number);
        self.signals.push(KnownSignal {
            name: name.to_owned(),
            unit,
            is_program: false,
            last: None,
            is_known: false,
        });
        Some(number)
    }
}

#[cfg(test)]
mod tests;
