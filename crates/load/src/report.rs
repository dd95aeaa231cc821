//! Holds what a run measured: counts, errors by kind, replies by status, latency histograms in
//! microseconds.
//!
//! Invariant: reports of parts that ran side by side merge. Counts and histograms add, and the time
//! is that of the longest part. `backlog_max` and `connections` add too, so a merged one is an
//! upper bound. A new field has to be added in `merge`, a new error in `Errors::total` as well, or
//! `is_clean` overlooks it. Rows of `bench` fail by `is_clean`.
//! Latencies below 1 µs count as 1 µs, and those above one hour as one hour. Status codes are
//! counted by their last three digits.
//! What is left out as warm-up, `tally` decides. `lab` does not use the histograms of latency and
//! service: it has its own, in nanoseconds. Refuses: to judge what was measured.

use hdrhistogram::Histogram;

/// Highest latency told apart: one hour.
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// Requests that got no complete reply, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Attempts to connect that failed; no request was on them.
    pub connect: u64,
    /// Requests whose reply was not complete within the plan's time-out.
    pub timeout: u64,
    /// Requests whose connection ended before the reply did.
    pub closed: u64,
    /// Requests answered by something that is not HTTP/1.
    pub malformed: u64,
    /// Requests, and connections without one, on which more came than was asked for.
    pub unasked: u64,
    /// Intended requests of an open loop that found no connection within the plan's time-out, or
    /// before the run was cancelled.
    pub unsent: u64,
    /// Requests in flight when the run was cancelled, whose reply did not come soon after.
    pub cut: u64,
}

impl Errors {
    /// All of them.
    pub fn total(&self) -> u64 {
        let of_requests = self.timeout + self.closed + self.malformed + self.unasked;
        self.connect + of_requests + self.unsent + self.cut
    }
}

/// The result of a run, warm-up excluded.
#[derive(Debug, Clone)]
pub struct Report {
    /// Complete replies.
    pub requests: u64,
    /// What went wrong.
    pub errors: Errors,
    /// What the last failed attempt to connect was told, such as `Connection refused`; of merged
    /// reports, the first that has one.
    pub refusal: Option<String>,
    /// Replies below 400 on connections on which later more came than was asked for: they are
    /// counted, and may have been meant for another request.
    pub doubtful: u64,
    /// Replies whose status was not the expected one.
    pub status_mismatches: u64,
    /// Replies whose body did not have the expected number of bytes.
    pub bytes_mismatches: u64,
    /// Seconds from the end of the warm-up to the last reply, or to a later planned stop.
    pub seconds: f64,
    /// Bytes read from the sockets.
    pub bytes_read: u64,
    /// Bytes written to the sockets.
    pub bytes_written: u64,
    /// Longest queue of intended requests that waited for a connection, warm-up included.
    pub backlog_max: usize,
    /// Connections open at most, warm-up included.
    pub connections: usize,
    /// Microseconds from the intended time to the end of the reply.
    pub latency: Histogram<u64>,
    /// Microseconds from the actual sending to the end of the reply.
    pub service: Histogram<u64>,
    /// Open loop: microseconds by which the generator itself was late, over all requests that a
    /// connection was free for. High values say that the generator's machine was busy.
    pub late: Histogram<u64>,
    by_status: Box<[u64; 1000]>,
}

impl Default for Report {
    fn default() -> Self {
        let histogram = || {
            Histogram::new_with_bounds(1, LATENCY_US_MAX, 3)
                .expect("bounds and precision are constants that the histogram accepts")
        };
        Self {
            requests: 0,
            errors: Errors::default(),
            refusal: None,
            doubtful: 0,
            status_mismatches: 0,
            bytes_mismatches: 0,
            seconds: 0.0,
            bytes_read: 0,
            bytes_written: 0,
            backlog_max: 0,
            connections: 0,
            latency: histogram(),
            service: histogram(),
            late: histogram(),
            by_status: Box::new([0; 1000]),
        }
    }
}

impl Report {
    /// Complete replies per second; 0 when nothing was measured.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.requests as f64 / self.seconds } else { 0.0 }
    }

    /// Replies with this status code.
    pub fn status(&self, code: u16) -> u64 {
        self.by_status.get(usize::from(code)).copied().unwrap_or(0)
    }

    /// The status codes that occurred, with how often, in order.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        self.by_status
            .iter()
            .zip(0u16..)
            .filter(|(count, _)| **count > 0)
            .map(|(n, code)| (code, *n))
    }

    /// True when every request got the reply it expected.
    pub fn is_clean(&self) -> bool {
        let mismatches = self.status_mismatches + self.bytes_mismatches;
        self.errors.total() + self.doubtful + mismatches == 0
    }

    /// Adds the report of a part that ran at the same time.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors.connect += other.errors.connect;
        self.errors.timeout += other.errors.timeout;
        self.errors.closed += other.errors.closed;
        self.errors.malformed += other.errors.malformed;
        self.errors.unasked += other.errors.unasked;
        self.doubtful += other.doubtful;
        self.errors.unsent += other.errors.unsent;
        self.errors.cut += other.errors.cut;
        self.refusal = self.refusal.take().or_else(|| other.refusal.clone());
        self.status_mismatches += other.status_mismatches;
        self.bytes_mismatches += other.bytes_mismatches;
        self.seconds = self.seconds.max(other.seconds);
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.backlog_max += other.backlog_max;
        self.connections += other.connections;
        self.latency.add(&other.latency).expect("all reports share their bounds");
        self.service.add(&other.service).expect("all reports share their bounds");
        self.late.add(&other.late).expect("all reports share their bounds");
        for (mine, theirs) in self.by_status.iter_mut().zip(other.by_status.iter()) {
            *mine += theirs;
        }
    }

    pub(crate) fn count(&mut self, status: u16, latency_us: u64, service_us: u64) {
        self.requests += 1;
        self.by_status[usize::from(status) % 1000] += 1;
        self.latency.saturating_record(latency_us.max(1));
        self.service.saturating_record(service_us.max(1));
    }
}

#[cfg(test)]
mod tests;
