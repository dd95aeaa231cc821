//! Watches the checkpoint of a pipeline that was fenced off, while another process delivers.
//!
//! It ends when the checkpoint has stood still for 3 s or three flushes, whichever is longer
//! (docs/operating/events.md), or when a stop is requested. An idle log looks the same as a dead
//! process, so it may end too early; then the first delivery decides again who delivers.
//! Invariant: it only looks. A sink that does not answer says nothing about the other process, so
//! the time begins anew.
//! Never here: who is fenced off (`delivery`), and what comes after (`supervise`).

use std::time::{Duration, Instant};

use crate::delivery::{Delivery, DeliveryOutcome, DeliveryTask};
use crate::stop::StopSignal;
use crate::worker_threads::NextStep;

/// How often the checkpoint is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// How long the checkpoint must stand still before a process that stands by takes over.
const QUIET: Duration = Duration::from_secs(3);

/// A pipeline that stands by.
pub(crate) struct StandBy {
    delivery: Delivery,
    node: String,
    source_name: String,
    quiet: Duration,
    /// The sequence in the sink, if it holds one, once it was seen.
    seen: Option<Option<u64>>,
    since: Instant,
    next_look: Instant,
}

impl StandBy {
    /// Watches what `node` has delivered of a source through `delivery`.
    pub(crate) fn new(
        delivery: Delivery,
        node: String,
        source_name: String,
        flush: Duration,
    ) -> Self {
        let (since, quiet) = (Instant::now(), QUIET.max(flush * 3));
        Self { delivery, node, source_name, quiet, seen: None, since, next_look: since }
    }

    /// Looks when it is time to; [`NextStep::Ended`] when it is over.
    pub(crate) fn step(&mut self, stop: &StopSignal) -> NextStep {
        let now = Instant::now();
        match self.delivery.poll() {
            Ok(None) => {}
            Ok(Some(outcome)) => {
                self.note(outcome, now);
                self.next_look = now + LOOK_INTERVAL;
            }
            Err(error) => {
                tracing::error!(%error, "the sink panicked while it was watched");
                return NextStep::Ended;
            }
        }
        if stop.is_requested() || now.duration_since(self.since) >= self.quiet {
            return NextStep::Ended;
        }
        if self.delivery.is_busy() {
            return NextStep::OnWake;
        }
        if now < self.next_look {
            return NextStep::At(self.next_look);
        }
        self.delivery.hand_over(DeliveryTask::Checkpoints(self.source_name.clone()));
        NextStep::OnWake
    }

    /// Its sink, to be closed.
    pub(crate) fn into_delivery(self) -> Delivery {
        self.delivery
    }

    fn note(&mut self, outcome: DeliveryOutcome, now: Instant) {
        match outcome {
            DeliveryOutcome::Checkpoints(Ok(checkpoints)) => {
                let ours = checkpoints.iter().find(|checkpoint| checkpoint.node == self.node);
                let sequence = ours.map(|checkpoint| checkpoint.sequence);
                if self.seen != Some(sequence) {
                    (self.seen, self.since) = (Some(sequence), now);
                }
            }
            _ => self.since = now,
        }
    }
}

#[cfg(test)]
mod tests;
