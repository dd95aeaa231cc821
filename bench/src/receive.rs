//! The ceiling of every statsd server: a loop that receives 128 datagrams by a call (`recvmmsg`)
//! and looks at none. Writes the bytes received so far to stdout whenever nothing comes.
#![expect(unsafe_code, reason = "a system call without a safe wrapper")]

use std::io::{self, Write};
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::net::sockopt;

const SLOTS: usize = 128;
const SLOT_BYTES: usize = 65_536;
/// What Tidegate has in the row that compares both.
const BUFFER_BYTES: usize = 4 << 20;
/// How long Tidegate leaves datagrams alone that come one by one.
const NAP: Duration = Duration::from_micros(100);

/// Receives until the process is ended.
pub(crate) fn run(address: SocketAddr, takes_trains: bool) -> Result<()> {
    let socket = UdpSocket::bind(address).with_context(|| format!("bind `{address}`"))?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?;
    }
    if takes_trains {
        take_trains(&socket)?;
    }
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    let mut bytes = vec![0u8; SLOTS * SLOT_BYTES];
    let (mut total, mut printed) = (0u64, 0);
    loop {
        match receive(&socket, &mut bytes) {
            Ok((filled, received)) => {
                total += received;
                if filled < SLOTS / 4 {
                    thread::sleep(NAP);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if total != printed {
                    writeln!(io::stdout(), "{total}")?;
                    printed = total;
                }
            }
            Err(error) => return Err(error).context("receive"),
        }
    }
}

fn take_trains(socket: &UdpSocket) -> Result<()> {
    let one = 1i32;
    // SAFETY: the kernel reads as many bytes as the value has, during the call only.
    let outcome = unsafe {
        let value = (&raw const one).cast();
        let length = size_of::<i32>() as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, value, length)
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()).context("UDP_GRO") }
}

/// Returns how many buffers one call filled, and with how many bytes.
fn receive(socket: &UdpSocket, bytes: &mut [u8]) -> io::Result<(usize, u64)> {
    let mut vectors: [libc::iovec; SLOTS] = std::array::from_fn(|slot| libc::iovec {
        iov_base: bytes[slot * SLOT_BYTES..].as_mut_ptr().cast(),
        iov_len: SLOT_BYTES,
    });
    // SAFETY: zeros are a value of these headers: no address, no control data.
    let mut headers: [libc::mmsghdr; SLOTS] = unsafe { zeroed() };
    for (header, vector) in headers.iter_mut().zip(&mut vectors) {
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: each header points to one vector, and that to a part of `bytes` of its own, all of
    // which outlive the call.
    let received = unsafe {
        let headers = headers.as_mut_ptr();
        let flags = libc::MSG_WAITFORONE;
        libc::recvmmsg(socket.as_raw_fd(), headers, SLOTS as u32, flags, null_mut())
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    let filled = headers[..received].iter().map(|header| u64::from(header.msg_len)).sum();
    Ok((received, filled))
}
