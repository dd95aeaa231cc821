//! Names the settings of a journal: directory, durability, size and age of segments, what is kept,
//! and what happens when it is full.
//!
//! Plain data with defaults for everything but the directory. The one rule here: the segment size
//! is at most a quarter of the byte cap, so deleting one frees a useful part. One drain may exceed
//! it.
//! `tidegate/src/config.rs` checks bounds where it reads `[journal]`. It has its own defaults for
//! `sync`, `keep`, `on_full` and `segment_bytes_max`; a program's user meets those. The age of
//! segments and the bound of a lane have no key, so their values here are in force.
//! `retention` carries out `Keep`, `intake` carries out `OnFull`, `durable` carries out `Sync`.
//! A collection route waits for its line only under `Sync::Always` (`tidegate/src/ports.rs`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stdx::{Clock, SystemClock};

/// How a journal is kept.
#[derive(Clone)]
pub struct Options {
    /// The directory that holds the journal and nothing else; created when missing.
    pub dir: PathBuf,
    /// When lines are made durable.
    pub sync: Sync,
    /// A segment that would grow beyond this is sealed first; one drain may exceed it.
    pub segment_bytes_max: u64,
    /// A segment older than this is sealed.
    pub segment_age_max: Duration,
    /// Which sealed segments stay.
    pub keep: Keep,
    /// What happens to lines that find no place.
    pub on_full: OnFull,
    /// What a lane holds at most while the disk is slow or full, in bytes.
    pub lane_bytes_max: usize,
    /// The clock that ages the live segment, and dates that are compared with those of files.
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// The defaults for a journal in `dir`: synced every second, 64 MB or one hour a segment. It is
    /// kept without bound and serves when full, with 4 MB a lane.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            sync: Sync::Interval(Duration::from_secs(1)),
            segment_bytes_max: 64_000_000,
            segment_age_max: Duration::from_secs(3600),
            keep: Keep { age: Duration::MAX, bytes: u64::MAX },
            on_full: OnFull::Serve,
            lane_bytes_max: 4 << 20,
            clock: Arc::new(SystemClock),
        }
    }

    /// Four segments fit below the cap, so that deleting one always frees a useful part of it.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes_max.min(self.keep.bytes / 4).max(1)
    }
}

/// When lines are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// After every drain, that is at once and for many lines together.
    Always,
    /// This long after the first line that is not yet durable.
    Interval(Duration),
}

/// Which sealed segments stay: those younger than `age`, while all files stay below `bytes`.
///
/// A segment that a registered consumer has not finished is never deleted. When `bytes` cannot be
/// kept for that reason, the journal is full and [`OnFull`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// By the time of the last write.
    pub age: Duration,
    /// As on disk, compressed.
    pub bytes: u64,
}

/// What happens to lines when the disk or the byte cap is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Lanes fill up to their bound, then lines are dropped and counted.
    Serve,
    /// Lines are refused at once, until there is room.
    Refuse,
}
