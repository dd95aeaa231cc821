//! Draws latencies: a histogram for each route, and a map over time.

use screen::{Bins, Histogram, Ink, Pane, number, padded};

use super::super::state::FullScreen;
use super::units::{latency, time_of_day};
use crate::tally::{BINS, Dimension, Row, bin_low_us};

/// Columns of each number.
const NUMBER_COLUMNS: usize = 9;
/// Columns of the latencies beside the heat map.
const MARGIN: usize = 8;
/// The widest column of the heat map.
const COLUMN_WIDTH_MAX: usize = 4;
/// How dark a cell is, in five steps.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
const ASCII_SHADES: [char; 5] = [' ', '.', ':', '*', '#'];
/// The shortest latency that is drawn, in milliseconds.
const SHORTEST_MS: f64 = 0.001;

/// The routes with their quantiles, and a histogram of the one that is selected.
pub(super) fn histogram(screen: &FullScreen, pane: &mut Pane<'_>) {
    let tally = screen.counted();
    let mut routes = vec![("(all)".to_owned(), tally.all())];
    routes.extend(tally.table(Dimension::Route).rows());
    let room = pane.columns().saturating_sub(4 * (NUMBER_COLUMNS + 1)).max(8);
    let mut heads = padded("route", room, false);
    for title in ["count", "p50", "p90", "p99"] {
        heads += &format!(" {}", padded(title, NUMBER_COLUMNS, true));
    }
    pane.text((0, 0), Ink::Faint, &heads);
    let height = (pane.rows() / 3).max(1).min(routes.len());
    let selected = screen.routes.selected(routes.len()).unwrap_or(0);
    for (row, at) in screen.routes.window(routes.len(), height).enumerate() {
        let (name, counted) = &routes[at];
        let mut line = padded(&screen::cut(name, room, pane.style()), room, false);
        let quantiles = [0.5, 0.9, 0.99].map(|q| latency(counted.quantile_ms(q)));
        for text in [number::count(counted.count)].iter().chain(&quantiles) {
            line += &format!(" {}", padded(text, NUMBER_COLUMNS, true));
        }
        pane.text((row + 1, 0), Ink::Plain, &line);
        if at == selected {
            pane.select(row + 1);
        }
    }
    let above = height + 1;
    let rest = pane.rows().saturating_sub(above);
    columns_of(routes[selected].1, &mut pane.part(above, rest));
}

/// Latency upwards, time to the right; the darker, the more exchanges.
pub(super) fn heat_map(screen: &FullScreen, pane: &mut Pane<'_>) {
    let map = screen.counted().heat_map();
    let drawn = map.columns(pane.columns().saturating_sub(MARGIN + 1));
    let (Some(rows), false) = (pane.rows().checked_sub(2), drawn.columns.is_empty()) else {
        pane.text((0, 0), Ink::Faint, "no exchange with a time and a latency yet");
        return;
    };
    // Bins from the lowest to the highest that has anything, two or more in a row if need be.
    let is_used = |bin: &usize| drawn.columns.iter().any(|column| column[*bin] > 0);
    let low = (0..BINS).find(is_used).unwrap_or(0);
    let high = (0..BINS).rfind(is_used).unwrap_or(BINS - 1);
    let each = (high - low + 1).div_ceil(rows.max(1)).max(1);
    let count = (high - low + 1).div_ceil(each).min(rows);
    let cell = |column: &[u64; BINS], group: usize| -> u64 {
        let from = low + group * each;
        column[from..(from + each).min(BINS)].iter().sum()
    };
    let groups = || (0..count).rev();
    let cells = groups().flat_map(|group| drawn.columns.iter().map(move |it| cell(it, group)));
    let highest = cells.max().unwrap_or(0);
    let shades = if pane.style().ascii { ASCII_SHADES } else { SHADES };
    let room = pane.columns().saturating_sub(MARGIN + 1);
    let wide = (room / drawn.columns.len()).clamp(1, COLUMN_WIDTH_MAX);
    for (row, group) in groups().enumerate() {
        let bin = low + group * each;
        let is_round = bin.is_multiple_of(3) || group == 0;
        let label = if is_round { number::tick(bin_low_us(bin) / 1000.0) } else { String::new() };
        let edge = pane.either('│', '|');
        let label = format!("{} {edge}", padded(&label, MARGIN - 1, true));
        let place = pane.text((row, 0), Ink::Faint, &label);
        let cells = drawn.columns.iter().flat_map(|column| {
            std::iter::repeat_n(shades[shade(cell(column, group), highest)], wide)
        });
        pane.text((row, place), Ink::First, &cells.collect::<String>());
    }
    let span = number::time(drawn.span_us as f64 / 1000.0);
    let begin = time_of_day(drawn.begin_us);
    let end = drawn.begin_us.saturating_add(drawn.span_us * drawn.columns.len() as u64);
    let text = format!("{} to {}, a column is {span}", &begin[..8], &time_of_day(end)[..8]);
    pane.text((count, MARGIN + 1), Ink::Faint, &text);
    let text = format!("darkest: {}", number::of(highest, "exchange", "exchanges"));
    pane.text((count + 1, MARGIN + 1), Ink::Faint, &text);
}

/// Latencies of a row as columns on a logarithmic scale, with its quantiles marked.
fn columns_of(row: &Row, pane: &mut Pane<'_>) {
    let Some((low, high)) = row.quantile_ms(0.0).zip(row.quantile_ms(1.0)) else {
        pane.text((0, 0), Ink::Faint, "no latency is known");
        return;
    };
    let (low, high) = (low.max(SHORTEST_MS), high.max(SHORTEST_MS));
    let Some(rows) = pane.rows().checked_sub(5).filter(|rows| *rows > 0) else { return };
    let count = Histogram::bins_max(pane.style()).clamp(1, 60);
    let values = row.latencies.values().map(|(us, count)| ((us / 1000.0).clamp(low, high), count));
    let bins = Bins::weighted(values, count, (low, high), true);
    let marks: Vec<f64> = [0.5, 0.9, 0.99].iter().filter_map(|q| row.quantile_ms(*q)).collect();
    let histogram = Histogram { bins: &bins, rows, marks: &marks, x: &number::tick };
    let style = screen::Style { colour: false, ..*pane.style() };
    let marks = format!("exchanges by latency; {} is p50, p90 and p99", pane.either('▲', '^'));
    pane.text((0, 0), Ink::Faint, &marks);
    let rest = pane.rows() - 1;
    pane.part(1, rest).lines(Ink::First, &histogram.render(&style));
}

/// The step of a count, by the logarithm; only none is the lightest.
fn shade(count: u64, highest: u64) -> usize {
    if count == 0 {
        return 0;
    }
    let share = (1.0 + count as f64).ln() / (1.0 + highest as f64).ln();
    ((share * 4.0).ceil() as usize).clamp(1, 4)
}
