//! Makes lists of frames: one for each view, filtered and sorted.
//!
//! Views of sessions (`view/sessions.rs`, `view/lock_tree.rs`) need one frame; those of catalogs
//! (`view/grids.rs`) also the one before. The history has a view of its own (`history.rs`).
//! Invariant: pure functions of frames, so that a recording shows what the server did.

mod frames;
mod grids;
mod kind;
mod lock_tree;
mod sessions;

pub use frames::ViewedFrames;
pub use kind::PgView;

use crate::catalog;
use crate::filter::SessionFilter;
use crate::listing::{ListOrder, ViewList};

impl PgView {
    /// Returns the list, filtered and sorted. The tree of locks keeps its own order.
    pub fn listing(
        self,
        frames: &ViewedFrames<'_>,
        filter: &SessionFilter,
        order: ListOrder,
    ) -> ViewList {
        let mut listing = match catalog::view(self.name()) {
            Some(view) => grids::listing(view, frames, filter),
            None if self == Self::Locks => return lock_tree::listing(frames),
            None => sessions::listing(self, frames, filter),
        };
        listing.sort(order);
        listing
    }

    /// Returns the fields of a filter that the view does not have, so that all rows pass them.
    pub(crate) fn unanswered(self, filter: &SessionFilter) -> Vec<&'static str> {
        let all = filter.names();
        match catalog::view(self.name()) {
            Some(view) => all.into_iter().filter(|name| !grids::answers(view, name)).collect(),
            None if matches!(self, Self::Locks | Self::Waits) => all,
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
