//! Hears of programs that start and end, from the kernel.
//!
//! Polling misses a program that lives for 20 ms. The process connector tells each exec, and
//! taskstats what each task used, at its end. Both need the capability `CAP_NET_ADMIN`.
//! Invariant: each exec and each end of a process that was heard is passed on once, ends in order.
//! What the kernel could not deliver is lost, and counted by `lost`.
//! Failure: without the connector, or its answer, a note says that short programs are missed.
//! Without taskstats the connector tells ends, too; then what a program used is read from /proc.
//! That comes too late where a parent collects it at once, and a note says so.

mod connector;
mod netlink_socket;
mod taskstats;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::program_name::ProgramName;
use super::usage::ProcessUsage;
use connector::ConnectorEvent;
use taskstats::TaskExit;

/// Events that wait to be taken.
const WAITING_MAX: usize = 4_096;
/// Processes that are remembered until their name or their end comes.
const REMEMBERED_MAX: usize = 65_536;
const STACK_BYTES: usize = 128 << 10;

/// A program that started or ended.
#[derive(Debug, Clone)]
pub(super) enum ProgramEvent {
    /// A process runs another program.
    Started {
        /// The program.
        name: ProgramName,
    },
    /// A process ended.
    Ended {
        /// The process.
        pid: u32,
        /// What it used in all, where that could still be read.
        usage: Option<(ProgramName, ProcessUsage)>,
    },
}

/// What is heard.
pub(super) struct ProgramEvents {
    pub(super) events: Receiver<ProgramEvent>,
    /// Events that nobody took in time.
    pub(super) lost: Arc<AtomicU64>,
}

/// Subscribes to what the kernel tells.
pub(super) fn listen(notes: &mut Vec<String>) -> Option<ProgramEvents> {
    let connector = match connector::subscribed() {
        Ok(socket) => socket,
        Err(error) => {
            notes.push(format!(
                "programs that live for less than a second are missed: the kernel's process \
                 connector needs CAP_NET_ADMIN ({})",
                crate::error::plain(&error.into())
            ));
            return None;
        }
    };
    if !connector::is_taken(&connector) {
        notes.push(
            "programs that live for less than a second are missed: the kernel's process connector \
             does not answer, as within a container"
                .to_owned(),
        );
        return None;
    }
    let taskstats = taskstats::subscribed().inspect_err(|error| {
        notes.push(format!(
            "what programs use is missed that live for less than a second and are collected at \
             once: the kernel's taskstats refuses ({})",
            crate::error::plain(error)
        ));
    });
    let (tell, events) = sync_channel(WAITING_MAX);
    let lost = Arc::new(AtomicU64::new(0));
    let hearing = Hearing {
        connector,
        taskstats: taskstats.ok(),
        nameless: HashSet::new(),
        scripts: HashMap::new(),
        ended: EndedThreads::default(),
        tell,
        lost: Arc::clone(&lost),
    };
    let named = thread::Builder::new().name("watch-programs".to_owned()).stack_size(STACK_BYTES);
    named.spawn(move || hearing.run()).ok()?;
    Some(ProgramEvents { events, lost })
}

/// The thread that hears.
struct Hearing {
    connector: OwnedFd,
    taskstats: Option<OwnedFd>,
    /// Processes that ran a program, but were gone before its name was read.
    nameless: HashSet<u32>,
    /// Interpreters, whose command line is gone at their end.
    scripts: HashMap<u32, ProgramName>,
    ended: EndedThreads,
    tell: SyncSender<ProgramEvent>,
    lost: Arc<AtomicU64>,
}

/// Nobody takes events any more, or the kernel tells no more.
struct HearingOver;

impl From<Errno> for HearingOver {
    fn from(_: Errno) -> Self {
        Self
    }
}

impl Hearing {
    fn run(mut self) {
        while self.wait().and_then(|()| self.pass_on()).is_ok() {}
    }

