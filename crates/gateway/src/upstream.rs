//! Sends requests to upstreams over HTTP/1.1: choice of a server or worker, connections, timeouts.
//!
//! All cores share an [`Upstream`]: its plan, servers, health and retry budget. An [`UpstreamPool`]
//! holds one core's connections to it; a connection never leaves its core. An `UpstreamConnection`
//! sends a request and reads the head of the response, in the task of the request. An
//! [`UpstreamBody`] reads the body; an [`Upload`] passes on a long body of a request.
//!
//! Invariant: a connection carries another request only if the end of the last response is
//! unambiguous and was read. Nor may a byte follow it when the connection is taken (RFC 9112 §6.3,
//! §9.2). `http1::framing` decides the first, `response` and `connections` keep the rest. Failures
//! are a `FetchError`. Never here: caching, coalescing (`flight`), which fields are forwarded
//! (`fetch::origin_request`).

mod body;
mod budget;
mod connection;
mod connections;
mod dispatch;
mod error_share;
pub(crate) mod fuzzing;
mod health;
mod interim;
mod names;
mod passive;
mod place;
mod pool;
mod probe;
mod read_ahead;
mod render;
mod response;
mod server;
mod servers;
mod stream;
mod switch;
mod trouble;
mod upload;
mod workers;

pub(crate) use body::UpstreamBody;
pub(crate) use dispatch::Dispatch;
pub(crate) use interim::InterimResponses;
pub use names::{IsListener, NameStatus, follow_names};
pub(crate) use pool::UpstreamPool;
pub use probe::probe;
pub(crate) use render::UpstreamRequest;
pub(crate) use response::{Response, is_event_stream};
pub use server::{Upstream, UpstreamServer};
pub(crate) use switch::Switched;
pub(crate) use upload::Upload;
