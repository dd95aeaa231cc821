//! Stores HTTP responses in two tiers, memory in front and a disk behind it, with purges over both.
//!
//! Begin with [`Store`]: look up, recall, store, forget, purge. Beside it are what the gateway
//! needs on its own: keys ([`key`]), codings of bodies ([`codec`], [`encodings`]) and their tags
//! ([`etag`]).
//! Invariant: an [`Entry`] is a complete response, stored under a key. It is immutable but for its
//! hold-off and its encodings. The caller makes the key; [`key`] defines how it begins.
//! Never here: routes, users and decisions about them, what may be stored and for how long
//! (`gateway::freshness`), requests to an origin.

mod area;
pub mod codec;
mod disk;
mod encoder;
pub mod encodings;
mod entry;
pub mod etag;
mod fingerprint;
pub mod key;
mod memory;
mod purge;
mod store;
mod tags;
#[cfg(test)]
mod tests;
mod tracked;

pub use area::Area;
pub use disk::{DiskPlan, DiskStatus, DiskTimes};
pub use encoder::encoded_counters;
pub use entry::{Entry, Lifetime, NewEntry, parse_fields};
pub use key::EntryKey;
pub use memory::LookUp;
pub use purge::PurgeVerdict;
pub use store::{Recall, Recalled, Store, StorePlan};
pub use tags::Tags;
