//! Makes vectors of texts by a model in a directory as Hugging Face's libraries save it.
//!
//! Two architectures are read: BERT encoders of sentence-transformers (MiniLM, BGE, GTE, E5 and
//! their like), and static embeddings of Model2Vec. `settings.rs` reads what the model is,
//! `tokenizer.rs` cuts texts; `encoder.rs` and `vector_table.rs` compute.
//!
//! Invariants: on one machine a text's vector is the same to the bit whatever texts come with it.
//! So crates/serving keeps and shares vectors. It keeps them before they get length 1, which its
//! `texts/vectors.rs` gives them: a further last step goes there too. With [`Precision::Single`] a
//! vector is also the same on every CPU. The sizes of the files bound what is allocated for
//! weights. A bad file is one [`Problem`], the first found, with the file and mostly a key.
//! A vector that is not finite is an error. A text of no tokens gives zeros from static embeddings.
//! Refuses: other architectures, by name; prompts before a text, which callers put there; threads,
//! which callers have.
//! A further file that is read also goes into `BESIDE` of `embedding_generation.rs` in
//! crates/serving, and into the fuzz target `embed_dir`. A new kind or field of [`AboutEmbedder`]
//! goes into `inspect.rs` and `tei.rs` there.

mod attention;
mod encoder;
mod model_dir;
mod norm;
mod settings;
mod tensors;
mod tokenizer;
mod tokenizer_file;
mod tokens;
mod vector_table;
mod word_piece;

pub use norm::to_length_one;
pub use settings::Pooling;
pub use tensors::half;
pub use tokens::{Token, Tokens};

use std::path::{Path, PathBuf};

use encoder::{Encoder, EncoderScratch};
use model_dir::ModelDir;
use settings::{EncoderDims, Modules};
use tensors::Tensors;
use tokenizer::{TokenLimit, Tokenizer};
use vector_table::VectorTable;

use crate::dense::Precision;
use crate::error::{Error, Problem};

/// A model that makes vectors of texts.
#[derive(Debug)]
pub struct Embedder {
    about: AboutEmbedder,
    tokenizer: Tokenizer,
    model: Model,
}

#[derive(Debug)]
enum Model {
    Encoder(Box<Encoder>),
    VectorTable(VectorTable),
}

/// What a model says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutEmbedder {
    pub kind: EmbedderKind,
    /// Numbers per vector.
    pub dims: usize,
    /// Tokens of a text that count, marks of start and end among them.
    pub tokens_max: usize,
    /// Tokens that the model knows.
    pub vocabulary: usize,
    pub pooling: Pooling,
    /// Whether vectors have length 1, unless told otherwise.
    pub normalises: bool,
    /// What is computed in, which is not what was asked for where the CPU cannot.
    pub precision: Precision,
    /// Memory of the weights.
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedderKind {
    /// A BERT encoder with so many layers.
    Encoder { layers: usize },
    /// A vector per token.
    Static,
}

/// How texts are embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Whether vectors have length 1; `None` for what the model's folder says.
    pub normalise: Option<bool>,
    /// Whether a text with too many tokens is cut, instead of refused. Static embeddings always
    /// cut, as Model2Vec does.
    pub truncate: bool,
}

/// Buffers of a thread that embeds; any model's, one call at a time.
#[derive(Debug, Default)]
pub struct EmbedScratch {
    tokens: Tokens,
    encoder: EncoderScratch,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        Self { normalise: None, truncate: true }
    }
}

impl Embedder {
    /// Bytes of a text that are looked at; of an encoder's text that may not be cut, all there are.
    pub const TEXT_BYTES_MAX: usize = tokenizer::TEXT_BYTES_MAX;

    /// Reads a model's folder.
    ///
    /// # Errors
    /// [`Error::Model`] with the first problem found, its file and key.
    pub fn load(dir: &Path, precision: Precision) -> Result<Self, Error> {
        let read = || {
            let modules = Modules::read(&ModelDir::new(dir))?;
            match modules.is_static {
                true => Self::load_table(&modules),
                false => Self::load_encoder(&modules, precision),
            }
        };
        read().map_err(|problem: Problem| Error::Model(vec![problem]))
    }

    /// Returns the file of a model's folder that holds the weights: the largest one, which is put
    /// there last.
    pub fn weights(dir: &Path) -> PathBuf {
        let inner = Modules::read(&ModelDir::new(dir)).map(|modules| modules.model);
        inner.unwrap_or_else(|_| ModelDir::new(dir)).path(tensors::FILE)
    }

    /// Returns what the model says of itself.
    pub fn about(&self) -> &AboutEmbedder {
        &self.about
    }

    /// Returns how many tokens a text has, its marks among them, however many an encoder takes;
    /// of static embeddings, those that count.
    ///
    /// # Errors
    /// [`Error::Text`] for an encoder's text above 64 KiB, or one that the tokenizer fails on.
    pub fn count_tokens(&self, text: &str) -> Result<usize, Error> {
        let count = match &self.model {
            Model::Encoder(_) => self.tokenizer.count(text),
            Model::VectorTable(table) => {
                table.add_tokens(&self.tokenizer, text, &mut Tokens::default())
            }
        };
        count.map_err(|reason| Error::Text { index: 0, reason })
    }

