//! Which part of the history of waits is looked at: how deep, which bar, how wide bars are.

use screen::Scroll;

use crate::history::{WaitLevel, WaitWindow};

/// Seconds of a bar to choose from.
const BAR_SECONDS: [i64; 6] = [1, 5, 15, 60, 300, 900];

/// Where in the history one is.
#[derive(Default)]
pub(super) struct WaitsPlace {
    /// What was chosen, level by level.
    pub(super) path: Vec<String>,
    /// The bar that is looked at, counted from the newest; nothing is all of them.
    pub(super) bar: Option<usize>,
    /// Which of the widths.
    width: usize,
    pub(super) scroll: Scroll,
}

impl WaitsPlace {
    pub(super) fn bar_seconds(&self) -> i64 {
        BAR_SECONDS[self.width]
    }

    pub(super) fn level(&self) -> WaitLevel {
        WaitLevel::ALL[self.path.len().min(WaitLevel::ALL.len() - 1)]
    }

    /// So many bars up to the one that has a moment.
    pub(super) fn window(&self, now_us: i64, bars: usize) -> WaitWindow {
        let bar_us = self.bar_seconds() * 1_000_000;
        // Bars begin at whole multiples, so that they do not change as time goes on.
        let end_us = (now_us.div_euclid(bar_us) + 1) * bar_us;
        WaitWindow { end_us, bar_us, bars }
    }

    /// Which time is looked at: a bar, or all of them.
    pub(super) fn span(&self, window: WaitWindow) -> (i64, i64) {
        match self.bar {
            Some(back) => window.bar(window.bars.saturating_sub(back + 1)),
            None => (window.start_us(), window.end_us),
        }
    }

    pub(super) fn zoom(&mut self, wider: bool) {
        let last = BAR_SECONDS.len() - 1;
        self.width = if wider { (self.width + 1).min(last) } else { self.width.saturating_sub(1) };
        self.bar = None;
    }

    /// Moves to the bar before, or to the next; behind the newest all of them are looked at.
    pub(super) fn move_bar(&mut self, older: bool, bars: usize) {
        self.bar = match (self.bar, older) {
            (None, true) => Some(0),
            (None, false) => None,
            (Some(back), true) => Some((back + 1).min(bars.saturating_sub(1))),
            (Some(back), false) => back.checked_sub(1),
        };
    }

    pub(super) fn enter(&mut self, label: String) {
        if self.path.len() + 1 < WaitLevel::ALL.len() {
            self.path.push(label);
            self.scroll = Scroll::default();
        }
    }

    pub(super) fn leave(&mut self) {
        self.path.pop();
        self.scroll = Scroll::default();
    }
}
