//! The names that a route may refer to.
//!
//! Invariant: it is complete before the first route is checked. Never here: the look-up.

use crate::plan::UpstreamPlan;

/// The names that a route may refer to.
pub(super) struct References<'k> {
    /// Upstreams.
    pub upstreams: &'k [UpstreamPlan],
    /// Names of models.
    pub models: &'k [&'k str],
    /// Whether there is a cache on disk.
    pub has_disk: bool,
}
