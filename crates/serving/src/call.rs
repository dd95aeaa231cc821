//! A request to a model API on its way through this process, and who waits for its answer.
//!
//! Invariant: an asker is answered once, or dropped, which tells nobody anything.
//!
//! Refuses: to know what carries requests; the binary makes calls of the gateway's questions.

use bytes::Bytes;

use crate::answer::RankMeta;
use crate::refusal::Refusal;

/// JSON, the content type of every answer but pages and documents.
pub const JSON: &str = "application/json";

/// A request, as it stands on the I/O core.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// In capitals.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    pub body: &'a [u8],
    /// As [`Call::json_length`].
    pub json_length: Option<usize>,
    /// Id of the request, in hexadecimal digits.
    pub id: &'a str,
}

/// A request, owned: it outlives the I/O core's hold on it.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// In capitals.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    pub body: Bytes,
    /// Bytes of the body that are JSON, where binary tensors follow (Triton's extension of the Open
    /// Inference Protocol).
    pub json_length: Option<usize>,
    /// Id of the request, in hexadecimal digits.
    pub id: String,
}

impl Call {
    /// Returns it as it stood on the I/O core.
    pub fn ask(&self) -> Ask<'_> {
        let Self { method, path, body, json_length, id } = self;
        Ask { method, path, body, json_length: *json_length, id }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub body: Bytes,
    pub content_type: &'static str,
    /// Bytes of the body that are JSON, where binary tensors follow.
    pub json_length: Option<usize>,
    /// What was shown, when the answer is a ranking.
    pub ranked: Option<RankMeta>,
}

impl Answer {
    /// An answer in JSON.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), content_type: JSON, json_length: None, ranked: None }
    }
}

/// Who waits for an answer.
pub trait Asker: Send {
    /// Whether the answer still matters: the client may have left, its time may be over.
    fn is_waiting(&self) -> bool;

    /// Hands the answer over.
    fn answer(self: Box<Self>, answer: Result<Answer, Refusal>);
}

/// Threads for work that is too long for an I/O core.
pub trait Pool: Send + Sync {
    /// Queues a job behind those that wait; false when too many do.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) -> bool;
}
