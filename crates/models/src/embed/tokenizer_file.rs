//! Defines the keys of `tokenizer.json` that decide whether its texts can be cut by plain rules.
//!
//! Plain data. `embed/word_piece.rs` decides by it, and `embed/tokenizer.rs` takes `unk_token` from
//! it. A file that does not fit these keys is refused, whatever its kind.
//! Refuses: everything else in the file, which the `tokenizers` crate reads.

use serde::Deserialize;

/// The file.
#[derive(Debug, Deserialize)]
pub(super) struct TokenizerFile {
    pub(super) normalizer: Option<TokenizerStep>,
    pub(super) pre_tokenizer: Option<TokenizerStep>,
    pub(super) model: TokenizerModel,
    #[serde(default)]
    pub(super) added_tokens: Vec<AddedToken>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TokenizerStep {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) clean_text: Option<bool>,
    pub(super) lowercase: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TokenizerModel {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) unk_token: Option<String>,
    pub(super) continuing_subword_prefix: Option<String>,
    pub(super) max_input_chars_per_word: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AddedToken {
    pub(super) content: String,
    #[serde(default)]
    pub(super) normalized: bool,
}
