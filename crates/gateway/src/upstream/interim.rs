//! Carries interim responses (1xx) of an upstream to the client (RFC 9110 §15.2).
//!
//! Invariants: they are sent at once, ahead of the final response, even if the fetch runs in
//! another task. Only the request that began the fetch gets them; they are never stored or shared.
//! A 100 is not passed on, because the gateway never asks for it. Bound: `COUNT_MAX` of them with
//! `BYTES_MAX` bytes of fields per request, attempts together; beyond that the fetch fails as
//! malformed. docs/operating/security.md states the count. `pass_on` also ends the work whose
//! client has left, if the route says so (`client_gone`). Never here: 101 (`switch`), clients of
//! HTTP/1.0 (`chassis::http`).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use chassis::http::Reply;
use parking_lot::Mutex;

use crate::error::{FetchError, Refusal};
use http1::FieldLines;
use http1::hop_by_hop::end_to_end;

/// Interim responses before one final response.
const COUNT_MAX: u32 = 64;
/// Bytes of their fields.
const BYTES_MAX: usize = 64 * 1024;

/// Carries interim responses from a fetch to its request; clones share the same state.
#[derive(Debug, Clone, Default)]
pub(crate) struct InterimResponses(Option<Arc<Mutex<Arrived>>>);

/// The interim responses that have arrived and are not passed on yet.
#[derive(Debug, Default)]
struct Arrived {
    count: u32,
    bytes: usize,
    waiting: Vec<(u16, Vec<u8>)>,
    request: Option<Waker>,
}

impl InterimResponses {
    /// Returns the state for a fetch from an upstream; the default carries nothing.
    pub(crate) fn of_upstream() -> Self {
        Self(Some(Arc::default()))
    }

    /// Adds an interim response.
    ///
    /// # Errors
    /// `Malformed` when there are too many, or their fields are too long.
    pub(crate) fn add(&self, status: u16, fields: &FieldLines) -> Result<(), FetchError> {
        let Some(state) = &self.0 else { return Err(FetchError::Malformed) };
        state.lock().add(status, fields)
    }

    /// Does the work, and meanwhile passes interim responses on to the client.
    ///
    /// # Errors
    /// Those of the work, and `ClientLeft` when the client leaves before it is done.
    pub(crate) async fn pass_on<T>(
        &self,
        reply: &Reply,
        work: Pin<&mut impl Future<Output = Result<T, Refusal>>>,
    ) -> Result<T, Refusal> {
        let done = reply.unless_left(self.tell(reply, work)).await;
        done.unwrap_or(Err(Refusal::ClientLeft))
    }

    async fn tell<T>(&self, reply: &Reply, mut work: Pin<&mut impl Future<Output = T>>) -> T {
        let Some(state) = &self.0 else { return work.await };
        loop {
            let next = poll_fn(|cx| {
                let done = work.as_mut().poll(cx);
                let mut state = state.lock();
                let arrived = std::mem::take(&mut state.waiting);
                if done.is_pending() && arrived.is_empty() {
                    state.request = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready((arrived, done))
            });
            let (arrived, done) = next.await;
            for (status, fields) in arrived {
                reply.inform(status, &fields).await;
            }
            if let Poll::Ready(done) = done {
                return done;
            }
        }
    }
}

impl Arrived {
    fn add(&mut self, status: u16, fields: &FieldLines) -> Result<(), FetchError> {
        let fields = end_to_end(fields);
        self.count += 1;
        self.bytes += fields.len();
        if self.count > COUNT_MAX || self.bytes > BYTES_MAX {
            return Err(FetchError::Malformed);
        }
        if status != 100 {
            self.waiting.push((status, fields));
            self.request.take().into_iter().for_each(Waker::wake);
        }
        Ok(())
    }
}
