//! Edits one line of text: a filter, an address.
//!
//! Invariant: the cursor stands between characters of the text.
//! Bound: `CHARACTERS_MAX`; what goes beyond is not taken. Control characters are not taken
//! either.

use crate::pane::Pane;
use crate::style::Ink;
use crate::terminal::Key;
use crate::text::width_of;

/// The longest text.
const CHARACTERS_MAX: usize = 2000;

/// A line that is edited.
#[derive(Debug, Clone, Default)]
pub struct EntryLine {
    characters: Vec<char>,
    cursor: usize,
}

impl EntryLine {
    /// Begins with a text, and the cursor behind it.
    pub fn new(text: &str) -> Self {
        let mut line = Self::default();
        line.paste(text);
        line
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        self.characters.iter().collect()
    }

    /// Takes a key; one that is of no use here changes nothing.
    pub fn key(&mut self, key: Key) {
        match key {
            Key::Char(character) => self.insert(character),
            Key::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.characters.remove(self.cursor);
            }
            Key::Delete if self.cursor < self.characters.len() => {
                self.characters.remove(self.cursor);
            }
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = (self.cursor + 1).min(self.characters.len()),
            Key::EraseLine => drop(self.characters.drain(..std::mem::take(&mut self.cursor))),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.characters.len(),
            _ => {}
        }
    }

    /// Takes a text at the cursor.
    pub fn paste(&mut self, text: &str) {
        text.chars().for_each(|character| self.insert(character));
    }

    /// Draws a title and the text; `_` stands at the cursor, which is always to be seen.
    pub fn draw(&self, pane: &mut Pane<'_>, row: usize, title: &str) {
        let start = pane.text((row, 0), Ink::Bold, title);
        let room = pane.columns().saturating_sub(start + 1);
        let mut first = self.cursor;
        let mut width = 0;
        while first > 0 {
            width += width_of(self.characters[first - 1].encode_utf8(&mut [0; 4]));
            if width > room {
                break;
            }
            first -= 1;
        }
        let before: String = self.characters[first..self.cursor].iter().collect();
        let after: String = self.characters[self.cursor..].iter().collect();
        let column = pane.text((row, start), Ink::Plain, &before);
        let column = pane.text((row, column), Ink::Bold, "_");
        pane.text((row, column), Ink::Plain, &after);
    }

    fn insert(&mut self, character: char) {
        if character.is_control() || self.characters.len() >= CHARACTERS_MAX {
            return;
        }
        self.characters.insert(self.cursor, character);
        self.cursor += 1;
    }
}

#[cfg(test)]
mod tests;
