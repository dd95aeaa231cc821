//! Draws what active sessions waited for: stacked bars over time, and below them the shares.
//!
//! A cell has the letter of what it stands for, so that the chart reads without colours. The
//! newest bar is at the right. Cells are rounded so that each bar is as high as its sum.

use screen::{Ink, Pane, cut, number, padded};

use super::super::state::{SCALE_COLUMNS, TopScreen};
use crate::history::WaitChart;
use crate::units::count;

const INKS: [Ink; 7] =
    [Ink::Fine, Ink::First, Ink::Second, Ink::Alarm, Ink::Plain, Ink::Bold, Ink::Faint];

pub(super) fn waits(screen: &TopScreen, pane: &mut Pane<'_>) {
    let places = &screen.waits;
    let columns = pane.columns().saturating_sub(SCALE_COLUMNS);
    let Some(window) = screen.wait_window(columns) else { return };
    let chart = screen.current().history.chart(window, &places.path);
    let path = match places.path.is_empty() {
        true => String::new(),
        false => format!(" of {}", places.path.join(" > ")),
    };
    let title = format!(
        "active sessions by {}{path}, a column is {} s",
        places.level().name(),
        places.bar_seconds()
    );
    pane.text((0, 0), Ink::Faint, &title);
    let rows = pane.rows().saturating_sub(3);
    let height = rows.div_ceil(2);
    bars((screen, &chart), &mut pane.part(1, height + 1), height);
    shares((screen, &chart), &mut pane.part(height + 2, rows + 1 - height));
}

fn bars((screen, chart): (&TopScreen, &WaitChart), pane: &mut Pane<'_>, height: usize) {
    let sums = chart.bars.iter().flatten().map(|bar| bar.iter().sum::<f64>());
    let highest = sums.fold(1.0, f64::max);
    let scale = |row: usize| highest * (height - row) as f64 / height as f64;
    for row in 0..height {
        if row == 0 || row + 1 == height || row == height / 2 {
            let text = padded(&count((scale(row) * 10.0).round() / 10.0), SCALE_COLUMNS - 1, true);
            pane.text((row, 0), Ink::Faint, &text);
        }
    }
    for (at, bar) in chart.bars.iter().enumerate() {
        let Some(bar) = bar else { continue };
        let mut below = 0.0;
        let mut drawn = 0;
        for (label, value) in bar.iter().enumerate() {
            below += value;
            let top = (below / highest * height as f64).round() as usize;
            let ink = INKS[label % INKS.len()];
            while drawn < top.min(height) {
                drawn += 1;
                let letter = letter(chart, label).to_string();
                pane.text((height - drawn, SCALE_COLUMNS + at), ink, &letter);
            }
        }
    }
    let axis = pane.either('─', '-').to_string().repeat(chart.bars.len());
    pane.text((height, SCALE_COLUMNS), Ink::Faint, &axis);
    if let Some(place) = screen.waits.bar.and_then(|back| chart.bars.len().checked_sub(back + 1)) {
        let mark = pane.either('▲', '^').to_string();
        pane.text((height, SCALE_COLUMNS + place), Ink::Bold, &mark);
    }
}

fn shares((screen, chart): (&TopScreen, &WaitChart), pane: &mut Pane<'_>) {
    let shares = screen.wait_shares();
    let all: f64 = shares.iter().map(|share| share.sessions).sum();
    let place = &screen.waits;
    let rows = pane.rows();
    let selected = place.scroll.selected(shares.len());
    for (row, at) in place.scroll.window(shares.len(), rows).enumerate() {
        let share = &shares[at];
        let label = chart.labels.iter().position(|label| *label == share.label);
        let letter = label.map_or('.', |label| letter(chart, label));
        let ink = label.map_or(Ink::Faint, |label| INKS[label % INKS.len()]);
        let percent = if all > 0.0 { share.sessions / all } else { 0.0 };
        let figures = format!(
            "{letter} {} {} ",
            padded(&count(share.sessions), 6, true),
            padded(&number::percent(percent), 7, true)
        );
        let start = pane.text((row, 0), ink, &figures);
        let room = pane.columns().saturating_sub(start);
        pane.text((row, start), Ink::Plain, &cut(&share.label, room, pane.style()));
        if selected == Some(at) {
            pane.select(row);
        }
    }
    if shares.is_empty() && rows > 0 {
        pane.text((0, 0), Ink::Faint, "no session was active");
    }
}

/// The letter of a label: a class has one of its own, all else by its place.
fn letter(chart: &WaitChart, label: usize) -> char {
    match chart.labels[label].as_str() {
        "CPU" => 'C',
        "IO" => 'I',
        "Lock" => 'L',
        "LWLock" => 'W',
        "Client" => 'K',
        "IPC" => 'P',
        "Timeout" => 'T',
        "Activity" => 'A',
        "BufferPin" => 'B',
        "Extension" => 'E',
        _ => char::from(b'a' + (label % 26) as u8),
    }
}
