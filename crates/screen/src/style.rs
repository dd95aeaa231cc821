//! Says how to draw: width, colours, and which characters the terminal has.
//!
//! [`Style`] comes from the caller, who knows the terminal (`output.rs` of the binary). [`Ink`]
//! names what a text is; `paint` turns that into an ANSI colour, bold or faint. The laboratory's
//! HTML also chooses colours by `Ink::Alarm` and `Ink::Fine` (`lab`, `report/html.rs`). Its
//! warnings and notes are `Ink::Second`.
//! Text that is drawn for no terminal takes `Style::default`: names in SVG, and errors about bad
//! rows. So it has neither colour nor `ascii`.
//! Invariant: without colour `paint` adds no escape sequence. It does not clean its text; `text.rs`
//! does.
//! [`WIDTH_MIN`] stands once more as 20 in `Histogram::bins_max`. Refuses: to ask the environment
//! or the terminal.

/// The narrowest terminal that is drawn for; a narrower one gets lines of this width.
pub const WIDTH_MIN: usize = 20;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; fewer than [`WIDTH_MIN`] count as that many.
    pub width: usize,
    /// Whether ANSI colours are written.
    pub colour: bool,
    /// Whether only ASCII is written.
    pub ascii: bool,
}

/// What a piece of text is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// As the terminal writes.
    #[default]
    Plain,
    /// A heading.
    Bold,
    /// An axis, a caption: less important.
    Faint,
    /// The first line of a plot, a bar.
    First,
    /// The second line of a plot, a bar to compare with.
    Second,
    /// The third of several things in one plot.
    Third,
    /// The fourth of them.
    Fourth,
    /// What asks for attention.
    Alarm,
    /// What is as it should be.
    Fine,
    /// What takes too long: as `Second`, and bold.
    Slow,
}

impl Default for Style {
    /// 80 columns of UTF-8 without colour.
    fn default() -> Self {
        Self { width: 80, colour: false, ascii: false }
    }
}

impl Style {
    /// Returns the columns to draw in.
    pub fn columns(&self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    /// Returns `text` in the colour of `ink`.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.colour || text.is_empty() || ink == Ink::Plain {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Plain => unreachable!("returned above"),
            Ink::Bold => "1",
            Ink::Faint => "2",
            Ink::First => "36",
            Ink::Second => "33",
            Ink::Third => "34",
            Ink::Fourth => "35",
            Ink::Alarm => "31",
            Ink::Fine => "32",
            Ink::Slow => "1;33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Returns the character of a terminal with UTF-8, or its substitute in ASCII.
    pub(crate) fn either(&self, full: char, ascii: char) -> char {
        if self.ascii { ascii } else { full }
    }
}
