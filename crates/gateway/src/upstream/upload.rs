//! Passes a long request body to a server as it arrives from the client.
//!
//! Invariants: the server gets exactly the announced bytes, or its connection is closed. One piece
//! is held at a time; a server that takes none is a client that is not read. A request whose upload
//! has begun is never repeated. A client that fails is told apart from a server that fails: only
//! the latter says something about the server. Never here: how much is read before (`body` of the
//! gateway), the framing (`render`), the pace of the client (`chassis::http`).

use std::cell::RefCell;
use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use chassis::http::{BodyError, Incoming, Source};

/// A request body, most of which is still to come.
pub(crate) struct Upload<'u> {
    bytes: u64,
    state: RefCell<State<'u>>,
}

struct State<'u> {
    source: &'u mut dyn Source,
    /// The piece that is being sent.
    piece: Bytes,
    /// Whether a byte was sent.
    is_begun: bool,
    /// Whether the server has answered that it takes the request.
    is_accepted: bool,
    /// Whether the client has no piece ready.
    awaits_client: bool,
    is_done: bool,
    failure: Option<BodyError>,
}

/// The reason why an upload ended early.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client failed; [`Upload::failure`] says how.
    Client,
    /// The server takes nothing more.
    Server,
}

impl<'u> Upload<'u> {
    /// Returns the upload of a body with this beginning, of which `rest_bytes` are still to come.
    pub(crate) fn new(beginning: Bytes, body: &'u mut Incoming<'_>, rest_bytes: u64) -> Self {
        let bytes = beginning.len() as u64 + rest_bytes;
        let state = State {
            source: body,
            piece: beginning,
            is_begun: false,
            is_accepted: false,
            awaits_client: false,
            is_done: false,
            failure: None,
        };
        Self { bytes, state: RefCell::new(state) }
    }

    /// Returns the bytes of the body.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes that the server has answered that it takes the request.
    pub(super) fn accept(&self) {
        self.state.borrow_mut().is_accepted = true;
    }

    /// Whether the server has answered so.
    pub(crate) fn is_accepted(&self) -> bool {
        self.state.borrow().is_accepted
    }

    /// Takes the reason why the client did not send all of it.
    pub(crate) fn failure(&self) -> Option<BodyError> {
        self.state.borrow_mut().failure.take()
    }

    /// Whether a byte was sent, so that the request cannot be repeated.
    pub(super) fn is_begun(&self) -> bool {
        self.state.borrow().is_begun
    }

    /// Whether all of it is sent.
    pub(super) fn is_done(&self) -> bool {
        self.state.borrow().is_done
    }

    /// Whether it goes on only when the client sends more.
    pub(super) fn awaits_client(&self) -> bool {
        self.state.borrow().awaits_client
    }

    /// Passes on what has come; completes when all of it is sent. `write` sends bytes and returns
    /// how many it sent.
    ///
    /// # Errors
    /// When either side fails.
    pub(super) fn poll_pass(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<Result<(), Broken>> {
        let state = &mut *self.state.borrow_mut();
        loop {
            while !state.piece.is_empty() {
                match ready!(write(cx, &state.piece)) {
                    Ok(sent) => {
                        state.is_begun = true;
                        state.piece.advance(sent);
                    }
                    Err(_) => return Poll::Ready(Err(Broken::Server)),
                }
            }
            if state.is_done {
                return Poll::Ready(Ok(()));
            }
            // The beginning is given back before more is awaited.
            state.piece = Bytes::new();
            state.awaits_client = true;
            let piece = ready!(state.source.poll_piece(cx));
            state.awaits_client = false;
            match piece {
                None => state.is_done = true,
                Some(Ok(piece)) => state.piece = piece,
                Some(Err(error)) => {
                    let failure = error.downcast::<BodyError>().unwrap_or(BodyError::Closed);
                    state.failure = Some(failure);
                    return Poll::Ready(Err(Broken::Client));
                }
            }
        }
    }
}

impl std::fmt::Debug for Upload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
