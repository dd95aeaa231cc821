//! Reads the kernel's process connector: which process runs another program, and which ended.
//!
//! Source: connector.rst and `linux/cn_proc.h` (kernel configuration `CONFIG_PROC_EVENTS`).
//! Subscribing needs the capability `CAP_NET_ADMIN`, in the host's first network namespace. Within
//! another process namespace, as in a container, the kernel passes a subscription over in silence.
//! Layout of a message: netlink header (16 bytes), connector header (20), then the event: `what`
//! (4), processor (4), time (8), process (4), thread group (4).

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{SendFlags, bind, send};

use super::netlink_socket::{HEADER_BYTES, header, socket, word};

const CONNECTOR_HEADER_BYTES: usize = 20;
const EVENT_AT: usize = HEADER_BYTES + CONNECTOR_HEADER_BYTES;
/// `NLMSG_DONE`
const DONE: u16 = 3;
/// `CN_IDX_PROC` and `CN_VAL_PROC`, and the group of the first.
const PROCESSES: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`
const LISTEN: u32 = 1;
/// `PROC_EVENT_EXEC` and `PROC_EVENT_EXIT`
const EXEC: u32 = 0x2;
const EXIT: u32 = 0x8000_0000;

/// Nanoseconds for which an answer is waited for.
const ANSWER_NS: i64 = 500_000_000;

/// What a process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectorEvent {
    /// It runs another program.
    Exec(u32),
    /// It ended, with all its threads.
    Exit(u32),
}

pub(super) fn subscribed() -> Result<OwnedFd, Errno> {
    let socket = socket(netlink::CONNECTOR)?;
    bind(&socket, &SocketAddrNetlink::new(0, PROCESSES))?;
    let mut message = header(DONE, 0, EVENT_AT + 4);
    for number in [PROCESSES, PROCESSES, 0, 0] {
        message.extend(number.to_ne_bytes());
    }
    message.extend(4_u16.to_ne_bytes());
    message.extend([0; 2]);
    message.extend(LISTEN.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    Ok(socket)
}

/// Whether the kernel tells anything, as it does at once of a subscription that it takes.
pub(super) fn answers(socket: &OwnedFd) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: ANSWER_NS };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// What a message tells, unless it is of a thread.
pub(super) fn event(message: &[u8]) -> Option<ConnectorEvent> {
    let at = |offset: usize| word(message, EVENT_AT + offset);
    let (what, thread, process) = (at(0)?, at(16)?, at(20)?);
    match what {
        EXEC => Some(ConnectorEvent::Exec(process)),
        EXIT if thread == process => Some(ConnectorEvent::Exit(process)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
