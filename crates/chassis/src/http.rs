//! HTTP/1.1 for servers: heads parsed in place, bodies framed strictly, replies in one write.
//!
//! Own code because the request path is what Tidegate exists for: a request whose answer is in
//! memory costs no allocation here, and an idle connection holds no buffer (docs/DECISIONS.md).
//! Sources: RFC 9110, RFC 9112.

mod body;
mod buffers;
mod chunked;
mod connection;
mod head;
mod io;
mod reply;

pub use body::{BodyError, Incoming};
pub use connection::{Answer, Connections, Sent, serve};
pub use head::{BodyLength, Head, Malformed};
pub use reply::{Payload, Reply, Source, reason};

#[cfg(test)]
mod tests;
