//! Small charts and tables as text: what the tools of the terminal share.
//!
//! Everything is a value with a `render` that returns lines; nothing here writes to a terminal.
//! Invariants: from 20 columns on, no line is wider than [`Style::width`]. The texts of users come
//! out without control characters, so that no file can steer a terminal.
//!
//! Refuses: the environment, sockets, clocks, cursor movement, and any unit of measurement. The
//! caller says how its numbers read.

mod bars;
mod histogram;
mod plot;
mod scale;
mod style;
mod table;
mod text;

pub use bars::{Bar, PairedBars};
pub use histogram::{Bins, Histogram};
pub use plot::Plot;
pub use scale::{Label, is_wide, ticks};
pub use style::{Ink, Style, WIDTH_MIN};
pub use table::{Align, Cell, Column, Table};
pub use text::{clean, cut, padded, width_of, wrapped};
