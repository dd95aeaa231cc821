//! Replies to clients: stored and fetched responses, refusals, and the fields that explain them.
//!
//! `deliver` chooses the reply by what was found or fetched, and `respond` writes it. `range` cuts
//! ranges of stored bodies, `streaming` encodes bodies of private responses. Never here: asking an
//! origin, framing (`chassis::http`).

mod deliver;
pub(crate) mod range;
mod respond;
mod streaming;

pub(crate) use deliver::{collapsed, fetched, forwarded, hit, prepare, recalled};
pub(crate) use respond::{collected, explain, preflight, refused, switched};
