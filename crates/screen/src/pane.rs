//! Draws lines of text into a part of the screen.
//!
//! A [`Pane`] is a rectangle of cells. What does not fit is cut, and what lies outside is not
//! drawn, so a tool needs no smallest size. [`drawn`] returns as text what would be on a screen.
//! Invariants: text is cleaned and cut as `text.rs` does it. Without colour only bold, faint and
//! reversed are used.
//! Never here: where the cells go (`terminal.rs`).

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

use crate::style::{Ink, Style};
use crate::text::{cut, width_of};

/// A part of the screen to draw on.
#[derive(Debug)]
pub struct Pane<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
    style: Style,
}

impl<'b> Pane<'b> {
    pub(crate) fn new(buffer: &'b mut Buffer, area: Rect, style: Style) -> Self {
        Self { buffer, area, style: Style { width: area.width.into(), ..style } }
    }

    /// Returns the columns.
    pub fn columns(&self) -> usize {
        self.area.width.into()
    }

    /// Returns the rows.
    pub fn rows(&self) -> usize {
        self.area.height.into()
    }

    /// Returns how to draw; its width is the pane's.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// Returns the character of a terminal with UTF-8, or its substitute in ASCII.
    pub fn either(&self, full: char, ascii: char) -> char {
        self.style.either(full, ascii)
    }

    /// Returns the rows from `start` on, at most `count`.
    pub fn part(&mut self, start: usize, count: usize) -> Pane<'_> {
        let start = start.min(self.rows());
        let count = count.min(self.rows() - start);
        // Both are at most the height, which is a `u16`.
        let area = Rect { y: self.area.y + start as u16, height: count as u16, ..self.area };
        Pane::new(self.buffer, area, self.style)
    }

    /// Writes text at a place, and returns the column after it.
    pub fn text(&mut self, (row, column): (usize, usize), ink: Ink, text: &str) -> usize {
        if row >= self.rows() || column >= self.columns() {
            return column;
        }
        let text = cut(text, self.columns() - column, &self.style);
        let (x, y) = (self.area.x + column as u16, self.area.y + row as u16);
        let room = self.columns() - column;
        self.buffer.set_stringn(x, y, &text, room, look(ink, self.style.colour));
        column + width_of(&text)
    }

    /// Writes pieces of text one after the other.
    pub fn line(&mut self, row: usize, pieces: &[(Ink, &str)]) {
        let mut column = 0;
        for (ink, text) in pieces {
            column = self.text((row, column), *ink, text);
        }
    }

    /// Writes lines that were drawn without colour.
    pub fn lines(&mut self, ink: Ink, lines: &str) {
        for (row, line) in lines.lines().enumerate() {
            self.text((row, 0), ink, line);
        }
    }

    /// Shows a row reversed: the one that is selected.
    pub fn select(&mut self, row: usize) {
        if row < self.rows() {
            let area = Rect { y: self.area.y + row as u16, height: 1, ..self.area };
            let look = ratatui_core::style::Style::new().add_modifier(Modifier::REVERSED);
            self.buffer.set_style(area, look);
        }
    }
}

/// Returns what `draw` draws on a screen of so many columns and rows, line by line, without the
/// spaces at their ends.
pub fn drawn(style: Style, rows: u16, draw: impl FnOnce(&mut Pane<'_>)) -> String {
    let width = u16::try_from(style.width).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, width, rows);
    let mut buffer = Buffer::empty(area);
    draw(&mut Pane::new(&mut buffer, area, style));
    let mut out = String::new();
    for row in 0..rows {
        let mut line = String::new();
        let mut covered = 0;
        for column in 0..width {
            // The cell behind a wide character is its second half.
            if covered > 0 {
                covered -= 1;
                continue;
            }
            let symbol = buffer[(column, row)].symbol();
            covered = width_of(symbol).saturating_sub(1);
            line += symbol;
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

fn look(ink: Ink, has_colour: bool) -> ratatui_core::style::Style {
    let plain = ratatui_core::style::Style::new();
    let coloured = |colour| if has_colour { plain.fg(colour) } else { plain };
    match ink {
        Ink::Plain => plain,
        Ink::Bold => plain.add_modifier(Modifier::BOLD),
        Ink::Faint => plain.add_modifier(Modifier::DIM),
        Ink::First => coloured(Color::Cyan),
        Ink::Second => coloured(Color::Yellow),
        Ink::Third => coloured(Color::Blue),
        Ink::Fourth => coloured(Color::Magenta),
        Ink::Alarm => coloured(Color::Red),
        Ink::Fine => coloured(Color::Green),
        Ink::Slow => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
    }
}

#[cfg(test)]
mod tests;
