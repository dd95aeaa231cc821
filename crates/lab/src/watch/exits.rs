//! Hears of programs that start and end, from the kernel's process connector.
//!
//! Polling misses a program that lives for 20 ms. The connector (kernel configuration
//! `CONFIG_PROC_EVENTS`, connector.rst) tells each exec and exit; what the program used is read
//! from /proc before its parent has collected it. It needs the capability `CAP_NET_ADMIN`.
//! Invariant: each exec and exit that was heard is passed on once, in order. What the kernel could
//! not deliver is lost, and counted by `lost`.
//! Failure: without the connector a note says that short programs are missed.
//!
//! Layout of a message: netlink header (16 bytes), connector header (20), then the event: `what`
//! (4), processor (4), time (8), process (4), thread group (4).

use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send,
    socket_with,
};

use super::usage::{ProcessUsage, plain_name};

const NETLINK_HEADER_BYTES: usize = 16;
const CONNECTOR_HEADER_BYTES: usize = 20;
const EVENT_AT: usize = NETLINK_HEADER_BYTES + CONNECTOR_HEADER_BYTES;
/// `NLMSG_DONE`
const DONE: u16 = 3;
/// `CN_IDX_PROC` and `CN_VAL_PROC`, and the group of the first.
const PROCESSES: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`
const LISTEN: u32 = 1;
/// `PROC_EVENT_EXEC` and `PROC_EVENT_EXIT`
const EXEC: u32 = 0x2;
const EXIT: u32 = 0x8000_0000;
/// Events that wait to be taken.
const WAITING_MAX: usize = 4_096;
const STACK_BYTES: usize = 128 << 10;

/// A program that started or ended.
#[derive(Debug, Clone)]
pub(super) enum ProgramEvent {
    /// A process runs another program.
    Started {
        /// The program.
        name: String,
    },
    /// A process ended.
    Ended {
        /// The process.
        pid: u32,
        /// What it used in all, where that could still be read.
        usage: Option<(String, ProcessUsage)>,
    },
}

/// What is heard.
pub(super) struct ProgramEvents {
    pub(super) events: Receiver<ProgramEvent>,
    /// Events that nobody took in time.
    pub(super) lost: Arc<AtomicU64>,
}

/// Subscribes to the connector.
pub(super) fn listen(notes: &mut Vec<String>) -> Option<ProgramEvents> {
    let socket = match subscribed() {
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
    let (tell, events) = sync_channel(WAITING_MAX);
    let lost = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&lost);
    let named = thread::Builder::new().name("watch-programs".to_owned()).stack_size(STACK_BYTES);
    named.spawn(move || receive(&socket, &tell, &counted)).ok()?;
    Some(ProgramEvents { events, lost })
}

fn subscribed() -> Result<OwnedFd, Errno> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::CONNECTOR),
    )?;
    bind(&socket, &SocketAddrNetlink::new(0, PROCESSES))?;
    let mut message = Vec::with_capacity(EVENT_AT + 4);
    message.extend(((EVENT_AT + 4) as u32).to_ne_bytes());
    message.extend(DONE.to_ne_bytes());
    message.extend([0; 10]);
    for word in [PROCESSES, PROCESSES, 0, 0] {
        message.extend(word.to_ne_bytes());
    }
    message.extend(4_u16.to_ne_bytes());
    message.extend([0; 2]);
    message.extend(LISTEN.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    Ok(socket)
}

/// Passes events on until nobody takes them.
fn receive(socket: &OwnedFd, tell: &SyncSender<ProgramEvent>, lost: &AtomicU64) {
    let mut bytes = [0_u8; 1024];
    loop {
        match recv(socket, &mut bytes[..], RecvFlags::empty()) {
            Ok((read, _)) => {
                let Some(event) = event(&bytes[..read]) else { continue };
                match tell.try_send(event) {
                    Ok(()) => {}
                    Err(TrySendError::Full(_)) => {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(TrySendError::Disconnected(_)) => return,
                }
            }
            // The kernel's buffer was full.
            Err(Errno::NOBUFS) => {
                lost.fetch_add(1, Ordering::Relaxed);
            }
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// The event of a message, with what /proc still knows of it.
fn event(message: &[u8]) -> Option<ProgramEvent> {
    let word = |at: usize| {
        let bytes = message.get(EVENT_AT + at..EVENT_AT + at + 4)?;
        bytes.try_into().ok().map(u32::from_ne_bytes)
    };
    let (what, thread, pid) = (word(0)?, word(16)?, word(20)?);
    match what {
        EXEC => {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            Some(ProgramEvent::Started { name: plain_name(name.trim_end()) })
        }
        // A thread's end is no process's end.
        EXIT if thread == pid => Some(ProgramEvent::Ended { pid, usage: ProcessUsage::of(pid) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
