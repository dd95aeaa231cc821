//! Cuts texts into the numbers that a model has vectors for.
//!
//! The `tokenizers` crate reads `tokenizer.json`, so every kind of tokenizer gives the answer that
//! its users know. Texts that BERT's own kind cuts by plain rules take the short way of
//! `word_piece.rs`, to the same numbers. Padding and truncation in the file are ignored.
//!
//! Bounds: a text over [`TEXT_BYTES_MAX`] is cut there, or refused where it may not be cut. A text
//! with too many tokens likewise. Only the short way ends early; the crate cuts the whole text
//! first. Static embeddings always cut (`vector_table.rs`). What crates/serving answers from its
//! cache depends on these bounds, too (`embedding_generation.rs`). It answers any error of cutting
//! with 413, its reason behind `text 3`.
//!
//! Invariant: every number that is added to [`Tokens`] is below the vocabulary of the model. A
//! panic of the crate becomes an error, so the profile must unwind.
//! Pieces for people to look at come from the crate, and no model takes them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::model_dir::ModelDir;
use super::tokenizer_file::TokenizerFile;
use super::tokens::{Token, Tokens};
use super::word_piece::WordPiece;
use crate::error::Problem;

/// Bytes of a text that are looked at.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 16;

const FILE: &str = "tokenizer.json";

/// Bytes of a tokenizer; one of half a million pieces has 40 million.
const BYTES_MAX: u64 = 128 << 20;

#[derive(Debug)]
pub(super) struct Tokenizer {
    any: tokenizers::Tokenizer,
    pieces: Option<WordPiece>,
    before: Vec<u32>,
    after: Vec<u32>,
    vocabulary: usize,
    unknown: Option<u32>,
}

/// How much of a text is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenLimit {
    /// Tokens, marks of start and end among them.
    pub(super) tokens_max: usize,
    /// Whether a longer text is cut, instead of refused.
    pub(super) truncate: bool,
}

