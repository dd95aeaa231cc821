//! Keeps which row of a list is selected, and which rows are to be seen.
//!
//! The list itself is the caller's; it says how many rows there are.
//! Invariant: the window holds the selected row, however the list or the screen has changed.
//! With `follows` the last row is selected, whatever is added.

use std::ops::Range;

use crate::terminal::Key;

/// A place in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scroll {
    selected: usize,
    first: usize,
    /// Whether the last row stays selected.
    pub follows: bool,
}

impl Scroll {
    /// Begins at the end of a list, and follows it.
    pub fn following() -> Self {
        Self { follows: true, ..Self::default() }
    }

    /// Returns the selected row; nothing in an empty list.
    pub fn selected(&self, count: usize) -> Option<usize> {
        let last = count.checked_sub(1)?;
        Some(if self.follows { last } else { self.selected.min(last) })
    }

    /// Returns the rows that are to be seen on a screen of so many.
    pub fn window(&self, count: usize, rows: usize) -> Range<usize> {
        let selected = self.selected(count).unwrap_or(0);
        let lowest = (selected + 1).saturating_sub(rows).min(selected);
        let first = self.first.clamp(lowest, selected).min(count.saturating_sub(rows));
        first..(first + rows).min(count)
    }

    /// Selects a row, and ends following.
    pub fn select(&mut self, row: usize) {
        self.follows = false;
        self.selected = row;
    }

    /// Takes a key that moves; returns whether it was one. Moving ends following, and `End` does
    /// not begin it.
    pub fn key(&mut self, key: Key, count: usize, rows: usize) -> bool {
        let page = rows.saturating_sub(1).max(1);
        let last = count.saturating_sub(1);
        let now = self.selected(count).unwrap_or(0);
        let wanted = match key {
            Key::Up => now.saturating_sub(1),
            Key::Down => now + 1,
            Key::PageUp => now.saturating_sub(page),
            Key::PageDown => now + page,
            Key::Home => 0,
            Key::End => last,
            _ => return false,
        };
        self.first = self.window(count, rows).start;
        self.select(wanted.min(last));
        self.first = self.window(count, rows).start;
        true
    }

    /// The first rows of the list are gone.
    pub fn shift(&mut self, gone: usize) {
        self.selected = self.selected.saturating_sub(gone);
        self.first = self.first.saturating_sub(gone);
    }
}

#[cfg(test)]
mod tests;
