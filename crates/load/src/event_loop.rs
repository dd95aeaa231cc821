//! The event loop: opens connections, starts requests when the plan says so, reads the replies.
//!
//! One thread, one epoll set, one read buffer. On the hot path a request costs one `send`, one
//! `recv` and its share of an `epoll_wait`, nothing is allocated and nothing copied twice.
//! Invariant: every request started is answered, failed or timed out before `run` returns.
//! Another transport would bring its own loop beside this one; plan, schedule, requests and report
//! know nothing of HTTP connections.

mod connections;

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::Timespec;

use crate::connection_slot::{ConnectionPhase, ConnectionSlot, InFlight};
use crate::schedule::Schedule;
use crate::{
    Arrivals, Ask, LoadError, Loss, LostRequest, Plan, Pulse, ReceivedReply, Report,
    RequestOutcome, Requests, Stop,
};

/// Time-outs and cancellation are looked at this often.
const SWEEP_NS: u64 = 100_000_000;
/// A failed connect is tried again after this long.
const RETRY_NS: u64 = 10_000_000;
/// After a cancellation replies are waited for so long.
const CANCEL_TIMEOUT_NS: u64 = 1_000_000_000;
/// An arrival this near is waited for by spinning: a sleep would wake too late.
const SPIN_NS: u64 = 60_000;
/// Connections on their way at once, below the smallest usual listen backlog.
const CONNECTING_MAX: usize = 64;
const READ_BYTES: usize = 64 << 10;
const EVENTS_MAX: usize = 256;

/// Carries out `plan` on the calling thread.
///
/// # Errors
/// A plan that contradicts itself, or a target that nobody can be reached at; what goes wrong
/// later is counted in the report.
pub fn run<R: Requests + ?Sized>(plan: &Plan, requests: &mut R) -> Result<Report, LoadError> {
    plan.check()?;
    let mut engine = EventLoop::new(plan, requests)?;
    let slack = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    // Without this the kernel may round every sleep up by 50 µs; if it refuses, it does.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let outcome = engine.open_first().and_then(|()| engine.drive());
    let _ = rustix::thread::set_current_timer_slack(slack);
    outcome?;
    Ok(engine.finish())
}

/// Carries out `plan` on `threads` threads (no more than connections), each with its share and its
/// own source of requests, and returns the merged report.
///
/// # Errors
/// Those of `run`, from the first thread that has one.
pub fn run_threads<R: Requests>(
    plan: &Plan,
    threads: usize,
    make: impl Fn(usize) -> R + Sync,
) -> Result<Report, LoadError> {
    let make = &make;
    let threads = threads.clamp(1, plan.connections.max(1));
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| scope.spawn(move || run(&plan.share(part, threads), &mut make(part))))
            .collect();
        let mut whole = Report::default();
        for part in parts {
            whole.merge(&part.join().expect("the engine does not panic")?);
        }
        Ok(whole)
    })
}

struct EventLoop<'a, R: ?Sized> {
    plan: &'a Plan,
    requests: &'a mut R,
    depth: usize,
    epoll: rustix::fd::OwnedFd,
    connections: Vec<ConnectionSlot>,
    // Open loop: connections that wait for a request, the last used first; may hold stale ones.
    idle: Vec<usize>,
    // Slots whose connection is closed and not wanted at the moment.
    vacant: Vec<usize>,
    // When to try again, and which slot; in order of time because the delay is constant.
    retries: VecDeque<(u64, usize)>,
    connecting: usize,
    open: usize,
    refusal: Option<io::Error>,
    schedule: Option<Schedule>,
    // Open loop: intended times that no connection was free for.
    backlog: VecDeque<u64>,
    start: Instant,
    running: bool,
    stopped_ns: Option<u64>,
    // When the plan's cancellation was seen.
    cancelled_ns: Option<u64>,
    started: u64,
    in_flight: usize,
    last_reply_ns: u64,
    scratch: Vec<u8>,
    buffer: Vec<u8>,
    events: Vec<epoll::Event>,
    report: Report,
}

