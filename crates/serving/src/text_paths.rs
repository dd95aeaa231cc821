//! The paths behind which models of texts answer, and what their bodies share.
//!
//! A body names its model by `model`; without one the first of the configuration answers. Null is
//! the same as absent. Token ids are refused: those that clients make are of OpenAI's tokenizer,
//! and would give vectors that mean nothing, without an error.

use std::fmt;
use std::sync::Arc;

use exchange::Refusal;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};

use crate::clusters;
use crate::openai;
use crate::queued::{AnswerSender, QueuedRequest, WholeAnswer};
use crate::refusal;
use crate::tei;
use crate::texts::{Texts, Then, Wish};

/// Texts to be embedded, and what is to be made of their vectors.
pub(crate) struct Asking {
    pub(crate) model: Arc<Texts>,
    pub(crate) texts: Arc<[String]>,
    pub(crate) wish: Wish,
    pub(crate) then: Then,
}

/// How a path is answered.
enum Reply {
    Ready(WholeAnswer),
    Asking(Asking),
}

/// One text or several: `"…"` or `["…", …]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    One(String),
    Many(Vec<String>),
}

/// The path that tells of a model; all others are asked by POST.
const INFO: &str = "/info";

const PATHS: [&str; 7] =
    ["/v1/embeddings", "/embeddings", "/embed", "/similarity", "/tokenize", INFO, "/cluster"];

/// Returns the method of a path that is answered here.
pub(crate) fn method_of(path: &str) -> Option<&'static str> {
    PATHS.contains(&path).then_some(if path == INFO { "GET" } else { "POST" })
}

/// Answers a request to one of the paths here, by its method. To be called on a thread of the pool.
pub(crate) fn answer_texts(
    models: &[Arc<Texts>],
    request: &QueuedRequest,
    sender: Box<dyn AnswerSender>,
) {
    match reply(models, request) {
        Ok(Reply::Asking(Asking { model, texts, wish, then })) => {
            model.embed(&texts, wish, sender, then);
        }
        Ok(Reply::Ready(answer)) => sender.send(Ok(answer)),
        Err(refusal) => sender.send(Err(refusal)),
    }
}

fn reply(models: &[Arc<Texts>], request: &QueuedRequest) -> Result<Reply, Refusal> {
    let (path, body) = (request.path.as_str(), &request.body[..]);
    let asking = match path {
        INFO => return tei::info(chosen(models, None)?).map(Reply::Ready),
        "/tokenize" => return tei::tokenize(models, body).map(Reply::Ready),
        "/embed" => tei::embed(models, body),
        "/similarity" => tei::similarity(models, body),
        "/cluster" => clusters::ask(models, body),
        _ => openai::ask(models, body),
    };
    asking.map(Reply::Asking)
}

/// Returns the model of a name; the first without one.
///
/// # Errors
/// 404 where there is none.
pub(crate) fn chosen<'m>(
    models: &'m [Arc<Texts>],
    name: Option<&str>,
) -> Result<&'m Arc<Texts>, Refusal> {
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

impl Input {
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

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an array of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Input, E> {
        Ok(Input::One(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Input, E> {
        Ok(Input::One(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Input, A::Error> {
        let mut all = Vec::new();
        while let Some(Text(text)) = texts.next_element()? {
            all.push(text);
        }
        Ok(Input::Many(all))
    }
}

/// A text of an array, where token ids are told apart from other mistakes.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

const IDS: &str = "token ids are of another model's tokenizer; send texts \
                   (LangChain: `check_embedding_ctx_length=False`)";

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Text, E> {
        Err(E::custom(IDS))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Text, A::Error> {
        Err(de::Error::custom(IDS))
    }
}
