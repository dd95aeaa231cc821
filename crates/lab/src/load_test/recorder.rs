//! Feeds the engine of one thread with calls, and notes what becomes of each.
//!
//! A call that succeeded costs one histogram entry and at most one in the sample, beside the report
//! of the engine. The histogram of a second is handed over when the second is over.
//! Invariant: `next` and `skip` each move on by one call, so the calls of a trace stay with their
//! times. The order is not empty, because `plan.rs` makes no such part.
//! A call that was meant to be made during the warm-up is in no second, sample or failure. Here
//! only `made` counts it, for the CPU time of a call. `load` leaves out by the same rule
//! (`event_loop/tally.rs`): seconds, statuses and bytes come from there. In the histogram,
//! latencies over an hour count as an hour.
//! It also gives the run up, on all threads, when every connect failed for the time-out. It sees
//! the end of a second, and when to give up, in `pulse` only, which the engine calls every 100 ms.
//! Reasons of failures (`status 404`, `timed out`) are keys in JSON and in files of `--save`.
//! `sample.rs` keeps calls, `seconds.rs` puts the seconds of threads together, `merged.rs` the
//! rest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use load::{Ask, Loss, Pulse, RequestOutcome, Requests};

use super::calls::HttpCall;
use super::sample::{CallSample, SampledCall};
use super::seconds::{Beat, PartSecond};
use crate::hdr;

/// The calls that one thread makes, in turn.
#[derive(Debug, Clone)]
pub(crate) struct CallOrder<'a> {
    pub(crate) calls: &'a [HttpCall],
    /// Numbers of calls, again from the first after the last.
    pub(crate) order: Arc<[u32]>,
    pub(crate) at: usize,
}

/// What a recorder is made of.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) part: usize,
    pub(crate) turn: CallOrder<'a>,
    pub(crate) warm_up: Duration,
    /// Without a connection for so long the run is given up.
    pub(crate) timeout: Duration,
    pub(crate) kept_max: usize,
    /// Gone once the thread has ended.
    pub(crate) beats: Option<Sender<Beat>>,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// Notes what becomes of the calls of one thread.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    task: Task<'a>,
    warm_up_ns: u64,
    second: PartSecond,
    latency: Histogram<u64>,
    pub(crate) sample: CallSample,
    pub(crate) began: Option<(Instant, SystemTime)>,
    /// Calls that gave no row, by what became of them.
    pub(crate) failed: BTreeMap<String, u64>,
    /// The same by the second in which they were meant to be made.
    pub(crate) failed_by_second: Vec<u64>,
    /// All calls made, those of the warm-up too.
    pub(crate) made: u64,
    pub(crate) last_success_ns: Option<u64>,
    pub(crate) service_ns_max: u64,
    pub(crate) latency_ns_max: u64,
    pub(crate) has_given_up: bool,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(task: Task<'a>) -> Self {
        Self {
            warm_up_ns: u64::try_from(task.warm_up.as_nanos()).unwrap_or(u64::MAX),
            second: PartSecond::default(),
            latency: hdr::nanoseconds(),
            sample: CallSample::new(task.kept_max, task.part as u64),
            began: None,
            failed: BTreeMap::new(),
            failed_by_second: Vec::new(),
            made: 0,
            last_success_ns: None,
            service_ns_max: 0,
            latency_ns_max: 0,
            has_given_up: false,
            task,
        }
    }

    /// Hands the last second over.
    pub(crate) fn end(&mut self) {
        self.hand_over(self.second.index);
        self.tell(Beat::Ended { part: self.task.part });
        self.task.beats = None;
    }

    fn tell(&self, beat: Beat) {
        if let Some(beats) = &self.task.beats {
            // Nobody listens any more only when the whole run is being given up.
            let _ = beats.send(beat);
        }
    }

    /// Books a measured call that did not succeed.
    fn fail(&mut self, words: &str, intended_ns: u64) {
        match self.failed.get_mut(words) {
            Some(count) => *count += 1,
            None => drop(self.failed.insert(words.to_owned(), 1)),
        }
        self.second.failed += 1;
        let second = ((intended_ns - self.warm_up_ns) / 1_000_000_000) as usize;
        if self.failed_by_second.len() <= second {
            self.failed_by_second.resize(second + 1, 0);
        }
        self.failed_by_second[second] += 1;
    }

    fn is_measured(&self, intended_ns: u64) -> bool {
        intended_ns >= self.warm_up_ns
    }

    fn hand_over(&mut self, next: u64) {
        let latency = std::mem::replace(&mut self.latency, hdr::nanoseconds());
        let second = PartSecond { latency: Some(latency), ..std::mem::take(&mut self.second) };
        self.second.index = next;
        self.tell(Beat::Second { part: self.task.part, second });
    }
}

