//! Runs a BERT encoder: from the tokens of several texts, without padding, to a vector each.
//!
//! Dense layers take the tokens of all texts as rows of one matrix. Only attention and pooling know
//! where a text begins. Texts go together up to 128 tokens, a longer one alone. What a layer writes
//! for the next then stays in a near cache, and the weights are read once a batch
//! (docs/decisions/models.md).
//!
//! Invariant: a text's vector does not depend on the texts beside it. Texts have at most as many
//! tokens as positions, which `embed.rs` checks.
//! Also here: reading of weights by their names in PyTorch or TensorFlow, and pooling. A tensor
//! that is missing or of another shape fails the whole model. Queries, keys and values are one
//! layer, in the order that `attention.rs` expects.
//! Length 1 is made in `embed.rs`, sums in `dense.rs`. A new pooling also goes into `settings.rs`,
//! and into `tei.rs` of crates/serving.

use super::attention::{AttentionScratch, Heads};
use super::norm::LayerNorm;
use super::settings::{EncoderDims, Pooling};
use super::tensors::Tensors;
use super::tokens::Tokens;
use crate::dense::Activation;
use crate::dense::{Dense, Finish, Kernel, Precision, Rounded};
use crate::error::Problem;

/// Tokens that go together, unless one text has more.
const TOGETHER: usize = 128;

#[derive(Debug)]
pub(super) struct Encoder {
    shape: EncoderDims,
    pooling: Pooling,
    heads: Heads,
    kernel: Kernel,
    words: Vec<f32>,
    /// Of each position, with what every token of a first sentence has.
    positions: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// Queries, keys and values.
    mixed: Dense,
    attended: Dense,
    attended_norm: LayerNorm,
    inner: Dense,
    outer: Dense,
    outer_norm: LayerNorm,
}

/// Buffers of an encoder, kept from one call to the next.
#[derive(Debug, Default)]
pub(super) struct EncoderScratch {
    states: Vec<f32>,
    mixed: Vec<f32>,
    attended: Vec<f32>,
    inner: Vec<f32>,
    rounded: Rounded,
    attention: AttentionScratch,
}

impl Encoder {
    /// Reads and packs the weights.
    pub(super) fn read(
        shape: EncoderDims,
        pooling: Pooling,
        tensors: &Tensors,
        precision: Precision,
    ) -> Result<Self, Problem> {
        let kernel = Kernel::best(precision);
        let prefix = tensors.prefix("embeddings.word_embeddings.weight").unwrap_or_default();
        let part = |name: &str| TensorGroup { tensors, name: format!("{prefix}{name}") };
        let EncoderDims { hidden, vocabulary, positions, kinds, epsilon, .. } = shape;
        let embeddings = part("embeddings");
        let words = embeddings.numbers("word_embeddings.weight", &[vocabulary, hidden])?;
        let first_kind = embeddings.numbers("token_type_embeddings.weight", &[kinds, hidden])?;
        let mut positions =
            embeddings.numbers("position_embeddings.weight", &[positions, hidden])?;
        for position in positions.chunks_exact_mut(hidden) {
            position.iter_mut().zip(&first_kind).for_each(|(number, kind)| *number += kind);
        }
        let norm = embeddings.norm("LayerNorm", hidden, epsilon)?;
        let layers = (0..shape.layers)
            .map(|number| Layer::read(&part(&format!("encoder.layer.{number}")), &shape, kernel))
            .collect::<Result<_, _>>()?;
        let heads = Heads {
            count: shape.heads,
            width: hidden / shape.heads,
            kernel: Kernel::best(Precision::Single),
        };
        Ok(Self { shape, pooling, heads, kernel, words, positions, norm, layers })
    }

    pub(super) fn shape(&self) -> &EncoderDims {
        &self.shape
    }

    pub(super) fn precision(&self) -> Precision {
        self.kernel.precision()
    }

    /// Returns the bytes of its weights.
    pub(super) fn bytes(&self) -> usize {
        let tables = size_of_val(self.words.as_slice()) + size_of_val(self.positions.as_slice());
        tables + self.layers.iter().map(Layer::bytes).sum::<usize>()
    }

    /// Writes a vector for each text.
    pub(super) fn embed(&self, texts: &Tokens, scratch: &mut EncoderScratch, out: &mut [f32]) {
        let hidden = self.shape.hidden;
        let mut first = 0;
        while first < texts.len() {
            let mut tokens = texts.count(first);
            let mut end = first + 1;
            while end < texts.len() && tokens + texts.count(end) <= TOGETHER {
                tokens += texts.count(end);
                end += 1;
            }
            self.embed_together(texts, first..end, scratch, &mut out[first * hidden..end * hidden]);
            first = end;
        }
    }

