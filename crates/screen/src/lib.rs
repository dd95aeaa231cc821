//! Draws small charts and tables, as text and in HTML, and gives full-screen tools a terminal.
//!
//! [`Plot`], [`Histogram`], [`PairedBars`] and [`Table`] are values with a `render` that returns
//! lines. Also here: helpers for text (`text`), numbers for people ([`number`]), and how to draw
//! ([`Style`]). [`page`] and [`svg`] make reports in HTML. [`Terminal`] alone writes to a terminal;
//! [`Pane`], [`EntryLine`] and [`Scroll`] are what tools draw and edit with.
//! Invariants: lines are at most [`Style::width`] columns wide, or 20 where that is less. Only bars
//! whose numbers leave them no room may be wider (`bars`). What `render`, `cut`, `clean`, `wrapped`
//! and panes show of a user's text has no control characters, so no file can steer a terminal.
//! Refuses: the environment, sockets, and any unit of measurement. The caller says how its numbers
//! read.

mod bars;
mod changes;
mod entry_line;
mod histogram;
pub mod number;
pub mod page;
mod pane;
mod plot;
mod scale;
mod scroll;
mod style;
pub mod svg;
mod table;
mod terminal;
mod text;

pub use bars::{Bar, PairedBars};
pub use entry_line::EntryLine;
pub use histogram::{Bins, Histogram};
pub use pane::{Pane, drawn};
pub use plot::Plot;
pub use scale::{Label, is_wide, ticks};
pub use scroll::Scroll;
pub use style::{Ink, Style, WIDTH_MIN};
pub use table::{Align, Cell, Column, Table};
pub use terminal::{Input, Key, Terminal};
pub use text::{clean, cut, padded, width_of, wrapped};
