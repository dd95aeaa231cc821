//! Upstreams over HTTP/1.1: servers or workers, who is asked, and the connections kept to them.
//!
//! `server::Upstream` is what all cores share: plan, health, the retry budget. `UpstreamPool` is
//! one core's connections to it; a connection never leaves its core. `Connection` sends a request
//! and reads the head of its response, in the request's own task; `UpstreamBody` reads what
//! follows. Invariant: a connection carries another request only when the end of the last response
//! is beyond doubt, so that no response is ever taken for that of another request (RFC 9112 §6.3,
//! §9.2). Here: choosing, connecting, sending, timing out. Never here: caching, coalescing.

mod body;
mod budget;
mod connection;
mod connections;
mod dispatch;
pub(crate) mod fuzzing;
mod health;
mod interim;
mod pool;
mod probe;
mod render;
mod response;
mod server;
mod servers;
mod stream;
mod switch;
mod workers;

pub(crate) use body::UpstreamBody;
pub(crate) use dispatch::Dispatch;
pub(crate) use interim::InterimResponses;
pub(crate) use pool::UpstreamPool;
pub use probe::probe;
pub(crate) use render::UpstreamRequest;
pub(crate) use response::Response;
pub use server::Upstream;
pub(crate) use switch::Switched;
