//! Holds the handles of a pool's processes: to signal them, to talk to them, to notice their end.
//!
//! Invariants: a process number is watched once until its end counts. The end counts after the last
//! message was read, for that may say why. This is waited for 200 ms, and a tick of 100 ms at most:
//! an app may have forked a process that holds the connection. Instructions never block; one that
//! finds no room is lost, which a deadline or missing answers tell.
//! Where the system cannot watch a process, closing its connection gets it killed and counts as its
//! end.
//! Refuses: to know what processes are for; [`super::state`] has that. Only `kill` knows that a
//! preload process may have a wrapper.

use std::collections::HashMap;
use std::time::Instant;

use rustix::process::Signal;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc::Sender;

use super::event::Event;
use super::fleet::ProcessName;
use super::timeouts::LAST_MESSAGE_TIMEOUT;
use crate::process::Process;
use crate::wire::Instruction;

/// The processes that have not ended.
#[derive(Debug)]
pub(super) struct ProcessTable {
    /// Those that we have started.
    started: HashMap<ProcessName, Process>,
    /// Those that have said hello.
    connected: HashMap<ProcessName, Connected>,
    /// Whose connection it is.
    connections: HashMap<u64, ProcessName>,
    watched: HashMap<i32, Process>,
    /// Those that have ended, whose last messages are on their way, and since when.
    unheard: HashMap<i32, Instant>,
    events: Sender<Event>,
}

/// A process that has said hello, and what it is told by.
#[derive(Debug)]
pub(super) struct Connected {
    pub process: Process,
    pub writer: OwnedWriteHalf,
}

/// What follows from the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HungUp {
    pub name: ProcessName,
    /// The process, when its end counts from now on.
    pub ended: Option<i32>,
}

impl ProcessTable {
    /// An empty table; ends of processes are sent to `events`.
    pub(super) fn new(events: Sender<Event>) -> Self {
        Self {
            started: HashMap::new(),
            connected: HashMap::new(),
            connections: HashMap::new(),
            watched: HashMap::new(),
            unheard: HashMap::new(),
            events,
        }
    }

    /// Watches for the end of a process; twice is once.
    pub(super) fn watch(&mut self, pid: i32) -> Process {
        if let Some(process) = self.watched.get(&pid) {
            return process.clone();
        }
        let process = Process::hold(pid);
        self.watched.insert(pid, process.clone());
        let (watched, events) = (process.clone(), self.events.clone());
        tokio::task::spawn_local(async move {
            watched.ended().await;
            let _ = events.send(Event::Exited { pid }).await;
        });
        process
    }

    /// Adds a process that we have started.
    pub(super) fn add_started(&mut self, name: ProcessName, pid: i32) {
        let process = self.watch(pid);
        self.started.insert(name, process);
    }

    /// Adds the connection of a process that has said hello.
    pub(super) fn connect(&mut self, name: ProcessName, connection: u64, process: Connected) {
        self.connections.insert(connection, name);
        self.connected.insert(name, process);
    }

    /// Who speaks on a connection.
    pub(super) fn speaker(&self, connection: u64) -> Option<ProcessName> {
        self.connections.get(&connection).copied()
    }

    /// A process has closed its connection: it is about to end, or is made to.
    pub(super) fn hang_up(&mut self, connection: u64) -> Option<HungUp> {
        let name = self.connections.remove(&connection)?;
        let process = &self.connected.get(&name)?.process;
        let pid = process.pid();
        let has_ended = if process.is_watched() {
            self.unheard.remove(&pid).is_some()
        } else {
            process.signal(Signal::KILL);
            true
        };
        Some(HungUp { name, ended: has_ended.then_some(pid) })
    }

    /// A process has ended; returns whether nothing that it said is on its way any more.
    pub(super) fn exit(&mut self, pid: i32, now: Instant) -> bool {
        let mut speakers = self.connections.values().filter_map(|name| self.connected.get(name));
        let is_connected = speakers.any(|it| it.process.pid() == pid);
        let is_silent = |(name, process): (&ProcessName, &Process)| {
            process.pid() == pid && !self.connected.contains_key(name)
        };
        let may_speak = is_connected || self.started.iter().any(is_silent);
        if may_speak {
            self.unheard.insert(pid, now);
        }
        !may_speak
    }

    /// Takes those whose last messages were waited for long enough.
    pub(super) fn take_unheard(&mut self, now: Instant) -> Vec<i32> {
        let is_late = |since: &Instant| now > *since + LAST_MESSAGE_TIMEOUT;
        let late = self.unheard.extract_if(|_, since| is_late(since));
        late.map(|(pid, _)| pid).collect()
    }

    /// Whether the end of a process is still waited for.
    pub(super) fn is_watched(&self, pid: i32) -> bool {
        self.watched.contains_key(&pid)
    }

    /// The end of a process counts from now on.
    pub(super) fn unwatch(&mut self, pid: i32) {
        self.watched.remove(&pid);
    }

    /// Forgets a process that has ended, or that nobody waits for.
    pub(super) fn forget(&mut self, name: ProcessName) {
        self.started.remove(&name);
        self.connected.remove(&name);
    }

    /// Sends an instruction. A process that takes nothing any more is found out by its silence.
    pub(super) fn tell(&self, name: ProcessName, instruction: Instruction) {
        let Some(Connected { process, writer }) = self.connected.get(&name) else { return };
        if let Err(error) = writer.try_write(&instruction.line()) {
            tracing::debug!(pid = process.pid(), %error, "an instruction cannot be sent");
        }
    }

    /// Sends a signal.
    pub(super) fn signal(&self, name: ProcessName, signal: Signal) {
        let connected = self.connected.get(&name).map(|it| &it.process);
        if let Some(process) = connected.or_else(|| self.started.get(&name)) {
            process.signal(signal);
        }
    }

    /// Kills a process, and with a preload process also what has started it.
    pub(super) fn kill(&self, name: ProcessName) {
        self.signal(name, Signal::KILL);
        if let ProcessName::Preload(_) = name
            && let Some(wrapper) = self.started.get(&name)
        {
            wrapper.signal(Signal::KILL);
        }
    }
}
