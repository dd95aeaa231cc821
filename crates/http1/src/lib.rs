//! HTTP/1.1 as bytes: request and response heads, field lines, framing, chunks, dates.
//!
//! Every function is pure: bytes in, parsed parts out. Invariant: a message that two readers could
//! delimit differently is refused. So a server, a proxy and an origin always agree where a message
//! ends. Never here: sockets and timeouts (`chassis`, `gateway::upstream`), caching.
//! Sources: RFC 9110 and RFC 9112.

pub mod accept;
pub mod chunked;
pub mod date;
pub mod fields;
pub mod framing;
pub mod hop_by_hop;
pub mod request;
pub mod response;

pub use fields::FieldLines;
pub use request::Head;
