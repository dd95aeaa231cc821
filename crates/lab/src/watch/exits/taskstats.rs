//! Reads what tasks used, from what the kernel sends at the end of each.
//!
//! Unlike /proc it cannot come too late: a program whose parent collects it at once is counted.
//! Source: taskstats.rst and `linux/taskstats.h` (kernel configuration `CONFIG_TASKSTATS`), from
//! version 12 on, which tells threads from programs. It needs the capability `CAP_NET_ADMIN`, in
//! the host's first namespaces of users and processes.
//! Layout of a message: netlink header (16 bytes), generic header (4), then attributes: length (2),
//! kind (2), content, and padding to 4 bytes.

use std::os::fd::OwnedFd;
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{RecvFlags, SendFlags, bind, recv, send};

use super::super::host::TICK_MS;
use super::super::usage::{ProcessUsage, ticks_now};
use super::netlink_socket::{HEADER_BYTES, half_word, header, socket, word};

const ATTRIBUTES_AT: usize = HEADER_BYTES + 4;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// `NLM_F_REQUEST` and `NLM_F_ACK`
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
/// `NLMSG_ERROR`
const ERROR: u16 = 2;
/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME`
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `TASKSTATS_CMD_GET`, `TASKSTATS_CMD_ATTR_PID`, `TASKSTATS_CMD_ATTR_REGISTER_CPUMASK`
const GET: u8 = 1;
const PROCESS: u16 = 1;
const REGISTER_PROCESSORS: u16 = 3;
/// `TASKSTATS_TYPE_AGGR_PID`, `TASKSTATS_TYPE_STATS`
const OF_TASK: u16 = 4;
const STATS: u16 = 3;
/// The first version that tells the thread group of a task.
const VERSION_MIN: u16 = 12;
/// `AGROUP`: the last task of its process.
const LAST: u8 = 0x20;
const ANSWER_MAX: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A task that ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskExit {
    pub(super) task: u32,
    /// The process that it is of.
    pub(super) process: u32,
    /// Whether the process ended with it.
    pub(super) is_last: bool,
    /// Its name.
    pub(super) name: String,
    /// What it alone used.
    pub(super) usage: ProcessUsage,
}

/// Subscribes to the ends of tasks on all processors.
pub(super) fn subscribed() -> io::Result<OwnedFd> {
    let socket = socket(netlink::GENERIC)?;
    bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    let name = attribute(FAMILY_NAME, b"TASKSTATS\0");
    send(&socket, &request(CONTROLLER, GET_FAMILY, 0, &name), SendFlags::empty())?;
    let answer = answer(&socket)?;
    let family = attributes(&answer, ATTRIBUTES_AT).find(|(kind, _)| *kind == FAMILY_ID);
    let family = family.and_then(|(_, content)| half_word(content, 0)).ok_or(Errno::NOENT)?;
    let ours = attribute(PROCESS, &std::process::id().to_ne_bytes());
    send(&socket, &request(family, GET, 0, &ours), SendFlags::empty())?;
    if task_exit(&self::answer(&socket)?).is_none() {
        return Err(io::Error::other("Linux 5.19 or newer is needed"));
    }
    let mut processors = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    processors.truncate(processors.trim_end().len());
    processors.push('\0');
    let processors = attribute(REGISTER_PROCESSORS, processors.as_bytes());
    send(&socket, &request(family, GET, ACKNOWLEDGE, &processors), SendFlags::empty())?;
    self::answer(&socket)?;
    Ok(socket)
}

/// The kernel's answer; its refusal is an error.
fn answer(socket: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut ready = [PollFd::new(socket, PollFlags::IN)];
    if poll(&mut ready, Some(&ANSWER_MAX))? == 0 {
        return Err(Errno::TIMEDOUT.into());
    }
    let mut bytes = vec![0; 4096];
    let (read, _) = recv(socket, &mut bytes[..], RecvFlags::DONTWAIT)?;
    bytes.truncate(read);
    match (half_word(&bytes, 4), word(&bytes, HEADER_BYTES)) {
        (Some(ERROR), Some(code)) if code != 0 => {
            Err(io::Error::from_raw_os_error(code.wrapping_neg().cast_signed()))
        }
        _ => Ok(bytes),
    }
}

fn request(kind: u16, command: u8, flags: u16, attributes: &[u8]) -> Vec<u8> {
    let mut message = header(kind, REQUEST | flags, ATTRIBUTES_AT + attributes.len());
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    message
}

fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(((ATTRIBUTE_HEADER_BYTES + content.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes from a place on: their kind and content.
fn attributes(bytes: &[u8], mut at: usize) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(half_word(bytes, at)?);
        let kind = half_word(bytes, at + 2)?;
        let content = bytes.get(at + ATTRIBUTE_HEADER_BYTES..at + length)?;
        at += length.next_multiple_of(4);
        Some((kind, content))
    })
}

/// The task that a message is of; nothing of an older kernel's message, or of a sum of threads.
pub(super) fn task_exit(message: &[u8]) -> Option<TaskExit> {
    let (_, of_task) = attributes(message, ATTRIBUTES_AT).find(|(kind, _)| *kind == OF_TASK)?;
    let (_, stats) = attributes(of_task, 0).find(|(kind, _)| *kind == STATS)?;
    if half_word(stats, 0)? < VERSION_MIN {
        return None;
    }
    let number = |at: usize| {
        let bytes = stats.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_ne_bytes(bytes) as f64)
    };
    let name = stats.get(80..112)?.split(|byte| *byte == 0).next()?;
    Some(TaskExit {
        task: word(stats, 128)?,
        process: word(stats, 368)?,
        is_last: stats.get(8)? & LAST != 0,
        name: String::from_utf8_lossy(name).into_owned(),
        usage: ProcessUsage {
            began: ticks_now().saturating_sub((number(376)? / 1e3 / TICK_MS) as u64),
            cpu_ms: (number(152)? + number(160)?) / 1e3,
            waited_ms: number(24)? / 1e6,
            read_bytes: number(248)?,
            written_bytes: number(256)?,
            paged_in: number(176)?,
        },
    })
}

#[cfg(test)]
mod tests;
