//! Tells timed waits from work, and idle waits from those that requests pay for.
//!
//! A wait is known by its call and its timeout, in three digits. Where the timeout is a time of
//! another clock, it is how long the wait took, in two digits. One that ran out took about as long
//! as its timeout, or says so. It is on the path if its thread was answering a request, else idle.
//! Bound: `KINDS_MAX` kinds of waits, `THREADS_MAX` threads of each.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use serde::Serialize;

const KINDS_MAX: usize = 2000;
const THREADS_MAX: usize = 1000;

/// Waits of one call with one timeout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitTotals {
    /// The system call.
    pub call: String,
    /// The timeout in milliseconds.
    pub timeout_ms: f64,
    /// How many there were.
    pub calls: u64,
    /// How many ran out.
    pub ran_out: u64,
    /// Seconds of those within requests.
    pub on_path_s: f64,
    /// Seconds of those of threads that answered none.
    pub idle_s: f64,
    /// Threads that waited so.
    pub threads: u64,
}

/// All kinds of waits.
#[derive(Debug, Default)]
pub(super) struct WaitTable {
    by_kind: HashMap<(usize, u64), usize, RandomState>,
    all: Vec<(WaitTotals, HashSet<u32, RandomState>)>,
}

/// One wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimedWait {
    pub timeout_us: u64,
    pub took_ns: u64,
    /// Whether the result says that the time ran out.
    pub says_out: bool,
    pub is_on_path: bool,
    pub pid: u32,
}

impl WaitTable {
    /// Counts a wait of a call.
    pub(super) fn add(&mut self, (place, name): (usize, &str), wait: TimedWait) {
        let kind = (place, three_digits(wait.timeout_us));
        if self.all.len() >= KINDS_MAX && !self.by_kind.contains_key(&kind) {
            return;
        }
        let at = *self.by_kind.entry(kind).or_insert_with(|| {
            let totals = WaitTotals {
                call: name.to_owned(),
                timeout_ms: kind.1 as f64 / 1e3,
                calls: 0,
                ran_out: 0,
                on_path_s: 0.0,
                idle_s: 0.0,
                threads: 0,
            };
            self.all.push((totals, HashSet::default()));
            self.all.len() - 1
        });
        let (totals, threads) = &mut self.all[at];
        totals.calls += 1;
        let took_us = wait.took_ns / 1000;
        let is_as_long = took_us + wait.timeout_us / 50 >= wait.timeout_us && wait.timeout_us > 0;
        totals.ran_out += u64::from(wait.says_out || is_as_long);
        let seconds = wait.took_ns as f64 / 1e9;
        if wait.is_on_path {
            totals.on_path_s += seconds;
        } else {
            totals.idle_s += seconds;
        }
        if threads.len() < THREADS_MAX {
            threads.insert(wait.pid);
        }
        totals.threads = threads.len() as u64;
    }

    /// All of them, the longest first.
    pub(super) fn into_totals(self) -> Vec<WaitTotals> {
        let mut all: Vec<WaitTotals> = self.all.into_iter().map(|(totals, _)| totals).collect();
        let seconds = |it: &WaitTotals| it.on_path_s + it.idle_s;
        all.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
        all
    }
}

fn three_digits(number: u64) -> u64 {
    rounded(number, 1000)
}

/// A length that was measured, so that alike ones are one kind.
pub(super) fn two_digits(number: u64) -> u64 {
    rounded(number, 100)
}

fn rounded(number: u64, below: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= below {
        unit *= 10;
    }
    number.saturating_add(unit / 2) / unit * unit
}
