//! Reads what bodies of texts share, whichever API they belong to.
//!
//! Also here: the task that a body becomes. A body names its model by `model`; without one the
//! first of the configuration that is not unloaded answers. An unloaded model is 404, as an unknown
//! one. Null is the same as absent, but for required keys. What is no JSON is 400; what does not
//! fit has the status of the API.
//! Refuses: token ids. Those that clients make are of OpenAI's tokenizer, and would give vectors
//! that mean nothing, without an error.
//! Elsewhere: keys of each API (`openai.rs`, `tei.rs`, `clusters.rs`).

use std::fmt;
use std::sync::Arc;

use exchange::Refusal;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};

use crate::refusal;
use crate::texts::{EmbeddingModel, MakeAnswer, VectorOptions};

/// Texts to be embedded, and what is to be made of their vectors.
pub(crate) struct EmbedTask {
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) texts: Arc<[String]>,
    pub(crate) options: VectorOptions,
    pub(crate) make_answer: MakeAnswer,
}

/// One text or several: `"…"` or `["…", …]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TextInput {
    One(String),
    Many(Vec<String>),
}

/// Returns the model of a name; the first without one.
///
/// # Errors
/// 404 where there is none.
pub(crate) fn chosen<'m>(
    models: &'m [Arc<EmbeddingModel>],
    name: Option<&str>,
) -> Result<&'m Arc<EmbeddingModel>, Refusal> {
    let found = match name {
        Some(name) => models.iter().find(|model| model.plan().name == name),
        None => models.first(),
    };
    let known = models.iter().map(|model| model.plan().name.as_str());
    found.ok_or_else(|| refusal::no_model(name.unwrap_or("of texts"), known))
}

/// Reads a body; what is not JSON is 400, what does not fit `status`.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8], status: u16) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let status = if error.is_data() { status } else { 400 };
        Refusal::new(status, format!("read the body: {error}"))
    })
}

impl TextInput {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(texts) => texts.len(),
        }
    }

    pub(crate) fn into_texts(self) -> Arc<[String]> {
        match self {
            Self::One(text) => Arc::from([text]),
            Self::Many(texts) => texts.into(),
        }
    }
}

impl<'de> Deserialize<'de> for TextInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextInputVisitor)
    }
}

struct TextInputVisitor;

impl<'de> Visitor<'de> for TextInputVisitor {
    type Value = TextInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an array of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TextInput, E> {
        Ok(TextInput::One(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<TextInput, E> {
        Ok(TextInput::One(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<TextInput, A::Error> {
        let mut all = Vec::new();
        while let Some(TextElement(text)) = texts.next_element()? {
            all.push(text);
        }
        Ok(TextInput::Many(all))
    }
}

/// A text of an array, where token ids are told apart from other mistakes.
struct TextElement(String);

impl<'de> Deserialize<'de> for TextElement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextElementVisitor)
    }
}

struct TextElementVisitor;

const IDS: &str = "token ids are of another model's tokenizer; send texts \
                   (LangChain: `check_embedding_ctx_length=False`)";

impl<'de> Visitor<'de> for TextElementVisitor {
    type Value = TextElement;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TextElement, E> {
        Ok(TextElement(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<TextElement, E> {
        Ok(TextElement(text))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<TextElement, E> {
        Err(E::custom(IDS))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<TextElement, A::Error> {
        Err(de::Error::custom(IDS))
    }
}
