//! Interim responses (1xx) of an upstream, on their way to the client that asked (RFC 9110 §15.2).
//!
//! Invariants: they go out at once and ahead of the answer, also when the fetch runs in a task of
//! its own; they belong to the request that began the fetch and are never stored or shared. 100 is
//! not passed on, because the gateway asks no upstream for it; 101 is no interim response here
//! (`upgrade`). Bound: `COUNT_MAX` of them, with `BYTES_MAX` bytes of fields, for one answer; an
//! upstream that sends more is given up.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use chassis::http::Reply;
use http::HeaderMap;
use parking_lot::Mutex;

use crate::entry;
use crate::error::FetchError;
use crate::upstream::Request;

/// Interim responses before one answer.
const COUNT_MAX: u32 = 64;
/// Bytes of their fields.
const BYTES_MAX: usize = 64 * 1024;

/// Carries interim responses from a fetch to its request; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct News(Option<Arc<Mutex<State>>>);

#[derive(Debug, Default)]
struct State {
    count: u32,
    bytes: usize,
    flooded: bool,
    waiting: Vec<(u16, Vec<u8>)>,
    request: Option<Waker>,
    fetch: Option<Waker>,
}

impl News {
    /// For a fetch from an upstream; the default carries nothing.
    pub fn of_upstream() -> Self {
        Self(Some(Arc::default()))
    }

    /// Listens to what comes before the answer to `request`.
    pub fn listen(&self, request: &mut Request) {
        let Some(state) = self.0.clone() else { return };
        hyper::ext::on_informational(request, move |interim| {
            state.lock().take_in(interim.status().as_u16(), interim.headers());
        });
    }

    /// Fetches, unless the upstream says too much before its answer.
    ///
    /// # Errors
    /// `Malformed` when it does; else those of the fetch.
    pub async fn bounded<T>(
        &self,
        fetch: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let Some(state) = &self.0 else { return fetch.await };
        let mut fetch = pin!(fetch);
        poll_fn(|cx| {
            let outcome = fetch.as_mut().poll(cx);
            let mut state = state.lock();
            if state.flooded {
                return Poll::Ready(Err(FetchError::Malformed));
            }
            if outcome.is_pending() {
                state.fetch = Some(cx.waker().clone());
            }
            outcome
        })
        .await
    }

    /// Does the work, and meanwhile tells the client what arrives.
    pub async fn passed_on<T>(&self, reply: &Reply, work: impl Future<Output = T>) -> T {
        let Some(state) = &self.0 else { return work.await };
        let mut work = pin!(work);
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

impl State {
    fn take_in(&mut self, status: u16, headers: &HeaderMap) {
        self.count += 1;
        let fields = entry::render(headers);
        self.bytes += fields.len();
        self.flooded |= self.count > COUNT_MAX || self.bytes > BYTES_MAX;
        let woken = if self.flooded {
            self.fetch.take()
        } else if status != 100 {
            self.waiting.push((status, fields));
            self.request.take()
        } else {
            None
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }
}