    fn wait(&self) -> Result<(), HearingOver> {
        let mut ready = vec![PollFd::new(&self.connector, PollFlags::IN)];
        ready.extend(self.taskstats.as_ref().map(|socket| PollFd::new(socket, PollFlags::IN)));
        match poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Passes on all that waits.
    ///
    /// What has ended had started before. So starts are read after ends, and passed on before them.
    fn pass_on(&mut self) -> Result<(), HearingOver> {
        let mut ends = Vec::new();
        if let Some(socket) = &self.taskstats {
            netlink_socket::drain(socket, &self.lost, |message| {
                let exit = taskstats::task_exit(message);
                ends.extend(exit.and_then(|exit| self.ended.process_exit(exit)));
            })?;
        }
        let mut events = Vec::new();
        netlink_socket::drain(&self.connector, &self.lost, |message| {
            events.extend(connector::event(message));
        })?;
        for event in events {
            match event {
                ConnectorEvent::Exec(pid) => self.started(pid)?,
                ConnectorEvent::Exit(pid) if self.taskstats.is_none() => {
                    let usage = ProcessUsage::of(pid);
                    let usage = usage.map(|(name, usage)| (self.ended_as(pid, name), usage));
                    self.tell(ProgramEvent::Ended { pid, usage })?;
                }
                ConnectorEvent::Exit(_) => {}
            }
        }
        for (pid, name, usage) in ends {
            let name = self.ended_as(pid, name);
            if self.nameless.remove(&pid) {
                self.tell(ProgramEvent::Started { name: name.clone() })?;
            }
            self.tell(ProgramEvent::Ended { pid, usage: Some((name, usage)) })?;
        }
        Ok(())
    }

    /// The name of a process that ended, with its script if it was heard to start.
    fn ended_as(&mut self, pid: u32, name: ProgramName) -> ProgramName {
        let known = self.scripts.remove(&pid).filter(|known| known.plain == name.plain);
        known.unwrap_or(name)
    }

    fn started(&mut self, pid: u32) -> Result<(), HearingOver> {
        match fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => {
                let name = ProgramName::of(pid, &name);
                if name.script.is_some() && self.scripts.len() < REMEMBERED_MAX {
                    self.scripts.insert(pid, name.clone());
                }
                self.tell(ProgramEvent::Started { name })
            }
            // Its end tells its name.
            Err(_) if self.taskstats.is_some() && self.nameless.len() < REMEMBERED_MAX => {
                self.nameless.insert(pid);
                Ok(())
            }
            Err(_) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn tell(&self, event: ProgramEvent) -> Result<(), HearingOver> {
        match self.tell.try_send(event) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(TrySendError::Disconnected(_)) => Err(HearingOver),
        }
    }
}

/// What threads used that ended before their process.
#[derive(Debug, Default)]
struct EndedThreads {
    /// By process: the sum, and the name of the first thread, which is that of the program.
    processes: HashMap<u32, (Option<ProgramName>, ProcessUsage)>,
}

impl EndedThreads {
    /// The process, its name and all it used, if its last thread ended.
    fn process_exit(&mut self, exit: TaskExit) -> Option<(u32, ProgramName, ProcessUsage)> {
        let TaskExit { task, process, is_last, name, usage } = exit;
        let (first, sum) = self.processes.remove(&process).unwrap_or_default();
        let sum = usage.plus(sum);
        let first = if task == process { Some(ProgramName::plain(&name)) } else { first };
        if is_last {
            // Until its parent collects it, /proc knows of threads that ended before the watch.
            let known = ProcessUsage::of(process);
            return Some(match known {
                Some((name, known)) => (process, name, known.most(sum)),
                None => (process, first.unwrap_or(ProgramName::plain(&name)), sum),
            });
        }
        if self.processes.len() < REMEMBERED_MAX {
            self.processes.insert(process, (first, sum));
        }
        None
    }
}

#[cfg(test)]
mod tests;
