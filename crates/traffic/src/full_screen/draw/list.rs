//! Draws the list of exchanges.

use screen::{Ink, Pane, cut, padded};

use super::super::listing::Column;
use super::super::state::FullScreen;
use super::units::{bytes, milliseconds, time_of_day};
use crate::owned::OwnedExchange;
use crate::tally::shown;

/// From here on a time asks for attention, as in text.
const SLOW_US: u64 = 1_000_000;
/// The narrowest path, and that of a pane of less than [`NARROW`] columns.
const PATH_COLUMNS_MIN: usize = 16;
const NARROW_PATH_COLUMNS_MIN: usize = 8;
const NARROW: usize = 60;
/// From here on times have milliseconds.
const WIDE: usize = 100;
/// Which columns go, the first one first.
const LEAST_TELLING: [Column; 8] = [
    Column::Bytes,
    Column::Decision,
    Column::Client,
    Column::Time,
    Column::Cache,
    Column::Method,
    Column::Milliseconds,
    Column::Status,
];

pub(super) fn list(screen: &FullScreen, pane: &mut Pane<'_>) {
    let columns = columns(pane.columns());
    let titles: Vec<String> = columns
        .iter()
        .map(|(column, width)| {
            let is_sort = *column == screen.listing.sort;
            let arrow = match (is_sort, screen.listing.descends) {
                (false, _) => "",
                (true, false) => {
                    if pane.style().ascii {
                        "^"
                    } else {
                        "↑"
                    }
                }
                (true, true) => {
                    if pane.style().ascii {
                        "v"
                    } else {
                        "↓"
                    }
                }
            };
            let title = cut(&format!("{}{arrow}", column.title()), *width, pane.style());
            padded(&title, *width, is_number(*column))
        })
        .collect();
    pane.text((0, 0), Ink::Faint, &format!("  {}", titles.join(" ")));
    let rows = pane.rows().saturating_sub(1);
    let count = screen.listing.count();
    let window = screen.listing.scroll.window(count, rows);
    let selected = screen.listing.scroll.selected(count);
    for (row, at) in window.enumerate() {
        let Some((number, exchange)) = screen.listing.row(at) else { continue };
        let mark = if screen.listing.is_marked(number) { "* " } else { "  " };
        let mut place = pane.text((row + 1, 0), Ink::Bold, mark);
        for (column, width) in &columns {
            let (ink, text) = cell(exchange, *column);
            let is_short = *column == Column::Time && *width < text.len();
            let text = if is_short { text[..*width].to_owned() } else { text };
            let text = padded(&cut(&text, *width, pane.style()), *width, is_number(*column));
            place = pane.text((row + 1, place), ink, &text) + 1;
        }
        if selected == Some(at) {
            pane.select(row + 1);
        }
    }
    if count == 0 && rows > 0 {
        pane.text((1, 0), Ink::Faint, "  nothing to show yet");
    }
}

fn is_number(column: Column) -> bool {
    matches!(column, Column::Milliseconds | Column::Bytes)
}

/// The columns that fit, with their widths.
fn columns(room: usize) -> Vec<(Column, usize)> {
    let width = |column| match column {
        Column::Time if room < WIDE => 8,
        Column::Time => 12,
        Column::Client => 15,
        Column::Method => 6,
        Column::Path if room < NARROW => NARROW_PATH_COLUMNS_MIN,
        Column::Path => PATH_COLUMNS_MIN,
        Column::Status => 6,
        Column::Cache => 9,
        Column::Decision => 15,
        Column::Milliseconds => 10,
        Column::Bytes => 6,
    };
    let mut columns: Vec<(Column, usize)> =
        Column::ALL.into_iter().map(|column| (column, width(column))).collect();
    // The mark and a space after it; then a space after each column.
    let taken = |columns: &[(Column, usize)]| 1 + columns.iter().map(|it| it.1 + 1).sum::<usize>();
    for column in LEAST_TELLING {
        if taken(&columns) <= room {
            break;
        }
        columns.retain(|(one, _)| *one != column);
    }
    let rest = room.saturating_sub(taken(&columns));
    for (column, width) in &mut columns {
        if *column == Column::Path {
            *width += rest;
        }
    }
    columns
}

/// What stands in a column, and its colour.
fn cell(exchange: &OwnedExchange, column: Column) -> (Ink, String) {
    let view = exchange.view();
    let unknown = || "-".to_owned();
    let text = match column {
        Column::Time => view.times.time_us.map_or_else(unknown, time_of_day),
        Column::Client => shown(&view.client),
        Column::Method => shown(&view.method),
        Column::Path => shown(&view.url),
        Column::Status => view.status.map_or_else(unknown, |status| status.to_string()),
        Column::Cache => view.handling.map_or_else(unknown, str::to_owned),
        Column::Decision => view.decision.map_or_else(unknown, str::to_owned),
        Column::Milliseconds => view.times.total_us.map_or_else(unknown, milliseconds),
        Column::Bytes => view.bytes.bytes_out.map_or_else(unknown, bytes),
    };
    let ink = match column {
        Column::Status if view.status.is_some_and(|status| status >= 500) => Ink::Alarm,
        Column::Status if view.status.is_some_and(|status| status >= 400) => Ink::Second,
        Column::Cache if view.is_hit == Some(true) => Ink::Fine,
        Column::Milliseconds if view.times.total_us.is_some_and(|total| total >= SLOW_US) => {
            Ink::Alarm
        }
        Column::Time | Column::Client => Ink::Faint,
        _ => Ink::Plain,
    };
    (ink, text)
}
