//! What the client gets: stored and fetched responses, refusals, and the fields that explain them.
//!
//! `deliver` chooses by what was found or fetched, `respond` writes. `range` cuts parts of stored
//! bodies, `streaming` encodes bodies as they pass. Never here: asking an origin.

mod deliver;
pub(crate) mod range;
mod respond;
mod streaming;

pub(crate) use deliver::{collapsed, fetched, forwarded, hit, prepare, recalled};
pub(crate) use respond::{collected, explain, preflight, refused, switched};
