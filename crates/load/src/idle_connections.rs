//! Opens connections that are then left without traffic, to see what an idle client costs.
//!
//! Invariant: each has made one request and read its whole reply, of any status. So the server has
//! done for it what it does for a connection in use. The first that fails makes `open` fail, and
//! closes those before it.
//! `alive` counts those that the server has neither closed nor sent more bytes to. It takes a byte
//! to see that, so the next look may count such a connection again.
//! `open` blocks, one connection after the other. It asks a source for `next` alone: `done` and
//! `pulse` are not called. Refuses: to open again what the server closes.

use std::io::{self, Read, Write};
use std::time::Duration;

use socket2::Socket;

use crate::reply::ReplyReader;
use crate::{LoadError, Requests, Target};

/// Idle keep-alive connections; dropping it closes them.
#[derive(Debug)]
pub struct IdleConnections {
    sockets: Vec<Socket>,
}

impl IdleConnections {
    /// Opens `count` connections and makes one request on each, so that the server has done for
    /// them whatever it does for a connection in use.
    ///
    /// # Errors
    /// The first connection that could not be opened, or whose server was silent for `timeout`.
    pub fn open<R: Requests + ?Sized>(
        target: &Target,
        count: usize,
        timeout: Duration,
        requests: &mut R,
    ) -> Result<Self, LoadError> {
        let mut sockets = Vec::with_capacity(count);
        for _ in 0..count {
            let socket = target
                .connect(timeout)
                .and_then(|socket| exchange(&socket, timeout, requests).map(|()| socket))
                .map_err(|source| LoadError::Connect { target: target.to_string(), source })?;
            sockets.push(socket);
        }
        Ok(Self { sockets })
    }

    /// How many of the connections the server has not closed.
    pub fn alive(&self) -> usize {
        self.sockets.iter().filter(|socket| is_open(socket)).count()
    }
}

fn exchange<R: Requests + ?Sized>(
    mut socket: &Socket,
    timeout: Duration,
    requests: &mut R,
) -> io::Result<()> {
    socket.set_read_timeout(Some(timeout))?;
    let mut bytes = Vec::new();
    let ask = requests.next(&mut bytes);
    socket.write_all(&bytes)?;
    let mut reader = ReplyReader::default();
    let mut buffer = [0; 16 << 10];
    loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match reader.feed(&buffer[..read], ask) {
            Ok((_, false)) => {}
            Ok((_, true)) => break,
            Err(_) => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    socket.set_nonblocking(true)
}

fn is_open(mut socket: &Socket) -> bool {
    let mut byte = [0];
    matches!(socket.read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}