    fn embed_together(
        &self,
        texts: &Tokens,
        range: std::ops::Range<usize>,
        scratch: &mut EncoderScratch,
        out: &mut [f32],
    ) {
        let hidden = self.shape.hidden;
        scratch.states.clear();
        for text in range.clone() {
            self.add_states(texts.of(text), &mut scratch.states);
        }
        self.norm.apply(&mut scratch.states);
        for layer in &self.layers {
            layer.apply(self, texts, range.clone(), scratch);
        }
        let mut rest = scratch.states.as_slice();
        for (text, out) in range.zip(out.chunks_exact_mut(hidden)) {
            let (states, behind) = rest.split_at(texts.count(text) * hidden);
            self.pooling.apply(states, out);
            rest = behind;
        }
    }

    /// Adds what a text's tokens begin with.
    fn add_states(&self, tokens: &[u32], states: &mut Vec<f32>) {
        let hidden = self.shape.hidden;
        for (token, position) in tokens.iter().zip(self.positions.chunks_exact(hidden)) {
            let word = &self.words[*token as usize * hidden..][..hidden];
            states.extend(word.iter().zip(position).map(|(word, position)| word + position));
        }
    }
}

impl Layer {
    fn read(part: &TensorGroup<'_>, shape: &EncoderDims, kernel: Kernel) -> Result<Self, Problem> {
        let EncoderDims { hidden, inner, epsilon, .. } = *shape;
        let dense = |names: &[&str], inputs, outputs| {
            let (mut weights, mut biases) = (Vec::new(), Vec::new());
            for name in names {
                weights.extend(part.numbers(&format!("{name}.weight"), &[outputs, inputs])?);
                biases.extend(part.numbers(&format!("{name}.bias"), &[outputs])?);
            }
            Ok(Dense::new(&weights, &biases, kernel))
        };
        let mixed = ["attention.self.query", "attention.self.key", "attention.self.value"];
        Ok(Self {
            mixed: dense(&mixed, hidden, hidden)?,
            attended: dense(&["attention.output.dense"], hidden, hidden)?,
            attended_norm: part.norm("attention.output.LayerNorm", hidden, epsilon)?,
            inner: dense(&["intermediate.dense"], hidden, inner)?,
            outer: dense(&["output.dense"], inner, hidden)?,
            outer_norm: part.norm("output.LayerNorm", hidden, epsilon)?,
        })
    }

    /// Changes the states of the texts' tokens.
    fn apply(
        &self,
        encoder: &Encoder,
        texts: &Tokens,
        range: std::ops::Range<usize>,
        scratch: &mut EncoderScratch,
    ) {
        let EncoderScratch { states, mixed, attended, inner, rounded, attention } = scratch;
        let hidden = encoder.shape.hidden;
        let tokens = states.len() / hidden;
        let write = Finish::Write(Activation::None);
        mixed.resize(tokens * self.mixed.outputs(), 0.0);
        self.mixed.apply(states, write, rounded, mixed);
        attended.resize(states.len(), 0.0);
        let mut start = 0;
        for text in range {
            let end = start + texts.count(text);
            if start == end {
                continue;
            }
            let mixed = &mixed[start * 3 * hidden..end * 3 * hidden];
            encoder.heads.attend(mixed, attention, &mut attended[start * hidden..end * hidden]);
            start = end;
        }
        self.attended.apply(attended, Finish::Add, rounded, states);
        self.attended_norm.apply(states);
        inner.resize(tokens * self.inner.outputs(), 0.0);
        self.inner.apply(states, Finish::Write(encoder.shape.activation), rounded, inner);
        self.outer.apply(inner, Finish::Add, rounded, states);
        self.outer_norm.apply(states);
    }

    fn bytes(&self) -> usize {
        [&self.mixed, &self.attended, &self.inner, &self.outer].map(Dense::bytes).iter().sum()
    }
}

/// Tensors whose names begin alike.
struct TensorGroup<'a> {
    tensors: &'a Tensors,
    name: String,
}

impl TensorGroup<'_> {
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Problem> {
        self.tensors.floats(&format!("{}.{name}", self.name), shape)
    }

    /// Reads a layer normalisation, by its names in PyTorch or in TensorFlow.
    fn norm(&self, name: &str, count: usize, epsilon: f32) -> Result<LayerNorm, Problem> {
        let is_old = self.tensors.shape(&format!("{}.{name}.gamma", self.name)).is_some();
        let (gain, bias) = if is_old { ("gamma", "beta") } else { ("weight", "bias") };
        Ok(LayerNorm {
            gain: self.numbers(&format!("{name}.{gain}"), &[count])?,
            bias: self.numbers(&format!("{name}.{bias}"), &[count])?,
            epsilon,
        })
    }
}

impl Pooling {
    /// Makes one vector of those of a text's tokens.
    fn apply(self, states: &[f32], out: &mut [f32]) {
        let mut rows = states.chunks_exact(out.len());
        let count = rows.len() as f32;
        let Some(first) = rows.next() else { return out.fill(0.0) };
        out.copy_from_slice(first);
        match self {
            Self::First => {}
            Self::Mean => {
                for row in rows {
                    out.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
                }
                out.iter_mut().for_each(|sum| *sum /= count);
            }
            Self::Max => {
                for row in rows {
                    out.iter_mut().zip(row).for_each(|(most, number)| *most = most.max(*number));
                }
            }
        }
    }
}
