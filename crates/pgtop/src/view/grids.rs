//! Lists rows of catalogs: what stands there, and what was counted since the frame before.
//!
//! Rows are told apart by the view's keys. A row that is new counts from 0. So does one whose
//! counters were reset since, as `stats_reset` or a counter that went down says. Without the former
//! the growth is at least what is shown.
//! Of the filter for sessions, a view knows the text, and user and database where it has them.
//! Invariant: without a frame before there is no rate, and none of a time that did not pass.

use std::collections::HashMap;

use super::frames::ViewedFrames;
use crate::catalog::{CatalogView, Shown};
use crate::filter::SessionFilter;
use crate::frame::Grid;
use crate::listing::{ListCell, ListColumn, ListRow, ViewList};
use crate::units;
use crate::value::SqlScalar;

/// Rows and those before.
struct GrownGrid<'g> {
    grid: &'g Grid,
    before: Option<Before<'g>>,
    /// What all rows have grown by, by counter.
    sums: HashMap<&'static str, f64>,
}

struct Before<'g> {
    grid: &'g Grid,
    rows: HashMap<String, &'g [SqlScalar]>,
    seconds: f64,
}

pub(super) fn listing(
    view: &CatalogView,
    frames: &ViewedFrames<'_>,
    filter: &SessionFilter,
) -> ViewList {
    let columns = view.columns.iter().enumerate().map(|(at, (title, shown))| {
        let is_number = !matches!(shown, Shown::Label(_));
        let width = match is_number {
            true => 13,
            // A text at the end takes what is left.
            false if at + 1 == view.columns.len() => 0,
            false => 28,
        };
        ListColumn { title, is_number, width }
    });
    let columns = columns.collect();
    let Some(grid) = frames.frame.grids.get(view.name) else {
        return ViewList { columns, rows: Vec::new() };
    };
    let before = frames.before.and_then(|frame| {
        let seconds = (frames.frame.time_us - frame.time_us) as f64 / 1e6;
        let grid = frame.grids.get(view.name).filter(|_| seconds > 0.0)?;
        let rows = grid.rows.iter().map(|row| (key(view, grid, row), &row[..])).collect();
        Some(Before { grid, rows, seconds })
    });
    let mut grown = GrownGrid { grid, before, sums: HashMap::new() };
    for (_, shown) in view.columns {
        if let Shown::ShareOfAll(counter) = shown {
            let rows = grid.rows.iter().filter_map(|row| grown.growth(view, row, counter));
            let sum = rows.sum();
            grown.sums.insert(counter, sum);
        }
    }
    let rows = grid.rows.iter().map(|row| {
        let cells = view.columns.iter().map(|(_, shown)| grown.cell(view, row, *shown));
        ListRow { cells: cells.collect(), ..ListRow::default() }
    });
    let is_met = |row: &ListRow| {
        filter.text.as_ref().is_none_or(|wanted| row.cells.iter().any(|it| wanted.is_met(&it.text)))
            && filter.fields().into_iter().all(|(column, wanted)| {
                let at = view.columns.iter().position(|(_, shown)| shown.is_label(column));
                at.is_none_or(|at| wanted.is_met(&row.cells[at].text))
            })
    };
    ViewList { columns, rows: rows.filter(is_met).collect() }
}

/// Whether a view has a field that sessions are filtered by. Any cell may be the text.
pub(super) fn answers(view: &CatalogView, field: &str) -> bool {
    field == "text" || view.columns.iter().any(|(_, shown)| shown.is_label(field))
}

fn key(view: &CatalogView, grid: &Grid, row: &[SqlScalar]) -> String {
    let values = view.keys.iter().map(|key| grid.value(row, key).shown());
    values.collect::<Vec<_>>().join("\0")
}

impl GrownGrid<'_> {
    fn cell(&self, view: &CatalogView, row: &[SqlScalar], shown: Shown) -> ListCell {
        let growth = |counter| self.growth(view, row, counter);
        let gauge = |column: &str| self.grid.value(row, column).number();
        let seconds = self.before.as_ref().map(|before| before.seconds);
        let cell = match shown {
            Shown::Label(column) => {
                let text = self.grid.value(row, column).shown();
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                Some(ListCell::text(line))
            }
            Shown::Gauge(column, unit) => gauge(column).map(|number| units::cell(number, unit)),
            Shown::Growth(counter, unit) => growth(counter).map(|it| units::cell(it, unit)),
            Shown::Rate(counter, unit) => growth(counter)
                .zip(seconds)
                .map(|(growth, seconds)| units::cell(growth / seconds, unit)),
            Shown::Each { counter, by, unit } => growth(counter)
                .zip(growth(by))
                .filter(|(_, by)| *by > 0.0)
                .map(|(growth, by)| units::cell(growth / by, unit)),
            Shown::ShareOfAll(counter) => growth(counter)
                .zip(self.sums.get(counter).copied())
                .filter(|(_, all)| *all > 0.0)
                .map(|(growth, all)| units::percent(growth / all)),
            Shown::ShareOfBoth(one, other) => growth(one)
                .zip(growth(other))
                .filter(|(one, other)| one + other > 0.0)
                .map(|(one, other)| units::percent(one / (one + other))),
            Shown::ShareOfGrowth { part, whole } => growth(part)
                .zip(growth(whole))
                .filter(|(_, whole)| *whole > 0.0)
                .map(|(part, whole)| units::percent(part / whole)),
            Shown::Percent { part, whole } => gauge(part)
                .zip(gauge(whole))
                .filter(|(_, whole)| *whole > 0.0)
                .map(|(part, whole)| units::percent(part / whole)),
        };
        cell.unwrap_or_default()
    }

    /// By how much a counter has grown since the frame before.
    fn growth(&self, view: &CatalogView, row: &[SqlScalar], counter: &str) -> Option<f64> {
        let before = self.before.as_ref()?;
        let now = self.grid.value(row, counter).number()?;
        let began = |grid: &Grid, row| grid.value(row, "stats_reset").shown();
        let old = before.rows.get(&key(view, self.grid, row));
        let old = old.filter(|old| began(before.grid, old) == began(self.grid, row));
        let old = old.and_then(|row| before.grid.value(row, counter).number()).unwrap_or(0.0);
        Some(if now >= old { now - old } else { now })
    }
}
