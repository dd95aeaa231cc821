//! Makes written lines durable on a thread of its own, so that a stalled fsync stops no write.
//!
//! Each job syncs one segment, and the directory with the first one of a segment. Then the limit
//! for readers is moved and promises are settled. If a sync fails, the segment is given up, an
//! alarm is raised, and the next job waits 25 ms to 5 s.
//! Invariant: the limit moves only after a sync that succeeded, to the end of what that sync
//! covered. So it passes lines of a segment that was given up without their being durable.
//! If the limit cannot be written, lines count as durable all the same, and readers lag until the
//! next sync. That its witness cannot be written is an alarm, too.
//! A segment or directory that somebody removed, replaced or cut counts as a sync that failed,
//! since no reader would find its lines.
//! Refuses: to sync a file again after a failure; see [`crate::durable`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stdx::Backoff;

use crate::dir::JournalDir;
use crate::durable::{Durable, SyncJob};
use crate::health::{Alarms, Counters};
use crate::hold::Hold;
use crate::intake::Intake;
use crate::limit::Limit;
use crate::segment::Segment;

/// What the syncer works on, and whom it tells.
pub(crate) struct Syncer {
    pub durable: Arc<Durable>,
    pub dir: Arc<JournalDir>,
    pub limit: Limit,
    pub witness: Option<Limit>,
    pub hold: Arc<Hold>,
    pub intake: Arc<Intake>,
    pub counters: Arc<Counters>,
    pub alarms: Arc<Alarms>,
}

impl Syncer {
    /// Runs until the journal closes.
    pub(crate) fn run(self) {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5), 0);
        while let Some(job) = self.durable.next_job() {
            match self.sync(&job) {
                Ok(()) => {
                    let session = self.hold.session();
                    let limited = self.limit.set(job.end, session);
                    let noted = self.witness.as_ref().map_or(Ok(()), |it| it.set(job.end, session));
                    self.durable.succeeded(&job);
                    backoff.reset();
                    let untold =
                        limited.err().map(|error| format!("tell readers the end: {error}"));
                    let unnoted = noted.err().map(|error| {
                        format!("note beside the journal how far it is durable: {error}")
                    });
                    let alarm = untold.or(unnoted);
                    self.alarms.sync.set(alarm);
                }
                Err(error) => {
                    self.counters.sync_failures.fetch_add(1, Ordering::Relaxed);
                    let segment = Segment::plain(job.start);
                    let alarm = format!(
                        "sync segment `{segment}`: {error}; readers may lack its last lines, and \
                         recording goes on in a new one"
                    );
                    self.alarms.sync.set(Some(alarm));
                    self.durable.failed(&job);
                    self.intake.signal.wake();
                    self.durable.pause(backoff.delay());
                }
            }
        }
        self.durable.settle_the_rest();
    }

    fn sync(&self, job: &SyncJob) -> io::Result<()> {
        job.file.sync()?;
        if !job.named {
            self.dir.sync()?;
        }
        self.dir.expect_segment(job.start, &*job.file, job.end - job.start)?;
        self.hold.expect_lock(self.dir.path())
    }
}

#[cfg(test)]
mod tests;
