//! Writes replies to clients: stored and fetched responses, refusals, and what explains them.
//!
//! `deliver` chooses the reply by what was found or fetched, and `respond` writes it. `range` cuts
//! ranges of stored bodies, `streaming` encodes bodies of private responses. Invariant: other
//! modules write replies only through the functions named below. Never here: asking an origin
//! (`fetch`), framing (`chassis::http`), encoding stored responses (`cache`).

mod deliver;
pub(crate) mod range;
mod respond;
mod streaming;

pub(crate) use deliver::{collapsed, fetched, forwarded, hit, prepare, recalled};
pub(crate) use respond::{collected, explain, preflight, refused, switched};
