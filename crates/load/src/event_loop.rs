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
//! A request that took longer than the time-out has failed, also if its reply is whole by then. The
//! loop wakes when the next may be due.
//! `Requests::pulse` is called at the start and every 100 ms, when cancellation is looked at, too.
//! `lab` takes the first call for the start of the run, and ends its seconds at the others
//! (`load_test/recorder.rs`). A cancelled run waits about 1 s for replies.
//! Requests in flight on one connection are answered in order. When one of them breaks it, those
//! behind it have failed because it was closed.
//! HTTP/1.1 ties a reply to its request by that order alone. So bytes without a request in flight
//! break the connection: the requests whose replies came with them fail, and replies before them
//! are `Report::doubtful`. At the end each connection is half closed and read on, up to 100 ms. A
//! farewell of status 408 or 400 to an idle connection is no error (RFC 9110 §15.5.9).
//! Refuses: other transports, which would bring a loop of their own.

mod agenda;
mod connection_table;
mod tally;
mod unsettled;

use std::io;
use std::num::NonZeroU64;
use std::time::Instant;

use rustix::event::epoll::{self, EventFlags};

use crate::connection_slot::{ConnectionPhase, InFlight};
use crate::schedule::nanos;
use crate::{
    Arrivals, LoadError, Loss, LostRequest, Plan, Pulse, Report, RequestOutcome, Requests, Stop,
};
use agenda::Agenda;
use connection_table::{Arrival, CONNECTING_MAX, ConnectionTable};
use tally::Tally;
use unsettled::{Unsettled, UnsettledReply};

