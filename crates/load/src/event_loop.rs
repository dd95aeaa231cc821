//! Drives a run on one thread: starts requests when they are due, reads their replies, and returns
//! the report.
//!
//! On the hot path a request costs one `send`, one `recv` and its share of an `epoll_wait`; nothing
//! is allocated. A connection whose reply was read gets its next request before other sockets are
//! read. That was measured (docs/decisions/lab.md).
//! The loop holds three parts together: an [`Agenda`] says what is due, a [`ConnectionTable`]
//! carries it, a [`Tally`] counts it. `run_threads` gives each thread a loop and its share.
//! Invariant: when `run` returns a report, every request that was sent is answered, failed, timed
//! out or cut. A failing `epoll_pwait2` ends the run without a report. A failing connect, send or
//! read is counted.
//! `Requests::pulse` is called at the start and every 100 ms, when time-outs and cancellation are
//! looked at, too. `lab` takes the first call for the start of the run, and ends its seconds at the
//! others (`load_test/recorder.rs`). A cancelled run waits about 1 s for replies.
//! Requests in flight on one connection are answered in order. When one of them breaks it, those
//! behind it have failed because it was closed.
//! Refuses: other transports, which would bring a loop of their own.

mod agenda;
mod connection_table;
mod tally;

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::event::epoll::{self, EventFlags};

use crate::connection_slot::{ConnectionPhase, InFlight};
use crate::schedule::nanos;
use crate::{
    Arrivals, LoadError, Loss, LostRequest, Plan, Pulse, ReceivedReply, Report, RequestOutcome,
    Requests, Stop,
};
use agenda::Agenda;
use connection_table::{Arrival, CONNECTING_MAX, ConnectionTable};
use tally::Tally;

/// Time-outs and cancellation are looked at this often.
const SWEEP_INTERVAL_NS: u64 = 100_000_000;
/// After a cancellation replies are waited for so long.
const CANCEL_TIMEOUT_NS: u64 = 1_000_000_000;
/// An arrival this near is waited for by spinning: a sleep would wake too late.
const SPIN_NS: u64 = 60_000;
const READ_BYTES: usize = 64 << 10;
const EVENTS_MAX: usize = 256;
const HANG_UP: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// Carries out `plan` on the calling thread.
///
/// # Errors
/// A plan that contradicts itself, or a target that nobody can be reached at; what goes wrong
/// later is counted in the report.
pub fn run<R: Requests + ?Sized>(plan: &Plan, requests: &mut R) -> Result<Report, LoadError> {
    plan.check()?;
    let mut event_loop = EventLoop::new(plan, requests)?;
    let slack = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    // Without this the kernel may round every sleep up by 50 µs; if it refuses, it does.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let outcome = event_loop.open_first().and_then(|()| event_loop.drive());
    let _ = rustix::thread::set_current_timer_slack(slack);
    outcome?;
    Ok(event_loop.finish())
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
            whole.merge(&part.join().expect("the loop does not panic")?);
        }
        Ok(whole)
    })
}

struct EventLoop<'a, R: ?Sized> {
    plan: &'a Plan,
    requests: &'a mut R,
    agenda: Agenda,
    connections: ConnectionTable,
    tally: Tally,
    /// Requests in flight on each connection.
    depth: usize,
    start: Instant,
    /// The clock of the plan has started.
    is_running: bool,
    /// When the plan's cancellation was seen.
    cancelled_ns: Option<u64>,
    /// Where requests are rendered.
    scratch: Vec<u8>,
    buffer: Vec<u8>,
    /// What a channel has understood.
    plain: Vec<u8>,
    events: Vec<epoll::Event>,
}

impl<'a, R: Requests + ?Sized> EventLoop<'a, R> {
    fn new(plan: &'a Plan, requests: &'a mut R) -> Result<Self, LoadError> {
        let depth = match plan.arrivals {
            Arrivals::Closed { depth } => depth,
            _ => plan.depth_max,
        };
        Ok(Self {
            plan,
            requests,
            agenda: Agenda::new(plan),
            connections: ConnectionTable::new(plan)?,
            tally: Tally::new(plan),
            depth,
            start: Instant::now(),
            is_running: false,
            cancelled_ns: None,
            scratch: Vec::new(),
            buffer: vec![0; READ_BYTES],
            plain: Vec::new(),
            events: Vec::with_capacity(EVENTS_MAX),
        })
    }

