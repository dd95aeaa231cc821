//! Decides when the directories are looked through again.
//!
//! Invariant: it waits by monotonic time, so that no change of the wall clock holds up a scan. From
//! the beginning of one scan to the next at least 1 s passes, and twenty times as long as the scan
//! took. So looking takes at most a twentieth of the time, however many files there are. A scan
//! that is requested does not wait; then this bound does not hold.
//! Never here: scanning (`scan`).

use std::time::{Duration, Instant};

/// How often the directories are looked through.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// The share of time that looking may take: one in this many.
const SCAN_SHARE: u32 = 20;

/// The time of the next scan.
#[derive(Debug, Default)]
pub(super) struct ScanSchedule {
    /// None: as soon as possible.
    next: Option<Instant>,
}

impl ScanSchedule {
    /// Wants a scan as soon as possible.
    pub(super) fn request(&mut self) {
        self.next = None;
    }

    /// Whether a scan is wanted as soon as possible.
    pub(super) fn is_requested(&self) -> bool {
        self.next.is_none()
    }

    /// Whether it is time for a scan.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// A scan begins: another one may be requested from here on.
    pub(super) fn begin(&mut self, now: Instant) {
        self.next = Some(now + SCAN_INTERVAL);
    }

    /// The scan that began at `began` took until `now`.
    pub(super) fn end(&mut self, began: Instant, now: Instant) {
        let pause = SCAN_INTERVAL.max((now - began) * SCAN_SHARE);
        self.next = self.next.map(|_| began + pause);
    }
}

#[cfg(test)]
mod tests;