impl Tokenizer {
    /// Reads a tokenizer for a model that has vectors for so many numbers.
    pub(super) fn read(dir: &ModelDir, vocabulary: usize) -> Result<Self, Problem> {
        let problem = |reason: String| Problem::new(dir.name(FILE), reason);
        let bytes = dir.read(FILE, BYTES_MAX)?;
        let bytes = bytes.ok_or_else(|| problem("is not in the folder".to_owned()))?;
        let plan: TokenizerFile =
            serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))?;
        let read = contained(|| {
            let mut any = tokenizers::Tokenizer::from_bytes(&bytes)?;
            any.with_padding(None).with_truncation(None)?;
            Ok(any)
        });
        let any = read.map_err(problem)?;
        let words = any.get_vocab(true);
        if let Some((word, number)) =
            words.iter().find(|(_, number)| **number as usize >= vocabulary)
        {
            let reason = format!("`{word}` is number {number}, the model has {vocabulary} vectors");
            return Err(problem(reason));
        }
        let unknown = plan.model.unk_token.as_ref().and_then(|word| words.get(word)).copied();
        let pieces = WordPiece::of(&plan, || any.get_vocab(false));
        let mut tokenizer =
            Self { any, pieces, before: Vec::new(), after: Vec::new(), vocabulary, unknown };
        tokenizer.find_marks().map_err(problem)?;
        Ok(tokenizer)
    }

    /// Returns how many tokens mark start and end of every text.
    pub(super) fn marks(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Returns the number of characters of the median word of the vocabulary.
    pub(super) fn median_chars(&self) -> usize {
        let words = self.any.get_vocab(true);
        let mut counts: Vec<usize> = words.keys().map(|word| word.chars().count()).collect();
        counts.sort_unstable();
        match counts.len() {
            0 => 0,
            count => (counts[(count - 1) / 2] + counts[count / 2]) / 2,
        }
    }

    /// Adds a text with its marks, and returns how many tokens it has.
    pub(super) fn add(
        &self,
        text: &str,
        wanted: TokenLimit,
        tokens: &mut Tokens,
    ) -> Result<usize, String> {
        let room = wanted.tokens_max.saturating_sub(self.marks());
        tokens.add(|numbers| self.add_marked(text, room, wanted.truncate, numbers))
    }

    /// Adds a text without marks or unknown tokens.
    pub(super) fn add_known(
        &self,
        text: &str,
        tokens_max: usize,
        tokens: &mut Tokens,
    ) -> Result<usize, String> {
        tokens.add(|numbers| {
            let start = numbers.len();
            self.add_numbers(text, usize::MAX, numbers)?;
            let mut end = start;
            for at in start..numbers.len() {
                let number = numbers[at];
                if Some(number) != self.unknown && end - start < tokens_max {
                    numbers[end] = number;
                    end += 1;
                }
            }
            numbers.truncate(end);
            Ok(())
        })
    }

    /// Returns how many tokens a text has, with its marks, however many the model takes.
    pub(super) fn count(&self, text: &str) -> Result<usize, String> {
        let mut numbers = Vec::new();
        self.add_numbers(within_bounds(text)?, usize::MAX, &mut numbers)?;
        Ok(numbers.len() + self.marks())
    }

    /// Returns the tokens of a text, however many the model takes.
    pub(super) fn pieces(&self, text: &str, marked: bool) -> Result<Vec<Token>, String> {
        let text = within_bounds(text)?;
        let encoding = contained(|| self.any.encode_char_offsets(text, marked))?;
        let chars: Vec<char> = text.chars().collect();
        let piece = |index: usize| {
            let (start, end) = encoding.get_offsets()[index];
            let is_mark = encoding.get_special_tokens_mask()[index] == 1;
            let within = chars.get(start..end).filter(|_| !is_mark);
            let name = || encoding.get_tokens()[index].clone();
            Token {
                number: encoding.get_ids()[index],
                text: within.map_or_else(name, |chars| chars.iter().collect()),
                chars: within.map(|_| start..end),
            }
        };
        Ok((0..encoding.len()).map(piece).collect())
    }

    fn add_marked(
        &self,
        text: &str,
        room: usize,
        truncate: bool,
        numbers: &mut Vec<u32>,
    ) -> Result<(), String> {
        let text = if truncate { cut(text) } else { within_bounds(text)? };
        numbers.extend(&self.before);
        let start = numbers.len();
        self.add_numbers(text, room.saturating_add(1), numbers)?;
        if numbers.len() - start > room {
            if !truncate {
                let (count, most) = (self.count(text)?, room + self.marks());
                return Err(format!("has {count} tokens, the model takes {most}"));
            }
            numbers.truncate(start + room);
        }
        numbers.extend(&self.after);
        Ok(())
    }

    /// Adds the tokens of a text; not all of them where there are more than `enough`.
    fn add_numbers(&self, text: &str, enough: usize, numbers: &mut Vec<u32>) -> Result<(), String> {
        let start = numbers.len();
        if let Some(pieces) = &self.pieces {
            let by_crate =
                |part: &str, numbers: &mut Vec<u32>| self.add_by_crate(part, false, numbers);
            if pieces.add(text, enough, numbers, by_crate)? {
                return Ok(());
            }
            numbers.truncate(start);
        }
        self.add_by_crate(text, false, numbers)
    }

    fn add_by_crate(&self, text: &str, marked: bool, numbers: &mut Vec<u32>) -> Result<(), String> {
        let encoding = contained(|| self.any.encode_fast(text, marked))?;
        let ids = encoding.get_ids();
        if let Some(id) = ids.iter().find(|id| **id as usize >= self.vocabulary) {
            return Err(format!("has token {id}, the model has {} vectors", self.vocabulary));
        }
        numbers.extend(ids);
        Ok(())
    }

    /// Finds what is put around a text.
    fn find_marks(&mut self) -> Result<(), String> {
        let (mut plain, mut marked) = (Vec::new(), Vec::new());
        self.add_by_crate("a", false, &mut plain)?;
        self.add_by_crate("a", true, &mut marked)?;
        let place = (0..=marked.len()).find(|start| marked[*start..].starts_with(&plain));
        let start = place.ok_or("its post-processor changes what it marks")?;
        self.before = marked[..start].to_vec();
        self.after = marked[start + plain.len()..].to_vec();
        Ok(())
    }
}

/// Runs code of a library that may panic on files that its authors did not think of.
fn contained<T>(
    run: impl FnOnce() -> Result<T, Box<dyn std::error::Error + Send + Sync>>,
) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the tokenizer fails on it".to_owned()),
    }
}

fn within_bounds(text: &str) -> Result<&str, String> {
    match text.len() <= TEXT_BYTES_MAX {
        true => Ok(text),
        false => Err(format!("is {} bytes, at most {TEXT_BYTES_MAX} are read", text.len())),
    }
}

/// Returns as much of a text as is looked at.
pub(super) fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
