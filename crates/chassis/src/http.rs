//! HTTP/1.1 for servers: heads parsed in place, bodies framed strictly, replies in one write.
//!
//! Invariants: a request whose response is in memory costs no allocation here, and an idle
//! connection holds no buffer. For these and for strict framing it is our own code and not hyper
//! (docs/DECISIONS.md). A role may send interim responses ahead of its reply. It may also turn a
//! connection into a tunnel, after its upstream has switched the protocol. Never here: routes,
//! TLS, and the meaning of the bytes in a tunnel.
//! Sources: RFC 9110, RFC 9112.

mod body;
mod buffers;
mod connection;
mod io;
mod limits;
mod reply;
mod tunnel;

pub use body::{BodyError, Incoming};
pub use connection::{Answer, Connections, Sent, serve};
pub use limits::Limits;
pub use reply::{Payload, Reply, Source, reason};
pub use tunnel::Duplex;

#[cfg(test)]
mod tests;