    /// Opens the plan's connections before the clock starts.
    fn open_first(&mut self) -> Result<(), LoadError> {
        let deadline = self.now() + nanos(self.plan.timeout);
        let mut missing = self.plan.connections;
        while (missing > 0 || self.connections.connecting() > 0) && self.now() < deadline {
            while missing > 0 && self.connections.connecting() < CONNECTING_MAX {
                let slot = self.connections.add();
                self.connect(slot);
                missing -= 1;
            }
            if self.connections.connecting() > 0 {
                self.poll(SWEEP_INTERVAL_NS)?;
            }
        }
        if self.connections.open() == 0 {
            let source = self.connections.take_refusal();
            let source = source.unwrap_or_else(|| io::ErrorKind::TimedOut.into());
            return Err(LoadError::Connect { target: self.plan.target.to_string(), source });
        }
        Ok(())
    }

    /// The loop proper: from the first request to the last reply.
    fn drive(&mut self) -> Result<(), LoadError> {
        self.is_running = true;
        self.start = Instant::now();
        self.pulse(0);
        for slot in 0..self.connections.slots.len() {
            self.refill(slot, 0);
        }
        let mut sweep_ns = SWEEP_INTERVAL_NS;
        loop {
            let now = self.now();
            self.agenda.stop_when_due(now);
            while self.agenda.admit(now) {
                self.dispatch(now);
            }
            while let Some(slot) = self.connections.take_retry(now) {
                self.reopen_or_rest(slot);
            }
            if now >= sweep_ns {
                self.sweep(now);
                sweep_ns = now + SWEEP_INTERVAL_NS;
            }
            if self.agenda.is_over() && self.connections.in_flight() == 0 {
                return Ok(());
            }
            let due = sweep_ns.min(self.agenda.next_due()).min(self.connections.next_retry());
            let wait = due.saturating_sub(self.now());
            let is_near = self.agenda.is_open_loop() && wait < SPIN_NS;
            self.poll(if is_near { 0 } else { wait })?;
        }
    }

    fn finish(mut self) -> Report {
        let end_ns = match (self.plan.stop, self.agenda.stopped_ns()) {
            (Stop::After(_), Some(stopped)) => stopped,
            _ => 0,
        };
        let refusal = self.connections.take_refusal();
        self.tally.finish(end_ns, refusal.map(|error| error.to_string()))
    }

    fn now(&self) -> u64 {
        nanos(self.start.elapsed())
    }

    /// Tells the source of requests how the run goes.
    fn pulse(&mut self, now: u64) {
        self.requests.pulse(&Pulse {
            now_ns: now,
            in_flight: self.connections.in_flight(),
            backlog: self.agenda.waiting(),
            connections: self.connections.open(),
            errors: self.tally.errors(),
        });
    }

    /// Waits for events at most so long and handles them.
    fn poll(&mut self, wait_ns: u64) -> Result<(), LoadError> {
        let mut events = std::mem::take(&mut self.events);
        self.connections.wait(&mut events, wait_ns)?;
        for event in &events {
            if let Some(slot) = self.connections.slot_of(event) {
                self.ready(slot, event.flags);
            }
        }
        self.events = events;
        Ok(())
    }

    /// Open loop: gives a request that has just become due to an idle connection, or to a new one.
    fn dispatch(&mut self, now: u64) {
        let free = self.connections.take_idle().or_else(|| self.connections.take_room());
        if let Some(slot) = free {
            if let Some(intended) = self.agenda.oldest() {
                self.tally.late(intended, now);
            }
            return self.refill(slot, now);
        }
        if self.connections.connecting() < self.agenda.waiting().min(CONNECTING_MAX)
            && let Some(slot) = self.connections.grow()
        {
            self.connect(slot);
        }
        self.tally.waiting(self.agenda.waiting());
    }

