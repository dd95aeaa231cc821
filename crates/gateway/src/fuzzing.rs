//! The parsers that read strangers' bytes, opened for the fuzz targets; no part of the interface.
//!
//! Nothing in the product calls this.

pub use crate::cache::memory::{KeyBytes, append_selecting, extend_by_variant};
pub use crate::cache::purge::Area;
pub use crate::freshness::{Asked, Directives, Lifetime, Policy, lifetime};
pub use crate::key::{Resource, forwarded, of as key, without_field};
pub use crate::pattern::{Match, Pattern};
pub use crate::reply::range::{Part, parse as range};
pub use crate::request_directives::Demand;
pub use crate::upstream::fuzzing::{Reading, read_answer};
pub use crate::user::{User, UserSource};
