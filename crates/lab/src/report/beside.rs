//! Holds what was measured beside the calls: signals of the host, and a trace of system calls.
//!
//! Also how a signal is shown in a row of a table, for text and HTML. What both say is in
//! `story.rs`.

use screen::number::{p, percent, time};
use screen::{Align, Cell, Column, Ink, Style, Table};
use serde::Serialize;
use verdicts::{SignalVerdict, Signals};

use super::words::{listed, signal_amount};
use crate::strace::StraceReport;

/// Rows of the table of signals.
const ROWS_MAX: usize = 15;
/// Signals that are named in a sentence.
pub(super) const NAMES_MAX: usize = 8;

/// What was measured beside the calls.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Beside {
    /// Calls that take longer are slow where signals are looked at: at a hump of slow calls, all of
    /// it.
    pub slow_over_ms: f64,
    /// Every signal that could be looked at; those that go together come first.
    pub signals: Vec<SignalVerdict>,
    /// The first of those that go together, over time.
    #[serde(skip)]
    pub(super) drawn: Option<SignalCourse>,
    /// Signals that never changed.
    pub constant: Vec<String>,
    /// The reason for which no signal could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a trace of system calls shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<StraceReport>,
}

/// A signal over time, which is drawn under the calls.
#[derive(Debug, Clone)]
pub(super) struct SignalCourse {
    name: String,
    unit: String,
    /// Milliseconds since the first call, and the amount.
    points: Vec<(f64, f64)>,
}

impl SignalCourse {
    /// The signal that a verdict names, while there were calls.
    pub(super) fn of(look: &SignalVerdict, measured: &Signals, began_ms: &[f64]) -> Option<Self> {
        let column = measured.columns.iter().find(|column| column.name == look.signal)?;
        let first = began_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let last = began_ms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let points = column.values.iter().enumerate().map(|(at, value)| {
            (measured.began_ms + at as f64 * measured.interval_ms - first, f64::from(*value))
        });
        let is_within =
            |(at, value): &(f64, f64)| (0.0..=last - first).contains(at) && !value.is_nan();
        let points: Vec<_> = points.filter(is_within).collect();
        let (name, unit) = (column.name.clone(), column.unit.clone());
        (points.len() > 1).then_some(Self { name, unit, points })
    }

    /// What its drawing is called.
    pub(super) fn title(&self) -> String {
        format!("Signal: {}", self.name)
    }

    /// Points on another axis of time.
    pub(super) fn by(&self, unit_ms: f64) -> Vec<(f64, f64)> {
        self.points.iter().map(|(at, value)| (at / unit_ms, *value)).collect()
    }

    pub(super) fn amount(&self, value: f64) -> String {
        signal_amount(value, &self.unit)
    }
}

impl Beside {
    /// Signals that explain less than a tenth of the slow calls.
    pub(super) fn ruled_out(&self) -> Option<String> {
        // Of the host before those of single programs.
        let mut looks: Vec<_> = self.signals.iter().filter(|it| it.is_ruled_out()).collect();
        looks.sort_by_key(|it| it.is_program);
        let names = named(looks.iter().map(|it| &*it.signal))?;
        Some(format!("Ruled out, for less than a tenth of the slow calls each: {names}."))
    }

    /// Signals that did not change at all.
    pub(super) fn unchanged(&self) -> Option<String> {
        let names = named(self.constant.iter().map(String::as_str))?;
        Some(format!("Nothing at all came up of {names}."))
    }

    /// The signals as a table, those that go together in colour.
    pub(super) fn table(&self, style: &Style) -> String {
        let mut table = Table::new(vec![
            Column::new("signal", Align::Left),
            Column::new("slow", Align::Right),
            Column::new("typical", Align::Right),
            Column::new("explains", Align::Right),
            Column::new("95 %", Align::Right),
            Column::new("lag", Align::Right),
            Column::new("p", Align::Right),
        ]);
        for look in self.signals.iter().take(ROWS_MAX) {
            let ink = if look.is_significant() { Ink::Alarm } else { Ink::Plain };
            let mut cells = look.row().into_iter();
            let name = cells.next().unwrap_or_default();
            table
                .push(std::iter::once(Cell::new(name, ink)).chain(cells.map(Cell::from)).collect());
        }
        if table.is_empty() { String::new() } else { table.render(style) }
    }
}

/// The first names in a row, and how many more there are; nothing where there is none.
fn named<'a>(signals: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<String> = signals.map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    (!names.is_empty()).then(|| listed(&names))
}

/// A signal's figures as texts.
pub(super) trait SignalRow {
    /// Name, slow, typical, explained, interval, lag and p-value.
    fn row(&self) -> Vec<String>;
}

impl SignalRow for SignalVerdict {
    fn row(&self) -> Vec<String> {
        vec![
            self.signal.clone(),
            signal_amount(self.slow, &self.unit),
            signal_amount(self.typical, &self.unit),
            percent(self.explained),
            format!("{} to {}", percent(self.ci[0]), percent(self.ci[1])),
            time(self.lag_ms),
            p(self.p),
        ]
    }
}
