//! Parses HTTP/1.1 messages: heads, fields (also hop-by-hop), framing, chunks, dates, codings.
//!
//! It takes bytes that the caller has received; it never reads, writes or waits. Only `date` reads
//! the clock, for years of two digits. Invariant: `request` refuses a head whose framing is
//! ambiguous. `framing` refuses such a response, or lets its connection carry no further one. A
//! second reader that follows RFC 9112 then finds the same end of the message. Never here: sockets
//! and timeouts (`chassis::http`, `gateway::upstream`), the render of messages (there too), caching
//! (`cache`). Sources: RFC 9110 and RFC 9112.

pub mod accept;
pub mod chunked;
pub mod date;
pub mod fields;
pub mod forwarded;
pub mod framing;
pub mod hop_by_hop;
mod host;
mod placed;
pub mod request;
pub mod response;

pub use fields::FieldLines;
pub use forwarded::{ClientHeaders, Scheme, TrustedProxies};
pub use request::Head;
