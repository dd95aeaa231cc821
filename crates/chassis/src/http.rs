//! Serves HTTP/1.1: parses heads in place, frames bodies strictly, writes short replies at once.
//!
//! Invariants: an idle connection holds no buffer. A request without a body, whose response is in
//! memory, costs no allocation here once the buffers of its thread exist. Only the `Date` line
//! does, once a second. For these and for strict framing it is our own code and not hyper
//! (docs/DECISIONS.md). A role may send interim responses ahead of its reply. It may also turn a
//! connection into a tunnel, after its upstream has switched the protocol. Begin with `connection`.
//! Never here: the parsers (`http1`), listening (`listen`), routes, TLS, HTTP/2, and the meaning of
//! the bytes in a tunnel. Sources: RFC 9110, RFC 9112.

mod body;
mod buffers;
mod connection;
mod io;
mod limits;
mod reply;
mod tunnel;

pub use body::{BodyError, Incoming};
pub use connection::{Answer, Connections, Sent, serve};
pub use http1::request::Underscores;
pub use http1::{ClientHeaders, TrustedProxies};
pub use limits::Limits;
pub use reply::{Payload, Reply, Source};
pub use tunnel::Duplex;

#[cfg(test)]
mod tests;
