//! Reads and writes one accepted socket, and notes the stage that its timeouts depend on.
//!
//! Invariants: a read borrows a buffer only while bytes are there, and a write is complete or
//! fails. Timeouts need no timer per request: the socket notes its stage and the tick of its core,
//! in seconds. `Connections::sweep` in `connection` compares all sockets once a second and ends the
//! late ones. None in `Answering` is late: there the role has timeouts of its own. No bound: a full
//! buffer doubles, so callers check the length of what they read (`connection` bounds heads). Bytes
//! that wait for the client are charged to its budget: a head in part, and what it has not read of
//! a reply. What a store holds is not charged. Beyond the budget the read or write fails. Never
//! here: HTTP, which timeout a stage has (`limits`).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, IoSlice, Read};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::buffers::{self, Buffers};
use super::limits::Limits;
use crate::clients::ClientBudgets;
use crate::inflight::Charge;

/// The stage of a connection; each but `Answering` has its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Between requests.
    Idle,
    /// A head is arriving.
    Head,
    /// The role waits for more of a body.
    Body,
    /// The role makes the reply, under timeouts of its own.
    Answering,
    /// The reply is written; the client has to read it.
    Sending,
    /// A tunnel, which ends after this many seconds without a byte.
    Tunnel(u32),
}

/// The time that was spent waiting for a client, and the bytes that passed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Whole seconds of waiting.
    pub waited_s: u32,
    /// Bytes that the client has sent or read.
    pub bytes: u64,
}

impl Pace {
    /// Whether the client is slower than the limits allow.
    pub(super) fn is_below(self, limits: &Limits) -> bool {
        let waited_s = u64::from(self.waited_s);
        waited_s > limits.rate_grace.as_secs()
            && self.bytes < limits.rate_min.saturating_mul(waited_s)
    }
}

/// One accepted socket.
#[derive(Debug)]
pub(super) struct Live {
    pub stream: TcpStream,
    pub peer: SocketAddr,
    stage: Cell<Stage>,
    /// Tick at which the stage began or last made progress.
    since: Cell<u32>,
    /// The core's tick, in seconds.
    clock: Rc<Cell<u32>>,
    /// The pace of the client in the body, or the reply, under way.
    pace: Cell<Pace>,
    /// Bytes of the reply that the client had acknowledged at the last sweep.
    acknowledged: Cell<u64>,
    /// Whether the client sent its body too slowly, and nothing more is read.
    late: Cell<bool>,
    /// The budgets of clients, and whether this one has a share of its own.
    budgets: (Arc<ClientBudgets>, bool),
    /// The buffer with a part of a head, or of the framing of a body, while more is awaited.
    waiting: RefCell<Option<Charge>>,
    /// Wakes the task that waits for more of a body, when nothing more is read.
    body: RefCell<Option<Waker>>,
    /// Whether this process has shut the socket in both directions.
    shut: Cell<bool>,
    /// Wakes the task of a tunnel when the socket is shut. That task may be waiting for the far
    /// side only.
    tunnel: RefCell<Option<Waker>>,
}

