//! Collects how processes ended: exit statuses of our children, and those that other parents
//! report.
//!
//! Invariants: each dead process is announced once. That is 100 ms after its end, so that its last
//! lines are in, if its status is known by then. Otherwise it waits for the status for a second at
//! most, and goes without. Children are reaped at every tick, and orphans that became ours as well.
//! It also kills the process group that a dead worker led, and reaps what is left of it for 10
//! seconds.
//! Refuses: to say what an end means for the pool (`exits.rs`) or for people (`obituary.rs`).

use std::collections::{BTreeSet, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitOptions};

use super::fleet::ProcessName;
use super::obituary::Dead;
use super::timeouts::{LAST_LINE_TIMEOUT, ORPHANS_TIMEOUT, STATUS_TIMEOUT};

/// What has ended and what has to be waited for.
#[derive(Debug, Default)]
pub(super) struct Reaper {
    /// What we started.
    children: Vec<Child>,
    /// Process groups of dead workers, which their apps had forked, and since when they are to end.
    orphans: Vec<(Pid, Instant)>,
    /// How processes ended.
    statuses: HashMap<i32, ExitStatus>,
    /// Processes whose end is not announced yet.
    dead: Vec<Dead>,
}

impl Reaper {
    /// A process that we have started is to be waited for.
    pub(super) fn add_child(&mut self, child: Child) {
        self.children.push(child);
    }

    /// A process has reported how a child of its own ended.
    pub(super) fn note_status(&mut self, pid: i32, status: ExitStatus) {
        self.statuses.insert(pid, status);
    }

    /// A process has ended; its end is announced later.
    pub(super) fn bury(&mut self, dead: Dead) {
        self.dead.push(dead);
    }

    /// Whether the end of this process is not announced yet.
    pub(super) fn is_dead(&self, pid: i32) -> bool {
        self.dead.iter().any(|dead| dead.pid == pid)
    }

    /// Whether nothing is left to wait for.
    pub(super) fn is_done(&self) -> bool {
        self.children.is_empty() && self.dead.is_empty()
    }

    /// The processes that have yet to report how a child of theirs ended.
    pub(super) fn owing(&self, now: Instant) -> BTreeSet<ProcessName> {
        let is_owed = |dead: &&Dead| {
            !self.statuses.contains_key(&dead.pid) && now.duration_since(dead.at) < STATUS_TIMEOUT
        };
        self.dead.iter().filter(is_owed).filter_map(|dead| dead.forked_by).collect()
    }

    /// Takes the dead whose end can be announced, each with its exit status where that is known.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<(Dead, Option<ExitStatus>)> {
        self.reap();
        self.adopt();
        self.reap_orphans(now);
        let statuses = &mut self.statuses;
        let is_due = |dead: &Dead, is_known: bool| {
            let since = now.duration_since(dead.at);
            since > STATUS_TIMEOUT || (is_known && since > LAST_LINE_TIMEOUT)
        };
        let due = self.dead.extract_if(.., |dead| is_due(dead, statuses.contains_key(&dead.pid)));
        let due: Vec<Dead> = due.collect();
        let with_status = |dead: Dead| {
            let status = self.statuses.remove(&dead.pid);
            (dead, status)
        };
        due.into_iter().map(with_status).collect()
    }

    /// Forgets the statuses of processes that nobody asks for any more.
    pub(super) fn forget_statuses(&mut self, is_watched: impl Fn(i32) -> bool) {
        let dead = &self.dead;
        self.statuses.retain(|pid, _| is_watched(*pid) || dead.iter().any(|it| it.pid == *pid));
    }

    /// Takes the exit statuses of our own children.
    pub(super) fn reap(&mut self) {
        let statuses = &mut self.statuses;
        self.children.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                let pid = i32::try_from(child.id()).expect("process numbers fit an i32");
                statuses.insert(pid, status);
                false
            }
            Err(_) => false,
        });
    }

    /// Takes the exit statuses of processes whose parent has ended, where they have become ours.
    /// The first process of a container is the parent of all orphans.
    fn adopt(&mut self) {
        let is_child =
            |pid: i32| self.children.iter().any(|it| i64::from(it.id()) == i64::from(pid));
        for dead in &self.dead {
            if self.statuses.contains_key(&dead.pid) || is_child(dead.pid) {
                continue;
            }
            let waited = rustix::process::waitpid(Pid::from_raw(dead.pid), WaitOptions::NOHANG);
            if let Ok(Some((_, status))) = waited {
                self.statuses.insert(dead.pid, ExitStatus::from_raw(status.as_raw()));
            }
        }
    }

    /// Ends what the app of a dead worker has forked.
    pub(super) fn end_group(&mut self, leader: i32, now: Instant) {
        let Some(group) = Pid::from_raw(leader) else { return };
        // Most workers leave nobody behind.
        if rustix::process::kill_process_group(group, Signal::KILL).is_ok() {
            self.orphans.push((group, now));
        }
    }

    /// Waits for what was ended so and has become ours.
    fn reap_orphans(&mut self, now: Instant) {
        let next = |group| rustix::process::waitpgid(group, WaitOptions::NOHANG);
        self.orphans.retain(|(group, since)| {
            while matches!(next(*group), Ok(Some(_))) {}
            now < *since + ORPHANS_TIMEOUT
        });
    }
}
