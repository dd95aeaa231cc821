//! Writes replies to clients: stored and fetched responses, refusals, and what explains them.
//!
//! `deliver` chooses the reply by what was found or fetched, and `respond` writes it. `range` cuts
//! ranges of stored bodies, `streaming` encodes bodies of private responses. `private` keeps other
//! caches from sharing a user's response. Invariant: other modules write the heads of replies only
//! through the functions named below. `upgrade` adds the tunnel to a 101, `upstream::interim` sends
//! 1xx itself. Never here: asking an origin (`fetch`), framing (`chassis::http`), encoding stored
//! responses (`cache`).

mod deliver;
mod private;
pub(crate) mod range;
mod respond;
mod streaming;

pub(crate) use deliver::{collapsed, fetched, forwarded, hit, prepare, recalled};
pub(crate) use respond::{collected, explain, preflight, refused, switched};
