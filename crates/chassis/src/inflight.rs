//! Bounds the bytes that requests under way hold beside the cache, over all cores of a process.
//!
//! Who holds bytes for a client or an upstream charges them here first: [`Charge`] is the receipt,
//! and gives them back when it is dropped. At the bound the caller refuses the request, or leaves
//! the bytes with whoever sends them. Invariant: what is charged is given back exactly once. Only
//! [`Charge::add`] goes past the bound. It is for bytes that exist already, and makes the next ones
//! wait. Bytes that only spare somebody a wait (`try_add_spare`) leave half of the room to those
//! that a request cannot do without. Never here: which bytes are worth holding (`http`, the roles),
//! the store of responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::{Counter, Gauge, Registry};

/// The room for the bytes of requests under way.
#[derive(Debug)]
pub struct Inflight {
    used: AtomicUsize,
    bytes_max: usize,
    shown: Gauge,
    refusals: Counter,
}

impl Inflight {
    /// Returns an empty room for `bytes_max` bytes, which is shown in the metrics.
    pub fn new(bytes_max: usize, registry: &Registry) -> Arc<Self> {
        let help = "Bytes that requests under way hold beside the cache.";
        let shown = registry.gauge("tidegate_inflight_bytes", help, &[]);
        let help = "Times that `limits.inflight_bytes` left no room.";
        let refusals = registry.counter("tidegate_inflight_refusals_total", help, &[]);
        Arc::new(Self { used: AtomicUsize::new(0), bytes_max, shown, refusals })
    }

    /// Returns a room without a bound, which no metric shows.
    pub fn unbounded() -> Arc<Self> {
        Self::new(usize::MAX, &Registry::default())
    }

    /// Returns the bytes that are charged.
    pub fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the bytes that there is room for.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.shown.add(bytes as i64);
    }

    fn try_add(&self, bytes: usize, bytes_max: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > bytes_max {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.shown.add(bytes as i64);
        true
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.shown.add(-(bytes as i64));
    }
}

/// Bytes of an [`Inflight`] room that one owner holds.
#[derive(Debug)]
pub struct Charge {
    room: Arc<Inflight>,
    bytes: usize,
}

impl Charge {
    /// Returns a charge of no bytes.
    pub fn new(room: &Arc<Inflight>) -> Self {
        Self { room: Arc::clone(room), bytes: 0 }
    }

    /// Returns a charge of no bytes, of a room without a bound.
    pub fn unbounded() -> Self {
        Self::new(&Inflight::unbounded())
    }

    /// Returns a charge of no bytes, of the same room.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(&self.room)
    }

    /// Returns the bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges bytes without which the request cannot go on. Returns false if there is no room.
    #[must_use]
    pub fn try_add(&mut self, bytes: usize) -> bool {
        let has_room = self.room.try_add(bytes, self.room.bytes_max);
        match has_room {
            true => self.bytes += bytes,
            false => self.room.refusals.add(1),
        }
        has_room
    }

    /// Charges bytes that only spare somebody a wait. Returns false if less than half of the room
    /// would stay free, or if this charge would hold more than an eighth of the room.
    #[must_use]
    pub fn try_add_spare(&mut self, bytes: usize) -> bool {
        let bytes_max = self.room.bytes_max;
        let is_modest = self.bytes.saturating_add(bytes) <= bytes_max / 8;
        let has_room = is_modest && self.room.try_add(bytes, bytes_max / 2);
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }

    /// Charges bytes that exist already, also beyond the bound.
    pub fn add(&mut self, bytes: usize) {
        self.room.add(bytes);
        self.bytes += bytes;
    }

    /// Gives some of its bytes back.
    pub fn remove(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.room.give_back(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.room.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests;
