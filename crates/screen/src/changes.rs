//! Writes what has changed between two pictures of the screen, as escape sequences.
//!
//! Invariants: attributes are plain before and after. A cell that has not changed is not written.
//! Never here: what a picture shows (`pane.rs`), and when it is written (`terminal.rs`).

use std::io::{self, Write};

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetForegroundColor};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color as CellColour, Modifier};

/// The attributes that panes use.
const ATTRIBUTES: [(Modifier, Attribute); 3] = [
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::DIM, Attribute::Dim),
    (Modifier::REVERSED, Attribute::Reverse),
];

/// Writes what turns `before` into `after`; both have one size.
pub(crate) fn write(out: &mut impl Write, before: &Buffer, after: &Buffer) -> io::Result<()> {
    let mut look = (Modifier::empty(), CellColour::Reset);
    let mut next = None;
    for (column, row, cell) in before.diff_iter(after) {
        if next != Some((column, row)) {
            queue!(out, MoveTo(column, row))?;
        }
        next = Some((column + 1, row));
        if look != (cell.modifier, cell.fg) {
            look = (cell.modifier, cell.fg);
            write_look(out, cell)?;
        }
        queue!(out, Print(cell.symbol()))?;
    }
    queue!(out, SetAttribute(Attribute::Reset))
}

fn write_look(out: &mut impl Write, cell: &Cell) -> io::Result<()> {
    queue!(out, SetAttribute(Attribute::Reset))?;
    for (modifier, attribute) in ATTRIBUTES {
        if cell.modifier.contains(modifier) {
            queue!(out, SetAttribute(attribute))?;
        }
    }
    let colour = match cell.fg {
        CellColour::Cyan => Color::DarkCyan,
        CellColour::Yellow => Color::DarkYellow,
        CellColour::Red => Color::DarkRed,
        CellColour::Green => Color::DarkGreen,
        _ => return Ok(()),
    };
    queue!(out, SetForegroundColor(colour))
}

#[cfg(test)]
mod tests;
