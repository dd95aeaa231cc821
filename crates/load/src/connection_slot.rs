//! Holds one connection: its socket and channel, the requests in flight, the reply it is reading.
//!
//! Invariant: bytes that the socket did not take wait in `unsent` and go out before any later
//! request. A closed slot has no socket, no unsent bytes and a new generation; its requests stay. A
//! slot is opened again: what must not outlive a connection is cleared in `close`. Replies complete
//! in the order of the requests because `event_loop` takes the oldest first.
//! A reply belongs to the oldest request; bytes without one break the connection.
//! Refuses: clocks, schedules, and to fail requests.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;

use socket2::Socket;

use crate::reply::ReplyReader;
use crate::{Ask, Channel, Loss, RequestTimes};

/// What follows the version where a server takes leave of a connection on which nothing was asked.
/// By 400 it does where it takes the end of the connection for half a request.
const FAREWELLS: [&[u8]; 2] = [b" 408 ", b" 400 "];

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
    /// Has room for another request beside those in flight, and is in the list of those.
    pub(crate) has_room: bool,
    channel: Option<Box<dyn Channel>>,
    pub(crate) in_flight: VecDeque<InFlight>,
    /// Measured replies below 400 since it was opened.
    pub(crate) answered: u64,
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

    /// Whether it has waited since before this moment.
    pub(crate) fn is_overdue(&self, oldest_ns: u64) -> bool {
        self.waits_since().is_some_and(|since| since < oldest_ns)
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
        self.has_room = false;
        self.answered = 0;
        self.channel = None;
        self.reader.reset();
        self.unsent.clear();
    }

    /// Puts a channel between the requests and the socket.
    pub(crate) fn enter(&mut self, channel: Box<dyn Channel>) {
        self.channel = Some(channel);
    }

    /// Whether a channel has been entered and its handshake is not over.
    pub(crate) fn shakes_hands(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| !channel.is_ready())
    }

    /// Goes on with the handshake, as far as the server's bytes are there; whether it is over.
    ///
    /// # Errors
    /// What broke it.
    pub(crate) fn shake_hands(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let mut plain = Vec::new();
        loop {
            self.flush()?;
            if !plain.is_empty() {
                return Err(io::Error::other("the server sent bytes before it was asked"));
            }
            if !self.shakes_hands() {
                return Ok(true);
            }
            match self.read(buffer) {
                Ok(Some(0)) => {
                    return Err(io::Error::other("the server hung up on the handshake"));
                }
                Ok(Some(bytes)) => {
                    let taken = self.receive(&buffer[..bytes], &mut plain);
                    if taken.is_err() {
                        // The alert that tells the server why.
                        let _ = self.flush();
                    }
                    taken?;
                }
                Ok(None) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what has arrived, as it is on the wire; None when there is nothing at the moment.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match self.socket().read(buffer) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether bytes wait in the socket that no request can have asked for. Those of a channel
    /// may be its own, so they count for nothing here.
    pub(crate) fn has_unasked(&self) -> bool {
        let is_idle = self.phase == ConnectionPhase::Open && self.in_flight.is_empty();
        let speaks_plainly = is_idle && self.channel.is_none();
        speaks_plainly
            && self.socket().peek(&mut [MaybeUninit::uninit()]).is_ok_and(|bytes| bytes > 0)
    }

    /// Says that no further request comes.
    pub(crate) fn say_goodbye(&self) {
        // A connection that is gone has no need of it.
        let _ = self.socket().shutdown(Shutdown::Write);
    }

    /// Whether what is read is to be handed to `receive`.
    pub(crate) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// Whether the channel has ended as it should; the socket is then of no more use.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.has_ended())
    }

    /// Whether the end of the socket completes the reply.
    pub(crate) fn ends_with_reply(&self) -> bool {
        self.reader.ends_with_stream() && (self.channel.is_none() || self.is_at_its_end())
    }

    /// Appends to `plain` what bytes of the wire say.
    ///
    /// # Errors
    /// When they break the channel.
    pub(crate) fn receive(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.channel {
            Some(channel) => channel.receive(wire, plain),
            None => {
                plain.extend_from_slice(wire);
                Ok(())
            }
        }
    }

    /// Takes from `input` what belongs to the reply of the oldest request; returns whether it is
    /// complete.
    ///
    /// # Errors
    /// Why the connection is of no more use.
    pub(crate) fn feed(&mut self, input: &mut &[u8]) -> Result<bool, Loss> {
        let Some(request) = self.in_flight.front() else {
            let status = input.get(8..).unwrap_or_default();
            let is_farewell = FAREWELLS.iter().any(|farewell| status.starts_with(farewell));
            return Err(if is_farewell { Loss::Closed } else { Loss::Unasked });
        };
        let fed = self.reader.feed(input, request.ask);
        let (bytes, is_complete) = fed.map_err(|_| Loss::Malformed)?;
        *input = &input[bytes..];
        let is_last = is_complete && self.in_flight.len() == 1;
        if is_last && !input.is_empty() { Err(Loss::Unasked) } else { Ok(is_complete) }
    }

    /// Sends `bytes`, and keeps what the socket does not take yet; returns how many bytes that is
    /// on the wire.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(channel) = &mut self.channel {
            channel.send(bytes)?;
            let before = self.unsent.len();
            channel.take_wire(&mut self.unsent)?;
            let wire = self.unsent.len() - before;
            return self.flush().map(|()| wire);
        }
        let sent = if self.unsent.is_empty() { self.send(bytes)? } else { 0 };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(bytes.len())
    }

    /// Sends what was kept back, and what a channel has to say of its own.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(channel) = &mut self.channel {
            channel.take_wire(&mut self.unsent)?;
        }
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
