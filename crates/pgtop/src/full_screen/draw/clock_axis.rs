//! Chooses the times of day that stand below the bars of a chart.
//!
//! Times are whole multiples of a step, and so far apart that their texts do not touch. Invariant:
//! a text begins in the column of the bar that begins at its time, and none is cut.

use crate::history::WaitWindow;

/// Seconds between two times to choose from.
const STEPS: [i64; 14] = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600];
/// Columns from the end of a text to the next one.
const GAP: i64 = 2;

/// A time below a bar.
pub(super) struct ClockTick {
    /// Which bar begins then.
    pub(super) bar: usize,
    pub(super) text: String,
}

/// Returns the times of a window; `time_of_day` says `HH:MM:SS` of a moment.
pub(super) fn ticks(window: WaitWindow, time_of_day: impl Fn(i64) -> String) -> Vec<ClockTick> {
    let bar_s = window.bar_us / 1_000_000;
    let fits = |step: &i64| step % bar_s == 0 && step / bar_s >= text_columns(*step) + GAP;
    let Some(step) = STEPS.into_iter().find(fits) else { return Vec::new() };
    let columns = text_columns(step) as usize;
    let is_tick = |bar: &usize| window.bar(*bar).0.rem_euclid(step * 1_000_000) == 0;
    let bars = (0..(window.bars + 1).saturating_sub(columns)).filter(is_tick);
    let tick = |bar: usize| {
        let text = time_of_day(window.bar(bar).0).chars().take(columns).collect();
        ClockTick { bar, text }
    };
    bars.map(tick).collect()
}

/// `HH:MM:SS`, or `HH:MM` where seconds are always 0.
fn text_columns(step: i64) -> i64 {
    if step % 60 == 0 { 5 } else { 8 }
}
