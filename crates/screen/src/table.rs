//! Draws a table with aligned columns, which becomes a list where the terminal is too narrow.
//!
//! Invariants: a cell never runs into the next column. Where a table is too wide, its titles are
//! broken first, at spaces and after `_`. Then columns of text are cut, with a mark, down to 8
//! columns each. Columns of numbers are not cut: where they do not fit, each cell gets a line of
//! its own, without the empty ones. There it may be cut, too.
//! Cells beyond the last column are not shown. Never here: sorting, and how numbers read.

use crate::style::{Ink, Style};
use crate::text::{cut, padded, width_of};

/// Spaces between columns.
const GAP: usize = 2;
/// The narrowest that a column of text is cut to before the table becomes a list.
const TEXT_MIN: usize = 8;

/// On which side a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers; never cut in a table.
    Right,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    title: String,
    align: Align,
}

impl Column {
    /// A column with a title.
    pub fn new(title: &str, align: Align) -> Self {
        Self { title: title.to_owned(), align }
    }
}

/// The text of one cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    ink: Ink,
}

impl Cell {
    /// A cell in a colour.
    pub fn new(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: text.into(), ink }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Ink::Plain)
    }
}

/// A table to draw.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, and those beyond the last column are not shown.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table, line by line.
    pub fn render(&self, style: &Style) -> String {
        match self.widths(style) {
            Some(widths) => self.aligned(&widths, style),
            None => self.listed(style),
        }
    }

    /// The columns' widths, or nothing when they do not fit.
    fn widths(&self, style: &Style) -> Option<Vec<usize>> {
        let natural = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| width_of(&cut(&cell.text, usize::MAX, style))).max();
            let pieces = pieces(&column.title).map(|piece| width_of(piece.trim_end()));
            widest.unwrap_or(0).max(pieces.max().unwrap_or(0))
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(natural).collect();
        let room = style.columns().saturating_sub(GAP * self.columns.len().saturating_sub(1));
        // Titles that fit stay on one line.
        for (at, column) in self.columns.iter().enumerate() {
            let more = width_of(&column.title).saturating_sub(widths[at]);
            if widths.iter().sum::<usize>() + more <= room {
                widths[at] += more;
            }
        }
        while widths.iter().sum::<usize>() > room {
            let shrinkable = (0..widths.len())
                .filter(|at| self.columns[*at].align == Align::Left && widths[*at] > TEXT_MIN);
            let widest = shrinkable.max_by_key(|at| widths[*at])?;
            let over = widths.iter().sum::<usize>() - room;
            widths[widest] -= over.min(widths[widest] - TEXT_MIN).clamp(1, 4);
        }
        Some(widths)
    }

    fn aligned(&self, widths: &[usize], style: &Style) -> String {
        let mut out = String::new();
        for row in self.titles(widths).iter().chain(&self.rows) {
            let mut line = String::new();
            let mut spaces = 0;
            for ((column, width), cell) in self.columns.iter().zip(widths).zip(row) {
                let text = cut(&cell.text, *width, style);
                let missing = width.saturating_sub(width_of(&text));
                let (before, after) =
                    if column.align == Align::Right { (missing, 0) } else { (0, missing) };
                line += &" ".repeat(spaces + before);
                line += &style.paint(cell.ink, &text);
                spaces = after + GAP;
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }

    /// The lines of the titles; one that needs fewer than another stands on the last of them.
    fn titles(&self, widths: &[usize]) -> Vec<Vec<Cell>> {
        let titles = self.columns.iter().zip(widths);
        let titles: Vec<Vec<String>> =
            titles.map(|(column, width)| broken(&column.title, *width)).collect();
        let height = titles.iter().map(Vec::len).max().unwrap_or(0);
        let line = |line: usize| {
            let piece = |title: &Vec<String>| {
                (line + title.len()).checked_sub(height).map(|at| title[at].clone())
            };
            titles
                .iter()
                .map(|title| Cell::new(piece(title).unwrap_or_default(), Ink::Faint))
                .collect()
        };
        (0..height).map(line).collect()
    }

    /// One line for each cell, a blank line between rows.
    fn listed(&self, style: &Style) -> String {
        let width = self.columns.iter().map(|column| width_of(&column.title)).max().unwrap_or(0);
        let width = width.min(style.columns() / 2);
        let mut out = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            for (column, cell) in
                self.columns.iter().zip(row).filter(|(_, cell)| !cell.text.is_empty())
            {
                let title = padded(&cut(&column.title, width, style), width, false);
                let text = cut(&cell.text, style.columns() - width - 1, style);
                out += &style.paint(Ink::Faint, &title);
                out += &format!(" {}\n", style.paint(cell.ink, &text));
            }
        }
        out
    }
}

/// What a title may be broken into; a space stays at the end of its piece.
fn pieces(title: &str) -> impl Iterator<Item = &str> {
    title.split_inclusive([' ', '_'])
}

/// A title in lines of at most `width` columns, but for pieces that are wider.
fn broken(title: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in pieces(title) {
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() && width_of(line) + width_of(piece.trim_end()) > width {
            lines.push(piece.to_owned());
        } else {
            line.push_str(piece);
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests;
