//! Makes lists of frames: one for each view, filtered and sorted.
//!
//! Views of sessions (`view/sessions.rs`, `view/lock_tree.rs`) need one frame; those of catalogs
//! (`view/grids.rs`) also the one before. The history has a view of its own (`history.rs`).
//! Invariant: pure functions of frames, so that a recording shows what the server did.

mod grids;
mod lock_tree;
mod sessions;

use crate::catalog;
use crate::filter::SessionFilter;
use crate::frame::PgFrame;
use crate::listing::{ListOrder, Listing};

/// A view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PgView {
    /// All sessions, the longest query first.
    #[default]
    Running,
    /// Sessions that wait for a lock.
    Waiting,
    /// Sessions that others wait for.
    Blocking,
    /// Who waits for whom, as a tree.
    Locks,
    /// Statements by what they did since the frame before.
    Statements,
    /// What sessions waited for, over time.
    Waits,
    /// Reads and writes.
    InputOutput,
    /// Standbys and slots.
    Replication,
    /// How far long commands are.
    Progress,
    /// Databases.
    Databases,
    /// Tables of the database that is connected to.
    Tables,
    /// Indexes of the database that is connected to.
    Indexes,
}

/// Frames to make a list of.
#[derive(Debug, Clone, Copy)]
pub struct ViewedFrames<'f> {
    /// The frame.
    pub frame: &'f PgFrame,
    /// The one to count from.
    pub before: Option<&'f PgFrame>,
    /// Seconds from which a query is slow.
    pub slow_threshold_s: f64,
}

impl PgView {
    /// All of them, by their keys `1` to `9`, `0`, `-`, `=`.
    pub const ALL: [Self; 12] = [
        Self::Running,
        Self::Waiting,
        Self::Blocking,
        Self::Locks,
        Self::Statements,
        Self::Waits,
        Self::InputOutput,
        Self::Replication,
        Self::Progress,
        Self::Databases,
        Self::Tables,
        Self::Indexes,
    ];
    /// The keys, in this order.
    pub const KEYS: &'static str = "1234567890-=";

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Blocking => "blocking",
            Self::Locks => "locks",
            Self::Statements => "statements",
            Self::Waits => "waits",
            Self::InputOutput => "io",
            Self::Replication => "replication",
            Self::Progress => "progress",
            Self::Databases => "databases",
            Self::Tables => "tables",
            Self::Indexes => "indexes",
        }
    }

    /// Returns a view by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    /// Returns whether it needs to know who blocks whom.
    pub fn needs_locks(self) -> bool {
        matches!(self, Self::Waiting | Self::Blocking | Self::Locks)
    }

    /// Returns whether it is read from a catalog, and so shows what was counted between frames.
    pub fn is_catalog(self) -> bool {
        catalog::view(self.name()).is_some()
    }

    /// Returns the order that it begins with.
    pub fn order(self) -> ListOrder {
        let column = match catalog::view(self.name()) {
            Some(view) => view.columns.iter().position(|(title, _)| *title == view.sort),
            None => sessions::columns(self).iter().position(|it| it.title == "Time"),
        };
        ListOrder { column: column.unwrap_or(0), descends: true }
    }

    /// Returns the list, filtered and sorted. The tree of locks keeps its own order.
    pub fn listing(
        self,
        frames: &ViewedFrames<'_>,
        filter: &SessionFilter,
        order: ListOrder,
    ) -> Listing {
        let mut listing = match catalog::view(self.name()) {
            Some(view) => grids::listing(view, frames, filter),
            None if self == Self::Locks => return lock_tree::listing(frames),
            None => sessions::listing(self, frames, filter),
        };
        listing.sort(order);
        listing
    }
}

#[cfg(test)]
mod tests;
