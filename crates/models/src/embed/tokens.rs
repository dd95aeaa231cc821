//! Holds texts as a model sees them: the numbers of their tokens, one text after the other.
//!
//! Invariant: a text is there with all tokens that count, or not at all. An error leaves the
//! earlier texts as they were.
//! Whether numbers are below a model's vocabulary is seen by `fit`; `embed/tokenizer.rs` keeps it.
//! Texts of two models must not be mixed in one list.
//! Marks of start and end count as tokens. The crate `serving` reports a text's number of tokens as
//! usage, and tells by it whether the text may have been cut.
//! [`Token`] is plain data for people to look at; `tei.rs` of the crate `serving` shows it in
//! `/tokenize`.

use std::ops::Range;

/// Texts as the model sees them, one after the other.
#[derive(Debug, Default)]
pub struct Tokens {
    numbers: Vec<u32>,
    ends: Vec<usize>,
}

/// A token of a text, beside the characters that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub number: u32,
    /// The characters as the text has them; of a mark, its name.
    pub text: String,
    /// Where in the text, in characters; `None` for marks of start and end.
    pub chars: Option<Range<usize>>,
}

impl Tokens {
    /// Forgets all texts, keeps the memory.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.ends.clear();
    }

    /// Returns how many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns how many tokens all texts have together: what embedding them costs.
    pub fn total(&self) -> usize {
        self.numbers.len()
    }

    /// Adds a text of another list, which the same model made.
    ///
    /// # Panics
    /// Where there is no such text.
    pub fn add_from(&mut self, other: &Self, text: usize) {
        self.numbers.extend_from_slice(other.of(text));
        self.ends.push(self.numbers.len());
    }

    /// Returns the tokens of a text.
    ///
    /// # Panics
    /// Where there is no such text.
    pub fn of(&self, text: usize) -> &[u32] {
        let start = if text == 0 { 0 } else { self.ends[text - 1] };
        &self.numbers[start..self.ends[text]]
    }

    /// Adds a text whose tokens `add` appends, and returns how many it has; where `add` fails
    /// nothing is added.
    pub(super) fn add(
        &mut self,
        add: impl FnOnce(&mut Vec<u32>) -> Result<(), String>,
    ) -> Result<usize, String> {
        let start = self.numbers.len();
        if let Err(reason) = add(&mut self.numbers) {
            self.numbers.truncate(start);
            return Err(reason);
        }
        self.ends.push(self.numbers.len());
        Ok(self.numbers.len() - start)
    }

    pub(super) fn count(&self, text: usize) -> usize {
        self.of(text).len()
    }

    /// Whether a model of this vocabulary that takes so many tokens can have made them.
    pub(super) fn fit(&self, vocabulary: usize, tokens_max: usize) -> bool {
        let known = self.numbers.iter().all(|number| (*number as usize) < vocabulary);
        known && (0..self.len()).all(|text| self.count(text) <= tokens_max)
    }
}
