//! Counts what a run has come to so far: replies, errors, latencies, bytes, and the most
//! connections and backlog.
//!
//! Invariant: requests count by the moment they were meant to be sent, bytes and failed connects by
//! the moment they happen. What comes before the end of the warm-up is left out. So the warm-up
//! ends at the same moment for a fast server and a slow one. `lab` leaves requests out by the same
//! rule, in code of its own (`load_test/recorder.rs`).
//! The exceptions: `backlog_max`, `connections`, `refusal` and connects that fail before the start
//! cover everything.
//! Mismatches of status and length are found here. Never here: histograms and merging (`report`),
//! and when to stop (`agenda`).

use crate::connection_slot::InFlight;
use crate::reply::ReplyReader;
use crate::report::Errors;
use crate::schedule::nanos;
use crate::{Ask, Loss, Plan, Report};

/// The report being written.
#[derive(Debug)]
pub(super) struct Tally {
    report: Report,
    warm_up_ns: u64,
    last_reply_ns: u64,
}

impl Tally {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { report: Report::default(), warm_up_ns: nanos(plan.warm_up), last_reply_ns: 0 }
    }

    fn is_measured(&self, intended_ns: u64) -> bool {
        intended_ns >= self.warm_up_ns
    }

    /// Counts a complete reply; returns whether it is measured and below 400.
    pub(super) fn reply(&mut self, request: &InFlight, reader: &ReplyReader, now: u64) -> bool {
        let is_measured = self.is_measured(request.intended_ns);
        if is_measured {
            let latency_us = (now - request.intended_ns) / 1000;
            self.last_reply_ns = now;
            self.report.count(reader.status, latency_us, (now - request.sent_ns) / 1000);
            let Ask { status, bytes, .. } = request.ask;
            self.report.status_mismatches +=
                u64::from(status.is_some_and(|status| status != reader.status));
            self.report.bytes_mismatches +=
                u64::from(bytes.is_some_and(|bytes| bytes != reader.body_bytes));
        }
        is_measured && reader.status < 400
    }

    /// Counts a request without a complete reply.
    pub(super) fn lose(&mut self, intended_ns: u64, loss: Loss) {
        if self.is_measured(intended_ns) {
            let errors = &mut self.report.errors;
            *match loss {
                Loss::Closed => &mut errors.closed,
                Loss::Timeout => &mut errors.timeout,
                Loss::Malformed => &mut errors.malformed,
                Loss::Unasked => &mut errors.unasked,
                Loss::Cut => &mut errors.cut,
            } += 1;
        }
    }

    /// More came on a connection than was asked for. So many replies on it are counted already;
    /// where it has none, and fails no request, it is counted itself.
    pub(super) fn unasked(&mut self, answered: u64, fails_requests: bool) {
        self.report.doubtful += answered;
        self.report.errors.unasked += u64::from(answered == 0 && !fails_requests);
    }

    /// Counts a request that was given up before it was sent.
    pub(super) fn skip(&mut self, intended_ns: u64) {
        self.report.errors.unsent += u64::from(self.is_measured(intended_ns));
    }

    /// Counts an attempt to connect that failed; `now` is none before the run has begun.
    pub(super) fn refuse(&mut self, now: Option<u64>) {
        let is_measured = now.is_none_or(|now| self.is_measured(now));
        self.report.errors.connect += u64::from(is_measured);
    }

    /// Notes how long an arrival was due before the generator got round to it.
    pub(super) fn late(&mut self, intended_ns: u64, now: u64) {
        if self.is_measured(intended_ns) {
            self.report.late.saturating_record((now - intended_ns) / 1000);
        }
    }

    pub(super) fn bytes_written(&mut self, bytes: usize, now: u64) {
        if self.is_measured(now) {
            self.report.bytes_written += bytes as u64;
        }
    }

    pub(super) fn bytes_read(&mut self, bytes: usize, now: u64) {
        if self.is_measured(now) {
            self.report.bytes_read += bytes as u64;
        }
    }

    pub(super) fn waiting(&mut self, requests: usize) {
        self.report.backlog_max = self.report.backlog_max.max(requests);
    }

    pub(super) fn connections(&mut self, open: usize) {
        self.report.connections = self.report.connections.max(open);
    }

    /// What went wrong so far.
    pub(super) fn errors(&self) -> Errors {
        self.report.errors
    }

    /// The report of a run whose last reply is known, and that lasted until `end_ns` at least.
    pub(super) fn finish(mut self, end_ns: u64, refusal: Option<String>) -> Report {
        let end_ns = self.last_reply_ns.max(end_ns);
        self.report.seconds = end_ns.saturating_sub(self.warm_up_ns) as f64 / 1e9;
        self.report.refusal = refusal;
        self.report
    }
}

#[cfg(test)]
mod tests;
