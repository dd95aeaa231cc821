//! Keeps how far other nodes have read the same logs, by their positions in the sink.
//!
//! Two nodes may have logs that begin alike, and each counts its own. So what another node has read
//! is passed over in two cases only. The source declares its logs as moved here (`moved_from`). Or
//! it is the very file, by inode and time of creation. Invariant: such a log begins at the furthest
//! place that the other node committed and that its content confirms; any other at 0. `scan` takes
//! up a new log only while the positions are fresh. For a log that comes up after a scan has ended,
//! positions are wanted again. Never here: asking the sink (`run`), and reading positions
//! (`position`).

use stdx::FileIdentity;

use super::candidate::Candidate;
use super::log::Log;
use super::logs::Logs;
use super::mark::{Mark, Relation};

/// The logs that other nodes know.
#[derive(Default)]
pub(super) struct OtherNodes {
    nodes: Vec<OtherNode>,
    /// Their positions came since a file came up that nobody here knows.
    is_fresh: bool,
    is_wanted: bool,
}

/// One of them.
pub(super) struct OtherNode {
    pub name: String,
    pub logs: Logs,
    /// The source says that its logs have moved here.
    pub is_moved: bool,
}

impl OtherNodes {
    /// Takes note of the logs that they know at present.
    pub(super) fn tell(&mut self, nodes: Vec<OtherNode>) {
        (self.nodes, self.is_fresh) = (nodes, true);
    }

    /// Whether their positions are as new as the logs that come up; if not, they are wanted.
    pub(super) fn want_fresh(&mut self) -> bool {
        self.is_wanted |= !self.is_fresh;
        self.is_fresh
    }

    /// Whether their positions are wanted; asked for once.
    pub(super) fn take_wanted(&mut self) -> bool {
        std::mem::take(&mut self.is_wanted)
    }

    /// A scan has ended, with nothing left that waits for them.
    pub(super) fn scanned(&mut self) {
        self.is_fresh &= self.is_wanted;
    }

    /// How far any of them has read the log in a file, where that counts here. Else it is said
    /// which node has read a log with this content.
    pub(super) fn mark_of(&self, new: &mut Candidate) -> std::io::Result<Option<Mark>> {
        let mut best: Option<Mark> = None;
        for node in &self.nodes {
            for id in node.logs.like(&new.head) {
                let Some(log) = node.logs.get(id) else { continue };
                let Some(mark) = begun(log, new)? else { continue };
                let (file, node_name, bytes) = (new.path.display(), &node.name, mark.offset);
                if !node.is_moved && !is_same_file(log, &new.metadata.identity) {
                    tracing::info!(
                        %file, node = node_name, bytes,
                        "another node has read a log that begins alike, this one is counted for \
                         itself; hint: if the log was moved here, name the node in `moved_from`"
                    );
                    continue;
                }
                tracing::info!(%file, node = node_name, bytes, "a log goes on behind another node");
                if best.as_ref().is_none_or(|best| best.offset < mark.offset) {
                    best = Some(mark);
                }
            }
        }
        Ok(best)
    }
}

/// How far a log was read, as far as it is in a file.
fn begun(log: &Log, new: &mut Candidate) -> std::io::Result<Option<Mark>> {
    Ok(match log.mark.relation(&mut new.opened)? {
        Relation::Same => Some(log.mark.clone()),
        Relation::Beginning => {
            let end = new.opened.content_len()?;
            match new.opened.damage() {
                None => Mark::measure(&mut new.opened, end)?,
                Some(_) => None,
            }
        }
        _ => None,
    })
}

/// Whether a log was read from this very file. A device has another number on another machine.
fn is_same_file(log: &Log, file: &FileIdentity) -> bool {
    let born = |identity: &FileIdentity| (identity.inode, identity.created_us);
    log.file.hint.is_some_and(|hint| hint.created_us > 0 && born(&hint) == born(file))
}
