//! Keeps how far other nodes have read the same logs, by their positions in the sink.
//!
//! Invariant: a log that is new here begins at the furthest place that another node committed and
//! that its content confirms, else at 0. `scan` takes up a new log only while the positions are
//! fresh. For a log that comes up after a scan has ended, positions are wanted again.
//! Never here: asking the sink (`run`), and reading positions (`position`).

use super::logs::Logs;
use super::mark::{Mark, Relation};
use super::unpack::OpenLog;

/// The logs that other nodes know.
#[derive(Default)]
pub(super) struct OtherNodes {
    logs: Logs,
    /// Their positions came since a file came up that nobody here knows.
    is_fresh: bool,
    is_wanted: bool,
}

impl OtherNodes {
    /// Takes note of the logs that they know at present.
    pub(super) fn tell(&mut self, logs: Logs) {
        (self.logs, self.is_fresh) = (logs, true);
    }

    /// Whether their positions are as new as the logs that come up; if not, they are wanted.
    pub(super) fn want_fresh(&mut self) -> bool {
        self.is_wanted |= !self.is_fresh;
        self.is_fresh
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Whether their positions are wanted; asked for once.
    pub(super) fn take_wanted(&mut self) -> bool {
        std::mem::take(&mut self.is_wanted)
    }

    /// A scan has ended, with nothing left that waits for them.
    pub(super) fn scanned(&mut self) {
        self.is_fresh &= self.is_wanted;
    }

    /// How far any of them has read the log that begins with `head`, whose content is `opened`.
    pub(super) fn mark_of(
        &self,
        head: &[u8],
        opened: &mut OpenLog,
    ) -> std::io::Result<Option<Mark>> {
        let mut best: Option<Mark> = None;
        for id in self.logs.like(head) {
            let Some(log) = self.logs.get(id) else { continue };
            let mark = match log.mark.relation(opened)? {
                Relation::Same => Some(log.mark.clone()),
                Relation::Beginning if opened.damage().is_none() => {
                    let end = opened.content_len()?;
                    Mark::measure(opened, end)?
                }
                _ => None,
            };
            let is_further =
                |mark: &Mark| best.as_ref().is_none_or(|best| best.offset < mark.offset);
            if let Some(mark) = mark.filter(is_further) {
                best = Some(mark);
            }
        }
        Ok(best)
    }
}
