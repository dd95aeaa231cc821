//! Holds the alarms and the counters of a journal, which its threads set and `journal` reads.
//!
//! There are three alarms: lines cannot be written; lines do not become durable, or readers are not
//! told; sealed segments are not compressed or deleted. Invariant: an alarm stands until its setter
//! clears it, and is logged when its text changes, not each time it is set.
//! The setters are `writer`, `syncer` and `sealer`, one alarm each; each clears its own when the
//! work succeeds. A fourth says for a day what somebody did to the segment being written. Alarms
//! about readers that fall behind are made in `backlog`, not here.
//! A new alarm also goes into `Journal::health`, a new counter into `Stats` and `Journal::stats`.
//! Pages show only what `tidegate/src/admin.rs` names.
//! Never here: the count of unrecorded lines (`intake`), and any decision.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const INTRUSION_TIME: Duration = Duration::from_secs(86_400);

/// One thing that is wrong, or nothing.
#[derive(Default)]
pub(crate) struct Alarm(Mutex<Option<String>>);

impl Alarm {
    /// Raises, replaces or clears it.
    pub(crate) fn set(&self, text: Option<String>) {
        let mut current = self.0.lock();
        if *current == text {
            return;
        }
        match &text {
            Some(reason) => tracing::error!(%reason, "journal alarm"),
            None => tracing::info!("journal alarm is over"),
        }
        *current = text;
    }

    pub(crate) fn text(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// What somebody else did to the files last; an alarm for a day, since nothing ends it.
#[derive(Default)]
pub(crate) struct Intrusion(Mutex<Option<(String, Instant)>>);

impl Intrusion {
    pub(crate) fn set(&self, text: String) {
        tracing::error!(reason = %text, "journal alarm");
        *self.0.lock() = Some((text, Instant::now()));
    }

    pub(crate) fn text(&self) -> Option<String> {
        let last = self.0.lock();
        let (text, at) = last.as_ref()?;
        (at.elapsed() < INTRUSION_TIME).then(|| text.clone())
    }
}

/// What is wrong with a journal.
#[derive(Default)]
pub(crate) struct Alarms {
    /// Why lines cannot be written.
    pub write: Alarm,
    /// Why lines do not become durable.
    pub sync: Alarm,
    /// Why sealed segments are not compressed or deleted.
    pub upkeep: Alarm,
    /// What became of the segment being written.
    pub intrusion: Intrusion,
}

/// What has happened so far.
#[derive(Default)]
pub(crate) struct Counters {
    /// The end of the last line written.
    pub offset: AtomicU64,
    /// Lines taken from lanes, written or not.
    pub lines: AtomicU64,
    /// Bytes of lines that were written.
    pub bytes: AtomicU64,
    pub sync_failures: AtomicU64,
    /// Lines taken from lanes that are not written yet.
    pub pending: AtomicU64,
    /// Lines that could not be written as the journal closed.
    pub lost_at_close: AtomicU64,
}

impl Counters {
    /// Those of a journal that ends at `offset`.
    pub(crate) fn from_offset(offset: u64) -> Self {
        Self { offset: AtomicU64::new(offset), ..Self::default() }
    }
}
