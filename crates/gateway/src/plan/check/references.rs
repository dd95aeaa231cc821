//! Holds the names that a route may refer to, while routes are checked.
//!
//! Invariant: plain data; `plan::check` fills it before it checks the first route. Never here: the
//! look-up of a name (`plan::check::target`), names of routes.

use crate::plan::{ModelNames, UpstreamPlan};

/// The names that a route may refer to.
pub(super) struct References<'k> {
    /// Upstreams.
    pub upstreams: &'k [UpstreamPlan],
    /// Models.
    pub models: ModelNames<'k>,
    /// Whether there is a cache on disk.
    pub has_disk: bool,
}
