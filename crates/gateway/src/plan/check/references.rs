//! What routes may refer to by name.

use crate::plan::UpstreamPlan;

/// What routes may refer to.
pub(super) struct References<'k> {
    /// Upstreams.
    pub upstreams: &'k [UpstreamPlan],
    /// Names of models.
    pub models: &'k [&'k str],
    /// Whether there is a cache on disk.
    pub has_disk: bool,
}
