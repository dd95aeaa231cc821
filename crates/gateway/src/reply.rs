//! What the client gets: stored and fetched responses, refusals, and the fields that explain them.

pub(crate) mod range;
pub(crate) mod respond;
pub(crate) mod streaming;
