//! Draws two bars in each row, one to the left and one to the right, to compare two quantities by
//! eye.
//!
//! Each side has a scale of its own, unless `is_shared` gives both the same one. In fewer than 48
//! columns the bars of a row stand below each other.
//! Invariant: the longest bar of a scale fills its side. Where there is room, a value above 0 has
//! at least the smallest mark; one that is 0, negative or not finite has no bar. Beside each other,
//! labels are cut to 20 columns, and the bars get what the numbers leave. Where that is nothing,
//! lines may be wider than the style says. Below each other, labels and numbers are cut to the
//! width. In ASCII a number that gets longer, as by `±`, is cut.
//! The right side has another texture, so that no colour is needed (`style.rs`). docs/lab/report.md
//! and docs/lab/example-cache-lock.md show such bars; draw them anew after a change.

use crate::style::{Ink, Style};
use crate::text::{cut, padded, width_of};

/// The widest label before it is cut.
const LABEL_MAX: usize = 20;

/// One quantity of one row.
#[derive(Debug, Clone)]
pub struct Bar {
    /// How much; what is negative or not finite is drawn as nothing.
    pub value: f64,
    /// How that reads.
    pub text: String,
}

/// A row of two bars for each thing.
#[derive(Debug, Clone)]
pub struct PairedBars<'a> {
    /// What the left and the right bars are.
    pub titles: [&'a str; 2],
    /// Label, left and right bar, and whether the row asks for attention.
    pub rows: Vec<(String, [Bar; 2], bool)>,
    /// Whether both sides have one scale.
    pub is_shared: bool,
}

impl PairedBars<'_> {
    /// Returns the drawing, line by line. In fewer than 48 columns each row takes three lines.
    pub fn render(&self, style: &Style) -> String {
        let longest = |side: usize| {
            self.rows
                .iter()
                .map(|(_, bars, _)| bars[side].value)
                .filter(|value| value.is_finite())
                .fold(0.0, f64::max)
        };
        let mut longest = [longest(0), longest(1)];
        if self.is_shared {
            longest = [longest[0].max(longest[1]); 2];
        }
        if style.columns() < 48 {
            self.stacked(longest, style)
        } else {
            self.beside(longest, style)
        }
    }

    fn beside(&self, longest: [f64; 2], style: &Style) -> String {
        let label = self.rows.iter().map(|(label, ..)| width_of(label)).max().unwrap_or(0);
        let label = label.clamp(4, LABEL_MAX);
        let text = [0, 1].map(|side| self.text_width(side));
        let bars = (style.columns() - label - 6).saturating_sub(text[0] + text[1]) / 2;
        let sides = [0, 1].map(|side| bars + 1 + text[side]);
        let titles = [0, 1]
            .map(|side| padded(&cut(self.titles[side], sides[side], style), sides[side], false));
        let head = format!("{}  {}  {}", " ".repeat(label), titles[0], titles[1]);
        let mut out = style.paint(Ink::Faint, head.trim_end()) + "\n";
        for (name, pair, is_alarming) in &self.rows {
            let name = padded(&cut(name, label, style), label, false);
            let ink = if *is_alarming { Ink::Alarm } else { Ink::Plain };
            let mut line = style.paint(ink, &name);
            for side in [0, 1] {
                let at = Side {
                    is_right: side == 1,
                    is_alarming: *is_alarming,
                    longest: longest[side],
                    width: bars,
                };
                let (bar, ink) = at.drawn(&pair[side], style);
                line += "  ";
                line += &style.paint(ink, &bar);
                let rest = sides[side].saturating_sub(width_of(&bar));
                let gap = if bar.is_empty() { "" } else { " " };
                let text = cut(&pair[side].text, text[side], style);
                line += &padded(&format!("{gap}{text}"), rest, false);
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }

    fn stacked(&self, longest: [f64; 2], style: &Style) -> String {
        let bars = style.columns() / 2 - 2;
        let mut out = String::new();
        for side in [0, 1] {
            let key = [style.either('█', '#'), style.either('▒', '=')][side];
            let line = format!("{key} {}", self.titles[side]);
            out += &style.paint(Ink::Faint, &cut(&line, style.columns(), style));
            out.push('\n');
        }
        for (name, pair, is_alarming) in &self.rows {
            let ink = if *is_alarming { Ink::Alarm } else { Ink::Plain };
            out += &style.paint(ink, &cut(name, style.columns(), style));
            out.push('\n');
            for side in [0, 1] {
                let at = Side {
                    is_right: side == 1,
                    is_alarming: *is_alarming,
                    longest: longest[side],
                    width: bars,
                };
                let (bar, ink) = at.drawn(&pair[side], style);
                let room = style.columns().saturating_sub(width_of(&bar) + 3);
                let text = cut(&pair[side].text, room, style);
                out += &format!("  {} {text}\n", style.paint(ink, &bar));
            }
        }
        out
    }

    fn text_width(&self, side: usize) -> usize {
        self.rows.iter().map(|(_, bars, _)| width_of(&bars[side].text)).max().unwrap_or(0)
    }
}

/// Which bar of a row, and how it is drawn.
struct Side {
    is_right: bool,
    is_alarming: bool,
    longest: f64,
    width: usize,
}

impl Side {
    fn drawn(&self, bar: &Bar, style: &Style) -> (String, Ink) {
        const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
        let ink = match (self.is_right, self.is_alarming) {
            (true, _) => Ink::Second,
            (false, true) => Ink::Alarm,
            (false, false) => Ink::First,
        };
        let has_room = self.width > 0 && self.longest > 0.0;
        if !(bar.value > 0.0 && bar.value.is_finite() && has_room) {
            return (String::new(), ink);
        }
        let eighths = (bar.value / self.longest * self.width as f64 * 8.0).round() as usize;
        let eighths = eighths.clamp(1, self.width * 8);
        // The right side has its own texture, so that no colour is needed to tell the sides apart.
        if self.is_right || style.ascii {
            let mark = if self.is_right { style.either('▒', '=') } else { '#' };
            return (mark.to_string().repeat(eighths.div_ceil(8)), ink);
        }
        let mut text = "█".repeat(eighths / 8);
        if !eighths.is_multiple_of(8) {
            text.push(EIGHTHS[eighths % 8]);
        }
        (text, ink)
    }
}

#[cfg(test)]
mod tests;