impl<'a, R: Requests + ?Sized> EventLoop<'a, R> {
    fn new(plan: &'a Plan, requests: &'a mut R) -> Result<Self, LoadError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| LoadError::System { call: "epoll_create1", source: error.into() })?;
        let depth = match plan.arrivals {
            Arrivals::Closed { depth } => depth,
            _ => 1,
        };
        Ok(Self {
            plan,
            requests,
            depth,
            epoll,
            connections: Vec::new(),
            idle: Vec::new(),
            vacant: Vec::new(),
            retries: VecDeque::new(),
            connecting: 0,
            open: 0,
            refusal: None,
            schedule: Schedule::new(plan),
            backlog: VecDeque::new(),
            start: Instant::now(),
            running: false,
            stopped_ns: None,
            cancelled_ns: None,
            started: 0,
            in_flight: 0,
            last_reply_ns: 0,
            scratch: Vec::new(),
            buffer: vec![0; READ_BYTES],
            events: Vec::with_capacity(EVENTS_MAX),
            report: Report::default(),
        })
    }

    /// Opens the plan's connections before the clock starts.
    fn open_first(&mut self) -> Result<(), LoadError> {
        let deadline = self.now() + nanos(self.plan.timeout);
        let mut attempted = 0;
        while (attempted < self.plan.connections || self.connecting > 0) && self.now() < deadline {
            while attempted < self.plan.connections && self.connecting < CONNECTING_MAX {
                self.connections.push(ConnectionSlot::default());
                self.connect(attempted);
                attempted += 1;
            }
            if self.connecting > 0 {
                self.poll(SWEEP_NS)?;
            }
        }
        if self.open == 0 {
            let source = self.refusal.take().unwrap_or_else(|| io::ErrorKind::TimedOut.into());
            return Err(LoadError::Connect { target: self.plan.target.clone(), source });
        }
        Ok(())
    }

    /// The loop proper: from the first request to the last reply.
    fn drive(&mut self) -> Result<(), LoadError> {
        self.running = true;
        self.start = Instant::now();
        self.tell(0);
        for slot in 0..self.connections.len() {
            self.refill(slot, 0);
        }
        let mut sweep_ns = SWEEP_NS;
        loop {
            let now = self.now();
            self.stop_when_due(now);
            self.admit(now);
            self.retry(now);
            if now >= sweep_ns {
                self.sweep(now);
                sweep_ns = now + SWEEP_NS;
            }
            if self.stopped_ns.is_some() && self.in_flight == 0 && self.backlog.is_empty() {
                return Ok(());
            }
            let wait = self.next_due(sweep_ns).saturating_sub(self.now());
            let spin = self.schedule.is_some() && wait < SPIN_NS;
            self.poll(if spin { 0 } else { wait })?;
        }
    }

    fn finish(mut self) -> Report {
        let warm_up = nanos(self.plan.warm_up);
        let mut end = self.last_reply_ns;
        if let (Stop::After(_), Some(stopped)) = (self.plan.stop, self.stopped_ns) {
            end = end.max(stopped);
        }
        self.report.seconds = end.saturating_sub(warm_up) as f64 / 1e9;
        self.report.refusal = self.refusal.map(|error| error.to_string());
        self.report
    }

    fn now(&self) -> u64 {
        nanos(self.start.elapsed())
    }

    fn measured(&self, intended_ns: u64) -> bool {
        intended_ns >= nanos(self.plan.warm_up)
    }

    fn stop_when_due(&mut self, now: u64) {
        let due = match self.plan.stop {
            Stop::After(span) => now >= nanos(self.plan.warm_up + span),
            Stop::Count(count) => self.started >= count,
        };
        if due || self.schedule.as_ref().is_some_and(Schedule::has_ended) {
            self.stop(now);
        }
    }

    fn stop(&mut self, now: u64) {
        self.stopped_ns.get_or_insert(now);
    }

    /// When the loop must look again at the latest.
    fn next_due(&self, sweep_ns: u64) -> u64 {
        let mut due = sweep_ns;
        if self.stopped_ns.is_none() {
            if let Stop::After(span) = self.plan.stop {
                due = due.min(nanos(self.plan.warm_up + span));
            }
            if let Some(schedule) = &self.schedule {
                due = due.min(schedule.peek());
            }
        }
        self.retries.front().map_or(due, |(at, _)| due.min(*at))
    }

    /// Open loop: hands the arrivals that are due to connections, or queues them.
    fn admit(&mut self, now: u64) {
        while self.stopped_ns.is_none() {
            let Some(schedule) = &mut self.schedule else { return };
            let intended = schedule.peek();
            if intended > now {
                return;
            }
            schedule.advance();
            self.backlog.push_back(intended);
            self.note_start(intended, now);
            self.dispatch(now);
        }
    }

    fn dispatch(&mut self, now: u64) {
        while let Some(slot) = self.idle.pop() {
            let connection = &mut self.connections[slot];
            if connection.idle && connection.phase == ConnectionPhase::Open {
                connection.idle = false;
                self.note_lateness(now);
                return self.refill(slot, now);
            }
        }
        if self.connecting < self.backlog.len().min(CONNECTING_MAX) {
            self.grow();
        }
        self.report.backlog_max = self.report.backlog_max.max(self.backlog.len());
    }

    /// Books how long the oldest arrival was due before the generator got round to it.
    fn note_lateness(&mut self, now: u64) {
        if let Some(intended) = self.backlog.front().filter(|at| self.measured(**at)) {
            self.report.late.saturating_record((now - intended) / 1000);
        }
    }

    /// Tells the source of requests how the run goes.
    fn tell(&mut self, now: u64) {
        self.requests.pulse(&Pulse {
            now_ns: now,
            in_flight: self.in_flight,
            backlog: self.backlog.len(),
            connections: self.open,
            errors: self.report.errors,
        });
    }

    /// Counts a request towards the plan's number.
    fn note_start(&mut self, intended: u64, now: u64) {
        if self.measured(intended) {
            self.started += 1;
            if matches!(self.plan.stop, Stop::Count(count) if self.started >= count) {
                self.stop(now);
            }
        }
    }

    /// The intended time of the request that a free connection should carry now.
    fn next_start(&mut self, now: u64) -> Option<u64> {
        if self.schedule.is_some() {
            return self.backlog.pop_front();
        }
        if self.stopped_ns.is_some() {
            return None;
        }
        self.note_start(now, now);
        Some(now)
    }

    /// Starts as many requests on a connection as it has room for.
    fn refill(&mut self, slot: usize, now: u64) {
        if !self.running || self.connections[slot].phase != ConnectionPhase::Open {
            return;
        }
        self.scratch.clear();
        while self.connections[slot].in_flight.len() < self.depth {
            let Some(intended_ns) = self.next_start(now) else { break };
            let ask = self.requests.next(&mut self.scratch);
            let request = InFlight { ask, intended_ns, sent_ns: now };
            self.connections[slot].in_flight.push_back(request);
            self.in_flight += 1;
        }
        let connection = &mut self.connections[slot];
        if self.scratch.is_empty() {
            let rests = connection.in_flight.is_empty() && !connection.idle;
            if rests && self.schedule.is_some() {
                connection.idle = true;
                self.idle.push(slot);
            }
        } else if connection.write(&self.scratch).is_err() {
            self.lose(slot, Loss::Closed);
        } else if self.measured(now) {
            self.report.bytes_written += self.scratch.len() as u64;
        }
    }

    /// Books the reply that a connection has read to its end.
    fn complete(&mut self, slot: usize, now: u64) {
        let connection = &mut self.connections[slot];
        let request = connection.in_flight.pop_front().expect("a reply is read only for a request");
        self.in_flight -= 1;
        let reader = &connection.reader;
        let latency_us = (now - request.intended_ns) / 1000;
        if request.intended_ns >= nanos(self.plan.warm_up) {
            self.last_reply_ns = now;
            self.report.count(reader.status, latency_us, (now - request.sent_ns) / 1000);
            let Ask { status, bytes, .. } = request.ask;
            self.report.status_mismatches +=
                u64::from(status.is_some_and(|status| status != reader.status));
            self.report.bytes_mismatches +=
                u64::from(bytes.is_some_and(|bytes| bytes != reader.body_bytes));
        }
        let (head, body) = reader.kept();
        let (status, body_bytes) = (reader.status, reader.body_bytes);
        let times = request.times(now);
        let reply = ReceivedReply { status, latency_us, times, body_bytes, head, body };
        self.requests.done(request.ask.ticket, RequestOutcome::Reply(reply));
        let close = reader.close;
        connection.reader.reset();
        if close {
            self.lose(slot, Loss::Closed);
        }
    }

    /// Gives a connection up; whatever was in flight on it has failed.
    fn lose(&mut self, slot: usize, loss: Loss) {
        match self.connections[slot].phase {
            ConnectionPhase::Closed => return,
            ConnectionPhase::Connecting => self.connecting -= 1,
            ConnectionPhase::Open => self.open -= 1,
        }
        self.connections[slot].close();
        let now = self.now();
        while let Some(request) = self.connections[slot].in_flight.pop_front() {
            self.in_flight -= 1;
            if self.measured(request.intended_ns) {
                let errors = &mut self.report.errors;
                *match loss {
                    Loss::Closed => &mut errors.closed,
                    Loss::Timeout => &mut errors.timeout,
                    Loss::Malformed => &mut errors.malformed,
                    Loss::Cut => &mut errors.cut,
                } += 1;
            }
            let failure = LostRequest { loss, times: request.times(now) };
            self.requests.done(request.ask.ticket, RequestOutcome::Failed(failure));
        }
        self.reopen_or_rest(slot);
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

#[cfg(test)]
mod tests;