impl Requests for Recorder<'_> {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        let turn = &mut self.task.turn;
        let number = turn.order[turn.at];
        turn.at += 1;
        if turn.at == turn.order.len() {
            turn.at = 0;
        }
        let call = &turn.calls[number as usize];
        out.extend_from_slice(&call.bytes);
        Ask { ticket: u64::from(number), ..call.ask }
    }

    fn skip(&mut self, intended_ns: u64) {
        let turn = &mut self.task.turn;
        turn.at = (turn.at + 1) % turn.order.len();
        if self.is_measured(intended_ns) {
            self.fail("never sent", intended_ns);
        }
    }

    fn done(&mut self, ticket: u64, outcome: RequestOutcome<'_>) {
        self.made += 1;
        let moments = match &outcome {
            RequestOutcome::Reply(reply) => reply.times,
            RequestOutcome::Failed(failure) => failure.times,
        };
        if !self.is_measured(moments.intended_ns) {
            return;
        }
        let reply = match outcome {
            RequestOutcome::Reply(reply) if reply.status < 400 => reply,
            RequestOutcome::Reply(reply) => {
                return self.fail(&format!("status {}", reply.status), moments.intended_ns);
            }
            RequestOutcome::Failed(failure) => {
                return self.fail(words(failure.loss), moments.intended_ns);
            }
        };
        let latency_ns = moments.ended_ns - moments.intended_ns;
        let service_ns = moments.ended_ns - moments.sent_ns;
        self.latency.saturating_record(latency_ns.max(1));
        self.second.succeeded += 1;
        self.last_success_ns = Some(moments.ended_ns);
        self.latency_ns_max = self.latency_ns_max.max(latency_ns);
        self.service_ns_max = self.service_ns_max.max(service_ns);
        let call = SampledCall::new(moments.intended_ns, latency_ns, service_ns);
        let bytes = u32::try_from(reply.body_bytes).unwrap_or(u32::MAX);
        self.sample.offer(SampledCall { call: ticket as u32, bytes, status: reply.status, ..call });
    }

    fn pulse(&mut self, pulse: &Pulse) {
        self.began.get_or_insert_with(|| (Instant::now(), SystemTime::now()));
        self.second.backlog = pulse.backlog;
        self.second.connections = pulse.connections;
        if u128::from(pulse.refused_ns) > self.task.timeout.as_nanos() {
            self.has_given_up = true;
            self.task.cancel.store(true, Ordering::Relaxed);
        }
        let Some(measured_ns) = pulse.now_ns.checked_sub(self.warm_up_ns) else { return };
        let index = measured_ns / 1_000_000_000;
        if index > self.second.index {
            self.hand_over(index);
        }
    }
}

/// What became of a call on whose connection more came than was asked for.
pub(super) const UNASKED: &str = "answered by more than was asked";

fn words(loss: Loss) -> &'static str {
    match loss {
        Loss::Unasked => UNASKED,
        Loss::Closed => "connection closed",
        Loss::Timeout => "timed out",
        Loss::Malformed => "no HTTP",
        Loss::Cut => "cut off at the end",
    }
}
