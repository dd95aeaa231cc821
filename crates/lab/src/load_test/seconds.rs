//! Puts the seconds of all threads together, for the progress line and the interval log.
//!
//! A second is complete when every thread has sent it or a later one, or has ended; a silent thread
//! holds it back. Counts are by the second in which a call ended, to the 100 ms of the engine's
//! pulse.
//! Invariant: complete seconds come in order, each once, while the run goes on. A second that no
//! thread sent does not come.
//!
//! `recorder.rs` cuts and sends them; `hdr.rs` writes the log, to which the binary says that each
//! lasts 1 s (`lab/load.rs`). Failures by the intended second are in `merged.rs`.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// What a thread sends.
#[derive(Debug)]
pub(crate) enum Beat {
    Second { part: usize, second: PartSecond },
    Ended { part: usize },
}

/// A second of one thread.
#[derive(Debug, Default)]
pub(crate) struct PartSecond {
    pub(crate) index: u64,
    pub(crate) latency: Option<Histogram<u64>>,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) backlog: usize,
    pub(crate) connections: usize,
}

/// A second of the whole run; what is in it ended then.
#[derive(Debug)]
pub struct Second {
    /// Which, from 0 after the warm-up.
    pub index: u64,
    /// Nanoseconds from intended sending to the end of the reply, of calls that succeeded.
    pub latency: Histogram<u64>,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that did not: no reply, a status from 400 on, or never sent.
    pub failed: u64,
    /// Intended calls that waited for a connection at its end.
    pub backlog: usize,
    /// Open connections at its end.
    pub connections: usize,
}

/// Puts the seconds of threads together.
#[derive(Debug)]
pub(crate) struct Seconds {
    // The last second that each thread has sent.
    sent: Vec<Option<u64>>,
    open: BTreeMap<u64, Second>,
}

impl Seconds {
    pub(crate) fn new(parts: usize) -> Self {
        Self { sent: vec![None; parts], open: BTreeMap::new() }
    }

    /// Takes a beat, and hands on the seconds that are complete.
    pub(crate) fn take(&mut self, beat: Beat, each: &mut dyn FnMut(&Second)) {
        match beat {
            Beat::Ended { part } => self.sent[part] = Some(u64::MAX),
            Beat::Second { part, second } => {
                self.sent[part] = self.sent[part].max(Some(second.index));
                self.add(second);
            }
        }
        let Some(complete) = self.sent.iter().copied().min().flatten() else { return };
        while let Some(first) = self.open.first_entry().filter(|first| *first.key() <= complete) {
            each(&first.remove());
        }
    }

    fn add(&mut self, part: PartSecond) {
        let latency = part.latency.unwrap_or_else(crate::hdr::nanoseconds);
        let index = part.index;
        let Some(second) = self.open.get_mut(&index) else {
            let PartSecond { succeeded, failed, backlog, connections, .. } = part;
            let second = Second { index, latency, succeeded, failed, backlog, connections };
            self.open.insert(index, second);
            return;
        };
        second.latency.add(&latency).expect("all of them share their bounds");
        second.succeeded += part.succeeded;
        second.failed += part.failed;
        second.backlog += part.backlog;
        second.connections += part.connections;
    }
}

#[cfg(test)]
mod tests;
