//! Encodes stored responses, off the I/O cores if that takes long, and registers the counters of
//! encoded bodies.
//!
//! Invariants: encoding whose estimated time is longer than [`INLINE_TIME_MAX`] never runs on an
//! I/O core. A request waits at most [`WAIT_MAX`] for an encoding off its core, and then gets what
//! is there. For an entry that is used often, brotli is made in the background.
//! Bound: [`JOBS_MAX`] bodies off the I/O cores at once; beyond that a body stays as it is until a
//! later request. One that saves less than about a sixteenth, or makes the library fail, stays so
//! while it is in memory.
//! The estimates in `cost` belong to the levels of `codec`. The page docs/operating/compression.md
//! names the sixteenth, docs/decisions/gateway.md the 20 ms and the 16 bodies. Streamed bodies
//! count in the same counters, in `gateway::reply::streaming`.
//! Never here: which codings a client prefers (`http1::accept`), which one is made first, the cells
//! and the claim (`encodings`), the libraries (`codec`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chassis::{Group, Length, WorkPool};
use exchange::Decision;
use http1::accept::{Coding, Codings};
use metrics::{Counter, Registry};
use tokio::time::{Instant, timeout_at};

use crate::codec;
use crate::encodings::{Encoding, Encodings, Lacking, Variant, encoded_fields};
use crate::entry::Entry;
use crate::memory::Memory;

/// Estimated time of encoding above which it leaves the I/O core.
const INLINE_TIME_MAX: Duration = Duration::from_micros(200);
/// Longest time that a request waits for an encoding.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// Bodies in the work pool at once, running or queued. The pool serves models too.
const JOBS_MAX: usize = 16;

/// The turn of encodings on the pool: a large body takes long.
const ENCODINGS: Group<'static> = Group { name: "encodings", length: Length::Long };

/// Encodes the entries in memory.
#[derive(Debug)]
pub(crate) struct Encoder {
    memory: Arc<Memory>,
    work: WorkPool,
    /// Bodies in the work pool, running or queued.
    jobs: AtomicUsize,
    encoded: [Counter; 3],
}

/// Registers the counters of encoded bodies by coding, for stored and for streamed bodies.
pub fn encoded_counters(registry: &Registry) -> [Counter; 3] {
    Coding::ALL.map(|coding| {
        let help = "Bodies encoded, by coding.";
        registry.counter("tidegate_encodings_total", help, &[("coding", coding.name())])
    })
}

impl Encoder {
    /// Returns an encoder of the entries in `memory`, on the threads of `work`.
    pub(crate) fn new(memory: Arc<Memory>, work: WorkPool, registry: &Registry) -> Arc<Self> {
        let encoded = encoded_counters(registry);
        Arc::new(Self { memory, work, jobs: AtomicUsize::new(0), encoded })
    }

    /// Encodes an entry in the coding that a request prefers, unless that is done already. `liked`
    /// returns the preferred ones of the codings offered.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        decision: Decision,
        liked: impl FnOnce(Codings) -> Codings,
    ) {
        let Some(encodings) = &entry.encodings else { return };
        if encodings.is_complete(decision) {
            return;
        }
        if let Some(lacking) = encodings.lacking(liked(encodings.offered), decision) {
            // Boxed, so that the future stays small for requests that find the encoding made.
            Box::pin(self.obtain(entry, decision, lacking)).await;
        }
    }

    async fn obtain(self: &Arc<Self>, entry: &Arc<Entry>, decision: Decision, lacking: Lacking) {
        let variant = Variant { coding: lacking.coding, decision };
        let Some(claim) = Claim::take(self, entry, variant) else {
            if lacking.is_awaited {
                wait(entry, variant).await;
            }
            return;
        };
        if lacking.is_awaited && cost(variant.coding, entry.body.len()) <= INLINE_TIME_MAX {
            return claim.make();
        }
        let Some(job) = EncodingJob::admit(self) else { return };
        let making = {
            let work = self.work.clone();
            async move {
                // If the pool refuses the job, the claim is released, and others may try again.
                let _ = work.run(ENCODINGS, move || claim.make()).await;
                drop(job);
            }
        };
        let making = tokio::task::spawn_local(making);
        if lacking.is_awaited {
            let _ = timeout_at(Instant::now() + WAIT_MAX, making).await;
        }
    }
}

/// Returns a rough estimate of the time that encoding takes.
fn cost(coding: Coding, bytes: usize) -> Duration {
    let ns_per_byte = match coding {
        Coding::Zstd => 4,
        Coding::Gzip => 13,
        Coding::Br => 25,
    };
    Duration::from_nanos(bytes as u64 * ns_per_byte)
}

/// Waits for an encoding that another request is making.
async fn wait(entry: &Entry, variant: Variant) {
    let Some(encodings) = &entry.encodings else { return };
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        let ended = encodings.ended.notified();
        tokio::pin!(ended);
        // Registered before the check; otherwise a notification in between would be missed.
        ended.as_mut().enable();
        let is_over = encodings.is_settled(variant) || !encodings.is_claimed(variant);
        if is_over || timeout_at(deadline, ended).await.is_err() {
            return;
        }
    }
}

/// The right and duty to make one encoding of an entry.
struct Claim {
    encoder: Arc<Encoder>,
    entry: Arc<Entry>,
    encodings: Arc<Encodings>,
    variant: Variant,
}

impl Claim {
    fn take(encoder: &Arc<Encoder>, entry: &Arc<Entry>, variant: Variant) -> Option<Self> {
        let encodings = entry.encodings.as_ref()?;
        if !encodings.claim(variant) {
            return None;
        }
        let (encoder, entry) = (Arc::clone(encoder), Arc::clone(entry));
        let encodings = Arc::clone(entry.encodings.as_ref()?);
        let claim = Self { encoder, entry, encodings, variant };
        // The previous holder of the claim may have filled the cell.
        let is_free = !claim.encodings.is_settled(variant);
        is_free.then_some(claim)
    }

    fn make(self) {
        let Variant { coding, decision } = self.variant;
        let body = &self.entry.body;
        let encoded = match &self.entry.decision_at {
            None => codec::whole(coding, &[body], true),
            Some(hole) => {
                let (before, after) = (&body[..hole.start], &body[hole.end..]);
                codec::whole(coding, &[before, decision.name().as_bytes(), after], true)
            }
        };
        self.encoder.encoded[coding as usize].add(1);
        let saves = |encoded: &Vec<u8>| encoded.len() + encoded.len() / 16 < body.len();
        let encoding = encoded.ok().filter(saves).map(|encoded| Encoding {
            fields: encoded_fields(&self.entry.fields, coding),
            body: encoded.into_boxed_slice().into(),
        });
        self.encodings.fill(self.variant, encoding);
        self.encoder.memory.recount(&self.encodings);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A body that makes the library panic would do so again, so it stays as it is.
            self.encodings.fill(self.variant, None);
        }
        self.encodings.release(self.variant);
    }
}

/// A body that is encoded off the I/O cores, for as long as this lives.
struct EncodingJob(Arc<Encoder>);

impl EncodingJob {
    fn admit(encoder: &Arc<Encoder>) -> Option<Self> {
        let job = Self(Arc::clone(encoder));
        (encoder.jobs.fetch_add(1, Ordering::Relaxed) < JOBS_MAX).then_some(job)
    }
}

impl Drop for EncodingJob {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
