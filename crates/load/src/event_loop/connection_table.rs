//! Keeps the connections of a run and their epoll set: which slots are open, connecting, idle,
//! vacant, or to be tried again.
//!
//! Events are edge-triggered and registered once per socket. A read that does not fill the buffer
//! has emptied the socket, so the next arrival makes a new edge; `event_loop` reads accordingly.
//! Invariants: `open` and `connecting` count the slots in these phases. `in_flight` counts the
//! requests on all slots, as long as they come and go by `push` and `pop`. A failed connect may be
//! tried again 10 ms later, once the run goes; `event_loop` decides. All wait equally long, so
//! `next_retry` looks at the first alone. An event of an earlier socket in a slot is recognised and
//! dropped.
//! Closing a slot leaves its requests on it; the caller must take and fail them.
//! Also the channels of connections: hands are shaken while a slot connects.
//! Refuses: to know what a request is for. One connection is in `connection_slot`.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;

use crate::connection_slot::{ConnectionPhase, ConnectionSlot, InFlight};
use crate::{ChannelSource, LoadError, Plan, Target};

/// A failed connect is tried again after this long.
const RETRY_DELAY_NS: u64 = 10_000_000;
/// Connections on their way at once, below the smallest usual listen backlog.
pub(super) const CONNECTING_MAX: usize = 64;

/// All slots, and the epoll set that their sockets are in.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    pub slots: Vec<ConnectionSlot>,
    /// Open loop: slots that wait for a request, the last used first; may hold stale ones.
    idle: Vec<usize>,
    /// Open loop: slots with room beside the requests in flight; may hold stale ones.
    with_room: VecDeque<usize>,
    /// Slots whose connection is closed and not wanted at the moment.
    vacant: Vec<usize>,
    /// When to try again, and which slot.
    retries: VecDeque<(u64, usize)>,
    connecting: usize,
    open: usize,
    in_flight: usize,
    /// Why the last connect failed.
    refusal: Option<io::Error>,
    /// Since when no connection is open and every connect that was wanted failed.
    refused_since: Option<u64>,
    target: Target,
    channel: Option<Arc<dyn ChannelSource>>,
    slots_max: usize,
    epoll: OwnedFd,
}

/// What became of a connect that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    Open,
    /// Its channel shakes hands.
    Pending,
    Refused,
}

