//! Draws a list: its titles, and as many rows as there is room for.
//!
//! Where the columns do not fit, some go: those of `GOES_FIRST`, then those in the middle. The
//! first one says what the row is. The last one is a text that can be cut, such as a query.
//! Invariant: of a query at least two fifths of the row are shown, or `LAST_COLUMNS`.

use screen::{Ink, Pane, cut, padded, width_of};

use super::super::state::TopScreen;
use crate::listing::{ListColumn, ViewList};
use crate::view::PgView;

/// So many columns are enough for the last one.
const LAST_COLUMNS: usize = 48;
/// What says the least of a session, by the columns' titles.
const GOES_FIRST: [&str; 4] = ["Host/IP", "Cmd", "DB", "User"];

pub(super) fn list(screen: &TopScreen, pane: &mut Pane<'_>) {
    let list = screen.list();
    let columns = columns(&list, pane.columns());
    let order = screen.options.order;
    let arrow = match (order.descends, pane.style().ascii) {
        (true, false) => "↓",
        (false, false) => "↑",
        (true, true) => "v",
        (false, true) => "^",
    };
    let mut place = 0;
    for (at, width) in &columns {
        let column = &list.columns[*at];
        // The tree of locks has an order of its own.
        let is_sorted = *at == order.column && screen.options.view != PgView::Locks;
        let arrow = if is_sorted { arrow } else { "" };
        let title = cut(&format!("{}{arrow}", column.title), *width, pane.style());
        place = pane.text((0, place), Ink::Faint, &padded(&title, *width, column.is_number)) + 1;
    }
    let rows = pane.rows().saturating_sub(1);
    let count = list.rows.len();
    let selected = screen.scroll.selected(count);
    for (row, at) in screen.scroll.window(count, rows).enumerate() {
        let mut place = 0;
        for (column, width) in &columns {
            let text = list.rows[at].cells.get(*column).map_or("", |cell| &cell.text);
            let text = cut(text, *width, pane.style());
            let text = padded(&text, *width, list.columns[*column].is_number);
            place = pane.text((row + 1, place), list.rows[at].ink, &text) + 1;
        }
        if selected == Some(at) {
            pane.select(row + 1);
        }
    }
    if count == 0 && rows > 0 {
        let hidden = screen.current().shown().and_then(|frame| frame.hidden());
        let text = match hidden.filter(|_| !screen.options.view.is_catalog()) {
            Some((count, grant)) => {
                format!("nothing to show; {count} sessions are hidden: {grant}")
            }
            None => "nothing to show".to_owned(),
        };
        pane.text((1, 0), Ink::Faint, &text);
    }
}

/// The columns that fit, with their widths.
fn columns(list: &ViewList, room: usize) -> Vec<(usize, usize)> {
    let natural = |at: usize, column: &ListColumn| {
        let cells = list.rows.iter().filter_map(|row| row.cells.get(at));
        let widest = cells.map(|cell| width_of(&cell.text)).max().unwrap_or(0);
        // An arrow may come behind a title.
        let width = widest.max(width_of(column.title) + 1);
        if column.width == 0 { width } else { width.min(column.width) }
    };
    let mut columns: Vec<(usize, usize)> =
        list.columns.iter().enumerate().map(|(at, column)| (at, natural(at, column))).collect();
    let Some((last, wanted)) = columns.pop() else { return columns };
    let taken = |columns: &[(usize, usize)]| columns.iter().map(|it| it.1 + 1).sum::<usize>();
    let least = wanted.min(LAST_COLUMNS).min(room * 2 / 5);
    while columns.len() > 1 && taken(&columns) + least > room {
        let place = |title: &str| columns.iter().position(|it| list.columns[it.0].title == title);
        let goes = GOES_FIRST.into_iter().find_map(place);
        // `Time` says the most of what is left in the middle.
        let middle = || {
            let is_time = |at: &usize| list.columns[columns[*at].0].title == "Time";
            (1..columns.len()).rev().find(|at| !is_time(at)).unwrap_or(1)
        };
        columns.remove(goes.filter(|at| *at > 0).unwrap_or_else(middle));
    }
    let rest = room.saturating_sub(taken(&columns));
    columns.push((last, wanted.min(rest)));
    columns
}