    /// Starts as many requests on a connection as it has room for.
    fn refill(&mut self, slot: usize, now: u64) {
        if !self.is_running || self.connections.slots[slot].phase != ConnectionPhase::Open {
            return;
        }
        self.scratch.clear();
        while self.connections.slots[slot].in_flight.len() < self.depth {
            let Some(intended_ns) = self.agenda.take(now) else { break };
            let ask = self.requests.next(&mut self.scratch);
            self.connections.push(slot, InFlight { ask, intended_ns, sent_ns: now });
        }
        if !self.scratch.is_empty() {
            match self.connections.slots[slot].write(&self.scratch) {
                Ok(wire) => self.tally.bytes_written(wire, now),
                Err(_) => return self.lose(slot, Loss::Closed),
            }
        }
        if self.agenda.is_open_loop() {
            match self.connections.slots[slot].in_flight.len() {
                0 => self.connections.set_idle(slot),
                in_flight if in_flight < self.depth => self.connections.set_room(slot),
                _ => {}
            }
        }
    }

    /// Starts to connect a closed slot.
    fn connect(&mut self, slot: usize) {
        let now = self.now();
        if !self.connections.connect(slot, now) {
            self.count_refusal(now);
        }
    }

    fn count_refusal(&mut self, now: u64) {
        self.tally.refuse(self.is_running.then_some(now));
    }

    /// Opens a closed slot again if its connection has work to do.
    fn reopen_or_rest(&mut self, slot: usize) {
        if self.agenda.wants_connections() {
            self.connect(slot);
        } else {
            self.connections.rest(slot);
        }
    }

    fn ready(&mut self, slot: usize, flags: EventFlags) {
        match self.connections.slots[slot].phase {
            ConnectionPhase::Closed => {}
            ConnectionPhase::Connecting => {
                let now = self.now();
                match self.connections.arrive(slot, flags, now, &mut self.buffer) {
                    Arrival::Pending => {}
                    Arrival::Refused => self.count_refusal(now),
                    Arrival::Open => {
                        self.tally.connections(self.connections.open());
                        self.refill(slot, now);
                    }
                }
            }
            ConnectionPhase::Open => {
                let connection = &mut self.connections.slots[slot];
                if flags.contains(EventFlags::OUT) && connection.flush().is_err() {
                    return self.lose(slot, Loss::Closed);
                }
                if flags.intersects(EventFlags::IN | HANG_UP) {
                    self.read(slot, flags.intersects(HANG_UP));
                }
            }
        }
    }

    /// Reads until the socket is empty, then starts what there is room for.
    fn read(&mut self, slot: usize, hang_up: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        loop {
            let read = self.connections.slots[slot].read(&mut buffer);
            let now = self.now();
            match read {
                Ok(0) => {
                    self.ended(slot, now);
                    break;
                }
                Ok(bytes) => {
                    self.tally.bytes_read(bytes, now);
                    self.understand(slot, &buffer[..bytes], now);
                    if self.connections.slots[slot].phase != ConnectionPhase::Open {
                        break;
                    }
                    if bytes == buffer.len() || hang_up {
                        continue;
                    }
                    self.refill(slot, now);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.refill(slot, now);
                    break;
                }
                Err(_) => {
                    self.lose(slot, Loss::Closed);
                    break;
                }
            }
        }
        self.buffer = buffer;
    }

    /// Takes bytes of the wire, by the channel where there is one.
    fn understand(&mut self, slot: usize, wire: &[u8], now: u64) {
        if !self.connections.slots[slot].has_channel() {
            return self.take(slot, wire, now);
        }
        let mut plain = std::mem::take(&mut self.plain);
        let understood = self.connections.slots[slot].receive(wire, &mut plain);
        self.take(slot, &plain, now);
        plain.clear();
        self.plain = plain;
        let connection = &mut self.connections.slots[slot];
        let is_open = connection.phase == ConnectionPhase::Open;
        if is_open && understood.and_then(|()| connection.flush()).is_err() {
            self.lose(slot, Loss::Closed);
        }
    }

