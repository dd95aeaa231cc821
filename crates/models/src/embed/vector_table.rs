//! Computes static embeddings (Model2Vec): each token has a vector, and a text's vector is their
//! mean.
//!
//! As in `model2vec`, unknown tokens are left out, and a text is cut to 512 tokens. Before that it
//! is cut to 64 KiB, and to 512 times the characters of a median token. A text without known tokens
//! is all zeros. Weights of tokens lie in the vectors, or beside them (`weights`). Tokens may share
//! vectors (`mapping`). The mean divides by the number of tokens, not by their weights.
//!
//! Invariant: sums run over tokens in order, in f32, so a text's vector depends on its tokens
//! alone. Every token has a vector: mapping and tokenizer are checked against their number when
//! they are read.
//! Length 1 is made in `embed.rs`. A text that is too long is never an error here. The crate
//! `serving` counts on it: the cache in `embedding_generation.rs`, and `auto_truncate` in `tei.rs`.

use super::model_dir::ModelDir;
use super::tensors::Tensors;
use super::tokenizer::{TEXT_BYTES_MAX, Tokenizer, cut};
use super::tokens::Tokens;
use crate::error::Problem;

/// Tokens of a text that count.
const TOKENS_MAX: usize = 512;

#[derive(Debug)]
pub(super) struct VectorTable {
    pub(super) dims: usize,
    vectors: Vec<f32>,
    /// The vector of each token, where they are shared.
    mapping: Option<Vec<u32>>,
    /// What each token's vector is multiplied by.
    weights: Option<Vec<f32>>,
    /// Characters of a text that are looked at.
    chars_max: usize,
    tokens: usize,
}

impl VectorTable {
    /// Reads the vectors, and the tokenizer beside them.
    pub(super) fn read(dir: &ModelDir) -> Result<(Self, Tokenizer), Problem> {
        let tensors = Tensors::open(dir)?;
        let name = match tensors.shape("embeddings") {
            Some(_) => "embeddings",
            None => "embedding.weight",
        };
        let Some(shape) = tensors.shape(name) else {
            return Err(tensors.problem("embeddings", "is missing"));
        };
        let &[rows, dims] = shape else {
            return Err(tensors.problem(name, format!("is of shape {shape:?}, must be a matrix")));
        };
        let (rows, dims) = (rows as usize, dims as usize);
        if rows == 0 || dims == 0 {
            return Err(tensors.problem(name, "is empty"));
        }
        let vectors = tensors.floats(name, &[rows, dims])?;
        let length = |name| match tensors.shape(name) {
            None => Ok(None),
            Some(&[count]) => Ok(Some(count as usize)),
            Some(shape) => Err(tensors.problem(name, format!("is of shape {shape:?}"))),
        };
        let mapping = match length("mapping")? {
            Some(count) => Some(tensors.indices("mapping", count, rows)?),
            None => None,
        };
        let weights = match length("weights")? {
            Some(count) => Some(tensors.floats("weights", &[count])?),
            None => None,
        };
        let tokens = mapping.as_ref().map_or(rows, Vec::len);
        if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != tokens) {
            let reason = format!("holds {} numbers for {tokens} tokens", weights.len());
            return Err(tensors.problem("weights", reason));
        }
        let tokenizer = Tokenizer::read(dir, tokens)?;
        let chars_max = TOKENS_MAX * tokenizer.median_chars();
        Ok((Self { dims, vectors, mapping, weights, chars_max, tokens }, tokenizer))
    }

    pub(super) fn tokens_max(&self) -> usize {
        TOKENS_MAX
    }

    /// Returns how many tokens have a vector.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.vectors.as_slice())
    }

    /// Adds the tokens of a text that count.
    pub(super) fn add_tokens(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        tokens: &mut Tokens,
    ) -> Result<usize, String> {
        let text = cut(text);
        let mut ends = text.char_indices().skip(self.chars_max);
        let text = match text.len() > self.chars_max {
            true => ends.next().map_or(text, |(end, _)| &text[..end]),
            false => text,
        };
        debug_assert!(text.len() <= TEXT_BYTES_MAX, "cut before");
        tokenizer.add_known(text, TOKENS_MAX, tokens)
    }

    /// Writes a vector for each text.
    pub(super) fn embed(&self, texts: &Tokens, out: &mut [f32]) {
        for (text, out) in (0..texts.len()).zip(out.chunks_exact_mut(self.dims)) {
            out.fill(0.0);
            let tokens = texts.of(text);
            for token in tokens {
                self.add_token(*token as usize, out);
            }
            let count = tokens.len().max(1) as f32;
            out.iter_mut().for_each(|sum| *sum /= count);
        }
    }

    fn add_token(&self, token: usize, sums: &mut [f32]) {
        let row = self.mapping.as_ref().map_or(token, |mapping| mapping[token] as usize);
        let vector = &self.vectors[row * self.dims..][..self.dims];
        match &self.weights {
            None => sums.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number),
            Some(weights) => {
                let weight = weights[token];
                sums.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number * weight);
            }
        }
    }
}
