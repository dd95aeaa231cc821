//! Holds what was measured beside the calls: signals of the host, and a trace of system calls.
//!
//! Also how a signal is shown in a row of a table, for text and HTML. What both say is in
//! `story.rs`.

use screen::number::{p, percent, time};
use screen::{Align, Cell, Column, Ink, Style, Table};
use serde::Serialize;
use verdicts::SignalVerdict;

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
    /// Signals that never changed.
    pub constant: Vec<String>,
    /// The reason for which no signal could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a trace of system calls shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<StraceReport>,
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
