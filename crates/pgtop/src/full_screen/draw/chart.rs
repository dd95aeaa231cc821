//! Draws what active sessions waited for: stacked bars over time with a clock below them, a legend,
//! and the shares.
//!
//! A cell has the letter of what it stands for, so that the chart reads without colours. The
//! newest bar is at the right. Cells are rounded so that each bar is as high as its sum.
//! Invariant: a class has the same letter, colour and place in every chart (`wait_looks.rs`).

use screen::{Ink, Pane, cut, number, padded};

use super::super::state::{SCALE_COLUMNS, TopScreen};
use super::clock_axis;
use super::wait_looks::look;
use crate::history::{WaitChart, WaitWindow};
use crate::units::{count, span};

/// Columns of a label in the legend.
const LEGEND_COLUMNS: usize = 18;
/// A narrower terminal gets a shorter title.
const LONG_TITLE_FROM: usize = 64;
/// Rows beside bars and shares: title, axis, clock, legend, and the heading of the shares.
const OTHER_ROWS: usize = 5;

/// What is drawn.
struct DrawnChart<'s> {
    screen: &'s TopScreen,
    window: WaitWindow,
    chart: WaitChart,
}

pub(super) fn waits(screen: &TopScreen, pane: &mut Pane<'_>) {
    let columns = pane.columns().saturating_sub(SCALE_COLUMNS);
    let Some(window) = screen.wait_window(columns) else { return };
    let chart = screen.current().history.chart(window, &screen.waits.path);
    let drawn = DrawnChart { screen, window, chart };
    let rows = pane.rows().saturating_sub(OTHER_ROWS);
    let height = rows.div_ceil(2);
    drawn.title(pane);
    drawn.bars(&mut pane.part(1, height), height);
    drawn.axis(&mut pane.part(height + 1, 2));
    drawn.legend(pane, height + 3);
    drawn.shares(&mut pane.part(height + 4, rows + 1 - height));
}

impl DrawnChart<'_> {
    /// Says which span the chart shows, how wide a bar is, and what is told apart.
    fn title(&self, pane: &mut Pane<'_>) {
        let places = &self.screen.waits;
        let path = match places.path.is_empty() {
            true => String::new(),
            false => format!(" of {}", places.path.join(" > ")),
        };
        let shown = span(places.bar_seconds() * self.window.bars as i64);
        let is_past = self.screen.is_still() || self.screen.current().lost.is_some();
        let which = match is_past {
            false => format!("last {shown}"),
            true => format!("{shown} to {}", self.screen.time_of_day(self.window.end_us)),
        };
        let start = if pane.columns() < LONG_TITLE_FROM { "" } else { "active sessions, " };
        let bar = span(places.bar_seconds());
        let title = format!("{start}{which}, {bar} a column, by {}{path}", places.level().name());
        pane.text((0, 0), Ink::Faint, &title);
    }

    fn bars(&self, pane: &mut Pane<'_>, height: usize) {
        let chart = &self.chart;
        let sums = chart.bars.iter().flatten().map(|bar| bar.iter().sum::<f64>());
        let highest = sums.fold(1.0, f64::max);
        let scale = |row: usize| highest * (height - row) as f64 / height as f64;
        for row in 0..height {
            if row == 0 || row + 1 == height || row == height / 2 {
                let text = count((scale(row) * 10.0).round() / 10.0);
                pane.text((row, 0), Ink::Faint, &padded(&text, SCALE_COLUMNS - 1, true));
            }
        }
        for (at, bar) in chart.bars.iter().enumerate() {
            let Some(bar) = bar else { continue };
            let mut below = 0.0;
            let mut drawn = 0;
            for (label, value) in bar.iter().enumerate() {
                below += value;
                let top = (below / highest * height as f64).round() as usize;
                let (letter, ink) = self.look(label);
                while drawn < top.min(height) {
                    drawn += 1;
                    pane.text((height - drawn, SCALE_COLUMNS + at), ink, &letter.to_string());
                }
            }
        }
    }

    /// Draws the line below the bars, and the times of day below it.
    fn axis(&self, pane: &mut Pane<'_>) {
        let line = pane.either('─', '-').to_string().repeat(self.chart.bars.len());
        pane.text((0, SCALE_COLUMNS), Ink::Faint, &line);
        for tick in clock_axis::ticks(self.window, |time_us| self.screen.time_of_day(time_us)) {
            let mark = pane.either('┬', '+').to_string();
            pane.text((0, SCALE_COLUMNS + tick.bar), Ink::Faint, &mark);
            pane.text((1, SCALE_COLUMNS + tick.bar), Ink::Faint, &tick.text);
        }
        let bar = self.screen.waits.bar;
        if let Some(place) = bar.and_then(|back| self.chart.bars.len().checked_sub(back + 1)) {
            let mark = pane.either('▲', '^').to_string();
            pane.text((0, SCALE_COLUMNS + place), Ink::Bold, &mark);
        }
    }

    /// Names the letters that are in the chart.
    fn legend(&self, pane: &mut Pane<'_>, row: usize) {
        let mut column = 0;
        for (at, label) in self.chart.labels.iter().enumerate() {
            let (letter, ink) = self.look(at);
            column = pane.text((row, column), ink, &letter.to_string());
            let label = format!(" {}  ", cut(label, LEGEND_COLUMNS, pane.style()));
            column = pane.text((row, column), Ink::Faint, &label);
        }
    }

    fn shares(&self, pane: &mut Pane<'_>) {
        let screen = self.screen;
        let shares = screen.wait_shares();
        let all: f64 = shares.iter().map(|share| share.sessions).sum();
        let place = &screen.waits;
        let of = match place.bar {
            None => "in the whole chart".to_owned(),
            Some(_) => format!("at {}", screen.time_of_day(place.span(self.window).0)),
        };
        let heading = format!("  sessions share  {} {of}", place.level().name());
        pane.text((0, 0), Ink::Faint, &heading);
        let rows = pane.rows().saturating_sub(1);
        let selected = place.scroll.selected(shares.len());
        for (row, at) in place.scroll.window(shares.len(), rows).enumerate() {
            let share = &shares[at];
            let label = self.chart.labels.iter().position(|label| *label == share.label);
            let (letter, ink) = label.map_or(('.', Ink::Faint), |label| self.look(label));
            let percent = if all > 0.0 { share.sessions / all } else { 0.0 };
            let figures = format!(
                "{letter} {} {} ",
                padded(&count(share.sessions), 6, true),
                padded(&number::percent(percent), 7, true)
            );
            let start = pane.text((row + 1, 0), ink, &figures);
            let room = pane.columns().saturating_sub(start);
            pane.text((row + 1, start), Ink::Plain, &cut(&share.label, room, pane.style()));
            if selected == Some(at) {
                pane.select(row + 1);
            }
        }
        if shares.is_empty() && rows > 0 {
            pane.text((1, 0), Ink::Faint, "no session was active");
        }
    }

    fn look(&self, label: usize) -> (char, Ink) {
        look(self.screen.waits.level(), &self.chart.labels[label], label)
    }
}