/// The source of requests is told this often how the run goes, and cancellation is looked at.
const PULSE_INTERVAL_NS: u64 = 100_000_000;
/// Time-outs are looked for this often at most: it takes a look at each connection.
const EXPIRY_INTERVAL_NS: u64 = 1_000_000;
/// After a cancellation replies are waited for so long.
const CANCEL_TIMEOUT_NS: u64 = 1_000_000_000;
/// After the last reply connections are read on so long, for what nobody asked for.
const GOODBYE_NS: u64 = 100_000_000;
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
    let outcome = outcome.and_then(|()| event_loop.say_goodbye());
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
    timeout_ns: u64,
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
    /// Replies of the connection that is being read, while requests behind them have none.
    unsettled: Unsettled,
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
            timeout_ns: nanos(plan.timeout),
            start: Instant::now(),
            is_running: false,
            cancelled_ns: None,
            scratch: Vec::new(),
            buffer: vec![0; READ_BYTES],
            plain: Vec::new(),
            unsettled: Unsettled::default(),
            events: Vec::with_capacity(EVENTS_MAX),
        })
    }

    /// Opens the plan's connections before the clock starts.
    fn open_first(&mut self) -> Result<(), LoadError> {
        let deadline = self.now().saturating_add(self.timeout_ns);
        let mut missing = self.plan.connections;
        while (missing > 0 || self.connections.connecting() > 0) && self.now() < deadline {
            while missing > 0 && self.connections.connecting() < CONNECTING_MAX {
                let slot = self.connections.add();
                self.connect(slot);
                missing -= 1;
            }
            if self.connections.connecting() > 0 {
                self.poll(PULSE_INTERVAL_NS)?;
            }
            self.connections.check_room()?;
        }
        if self.connections.open() == 0 {
            return Err(self.connections.unreached());
        }
        Ok(())
    }

    /// The loop proper: from the first request to the last reply.
    fn drive(&mut self) -> Result<(), LoadError> {
        self.is_running = true;
        self.start = Instant::now();
        self.pulse(0);
        for slot in 0..self.connections.slots.len() {
            self.start(slot, 0);
        }
        let (mut pulse_ns, mut expiry_ns) = (PULSE_INTERVAL_NS, 0);
        loop {
            let now = self.now();
            self.agenda.stop_when_due(now);
            while self.agenda.admit(now) {
                self.dispatch(now);
            }
            while let Some(slot) = self.connections.take_retry(now) {
                self.reopen_or_rest(slot);
            }
            if now >= expiry_ns {
                expiry_ns = self.expire(now);
            }
            if now >= pulse_ns {
                self.look_for_cancellation(now);
                self.pulse(now);
                pulse_ns = now + PULSE_INTERVAL_NS;
            }
            self.connections.check_room()?;
            if self.agenda.is_over() && self.connections.in_flight() == 0 {
                return Ok(());
            }
            let due = pulse_ns
                .min(expiry_ns)
                .min(self.agenda.next_due())
                .min(self.connections.next_retry());
            let wait = due.saturating_sub(self.now());
            let is_near = self.agenda.is_open_loop() && wait < SPIN_NS;
            self.poll(if is_near { 0 } else { wait })?;
        }
    }

    /// Reads on what was not asked for, until the server has closed its side, too.
    fn say_goodbye(&mut self) -> Result<(), LoadError> {
        self.connections.say_goodbye();
        let deadline = self.now() + GOODBYE_NS;
        while self.connections.open() > 0 && self.now() < deadline {
            self.poll(deadline.saturating_sub(self.now()))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Report {
        let end_ns = match (self.plan.stop, self.agenda.stopped_ns()) {
            (Stop::After(_), Some(stopped)) => stopped,
            _ => 0,
        };
        self.tally.finish(end_ns, self.connections.take_refusal().map(|error| error.to_string()))
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
            refused_ns: self.connections.refused_ns(now),
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
            return self.start(slot, now);
        }
        if self.connections.connecting() < self.agenda.waiting().min(CONNECTING_MAX)
            && let Some(slot) = self.connections.grow()
        {
            self.connect(slot);
        }
        self.tally.waiting(self.agenda.waiting());
        self.skip_older_than(now.saturating_sub(self.timeout_ns));
    }

    /// Starts requests on a connection that was not read just now.
    fn start(&mut self, slot: usize, now: u64) {
        let connection = &self.connections.slots[slot];
        if !self.is_running || !connection.has_unasked() {
            return self.refill(slot, now);
        }
        if connection.answered > 0 {
            return self.read(slot, false);
        }
        // Its first request fails: a server that always speaks first would never be done with.
        if let Some(intended_ns) = self.agenda.take(now) {
            self.scratch.clear();
            let ask = self.requests.next(&mut self.scratch);
            self.connections.push(slot, InFlight { ask, intended_ns, sent_ns: now });
        }
        self.lose(slot, Loss::Unasked);
    }

    /// Starts as many requests on a connection as it has room for.
    fn refill(&mut self, slot: usize, now: u64) {
        if !self.is_running || self.connections.slots[slot].phase != ConnectionPhase::Open {
            return;
        }
        self.skip_older_than(now.saturating_sub(self.timeout_ns));
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
                        self.start(slot, now);
                    }
                }
            }
            ConnectionPhase::Open => {
                let connection = &mut self.connections.slots[slot];
                if flags.contains(EventFlags::OUT) && connection.flush().is_err() {
                    return self.lose(slot, Loss::Closed);
                }
                // What came before the start is looked at when the first request is to be sent.
                let awaited = if self.is_running { EventFlags::IN | HANG_UP } else { HANG_UP };
                if flags.intersects(awaited) {
                    self.read(slot, flags.intersects(HANG_UP));
                }
            }
        }
    }

    /// Reads until the socket is empty, then starts what there is room for.
    fn read(&mut self, slot: usize, hang_up: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let (mut is_empty, mut now) = (false, 0);
        while !is_empty && self.connections.slots[slot].phase == ConnectionPhase::Open {
            let read = self.connections.slots[slot].read(&mut buffer);
            now = self.now();
            match read {
                Ok(Some(0)) => self.ended(slot, now),
                Ok(Some(bytes)) => {
                    self.tally.bytes_read(bytes, now);
                    self.understand(slot, &buffer[..bytes], now);
                    is_empty = bytes < buffer.len() && !hang_up;
                }
                Ok(None) => is_empty = true,
                Err(_) => self.lose(slot, Loss::Closed),
            }
        }
        self.buffer = buffer;
        if self.connections.slots[slot].phase == ConnectionPhase::Open {
            self.settle(slot);
            self.refill(slot, now);
        }
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
        } else if is_open && connection.is_at_its_end() {
            self.ended(slot, now);
        }
    }

    fn take(&mut self, slot: usize, mut input: &[u8], now: u64) {
        while !input.is_empty() && self.connections.slots[slot].phase == ConnectionPhase::Open {
            match self.connections.slots[slot].feed(&mut input) {
                Ok(true) => self.complete(slot, now),
                Ok(false) => {}
                Err(loss) => return self.lose(slot, loss),
            }
        }
    }

    /// The server has closed its side.
    fn ended(&mut self, slot: usize, now: u64) {
        if self.connections.slots[slot].ends_with_reply() {
            self.complete(slot, now);
        } else {
            self.lose(slot, Loss::Closed);
        }
    }

    /// Takes the reply that a connection has read to its end. It is booked once what came with it
    /// is read, if that may show that more came than was asked for.
    fn complete(&mut self, slot: usize, now: u64) {
        if self.connections.slots[slot].is_overdue(now.saturating_sub(self.timeout_ns)) {
            return self.lose(slot, Loss::Timeout);
        }
        let request = self.connections.pop(slot).expect("a reply is read only for a request");
        let connection = &mut self.connections.slots[slot];
        let reader = std::mem::take(&mut connection.reader);
        let (close, is_last) = (reader.close, connection.in_flight.is_empty());
        self.unsettled.add(UnsettledReply { request, reader, ended_ns: now });
        if close || is_last {
            self.settle(slot);
        }
        if close {
            self.lose(slot, Loss::Closed);
        }
    }

    /// Books the replies that wait for it.
    fn settle(&mut self, slot: usize) {
        self.unsettled.settle(&mut self.connections.slots[slot], &mut self.tally, self.requests);
    }

    /// Gives a connection up; whatever was in flight on it has failed.
    fn lose(&mut self, slot: usize, loss: Loss) {
        if loss != Loss::Unasked {
            self.settle(slot);
        }
        let answered = self.connections.slots[slot].answered;
        if !self.connections.close(slot) {
            return;
        }
        let mut lost = self.unsettled.take_requests();
        self.connections.take_requests(slot, &mut lost);
        if loss == Loss::Unasked {
            self.tally.unasked(answered, !lost.is_empty());
        }
        for (place, request) in lost.into_iter().enumerate() {
            self.fail(&request, if place == 0 { loss } else { loss.behind() });
        }
        self.reopen_or_rest(slot);
    }

    fn fail(&mut self, request: &InFlight, loss: Loss) {
        self.tally.lose(request.intended_ns, loss);
        let lost = LostRequest { loss, times: request.times(self.now()) };
        self.requests.done(request.ask.ticket, RequestOutcome::Failed(lost));
    }

    /// Fails the requests that took too long, and the intended ones that waited too long. Returns
    /// when the next may do so.
    fn expire(&mut self, now: u64) -> u64 {
        let oldest = now.saturating_sub(self.timeout_ns);
        for slot in self.connections.of(|connection| connection.is_overdue(oldest)) {
            if self.connections.slots[slot].phase == ConnectionPhase::Connecting {
                self.connections.give_up_connect(slot, io::ErrorKind::TimedOut.into(), now);
                self.count_refusal(now);
            } else {
                self.lose(slot, Loss::Timeout);
            }
        }
        self.skip_older_than(oldest);
        // What is sent from now on is due later than what waits already.
        let waits = self.connections.waits_since().chain(self.agenda.oldest());
        let due = waits.fold(now, u64::min).saturating_add(self.timeout_ns);
        due.saturating_add(1).max(now + EXPIRY_INTERVAL_NS)
    }

    /// Gives up intended requests that were meant to be sent before `oldest`.
    fn skip_older_than(&mut self, oldest: u64) {
        while let Some(intended) = self.agenda.take_overdue(oldest) {
            self.tally.skip(intended);
            self.requests.skip(intended);
        }
    }

    /// When the run is cancelled, starts nothing more, and waits a little for what is in flight.
    fn look_for_cancellation(&mut self, now: u64) {
        if !self.plan.is_cancelled() {
            return;
        }
        self.agenda.stop(now);
        self.skip_older_than(u64::MAX);
        let cancelled = *self.cancelled_ns.get_or_insert(now);
        if now > cancelled + CANCEL_TIMEOUT_NS {
            for slot in self.connections.of(|connection| !connection.in_flight.is_empty()) {
                self.lose(slot, Loss::Cut);
            }
        }
    }
}

#[cfg(test)]
mod tests;