    /// Returns what a text is cut into, for people to look at; with its marks where `marked`.
    ///
    /// # Errors
    /// [`Error::Text`] for any text above 64 KiB, or one that the tokenizer fails on.
    pub fn pieces(&self, text: &str, marked: bool) -> Result<Vec<Token>, Error> {
        self.tokenizer.pieces(text, marked).map_err(|reason| Error::Text { index: 0, reason })
    }

    /// Adds a text to those that wait to be embedded, and returns how many tokens it has.
    ///
    /// Of a text that is cut, at most the first 64 KiB are looked at.
    ///
    /// # Errors
    /// [`Error::Text`] for a text with too many tokens, where it may not be cut, or one that the
    /// tokenizer fails on; then nothing is added.
    pub fn tokenize(
        &self,
        text: &str,
        truncate: bool,
        tokens: &mut Tokens,
    ) -> Result<usize, Error> {
        let wanted = TokenLimit { tokens_max: self.about.tokens_max, truncate };
        let index = tokens.len();
        let added = match &self.model {
            Model::Encoder(_) => self.tokenizer.add(text, wanted, tokens),
            Model::VectorTable(table) => table.add_tokens(&self.tokenizer, text, tokens),
        };
        added.map_err(|reason| Error::Text { index, reason })
    }

    /// Writes the vectors of texts, `dims` numbers each.
    ///
    /// # Errors
    /// [`Error::Text`] for the first text that cannot be embedded; [`Error::Rows`] where `out` is
    /// not as long as the vectors.
    pub fn embed(
        &self,
        texts: &[&str],
        options: EmbedOptions,
        scratch: &mut EmbedScratch,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let mut tokens = std::mem::take(&mut scratch.tokens);
        tokens.clear();
        let added = texts
            .iter()
            .try_for_each(|text| self.tokenize(text, options.truncate, &mut tokens).map(drop));
        let done = added.and_then(|()| self.embed_tokens(&tokens, options.normalise, scratch, out));
        scratch.tokens = tokens;
        done
    }

    /// Writes the vectors of texts that [`Self::tokenize`] of this model made ready.
    ///
    /// # Errors
    /// [`Error::Rows`] where `out` is not as long as the vectors, or the tokens are another
    /// model's. [`Error::Text`] where a vector is not finite, because of the model's weights.
    pub fn embed_tokens(
        &self,
        tokens: &Tokens,
        normalise: Option<bool>,
        scratch: &mut EmbedScratch,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let dims = self.about.dims;
        let (count, room) = (tokens.len(), out.len());
        if room != count * dims {
            let reason =
                format!("{count} texts give {dims} numbers each, there is room for {room}");
            return Err(Error::Rows(reason));
        }
        if !tokens.fit(self.about.vocabulary, self.about.tokens_max) {
            return Err(Error::Rows("the tokens are another model's".to_owned()));
        }
        match &self.model {
            Model::Encoder(encoder) => encoder.embed(tokens, &mut scratch.encoder, out),
            Model::VectorTable(table) => table.embed(tokens, out),
        }
        for (index, vector) in out.chunks_exact_mut(dims).enumerate() {
            if normalise.unwrap_or(self.about.normalises) {
                norm::to_length_one(vector);
            }
            if !vector.iter().all(|number| number.is_finite()) {
                let reason = "its vector is not finite".to_owned();
                return Err(Error::Text { index, reason });
            }
        }
        Ok(())
    }

    fn load_encoder(modules: &Modules, precision: Precision) -> Result<Self, Problem> {
        let shape = EncoderDims::read(&modules.model)?;
        let tokenizer = Tokenizer::read(&modules.model, shape.vocabulary)?;
        let tensors = Tensors::open(&modules.model)?;
        let encoder = Encoder::read(shape, modules.pooling, &tensors, precision)?;
        let shape = encoder.shape();
        if shape.tokens_max <= tokenizer.marks() {
            let reason =
                format!("puts {} marks around a text of {}", tokenizer.marks(), shape.tokens_max);
            return Err(Problem::new(modules.model.name("tokenizer.json"), reason));
        }
        let about = AboutEmbedder {
            kind: EmbedderKind::Encoder { layers: shape.layers },
            dims: shape.hidden,
            tokens_max: shape.tokens_max,
            vocabulary: shape.vocabulary,
            pooling: modules.pooling,
            normalises: modules.normalises,
            precision: encoder.precision(),
            bytes: encoder.bytes(),
        };
        Ok(Self { about, tokenizer, model: Model::Encoder(Box::new(encoder)) })
    }

    fn load_table(modules: &Modules) -> Result<Self, Problem> {
        let (table, tokenizer) = VectorTable::read(&modules.model)?;
        let about = AboutEmbedder {
            kind: EmbedderKind::Static,
            dims: table.dims,
            tokens_max: table.tokens_max(),
            vocabulary: table.tokens(),
            pooling: modules.pooling,
            normalises: modules.normalises,
            precision: Precision::Single,
            bytes: table.bytes(),
        };
        Ok(Self { about, tokenizer, model: Model::VectorTable(table) })
    }
}