impl ConnectionTable {
    /// No connections to the plan's target.
    ///
    /// # Errors
    /// When the system gives no epoll set.
    pub(super) fn new(plan: &Plan) -> Result<Self, LoadError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| LoadError::system("epoll_create1", error.into()))?;
        Ok(Self {
            slots: Vec::new(),
            idle: Vec::new(),
            with_room: VecDeque::new(),
            channel: plan.channel.clone(),
            vacant: Vec::new(),
            retries: VecDeque::new(),
            connecting: 0,
            open: 0,
            in_flight: 0,
            refusal: None,
            refused_since: None,
            target: plan.target.clone(),
            slots_max: plan.connections_max,
            epoll,
        })
    }

    /// Waits for events at most so long.
    ///
    /// # Errors
    /// Those of the system call.
    pub(super) fn wait(
        &self,
        events: &mut Vec<epoll::Event>,
        wait_ns: u64,
    ) -> Result<(), LoadError> {
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&timespec(wait_ns))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(LoadError::system("epoll_pwait2", error.into())),
        }
    }

    /// Returns the slot of an event; none when the event is of an earlier socket in that slot.
    pub(super) fn slot_of(&self, event: &epoll::Event) -> Option<usize> {
        let data = event.data.u64();
        let (slot, generation) = ((data >> 32) as usize, data as u32);
        (self.slots[slot].generation == generation).then_some(slot)
    }

    /// Adds a slot.
    pub(super) fn add(&mut self) -> usize {
        self.slots.push(ConnectionSlot::default());
        self.slots.len() - 1
    }

    /// Starts to connect a closed slot; returns whether that is under way.
    pub(super) fn connect(&mut self, slot: usize, now: u64) -> bool {
        let connection = &mut self.slots[slot];
        let started = self.target.start_connect().and_then(|socket| {
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let data = ((slot as u64) << 32) | u64::from(connection.generation);
            epoll::add(&self.epoll, &socket, EventData::new_u64(data), flags)?;
            Ok(socket)
        });
        match started {
            Ok(socket) => {
                connection.attach(socket, now);
                self.connecting += 1;
                true
            }
            Err(error) => {
                connection.opened_ns = now;
                self.refuse(slot, error, now);
                false
            }
        }
    }

    /// Returns a closed slot to connect, if the plan allows one more.
    pub(super) fn grow(&mut self) -> Option<usize> {
        let may_add = self.slots.len() < self.slots_max;
        self.vacant.pop().or_else(|| may_add.then(|| self.add()))
    }

    /// Keeps a closed slot for when it is wanted.
    pub(super) fn rest(&mut self, slot: usize) {
        self.refused_since = None;
        self.vacant.push(slot);
    }

    /// Takes a slot that is to be connected again.
    pub(super) fn take_retry(&mut self, now: u64) -> Option<usize> {
        self.retries.front().filter(|(at, _)| *at <= now)?;
        self.retries.pop_front().map(|(_, slot)| slot)
    }

    /// When the next connect is to be tried again.
    pub(super) fn next_retry(&self) -> u64 {
        self.retries.front().map_or(u64::MAX, |(at, _)| *at)
    }

    /// The socket of a connecting slot is ready: it is open, or was refused. With a channel it is
    /// open once hands are shaken, for which `buffer` is written to.
    pub(super) fn arrive(
        &mut self,
        slot: usize,
        flags: EventFlags,
        now: u64,
        buffer: &mut [u8],
    ) -> Arrival {
        let connection = &mut self.slots[slot];
        let error = connection.socket().take_error().unwrap_or_else(Some);
        let error = error.or_else(|| {
            flags.contains(EventFlags::HUP).then(|| io::ErrorKind::ConnectionRefused.into())
        });
        if let Some(error) = error {
            self.give_up_connect(slot, error, now);
            return Arrival::Refused;
        }
        match self.shaken(slot, buffer) {
            Ok(true) => {}
            Ok(false) => return Arrival::Pending,
            Err(error) => {
                self.give_up_connect(slot, error, now);
                return Arrival::Refused;
            }
        }
        self.slots[slot].phase = ConnectionPhase::Open;
        self.connecting -= 1;
        self.open += 1;
        self.refused_since = None;
        Arrival::Open
    }

    /// Whether the channel of a slot is ready, if there is to be one.
    fn shaken(&mut self, slot: usize, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(source) = &self.channel else { return Ok(true) };
        let connection = &mut self.slots[slot];
        if !connection.has_channel() {
            connection.enter(source.open()?);
        }
        connection.shake_hands(buffer)
    }

    /// A connect has failed, or takes too long.
    pub(super) fn give_up_connect(&mut self, slot: usize, error: io::Error, now: u64) {
        self.connecting -= 1;
        self.slots[slot].close();
        self.refuse(slot, error, now);
    }

    fn refuse(&mut self, slot: usize, error: io::Error, now: u64) {
        if self.open == 0 {
            self.refused_since.get_or_insert(self.slots[slot].opened_ns);
        }
        self.refusal = Some(error);
        self.retries.push_back((now + RETRY_DELAY_NS, slot));
    }

    /// Closes a slot; returns whether it was not closed yet. Its requests stay on it.
    pub(super) fn close(&mut self, slot: usize) -> bool {
        match self.slots[slot].phase {
            ConnectionPhase::Closed => return false,
            ConnectionPhase::Connecting => self.connecting -= 1,
            ConnectionPhase::Open => self.open -= 1,
        }
        self.slots[slot].close();
        true
    }

    /// Open loop: notes that a slot waits for a request.
    pub(super) fn set_idle(&mut self, slot: usize) {
        if !self.slots[slot].idle {
            self.slots[slot].idle = true;
            self.idle.push(slot);
        }
    }

    /// Open loop: takes the slot that was used last of those that wait for a request.
    pub(super) fn take_idle(&mut self) -> Option<usize> {
        while let Some(slot) = self.idle.pop() {
            let connection = &mut self.slots[slot];
            if connection.idle && connection.phase == ConnectionPhase::Open {
                connection.idle = false;
                return Some(slot);
            }
        }
        None
    }

    /// Open loop: notes that a slot has room beside the requests that are in flight on it.
    pub(super) fn set_room(&mut self, slot: usize) {
        if !self.slots[slot].has_room {
            self.slots[slot].has_room = true;
            self.with_room.push_back(slot);
        }
    }

    /// Open loop: takes the slot that has had room longest.
    pub(super) fn take_room(&mut self) -> Option<usize> {
        while let Some(slot) = self.with_room.pop_front() {
            let connection = &mut self.slots[slot];
            if connection.has_room && connection.phase == ConnectionPhase::Open {
                connection.has_room = false;
                return Some(slot);
            }
        }
        None
    }

    /// Puts a request on a slot.
    pub(super) fn push(&mut self, slot: usize, request: InFlight) {
        self.slots[slot].in_flight.push_back(request);
        self.in_flight += 1;
    }

    /// Takes the oldest request of a slot.
    pub(super) fn pop(&mut self, slot: usize) -> Option<InFlight> {
        let request = self.slots[slot].in_flight.pop_front()?;
        self.in_flight -= 1;
        Some(request)
    }

    /// Takes all requests of a slot, the oldest first.
    pub(super) fn take_requests(&mut self, slot: usize, out: &mut Vec<InFlight>) {
        let in_flight = &mut self.slots[slot].in_flight;
        self.in_flight -= in_flight.len();
        out.extend(in_flight.drain(..));
    }

    pub(super) fn connecting(&self) -> usize {
        self.connecting
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Says on each open connection that no further request comes.
    pub(super) fn say_goodbye(&self) {
        let is_open = |slot: &&ConnectionSlot| slot.phase == ConnectionPhase::Open;
        self.slots.iter().filter(is_open).for_each(ConnectionSlot::say_goodbye);
    }

    /// Why none could be opened.
    pub(super) fn unreached(&mut self) -> LoadError {
        let source = self.take_refusal().unwrap_or_else(|| io::ErrorKind::TimedOut.into());
        LoadError::Connect { target: self.target.to_string(), source }
    }

    /// For how long no connection is open and every connect that was wanted failed.
    pub(super) fn refused_ns(&self, now: u64) -> u64 {
        self.refused_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// The slots that are so.
    pub(super) fn of(&self, is_so: impl Fn(&ConnectionSlot) -> bool) -> Vec<usize> {
        (0..self.slots.len()).filter(|slot| is_so(&self.slots[*slot])).collect()
    }

    /// Since when connections have waited for their server.
    pub(super) fn waits_since(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().filter_map(ConnectionSlot::waits_since)
    }

    /// Says when the last connect failed for want of descriptors, which is no refusal.
    ///
    /// # Errors
    /// That this is so.
    pub(super) fn check_room(&self) -> Result<(), LoadError> {
        match &self.refusal {
            Some(error) if LoadError::is_of_descriptors(error) => Err(LoadError::Descriptors),
            _ => Ok(()),
        }
    }

    /// Takes the reason of the last failed connect.
    pub(super) fn take_refusal(&mut self) -> Option<io::Error> {
        self.refusal.take()
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