    fn take(&mut self, slot: usize, mut input: &[u8], now: u64) {
        while !input.is_empty() && self.connections.slots[slot].phase == ConnectionPhase::Open {
            let connection = &mut self.connections.slots[slot];
            let Some(request) = connection.in_flight.front() else {
                // Bytes that nobody asked for: a farewell such as 408, or a broken server.
                return self.lose(slot, Loss::Malformed);
            };
            let ask = request.ask;
            match connection.reader.feed(input, ask) {
                Ok((bytes, complete)) => {
                    input = &input[bytes..];
                    if complete {
                        self.complete(slot, now);
                    }
                }
                Err(_) => return self.lose(slot, Loss::Malformed),
            }
        }
    }

    /// The server has closed its side.
    fn ended(&mut self, slot: usize, now: u64) {
        if self.connections.slots[slot].reader.ends_with_stream() {
            self.complete(slot, now);
        } else {
            self.lose(slot, Loss::Closed);
        }
    }

    /// Books the reply that a connection has read to its end.
    fn complete(&mut self, slot: usize, now: u64) {
        let request = self.connections.pop(slot).expect("a reply is read only for a request");
        let reader = &mut self.connections.slots[slot].reader;
        let latency_us = self.tally.reply(&request, reader, now);
        let (head, body) = reader.kept();
        let (status, body_bytes) = (reader.status, reader.body_bytes);
        let times = request.times(now);
        let reply = ReceivedReply { status, latency_us, times, body_bytes, head, body };
        self.requests.done(request.ask.ticket, RequestOutcome::Reply(reply));
        let close = reader.close;
        reader.reset();
        if close {
            self.lose(slot, Loss::Closed);
        }
    }

    /// Gives a connection up; whatever was in flight on it has failed.
    fn lose(&mut self, slot: usize, loss: Loss) {
        if !self.connections.close(slot) {
            return;
        }
        let now = self.now();
        let mut loss = loss;
        while let Some(request) = self.connections.pop(slot) {
            self.tally.lose(request.intended_ns, loss);
            let lost = LostRequest { loss, times: request.times(now) };
            self.requests.done(request.ask.ticket, RequestOutcome::Failed(lost));
            if matches!(loss, Loss::Timeout | Loss::Malformed) {
                // Those behind it were neither late nor wrong.
                loss = Loss::Closed;
            }
        }
        self.reopen_or_rest(slot);
    }

    /// Fails the requests that took too long, and the intended ones that waited too long.
    fn sweep(&mut self, now: u64) {
        let oldest = now.saturating_sub(nanos(self.plan.timeout));
        for slot in 0..self.connections.slots.len() {
            let connection = &self.connections.slots[slot];
            if connection.waits_since().is_none_or(|since| since >= oldest) {
                continue;
            }
            if connection.phase == ConnectionPhase::Connecting {
                let error = io::ErrorKind::TimedOut.into();
                self.connections.give_up_connect(slot, error, now);
                self.count_refusal(now);
            } else {
                self.lose(slot, Loss::Timeout);
            }
        }
        self.skip_older_than(oldest);
        if self.plan.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.cancel(now);
        }
        self.pulse(now);
    }

    /// Gives up intended requests that were meant to be sent before `oldest`.
    fn skip_older_than(&mut self, oldest: u64) {
        while let Some(intended) = self.agenda.take_overdue(oldest) {
            self.tally.skip(intended);
            self.requests.skip(intended);
        }
    }

    /// Starts nothing more, and waits a little for what is in flight.
    fn cancel(&mut self, now: u64) {
        self.agenda.stop(now);
        self.skip_older_than(u64::MAX);
        let cancelled = *self.cancelled_ns.get_or_insert(now);
        if now > cancelled + CANCEL_TIMEOUT_NS {
            for slot in 0..self.connections.slots.len() {
                if !self.connections.slots[slot].in_flight.is_empty() {
                    self.lose(slot, Loss::Cut);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
