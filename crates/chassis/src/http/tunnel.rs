//! Passes the bytes of a tunnel both ways, without parsing them (RFC 9110 §7.8).
//!
//! Either side may end its own direction. The tunnel ends when both have, on an error, or when the
//! sweep of `connection` shuts it. That happens when no byte has passed for longer than its idle
//! timeout, in whole seconds; in a drain that is one second. Bound: a direction holds a buffer only
//! while it has bytes to pass on, and reads no more meanwhile. Invariant: the bytes behind the
//! client's request go first; no byte is lost or changed before the end. Never here: who the far
//! side is, and that it has switched before the 101 goes out (`gateway`).

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};

use super::buffers::{self, Buffers};
use super::io::{Live, Stage};

/// The far side of a tunnel.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

/// The bytes that went through a tunnel.
#[derive(Debug)]
pub(super) struct Passed {
    /// Bytes from the client.
    pub bytes_in: u64,
    /// Bytes to the client.
    pub bytes_out: u64,
    /// Whether both sides ended their direction without an error.
    pub complete: bool,
}

/// Passes bytes both ways until the tunnel ends. The sweeper ends it after `idle` without a byte.
/// `early` holds the bytes that the client sent behind its request.
pub(super) async fn pass(
    live: &Live,
    early: Option<Box<Buffers>>,
    far: Box<dyn Duplex>,
    idle: Duration,
) -> Passed {
    let (bytes_in, bytes_out) = (Cell::new(0), Cell::new(0));
    live.enter(Stage::Tunnel(u32::try_from(idle.as_secs()).unwrap_or(u32::MAX)));
    let (reader, writer) = tokio::io::split(far);
    let both = async {
        tokio::try_join!(upward(live, early, writer, &bytes_in), downward(live, reader, &bytes_out))
    };
    let complete = tokio::select! {
        biased;
        () = live.until_shut() => false,
        ended = both => ended.is_ok(),
    };
    Passed { bytes_in: bytes_in.get(), bytes_out: bytes_out.get(), complete }
}

/// Passes bytes from the client to the far side.
async fn upward(
    live: &Live,
    mut slot: Option<Box<Buffers>>,
    mut writer: WriteHalf<Box<dyn Duplex>>,
    bytes: &Cell<u64>,
) -> io::Result<()> {
    loop {
        if let Some(lent) = slot.as_deref_mut().filter(|lent| lent.filled > 0) {
            writer.write_all(&lent.inbox[..lent.filled]).await?;
            live.progress();
            bytes.set(bytes.get() + lent.filled as u64);
            lent.filled = 0;
        }
        if live.fill(&mut slot).await? == 0 {
            return writer.shutdown().await;
        }
        live.progress();
    }
}

/// Passes bytes from the far side to the client.
async fn downward(
    live: &Live,
    mut reader: ReadHalf<Box<dyn Duplex>>,
    bytes: &Cell<u64>,
) -> io::Result<()> {
    loop {
        let (lent, received) = read(&mut reader).await?;
        live.progress();
        let written = live.write_all(&lent.inbox[..received], b"").await;
        buffers::give(lent);
        written?;
        if received == 0 {
            live.shut_write();
            return Ok(());
        }
        bytes.set(bytes.get() + received as u64);
    }
}

/// Reads into a lent buffer. While there is nothing to read, it holds no buffer.
async fn read(reader: &mut ReadHalf<Box<dyn Duplex>>) -> io::Result<(Box<Buffers>, usize)> {
    poll_fn(|cx| {
        let mut lent = buffers::take();
        let mut space = ReadBuf::new(&mut lent.inbox);
        match Pin::new(&mut *reader).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) => {
                let received = space.filled().len();
                Poll::Ready(Ok((lent, received)))
            }
            Poll::Ready(Err(error)) => {
                buffers::give(lent);
                Poll::Ready(Err(error))
            }
            Poll::Pending => {
                buffers::give(lent);
                Poll::Pending
            }
        }
    })
    .await
}
