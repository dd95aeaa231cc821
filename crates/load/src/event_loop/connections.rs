//! The engine's connections: opening, events, reading, time-outs.
//!
//! Events are edge-triggered and registered once per socket: a read that does not fill the buffer
//! has emptied the socket, so the next arrival makes a new edge.

use std::io;
use std::sync::atomic::Ordering;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};

use super::{CANCEL_TIMEOUT_NS, EventLoop, LoadError, Loss, RETRY_NS, nanos, timespec};
use crate::Requests;
use crate::connection_slot::{ConnectionPhase, ConnectionSlot};

const HANG_UP: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

impl<R: Requests + ?Sized> EventLoop<'_, R> {
    /// Waits for events at most so long and handles them.
    pub(super) fn poll(&mut self, wait_ns: u64) -> Result<(), LoadError> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        let waited =
            epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timespec(wait_ns)));
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(LoadError::System { call: "epoll_pwait2", source: error.into() });
            }
        }
        for event in &events {
            let data = event.data.u64();
            let (slot, generation) = ((data >> 32) as usize, data as u32);
            if self.connections[slot].generation == generation {
                self.ready(slot, event.flags);
            }
        }
        self.events = events;
        Ok(())
    }

    /// Starts to connect a closed slot.
    pub(super) fn connect(&mut self, slot: usize) {
        let now = self.now();
        let connection = &mut self.connections[slot];
        let started = self.plan.target.start_connect().and_then(|socket| {
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let data = ((slot as u64) << 32) | u64::from(connection.generation);
            epoll::add(&self.epoll, &socket, EventData::new_u64(data), flags)?;
            Ok(socket)
        });
        match started {
            Ok(socket) => {
                connection.attach(socket, now);
                self.connecting += 1;
            }
            Err(error) => self.refused(slot, error, now),
        }
    }

    /// Open loop: adds a connection if the plan allows one more.
    pub(super) fn grow(&mut self) {
        if let Some(slot) = self.vacant.pop() {
            self.connect(slot);
        } else if self.connections.len() < self.plan.connections_max {
            self.connections.push(ConnectionSlot::default());
            self.connect(self.connections.len() - 1);
        }
    }

    /// Tries again the connects whose time has come.
    pub(super) fn retry(&mut self, now: u64) {
        while self.retries.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, slot)) = self.retries.pop_front() {
                self.reopen_or_rest(slot);
            }
        }
    }

    /// Opens a closed slot again if its connection has work to do.
    pub(super) fn reopen_or_rest(&mut self, slot: usize) {
        let wanted = match self.schedule {
            None => self.stopped_ns.is_none(),
            Some(_) => !self.backlog.is_empty(),
        };
        if wanted { self.connect(slot) } else { self.vacant.push(slot) }
    }

    /// Fails the requests that took too long, and the intended ones that waited too long.
    pub(super) fn sweep(&mut self, now: u64) {
        let oldest = now.saturating_sub(nanos(self.plan.timeout));
        for slot in 0..self.connections.len() {
            let connection = &self.connections[slot];
            let since = match (connection.phase, connection.in_flight.front()) {
                (ConnectionPhase::Closed, _) | (ConnectionPhase::Open, None) => continue,
                (ConnectionPhase::Connecting, _) => connection.opened_ns,
                (ConnectionPhase::Open, Some(request)) => request.sent_ns,
            };
            if since < oldest && connection.phase == ConnectionPhase::Connecting {
                self.connecting -= 1;
                self.connections[slot].close();
                self.refused(slot, io::ErrorKind::TimedOut.into(), now);
            } else if since < oldest {
                self.lose(slot, Loss::Timeout);
            }
        }
        while self.backlog.front().is_some_and(|intended| *intended < oldest) {
            self.forgo();
        }
        if self.plan.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.cancel(now);
        }
        self.tell(now);
    }

    /// Gives up the oldest intended request that waits for a connection.
    fn forgo(&mut self) {
        let Some(intended) = self.backlog.pop_front() else { return };
        self.report.errors.unsent += u64::from(self.measured(intended));
        self.requests.skip(intended);
    }

    /// Starts nothing more, and waits a little for what is in flight.
    fn cancel(&mut self, now: u64) {
        self.stop(now);
        while !self.backlog.is_empty() {
            self.forgo();
        }
        let cancelled = *self.cancelled_ns.get_or_insert(now);
        if now > cancelled + CANCEL_TIMEOUT_NS {
            for slot in 0..self.connections.len() {
                if !self.connections[slot].in_flight.is_empty() {
                    self.lose(slot, Loss::Cut);
                }
            }
        }
    }

    fn refused(&mut self, slot: usize, error: io::Error, now: u64) {
        self.refusal = Some(error);
        if !self.running || self.measured(now) {
            self.report.errors.connect += 1;
        }
        self.retries.push_back((now + RETRY_NS, slot));
    }

    fn ready(&mut self, slot: usize, flags: EventFlags) {
        match self.connections[slot].phase {
            ConnectionPhase::Closed => {}
            ConnectionPhase::Connecting => self.arrived(slot, flags),
            ConnectionPhase::Open => {
                if flags.contains(EventFlags::OUT) && self.connections[slot].flush().is_err() {
                    return self.lose(slot, Loss::Closed);
                }
                if flags.intersects(EventFlags::IN | HANG_UP) {
                    self.read(slot, flags.intersects(HANG_UP));
                }
            }
        }
    }

    fn arrived(&mut self, slot: usize, flags: EventFlags) {
        let now = self.now();
        let connection = &mut self.connections[slot];
        let error = connection.socket().take_error().unwrap_or_else(Some);
        let error = error.or_else(|| {
            flags.contains(EventFlags::HUP).then(|| io::ErrorKind::ConnectionRefused.into())
        });
        self.connecting -= 1;
        if let Some(error) = error {
            connection.close();
            return self.refused(slot, error, now);
        }
        connection.phase = ConnectionPhase::Open;
        self.open += 1;
        self.report.connections = self.report.connections.max(self.open);
        self.refill(slot, now);
    }

    /// Reads until the socket is empty, then starts what there is room for.
    fn read(&mut self, slot: usize, hang_up: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        loop {
            let read = self.connections[slot].read(&mut buffer);
            let now = self.now();
            match read {
                Ok(0) => {
                    self.ended(slot, now);
                    break;
                }
                Ok(bytes) => {
                    self.take(slot, &buffer[..bytes], now);
                    if self.connections[slot].phase != ConnectionPhase::Open {
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

    fn take(&mut self, slot: usize, mut input: &[u8], now: u64) {
        if self.measured(now) {
            self.report.bytes_read += input.len() as u64;
        }
        while !input.is_empty() && self.connections[slot].phase == ConnectionPhase::Open {
            let connection = &mut self.connections[slot];
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
        if self.connections[slot].reader.ends_with_stream() {
            self.complete(slot, now);
        } else {
            self.lose(slot, Loss::Closed);
        }
    }
}
