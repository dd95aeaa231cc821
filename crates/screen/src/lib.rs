//! Draws small charts and tables, as text and in HTML.
//!
//! [`Plot`], [`Histogram`], [`PairedBars`] and [`Table`] are values with a `render` that returns
//! lines. Also here: helpers for text (`text`), numbers for people ([`number`]), and how to draw
//! ([`Style`]). [`page`] and [`svg`] make reports in HTML. Nothing here writes to a terminal.
//! Invariants: lines are at most [`Style::width`] columns wide, or 20 where that is less. Only bars
//! whose numbers leave them no room may be wider (`bars`). What `render`, `cut`, `clean` and
//! `wrapped` show of a user's text has no control characters, so no file can steer a terminal.
//! Refuses: the environment, sockets, clocks, cursor movement, and any unit of measurement. The
//! caller says how its numbers read.

mod bars;
mod histogram;
pub mod number;
pub mod page;
mod plot;
mod scale;
mod style;
pub mod svg;
mod table;
mod text;

pub use bars::{Bar, PairedBars};
pub use histogram::{Bins, Histogram};
pub use plot::Plot;
pub use scale::{Label, is_wide, ticks};
pub use style::{Ink, Style, WIDTH_MIN};
pub use table::{Align, Cell, Column, Table};
pub use text::{clean, cut, padded, width_of, wrapped};
