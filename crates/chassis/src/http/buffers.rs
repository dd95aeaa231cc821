//! Lends buffers to connections while they read or write, and keeps returned ones for reuse.
//!
//! Bound: a thread keeps at most `SPARE_MAX` buffers. It frees further ones, those whose `inbox`
//! grew, and those with more than 64 KiB of `out`. Invariant: a lent buffer is empty, with no byte
//! of another connection below `filled` or in `out`. What makes idle connections hold none is `io`
//! (`fill` gives an empty buffer back) and `connection`. Never here: what the bytes mean, a bound
//! on buffers in use (`Limits::connections_max`).

use std::cell::RefCell;

use http1::request::FieldPlace;

/// Bytes read at once, and the usual size of a head with its body.
pub(super) const INBOX_BYTES: usize = 16 * 1024;
const OUT_BYTES: usize = 8 * 1024;
const OUT_BYTES_KEPT: usize = 64 * 1024;
const SPARE_MAX: usize = 1024;

/// The memory that one connection needs to read a request and write its reply.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Received bytes; valid up to `filled`.
    pub inbox: Vec<u8>,
    pub filled: usize,
    pub fields: Vec<FieldPlace>,
    pub out: Vec<u8>,
}

impl Buffers {
    /// Returns the bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.inbox.capacity() + self.out.capacity() + size_of_val(&*self.fields)
    }
}

thread_local! {
    // Boxed, so that a lent buffer moves between connection and pool as one pointer.
    #[expect(clippy::vec_box, reason = "moving 96 bytes per request costs more than the box")]
    static SPARE: RefCell<Vec<Box<Buffers>>> = const { RefCell::new(Vec::new()) };
}

/// Takes a buffer from this thread's pool, or makes one if the pool is empty.
pub(super) fn take() -> Box<Buffers> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
        Box::new(Buffers {
            inbox: vec![0; INBOX_BYTES],
            filled: 0,
            fields: Vec::with_capacity(32),
            out: Vec::with_capacity(OUT_BYTES),
        })
    })
}

/// Gives a buffer back to this thread's pool.
pub(super) fn give(mut buffers: Box<Buffers>) {
    if buffers.inbox.len() > INBOX_BYTES || buffers.out.capacity() > OUT_BYTES_KEPT {
        return;
    }
    buffers.filled = 0;
    buffers.out.clear();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < SPARE_MAX {
            spare.push(buffers);
        }
    });
}
