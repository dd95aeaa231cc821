//! Cuts ASCII as BERT does: words at spaces and punctuation, then the longest known pieces.
//!
//! It does what `BertNormalizer`, `BertPreTokenizer` and `WordPiece` of the `tokenizers` crate do
//! together. It leaves out their bookkeeping of places.
//!
//! Invariant: a text gives the numbers that the crate gives, up to `enough` of them. An added token
//! that begins with a space is the exception: it is not looked for. The test compares both ways, so
//! it decides whether a new version of the crate fits.
//! `of` decides which tokenizers qualify: those three kinds, with `clean_text`, no normalised added
//! tokens, and at most 255 characters a word. Their `unk_token` and the mark of pieces that go on
//! must be there. Others give `None`, and `embed/tokenizer.rs` takes the crate. A further key goes
//! into `tokenizer_file.rs`.
//! Refuses: stretches between spaces that are not ASCII, which go to the crate. So does a whole
//! text with one of the added tokens (`[MASK]`), because those are found before anything is cut.
//! Sources: "Google's Neural Machine Translation System", section 4.1 (WordPiece), and BERT's
//! `tokenization.py`.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::tokenizer_file::TokenizerFile;

/// Characters of a word above which even a generous model calls it unknown.
const WORD_CHARS_MAX: usize = 255;

/// What a byte is to the cutting, as flags.
const SPACE: u8 = 1;
const PUNCTUATION: u8 = 2;
const CONTROL: u8 = 4;
const WIDE: u8 = 8;
const STARTS_ADDED: u8 = 16;

#[derive(Debug)]
pub(super) struct WordPiece {
    /// Pieces that begin a word.
    firsts: PieceNumbers,
    /// Pieces that go on, without their mark.
    rests: PieceNumbers,
    /// Bytes of the longest piece.
    longest: usize,
    unknown: u32,
    chars_max: usize,
    classes: [u8; 256],
    lower: [u8; 256],
    added: Vec<String>,
}

type PieceNumbers = HashMap<Box<[u8]>, u32, FixedState>;

impl WordPiece {
    /// Returns the cutting of a tokenizer, or `None` where it goes other ways.
    pub(super) fn of(
        plan: &TokenizerFile,
        words: impl FnOnce() -> HashMap<String, u32>,
    ) -> Option<Self> {
        let normalizer = plan.normalizer.as_ref().filter(|step| step.kind == "BertNormalizer")?;
        plan.pre_tokenizer.as_ref().filter(|step| step.kind == "BertPreTokenizer")?;
        let is_plain = plan.model.kind.as_deref() == Some("WordPiece")
            && normalizer.clean_text == Some(true)
            && plan.added_tokens.iter().all(|added| !added.normalized && !added.content.is_empty());
        let chars_max = plan.model.max_input_chars_per_word?;
        if !is_plain || chars_max > WORD_CHARS_MAX {
            return None;
        }
        let words = words();
        let unknown = *words.get(plan.model.unk_token.as_ref()?)?;
        let mark = plan.model.continuing_subword_prefix.as_deref()?;
        let (mut firsts, mut rests) = (PieceNumbers::default(), PieceNumbers::default());
        for (word, number) in words.iter().filter(|(word, _)| word.is_ascii()) {
            firsts.insert(word.as_bytes().into(), *number);
            if let Some(rest) = word.strip_prefix(mark) {
                rests.insert(rest.as_bytes().into(), *number);
            }
        }
        let added: Vec<String> = plan.added_tokens.iter().map(|a| a.content.clone()).collect();
        let lowercase = normalizer.lowercase.unwrap_or(true);
        let lower = |byte: u8| if lowercase { byte.to_ascii_lowercase() } else { byte };
        Some(Self {
            longest: firsts.keys().map(|word| word.len()).max().unwrap_or(0),
            firsts,
            rests,
            unknown,
            chars_max,
            classes: std::array::from_fn(|byte| class(byte as u8, &added)),
            lower: std::array::from_fn(|byte| lower(byte as u8)),
            added,
        })
    }

    /// Adds the tokens of a text; where there are more than `enough`, not all of them. Returns
    /// false where the text has to go the long way as a whole.
    ///
    /// # Errors
    /// Those of `other`, which adds the tokens of what is not ASCII.
    pub(super) fn add(
        &self,
        text: &str,
        enough: usize,
        numbers: &mut Vec<u32>,
        other: impl Fn(&str, &mut Vec<u32>) -> Result<(), String>,
    ) -> Result<bool, String> {
        let bytes = text.as_bytes();
        let start = numbers.len();
        let mut is_checked = false;
        let mut at = 0;
        while at < bytes.len() && numbers.len() - start < enough {
            let (end, found) = self.word_end(bytes, at);
            if found & STARTS_ADDED != 0 && !is_checked {
                if self.added.iter().any(|added| text.contains(added.as_str())) {
                    return Ok(false);
                }
                is_checked = true;
            }
            match found & WIDE {
                0 => self.add_ascii(&bytes[at..end], numbers),
                _ => other(&text[at..end], numbers)?,
            }
            at = end + 1;
        }
        Ok(true)
    }

    /// Returns where the next space is, and what stands before it.
    fn word_end(&self, bytes: &[u8], start: usize) -> (usize, u8) {
        let mut found = 0;
        for (index, byte) in bytes[start..].iter().enumerate() {
            let class = self.classes[usize::from(*byte)];
            if class & SPACE != 0 {
                return (start + index, found);
            }
            found |= class;
        }
        (bytes.len(), found)
    }

    fn add_ascii(&self, bytes: &[u8], numbers: &mut Vec<u32>) {
        let mut word = [0; WORD_CHARS_MAX];
        let mut length = 0;
        for byte in bytes {
            let class = self.classes[usize::from(*byte)];
            if class & PUNCTUATION != 0 {
                self.add_word(&word, length, numbers);
                self.add_word(&[*byte], 1, numbers);
                length = 0;
            } else if class & CONTROL == 0 {
                if let Some(place) = word.get_mut(length) {
                    *place = self.lower[usize::from(*byte)];
                }
                length += 1;
            }
        }
        self.add_word(&word, length, numbers);
    }

    /// Adds the pieces of a word, or the unknown token for all of it.
    fn add_word(&self, word: &[u8], length: usize, numbers: &mut Vec<u32>) {
        if length == 0 {
            return;
        }
        if length > self.chars_max {
            numbers.push(self.unknown);
            return;
        }
        let start = numbers.len();
        let (mut known, mut rest) = (&self.firsts, &word[..length]);
        while !rest.is_empty() {
            let longest = self.longest.min(rest.len());
            let found = (1..=longest).rev().find_map(|end| Some((end, *known.get(&rest[..end])?)));
            let Some((end, number)) = found else {
                numbers.truncate(start);
                numbers.push(self.unknown);
                return;
            };
            numbers.push(number);
            (known, rest) = (&self.rests, &rest[end..]);
        }
    }
}

fn class(byte: u8, added: &[String]) -> u8 {
    let class = match byte {
        b' ' | b'\t' | b'\n' | b'\r' => SPACE,
        _ if byte.is_ascii_punctuation() => PUNCTUATION,
        _ if byte.is_ascii_control() => CONTROL,
        128.. => WIDE,
        _ => 0,
    };
    let starts_added = added.iter().any(|added| added.as_bytes()[0] == byte);
    class | if starts_added { STARTS_ADDED } else { 0 }
}

#[cfg(test)]
mod tests;
