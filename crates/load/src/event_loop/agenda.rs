//! Decides which requests are due: the arrivals of an open loop, or as many as a closed loop has
//! room for.
//!
//! Invariants: an intended time that was admitted is handed out once, by [`Agenda::take`] or
//! [`Agenda::take_overdue`], the earliest first. The traces of `lab` rely on that order to find the
//! call of each time. After the stop no request becomes due; those that wait are still handed out,
//! as docs/lab/load.md promises. Arrivals that were due and not admitted before the stop are
//! dropped uncounted.
//! It also counts towards `Stop::Count`, warm-up excluded.
//! Refuses: sockets, and to read a clock. Times are nanoseconds since the start of the run. Which
//! times there are: `schedule`.

use std::collections::VecDeque;

use crate::schedule::{Schedule, nanos};
use crate::{Plan, Stop};

/// Intended requests that wait at most; of more, the oldest are given up. They take 32 MB.
const BACKLOG_MAX: usize = 4 << 20;

/// The requests that are to be sent.
#[derive(Debug)]
pub(super) struct Agenda {
    /// None in a closed loop.
    schedule: Option<Schedule>,
    /// Open loop: intended times that no connection was free for, oldest first.
    backlog: VecDeque<u64>,
    stop: Stop,
    warm_up_ns: u64,
    /// Requests that count towards the plan's number.
    counted: u64,
    stopped_ns: Option<u64>,
}

impl Agenda {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            schedule: Schedule::new(plan),
            backlog: VecDeque::new(),
            stop: plan.stop,
            warm_up_ns: nanos(plan.warm_up),
            counted: 0,
            stopped_ns: None,
        }
    }

    /// Whether requests become due whatever the server does.
    pub(super) fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    /// Returns the intended time of the request that a free connection should carry now.
    pub(super) fn take(&mut self, now: u64) -> Option<u64> {
        if self.schedule.is_some() {
            return self.backlog.pop_front();
        }
        if self.stopped_ns.is_some() {
            return None;
        }
        self.count(now, now);
        Some(now)
    }

    /// Open loop: queues the next arrival if it is due; returns whether it was.
    pub(super) fn admit(&mut self, now: u64) -> bool {
        let Some(schedule) = self.schedule.as_mut().filter(|_| self.stopped_ns.is_none()) else {
            return false;
        };
        let intended = schedule.peek();
        if intended > now {
            return false;
        }
        schedule.advance();
        self.backlog.push_back(intended);
        self.count(intended, now);
        true
    }

    /// Counts a request towards the plan's number.
    fn count(&mut self, intended: u64, now: u64) {
        if intended >= self.warm_up_ns {
            self.counted += 1;
            if matches!(self.stop, Stop::Count(count) if self.counted >= count) {
                self.stop(now);
            }
        }
    }

    /// Stops when the plan says so.
    pub(super) fn stop_when_due(&mut self, now: u64) {
        let is_due = match self.stop {
            Stop::After(span) => now >= self.warm_up_ns.saturating_add(nanos(span)),
            Stop::Count(count) => self.counted >= count,
        };
        if is_due || self.schedule.as_ref().is_some_and(Schedule::has_ended) {
            self.stop(now);
        }
    }

    /// No request becomes due any more.
    pub(super) fn stop(&mut self, now: u64) {
        self.stopped_ns.get_or_insert(now);
    }

    /// When the last request became due, after the stop.
    pub(super) fn stopped_ns(&self) -> Option<u64> {
        self.stopped_ns
    }

    /// Whether no request waits and none becomes due.
    pub(super) fn is_over(&self) -> bool {
        self.stopped_ns.is_some() && self.backlog.is_empty()
    }

    /// When a request becomes due, or the stop does; the end of time after the stop.
    pub(super) fn next_due(&self) -> u64 {
        if self.stopped_ns.is_some() {
            return u64::MAX;
        }
        let stop = match self.stop {
            Stop::After(span) => self.warm_up_ns.saturating_add(nanos(span)),
            Stop::Count(_) => u64::MAX,
        };
        self.schedule.as_ref().map_or(stop, |schedule| stop.min(schedule.peek()))
    }

    /// Whether a connection that is free now has something to do.
    pub(super) fn wants_connections(&self) -> bool {
        match self.schedule {
            None => self.stopped_ns.is_none(),
            Some(_) => !self.backlog.is_empty(),
        }
    }

    /// How many requests wait for a connection.
    pub(super) fn waiting(&self) -> usize {
        self.backlog.len()
    }

    /// The intended time of the request that waits longest.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.backlog.front().copied()
    }

    /// Gives up the request that waits longest, if it was meant to be sent before `oldest`, or more
    /// than [`BACKLOG_MAX`] wait.
    pub(super) fn take_overdue(&mut self, oldest: u64) -> Option<u64> {
        let is_full = self.backlog.len() > BACKLOG_MAX;
        self.oldest().filter(|intended| is_full || *intended < oldest)?;
        self.backlog.pop_front()
    }
}

#[cfg(test)]
mod tests;
