//! Holds one connection: its socket, the requests in flight on it, and the reply it is reading.
//!
//! Invariant: bytes that the socket did not take wait in `unsent` and go out before any later
//! request. A closed slot has no socket, no unsent bytes and a new generation; its requests stay. A
//! slot is opened again: what must not outlive a connection is cleared in `close`. Replies complete
//! in the order of the requests because `event_loop` takes the oldest first.
//! Refuses: clocks, schedules, and to fail requests.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use socket2::Socket;

use crate::reply::ReplyReader;
use crate::{Ask, RequestTimes};

/// A request sent and not answered; times in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InFlight {
    pub(crate) ask: Ask,
    pub(crate) intended_ns: u64,
    pub(crate) sent_ns: u64,
}

impl InFlight {
    pub(crate) fn times(&self, ended_ns: u64) -> RequestTimes {
        RequestTimes { intended_ns: self.intended_ns, sent_ns: self.sent_ns, ended_ns }
    }
}

/// How far a connection has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    #[default]
    Closed,
    Connecting,
    Open,
}

/// A slot for a connection, which may be closed and opened again.
#[derive(Debug, Default)]
pub(crate) struct ConnectionSlot {
    socket: Option<Socket>,
    pub(crate) phase: ConnectionPhase,
    /// Tells events of this socket from late ones of an earlier socket in the same slot.
    pub(crate) generation: u32,
    pub(crate) opened_ns: u64,
    /// Waits for a request, in the list of the idle ones.
    pub(crate) idle: bool,
    pub(crate) in_flight: VecDeque<InFlight>,
    pub(crate) reader: ReplyReader,
    unsent: Vec<u8>,
}

impl ConnectionSlot {
    /// Takes a socket that is on its way to the target.
    pub(crate) fn attach(&mut self, socket: Socket, now_ns: u64) {
        self.socket = Some(socket);
        self.phase = ConnectionPhase::Connecting;
        self.opened_ns = now_ns;
    }

    /// Since when it has waited for its server: to connect, or for the oldest reply.
    pub(crate) fn waits_since(&self) -> Option<u64> {
        match self.phase {
            ConnectionPhase::Closed => None,
            ConnectionPhase::Connecting => Some(self.opened_ns),
            ConnectionPhase::Open => self.in_flight.front().map(|request| request.sent_ns),
        }
    }

    /// The socket; it is there in every phase but `Closed`.
    pub(crate) fn socket(&self) -> &Socket {
        self.socket.as_ref().expect("only called on connections that are not closed")
    }

    /// Closes the socket and forgets everything but the requests in flight.
    pub(crate) fn close(&mut self) {
        self.socket = None;
        self.phase = ConnectionPhase::Closed;
        self.generation = self.generation.wrapping_add(1);
        self.idle = false;
        self.reader.reset();
        self.unsent.clear();
    }

    /// Reads what has arrived.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket().read(buffer)
    }

    /// Sends `bytes`, and keeps what the socket does not take yet.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = if self.unsent.is_empty() { self.send(bytes)? } else { 0 };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends what was kept back.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.unsent.is_empty() {
            let sent = self.send(&self.unsent)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket().write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }
}
