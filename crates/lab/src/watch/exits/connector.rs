//! Reads the kernel's process connector: which process runs another program, and which ended.
//!
//! Source: connector.rst and `linux/cn_proc.h` (kernel configuration `CONFIG_PROC_EVENTS`).
//! Subscribing needs the capability `CAP_NET_ADMIN`, in the host's first network namespace. Within
//! another process namespace, as in a container, the kernel passes a subscription over in silence.
//! Events may come all the same, where another program subscribed, with numbers of processes that
//! are others here. So only the answer to our own subscription counts.
//! Layout of a message: netlink header (16 bytes), connector header (20), then the event: `what`
//! (4), processor (4), time (8), process (4), thread group (4).

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{SendFlags, bind, send};

use super::netlink_socket::{HEADER_BYTES, drain, header, socket, word};

const CONNECTOR_HEADER_BYTES: usize = 20;
const EVENT_AT: usize = HEADER_BYTES + CONNECTOR_HEADER_BYTES;
/// `NLMSG_DONE`
const DONE: u16 = 3;
/// `CN_IDX_PROC` and `CN_VAL_PROC`, and the group of the first.
const PROCESSES: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`
const LISTEN: u32 = 1;
/// `PROC_EVENT_NONE`: the answer to a subscription
const ANSWER: u32 = 0;
/// Where the number is by which a subscription is known: its answer has the next one.
const ACKNOWLEDGED_AT: usize = HEADER_BYTES + 12;
/// `PROC_EVENT_EXEC` and `PROC_EVENT_EXIT`
const EXEC: u32 = 0x2;
const EXIT: u32 = 0x8000_0000;

/// How long an answer is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

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
    for number in [PROCESSES, PROCESSES, 0, std::process::id()] {
        message.extend(number.to_ne_bytes());
    }
    message.extend(4_u16.to_ne_bytes());
    message.extend([0; 2]);
    message.extend(LISTEN.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    Ok(socket)
}

/// Whether the kernel took the subscription. What it tells before that is dropped.
pub(super) fn is_taken(socket: &OwnedFd) -> bool {
    let (begun, lost) = (Instant::now(), AtomicU64::new(0));
    let mut is_taken = false;
    while !is_taken {
        let left = ANSWER_TIMEOUT.saturating_sub(begun.elapsed());
        let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        let ready = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout));
        if ready.is_ok_and(|ready| ready == 0)
            || drain(socket, &lost, |message| is_taken |= answers(message, std::process::id()))
                .is_err()
        {
            return false;
        }
    }
    true
}

/// Whether a message is the answer to the subscription of this number.
fn answers(message: &[u8], number: u32) -> bool {
    word(message, EVENT_AT) == Some(ANSWER)
        && word(message, ACKNOWLEDGED_AT) == Some(number.wrapping_add(1))
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
