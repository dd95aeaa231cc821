//! Draws who and what is most frequent: by route, status, client, decision, path or host.

use std::cmp::Ordering;

use screen::{Ink, Pane, cut, number, padded};

use super::super::state::{FullScreen, TopColumn};
use super::units::{bytes, latency};
use crate::tally::{Dimension, Row};

/// Columns of each number.
const NUMBER_COLUMNS: usize = 9;
/// The narrowest key.
const KEY_COLUMNS_MIN: usize = 9;
/// Titles of the numbers, and what sorts by them; in a narrow pane the last ones are left out.
const NUMBERS: [(&str, Option<TopColumn>); 7] = [
    ("count", Some(TopColumn::Count)),
    ("share", None),
    ("errors", Some(TopColumn::Errors)),
    ("p50", Some(TopColumn::P50)),
    ("p90", Some(TopColumn::P90)),
    ("p99", Some(TopColumn::P99)),
    ("bytes", Some(TopColumn::Bytes)),
];

pub(super) fn top(screen: &FullScreen, pane: &mut Pane<'_>) {
    let mut column = pane.text((0, 0), Ink::Faint, "by ");
    for dimension in Dimension::ALL {
        let is_this = dimension == screen.top.dimension;
        let ink = if is_this { Ink::Bold } else { Ink::Faint };
        let (left, right) = if is_this { ('[', ']') } else { (' ', ' ') };
        column = pane.text((0, column), ink, &format!("{left}{}{right}", dimension.name()));
    }
    let each = NUMBER_COLUMNS + 1;
    let numbers = (pane.columns().saturating_sub(KEY_COLUMNS_MIN) / each).min(NUMBERS.len());
    let width = pane.columns().saturating_sub(numbers * each);
    let is_key = screen.top.sort == TopColumn::Key;
    let arrow = match (screen.top.ascends, pane.style().ascii) {
        (true, false) => "↑",
        (false, false) => "↓",
        (true, true) => "^",
        (false, true) => "v",
    };
    let name = screen.top.dimension.name();
    let mut heads = padded(&format!("{name}{}", if is_key { arrow } else { "" }), width, false);
    for (title, sort) in &NUMBERS[..numbers] {
        let arrow = if *sort == Some(screen.top.sort) { arrow } else { "" };
        heads.push(' ');
        heads += &padded(&format!("{title}{arrow}"), NUMBER_COLUMNS, true);
    }
    pane.text((1, 0), Ink::Faint, &heads);
    let rows = top_rows(screen);
    let height = pane.rows().saturating_sub(2);
    let window = screen.top.scroll.window(rows.len(), height);
    let selected = screen.top.scroll.selected(rows.len());
    let all = screen.counted().exchanges();
    for (row, at) in window.enumerate() {
        let (key, counted) = &rows[at];
        let mut line = padded(&cut(key, width, pane.style()), width, false);
        for text in &cells(counted, all)[..numbers] {
            line.push(' ');
            line += &padded(text, NUMBER_COLUMNS, true);
        }
        let ink = if counted.errors > 0 { Ink::Second } else { Ink::Plain };
        pane.text((row + 2, 0), ink, &line);
        if selected == Some(at) {
            pane.select(row + 2);
        }
    }
}

fn top_rows(screen: &FullScreen) -> Vec<(String, &Row)> {
    let mut rows = screen.counted().table(screen.top.dimension).rows();
    let quantile = |q: f64| {
        move |(_, one): &(String, &Row), (_, other): &(String, &Row)| {
            let [one, other] = [one, other].map(|row| row.quantile_ms(q).unwrap_or(-1.0));
            one.total_cmp(&other)
        }
    };
    type Order = Box<dyn Fn(&(String, &Row), &(String, &Row)) -> Ordering>;
    let order: Order = match screen.top.sort {
        TopColumn::Count => Box::new(|one, other| one.1.count.cmp(&other.1.count)),
        TopColumn::Errors => Box::new(|one, other| one.1.errors.cmp(&other.1.errors)),
        TopColumn::Bytes => Box::new(|one, other| one.1.bytes_out.cmp(&other.1.bytes_out)),
        TopColumn::Key => Box::new(|one, other| one.0.cmp(&other.0)),
        TopColumn::P50 => Box::new(quantile(0.5)),
        TopColumn::P90 => Box::new(quantile(0.9)),
        TopColumn::P99 => Box::new(quantile(0.99)),
    };
    match screen.top.ascends {
        true => rows.sort_by(|one, other| order(one, other)),
        false => rows.sort_by(|one, other| order(other, one)),
    }
    rows
}

fn cells(row: &Row, all: u64) -> [String; 7] {
    let share = if all > 0 { row.count as f64 / all as f64 } else { 0.0 };
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| latency(row.quantile_ms(q)));
    [
        number::count(row.count),
        number::percent(share),
        number::count(row.errors),
        p50,
        p90,
        p99,
        bytes(row.bytes_out),
    ]
}