impl Live {
    /// Returns a socket that was just accepted.
    pub(super) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        clock: Rc<Cell<u32>>,
        budgets: (Arc<ClientBudgets>, bool),
    ) -> Self {
        Self {
            stream,
            peer,
            stage: Cell::new(Stage::Idle),
            since: Cell::new(clock.get()),
            clock,
            pace: Cell::default(),
            acknowledged: Cell::new(0),
            late: Cell::new(false),
            budgets,
            waiting: RefCell::default(),
            body: RefCell::default(),
            shut: Cell::new(false),
            tunnel: RefCell::default(),
        }
    }

    /// Returns the stage of the connection.
    pub(super) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Begins a stage, and its timeout.
    pub(super) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
        self.since.set(self.clock.get());
    }

    /// Begins the timeout of the stage anew.
    pub(super) fn progress(&self) {
        self.since.set(self.clock.get());
    }

    /// Returns the whole seconds since the stage began or last made progress.
    pub(super) fn seconds(&self) -> u32 {
        self.clock.get().saturating_sub(self.since.get())
    }

    /// Begins to count the pace of the client anew.
    pub(super) fn begin_pace(&self) {
        self.pace.set(Pace::default());
        self.acknowledged.set(0);
    }

    /// Counts one more second of waiting for the client, and returns its pace.
    pub(super) fn wait_a_second(&self) -> Pace {
        let pace = self.pace.get();
        let pace = Pace { waited_s: pace.waited_s.saturating_add(1), ..pace };
        self.pace.set(pace);
        pace
    }

    /// Returns what of the written bytes the client has acknowledged, and begins the timeout anew
    /// if that is more than before. A large send buffer takes bytes long before the client reads
    /// them.
    pub(super) fn acknowledged(&self, pace: Pace) -> Pace {
        let unread = stdx::unacknowledged(self.stream.as_fd()).unwrap_or(0);
        let bytes = pace.bytes.saturating_sub(unread as u64);
        if bytes > self.acknowledged.replace(bytes) {
            self.progress();
        }
        Pace { bytes, ..pace }
    }

    fn count(&self, bytes: usize) {
        let pace = self.pace.get();
        self.pace.set(Pace { bytes: pace.bytes + bytes as u64, ..pace });
    }

    /// Reads nothing more of a body, because the client sends too slowly. A reply can still be
    /// sent.
    pub(super) fn end_receiving(&self) {
        self.late.set(true);
        if let Some(waker) = self.body.take() {
            waker.wake();
        }
    }

    /// Has a task woken by [`Self::end_receiving`].
    pub(super) fn wake_when_late(&self, cx: &Context<'_>) {
        self.body.replace(Some(cx.waker().clone()));
    }

    /// Whether nothing more is read because the client was too slow.
    pub(super) fn is_late(&self) -> bool {
        self.late.get()
    }

    /// Waits for bytes and appends them to the lent buffer; returns 0 at the end of the stream.
    /// While it waits, it gives an empty buffer back, and charges one with bytes.
    ///
    /// # Errors
    /// When the socket fails, and when there is no budget for the buffer.
    pub(super) async fn fill(&self, slot: &mut Option<Box<Buffers>>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_fill(cx, slot)).await
    }

    /// Polls for more bytes, as [`Self::fill`].
    pub(super) fn poll_fill(
        &self,
        cx: &mut Context<'_>,
        slot: &mut Option<Box<Buffers>>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let readiness = self.stream.poll_read_ready(cx)?;
            if readiness.is_pending() {
                match slot.take_if(|lent| lent.filled == 0) {
                    Some(unused) => buffers::give(unused),
                    None => self.hold(slot.as_deref())?,
                }
                return Poll::Pending;
            }
            self.let_go();
            let lent = slot.get_or_insert_with(buffers::take);
            if lent.filled == lent.inbox.len() {
                let larger = lent.inbox.len() * 2;
                lent.inbox.resize(larger, 0);
            }
            let received = receive(&self.stream, &mut lent.inbox[lent.filled..])?;
            if let Some(bytes) = received {
                lent.filled += bytes;
                self.count(bytes);
                return Poll::Ready(Ok(bytes));
            }
        }
    }

    /// Charges a buffer that waits for more bytes.
    fn hold(&self, lent: Option<&Buffers>) -> io::Result<()> {
        let mut waiting = self.waiting.borrow_mut();
        if let Some(lent) = lent.filter(|_| waiting.is_none()) {
            *waiting = Some(self.charged(lent.bytes())?);
        }
        Ok(())
    }

    fn let_go(&self) {
        self.waiting.take();
    }

    /// Waits until the client has closed its side of the connection, or reset it. Bytes that it
    /// sends meanwhile stay unread and wake nobody.
    pub(super) async fn until_closed(&self) {
        // Tokio reports this interest for priority data and for a closed read side. The kernel is
        // never asked for priority data here, so only the close is left. Unread bytes do not hide
        // it, and it stays reported. An error means that the runtime ends, and the connection too.
        let _ = self.stream.ready(Interest::PRIORITY).await;
    }

    /// Writes all of `first` and then all of `second`.
    pub(super) async fn write_all(&self, first: &[u8], second: &[u8]) -> io::Result<()> {
        self.write(first, second, first.len() + second.len()).await
    }

    /// The same for a `second` that a store holds and accounts for.
    pub(super) async fn write_stored(&self, first: &[u8], second: &[u8]) -> io::Result<()> {
        self.write(first, second, first.len()).await
    }

    /// Writes both; while the client does not read, so many bytes are charged.
    async fn write(&self, first: &[u8], second: &[u8], charged: usize) -> io::Result<()> {
        let total = first.len() + second.len();
        let mut done = 0;
        let mut blocked = None;
        while done < total {
            let written = if done < first.len() && !second.is_empty() {
                let slices = [IoSlice::new(&first[done..]), IoSlice::new(second)];
                self.stream.try_write_vectored(&slices)
            } else if done < first.len() {
                self.stream.try_write(&first[done..])
            } else {
                self.stream.try_write(&second[done - first.len()..])
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    done += bytes;
                    self.count(bytes);
                    self.progress();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if blocked.is_none() {
                        blocked = Some(self.charged(charged)?);
                    }
                    self.stream.writable().await?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Charges bytes to the budget of the client.
    ///
    /// # Errors
    /// When they do not fit.
    fn charged(&self, bytes: usize) -> io::Result<Charge> {
        let (budgets, has_share) = &self.budgets;
        let mut charge = match has_share {
            true => budgets.charge(self.peer.ip().into()),
            false => Charge::new(budgets.whole()),
        };
        match charge.try_add(bytes) {
            true => Ok(charge),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Shuts the socket in both directions, and wakes the task that waits on it.
    pub(super) fn shut(&self) {
        // The call fails only if the connection is gone already.
        let _ = SockRef::from(&self.stream).shutdown(std::net::Shutdown::Both);
        self.shut.set(true);
        if let Some(waker) = self.tunnel.take() {
            waker.wake();
        }
    }

    /// Waits until [`Self::shut`] is called; only one task may wait.
    pub(super) async fn until_shut(&self) {
        poll_fn(|cx| {
            if self.shut.get() {
                return Poll::Ready(());
            }
            self.tunnel.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Shuts the sending direction only, so that the client can still read the reply.
    pub(super) fn shut_write(&self) {
        let _ = SockRef::from(&self.stream).shutdown(std::net::Shutdown::Write);
    }
}

/// Receives the bytes that have arrived; `None` if there are none.
///
/// A read that does not fill the space has emptied the socket. Epoll is edge-triggered, so the
/// readiness can be cleared at once. That saves the second, failing read of every request.
fn receive(stream: &TcpStream, space: &mut [u8]) -> io::Result<Option<usize>> {
    let mut received = None;
    let attempt = stream.try_io(Interest::READABLE, || {
        let bytes = (&*SockRef::from(stream)).read(space)?;
        received = Some(bytes);
        if bytes > 0 && bytes < space.len() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    });
    match attempt {
        Ok(()) => Ok(received),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(received),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}
