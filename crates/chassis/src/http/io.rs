//! One accepted socket: reads that borrow a buffer only when bytes are there, complete writes,
//! and the stage that the sweeper compares with the time limits.
//!
//! Time limits cost nothing per request: a stage is a cell holding the core's tick, and one task a
//! core looks at all sockets once a second (`Connections::sweep`).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, IoSlice, Read};
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::buffers::{self, Buffers};

/// What a connection is doing, as far as time limits are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Between requests.
    Idle,
    /// A head or body is arriving.
    Receiving,
    /// The answer is being made; its limits are the role's.
    Answering,
    /// The reply waits for the client to read.
    Sending,
    /// Bytes go both ways and mean nothing here; for so many seconds without any.
    Tunnel(u32),
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
    /// Ended by us, in both directions.
    shut: Cell<bool>,
    /// Wakes the tunnel when the socket is ended: its far side may be what it waits for.
    tunnel: RefCell<Option<Waker>>,
}

impl Live {
    /// A socket that was just accepted.
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, clock: Rc<Cell<u32>>) -> Self {
        let since = Cell::new(clock.get());
        let (stage, shut) = (Cell::new(Stage::Idle), Cell::new(false));
        Self { stream, peer, stage, since, clock, shut, tunnel: RefCell::default() }
    }

    /// What the connection is doing.
    pub(super) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Begins a stage, or its time anew.
    pub(super) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
        self.since.set(self.clock.get());
    }

    /// Begins the stage's time anew.
    pub(super) fn progress(&self) {
        self.since.set(self.clock.get());
    }

    /// Whole seconds since the stage began or last made progress.
    pub(super) fn seconds(&self) -> u32 {
        self.clock.get().saturating_sub(self.since.get())
    }

    /// Waits for bytes and appends them to the lent buffer, which is given back while nothing is
    /// there to hold; returns 0 at the end of the stream.
    pub(super) async fn fill(&self, slot: &mut Option<Box<Buffers>>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_fill(cx, slot)).await
    }

    fn poll_fill(
        &self,
        cx: &mut Context<'_>,
        slot: &mut Option<Box<Buffers>>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let readiness = self.stream.poll_read_ready(cx)?;
            if readiness.is_pending() {
                if let Some(unused) = slot.take_if(|lent| lent.filled == 0) {
                    buffers::give(unused);
                }
                return Poll::Pending;
            }
            let lent = slot.get_or_insert_with(buffers::take);
            if lent.filled == lent.inbox.len() {
                let larger = lent.inbox.len() * 2;
                lent.inbox.resize(larger, 0);
            }
            let received = receive(&self.stream, &mut lent.inbox[lent.filled..])?;
            if let Some(bytes) = received {
                lent.filled += bytes;
                return Poll::Ready(Ok(bytes));
            }
        }
    }

    /// Waits until the client has closed its side of the connection, or reset it. What it sends
    /// meanwhile stays unread and wakes nobody.
    pub(super) async fn until_closed(&self) {
        // No socket here asks the kernel for priority data; what is left of that interest is the
        // end of reading, whatever is unread before it, and an end stays known once it came.
        // An error is the runtime's end, which ends the connection, too.
        let _ = self.stream.ready(Interest::PRIORITY).await;
    }

    /// Writes all of `first` and then all of `second`.
    pub(super) async fn write_all(&self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let total = first.len() + second.len();
        let mut done = 0;
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
                    self.progress();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the socket in both directions; a task that waits on it wakes up.
    pub(super) fn shut(&self) {
        // A socket that is gone already needs no shutting.
        let _ = SockRef::from(&self.stream).shutdown(std::net::Shutdown::Both);
        self.shut.set(true);
        if let Some(waker) = self.tunnel.take() {
            waker.wake();
        }
    }

    /// Waits until [`Self::shut`]; for one task.
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

    /// Ends our direction only, so that the client can read what was said.
    pub(super) fn shut_write(&self) {
        let _ = SockRef::from(&self.stream).shutdown(std::net::Shutdown::Write);
    }
}

/// Receives what is there; `None` when nothing is.
///
/// A read that does not fill the space has emptied the socket (epoll is edge-triggered), so the
/// readiness is cleared at once: that saves the second, failing read of every request.
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
