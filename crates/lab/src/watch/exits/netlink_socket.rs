//! Opens sockets of netlink, and reads all that waits in one.
//!
//! Source: netlink(7). Numbers are in the host's byte order.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with, sockopt,
};

pub(super) const HEADER_BYTES: usize = 16;
/// What may wait in a socket: some thousand messages of taskstats.
const BUFFER_BYTES: usize = 1 << 20;

pub(super) fn socket(protocol: Protocol) -> Result<OwnedFd, Errno> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(protocol),
    )?;
    // Refused, the buffer stays as it is, and more is lost in a burst.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES);
    Ok(socket)
}

/// The header of a message of so many bytes.
pub(super) fn header(kind: u16, flags: u16, bytes: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(bytes);
    message.extend((bytes as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    // Sequence and sender are the kernel's to fill.
    message.extend([0; 8]);
    message
}

/// Passes on each message that waits; `lost` counts how often the buffer was full.
pub(super) fn drain(
    socket: &OwnedFd,
    lost: &AtomicU64,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Errno> {
    let mut bytes = [0_u8; 4096];
    loop {
        match recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((read, _)) => take(&bytes[..read]),
            Err(Errno::NOBUFS) => {
                lost.fetch_add(1, Ordering::Relaxed);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
