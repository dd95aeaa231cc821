//! Decides which job runs next: one of the group that has had the least time.
//!
//! The jobs of a group wait in the order of arrival. What a group has had is its virtual time, as
//! in start-time fair queueing (Goyal, Vin and Cheng 1996). When a job starts, its group is charged
//! what earlier ones took on average, and when it ends, what it took. A group that was idle begins
//! at the time of the last job that started, so nobody saves up turns.
//! Bound: `most` jobs of a group wait.
//! Refuses: threads and clocks; the caller says how long a job took.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::group::{Group, Job, Length};

/// The index of a group; none is removed.
pub(super) type GroupIndex = usize;

/// Jobs that wait, by group.
#[derive(Default)]
pub(super) struct Turns {
    by_name: HashMap<Box<str>, [Option<GroupIndex>; 2]>,
    groups: Vec<GroupQueue>,
    most: usize,
    waiting: usize,
    /// Of those, the short ones.
    waiting_short: usize,
    /// Virtual time of the last job that started.
    clock: Duration,
}

struct GroupQueue {
    length: Length,
    jobs: VecDeque<Job>,
    running: usize,
    /// Its virtual time.
    had: Duration,
    /// What a job of it is expected to take.
    expected: Duration,
}

/// A job that starts.
pub(super) struct Started {
    pub(super) group: GroupIndex,
    pub(super) job: Job,
    pub(super) charged: Duration,
}

impl Turns {
    /// Returns turns of groups in which `most` jobs wait.
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Returns how many jobs wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Puts a job behind those of its group; gives it back where too many wait.
    pub(super) fn push(&mut self, group: Group<'_>, job: Job) -> Result<(), Job> {
        let index = self.index(group);
        let queue = &mut self.groups[index];
        if queue.jobs.len() >= self.most {
            return Err(job);
        }
        if queue.jobs.is_empty() && queue.running == 0 {
            queue.had = queue.had.max(self.clock);
        }
        queue.jobs.push_back(job);
        self.waiting += 1;
        self.waiting_short += usize::from(queue.length == Length::Short);
        Ok(())
    }

    /// Starts the next job.
    pub(super) fn start(&mut self) -> Option<Started> {
        let groups = self.groups.iter().enumerate();
        let waiting = groups.filter(|(_, queue)| !queue.jobs.is_empty());
        let (next, _) = waiting.min_by_key(|(_, queue)| queue.had)?;
        Some(self.start_of(next))
    }

    /// Starts a short job within one of `group`, which was charged and has run for so long. Its
    /// group must have had less.
    pub(super) fn start_within(
        &mut self,
        group: GroupIndex,
        charged: Duration,
        ran: Duration,
    ) -> Option<Started> {
        let had = self.groups[group].had + ran.saturating_sub(charged);
        let groups = self.groups.iter().enumerate();
        let short = groups.filter(|(other, queue)| {
            *other != group && queue.length == Length::Short && !queue.jobs.is_empty()
        });
        let (next, _) =
            short.filter(|(_, queue)| queue.had < had).min_by_key(|(_, queue)| queue.had)?;
        Some(self.start_of(next))
    }

    /// Notes that a job is over, which ran for so long.
    pub(super) fn end(&mut self, group: GroupIndex, charged: Duration, ran: Duration) {
        let queue = &mut self.groups[group];
        queue.running -= 1;
        queue.had = (queue.had + ran).saturating_sub(charged);
        queue.expected = (queue.expected * 3 + ran) / 4;
    }

    /// Whether a short job waits.
    pub(super) fn has_short(&self) -> bool {
        self.waiting_short > 0
    }

    fn start_of(&mut self, group: GroupIndex) -> Started {
        let queue = &mut self.groups[group];
        let job = queue.jobs.pop_front().expect("the group was chosen because a job waits");
        self.waiting -= 1;
        self.waiting_short -= usize::from(queue.length == Length::Short);
        self.clock = self.clock.max(queue.had);
        queue.running += 1;
        queue.had += queue.expected;
        Started { group, job, charged: queue.expected }
    }

    fn index(&mut self, group: Group<'_>) -> GroupIndex {
        let slot = usize::from(group.length == Length::Long);
        let known = self.by_name.get(group.name);
        if let Some(index) = known.and_then(|groups| groups[slot]) {
            return index;
        }
        let index = self.groups.len();
        self.groups.push(GroupQueue {
            length: group.length,
            jobs: VecDeque::new(),
            running: 0,
            had: Duration::ZERO,
            expected: Duration::ZERO,
        });
        self.by_name.entry(group.name.into()).or_default()[slot] = Some(index);
        index
    }
}

#[cfg(test)]
mod tests;
