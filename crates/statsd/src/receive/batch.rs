//! Reads many datagrams by one system call, and what the kernel dropped before them.
//!
//! `recvmmsg` fills up to [`SLOTS`] buffers; with `UDP_GRO` a buffer may hold a train of datagrams
//! of one sender, which is cut here. `SO_RXQ_OVFL` says with each datagram how many the socket has
//! dropped so far (socket(7), udp(7), recvmmsg(2)).
//! Also here: setting a socket option, and asking for the drops without a datagram (`SO_MEMINFO`).
//! Invariants: during a call the headers point into buffers of the same batch; only bytes that the
//! kernel has written are shown. The file is listed in `xtask/tidy/unsafe.txt`.
//! `SLOTS` is measured (docs/decisions/statsd.md), and `bench/src/receive.rs`, the ceiling of the
//! rows, repeats it. Never here: which options a socket gets, and adding up drops, which wrap
//! (`datagrams.rs`).
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

/// Buffers of one call.
pub(super) const SLOTS: usize = 128;
/// The longest datagram, and the longest train.
const SLOT_BYTES: usize = 65_536;
/// So that the beginnings of buffers do not share a cache set.
const STRIDE: usize = SLOT_BYTES + 64;
/// Room for the count of drops and the length of datagrams in a train.
const CONTROL_BYTES: usize = 64;

/// Buffers and headers for one call.
pub(super) struct ReceiveBatch {
    bytes: Box<[u8]>,
    controls: Box<[Control; SLOTS]>,
    vectors: Box<[libc::iovec; SLOTS]>,
    headers: Box<[libc::mmsghdr; SLOTS]>,
    received: usize,
    dropped: Option<u32>,
}

/// Aligned as the kernel wants control messages.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Control([u8; CONTROL_BYTES]);

// SAFETY: the pointers in the headers are used within one call only, which sets them.
unsafe impl Send for ReceiveBatch {}

impl std::fmt::Debug for ReceiveBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("received", &self.received).finish_non_exhaustive()
    }
}

impl ReceiveBatch {
    /// Buffers for one socket.
    pub(super) fn new() -> Self {
        // SAFETY: all of these are plain data of which zeros are a value.
        let (vectors, headers) = unsafe { (Box::new(zeroed()), Box::new(zeroed())) };
        Self {
            bytes: vec![0; STRIDE * SLOTS].into_boxed_slice(),
            controls: Box::new([Control([0; CONTROL_BYTES]); SLOTS]),
            vectors,
            headers,
            received: 0,
            dropped: None,
        }
    }

    /// Waits for a datagram and takes what else is there; returns how many buffers were filled.
    ///
    /// # Errors
    /// Those of `recvmmsg`; `WouldBlock` when the socket's time-out is over.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.received = 0;
        self.point();
        // SAFETY: each header points to one vector and one control buffer of this batch, which live
        // as long as it does; the kernel writes no more than the lengths in them say.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                SLOTS as u32,
                libc::MSG_WAITFORONE,
                null_mut(),
            )
        };
        self.received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        Ok(self.received)
    }

    /// Leads every header to its buffers, which is done for each call, wherever they are by then.
    fn point(&mut self) {
        let bytes = self.bytes.as_mut_ptr();
        let vectors = self.vectors.as_mut_ptr();
        let controls = self.controls.as_mut_ptr();
        for (slot, header) in self.headers.iter_mut().enumerate() {
            // In bounds: the last slot ends with the buffer.
            let iov_base = bytes.wrapping_add(slot * STRIDE).cast();
            self.vectors[slot] = libc::iovec { iov_base, iov_len: SLOT_BYTES };
            header.msg_hdr.msg_iov = vectors.wrapping_add(slot);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = controls.wrapping_add(slot).cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
    }

    /// Shows each datagram of the last call.
    pub(super) fn each(&mut self, mut take: impl FnMut(&[u8])) {
        for slot in 0..self.received {
            let (dropped, train) = self.control_data(slot);
            self.dropped = dropped.or(self.dropped);
            let length = (self.headers[slot].msg_len as usize).min(SLOT_BYTES);
            let bytes = &self.bytes[slot * STRIDE..slot * STRIDE + length];
            match train.filter(|piece| *piece > 0 && *piece < length) {
                Some(piece) => bytes.chunks(piece).for_each(&mut take),
                None => take(bytes),
            }
        }
    }

    /// How many datagrams the socket has dropped, modulo 2³², once it has said so.
    pub(super) fn dropped(&self) -> Option<u32> {
        self.dropped
    }

    /// Drops so far, and the length of the datagrams of a train.
    fn control_data(&self, slot: usize) -> (Option<u32>, Option<usize>) {
        let header = &self.headers[slot].msg_hdr;
        let control = &self.controls[slot].0;
        let length = header.msg_controllen.min(CONTROL_BYTES);
        let (mut dropped, mut train) = (None, None);
        let mut at = 0;
        let head_bytes = size_of::<libc::cmsghdr>();
        while at + head_bytes <= length {
            // SAFETY: a whole header lies at `at`, aligned to 8 as the buffer and `at` are.
            let head = unsafe { &*control.as_ptr().add(at).cast::<libc::cmsghdr>() };
            let end = at.saturating_add(head.cmsg_len);
            if head.cmsg_len < head_bytes || end > length {
                break;
            }
            let word = control[at + head_bytes..end].first_chunk().map(|w| u32::from_ne_bytes(*w));
            match (head.cmsg_level, head.cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => dropped = word,
                (libc::SOL_UDP, libc::UDP_GRO) => train = word.map(|word| word as usize),
                _ => {}
            }
            at = end.next_multiple_of(8);
        }
        (dropped, train)
    }
}

/// Sets a socket option that is a number.
///
/// # Errors
/// When the kernel does not know or allow it.
pub(super) fn set_option(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: i32,
) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the value has.
    let outcome = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, name, value, size_of::<i32>() as u32)
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many datagrams a socket has dropped since it was made, modulo 2³² (`SO_MEMINFO`).
pub(super) fn dropped(socket: BorrowedFd<'_>) -> Option<u32> {
    const SO_MEMINFO: i32 = 55;
    const DROPS: usize = 8;
    let mut numbers = [0u32; 9];
    let mut length = size_of_val(&numbers) as u32;
    // SAFETY: the kernel writes no more than `length` bytes into the numbers.
    let outcome = unsafe {
        let numbers = numbers.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_MEMINFO, numbers, &mut length)
    };
    (outcome == 0 && length as usize == size_of_val(&numbers)).then(|| numbers[DROPS])
}

#[cfg(test)]
mod tests;
