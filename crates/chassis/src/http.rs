//! HTTP/1.1 for servers: heads parsed in place, bodies framed strictly, replies in one write.
//!
//! Own code because the request path is what Tidegate exists for: a request whose answer is in
//! memory costs no allocation here, and an idle connection holds no buffer (docs/DECISIONS.md).
//! Interim responses go out ahead of a reply, and a connection becomes a tunnel when its role says
//! that the other side has changed the protocol; what travels there is no longer looked at.
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
