//! Wraps the socket of a connection to a server (TCP) or to a worker on this machine (Unix).
//!
//! Invariant: its methods behave alike for both, so only those that connect know which of the two
//! it is. `try_…` methods never wait. Never here: HTTP, timeouts, TLS, connecting to servers
//! (`servers`).

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A stream to a server or a worker.
#[derive(Debug)]
pub(super) enum UpstreamStream {
    /// To a server.
    Tcp(TcpStream),
    /// To a worker.
    Unix(UnixStream),
}

impl UpstreamStream {
    /// Connects to a worker's socket.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(super) async fn to_worker(socket: &Path) -> io::Result<Self> {
        UnixStream::connect(socket).await.map(Self::Unix)
    }

    /// Reads the bytes that have arrived, without waiting.
    pub(super) fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read(space),
            Self::Unix(stream) => stream.try_read(space),
        }
    }

    /// Writes as many bytes as the socket takes, without waiting.
    pub(super) fn try_write_vectored(&self, slices: &[io::IoSlice<'_>; 2]) -> io::Result<usize> {
        match (self, slices[1].is_empty()) {
            (Self::Tcp(stream), true) => stream.try_write(&slices[0]),
            (Self::Tcp(stream), false) => stream.try_write_vectored(slices),
            (Self::Unix(stream), true) => stream.try_write(&slices[0]),
            (Self::Unix(stream), false) => stream.try_write_vectored(slices),
        }
    }

    /// Whether a worker has yet to read some of the bytes that were written. Of a server nobody
    /// knows: its kernel reads in its place.
    pub(super) fn is_unread(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            Self::Unix(stream) => stdx::unacknowledged(stream.as_fd()).is_some_and(|left| left > 0),
        }
    }

    /// Waits until the socket may be readable.
    pub(super) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    /// Waits until the socket may be writable.
    pub(super) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            Self::Unix(stream) => stream.poll_write_ready(cx),
        }
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, space),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, space),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
