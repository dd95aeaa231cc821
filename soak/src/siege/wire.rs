//! Connections from an address of one's own, and the bytes of plain requests.
//!
//! Invariant: on Linux all of 127.0.0.0/8 is loopback, so each client here is one by its address.
//! Never here: what is asked, and whether an answer is right.

use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

/// The host that every request names.
pub(super) const HOST: &str = "siege.test";

/// How a connection is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dial {
    /// The client's address.
    pub from: Ipv4Addr,
    /// The gateway's.
    pub to: SocketAddr,
    /// Longest wait for a byte, either way.
    pub timeout: Duration,
    /// Bytes that the kernel takes in before the client reads; `None` is its default.
    pub receive_bytes: Option<usize>,
}

impl Dial {
    /// Opens a connection.
    ///
    /// # Errors
    /// When nobody listens, or this process has no descriptors left.
    pub(super) fn open(&self) -> io::Result<TcpStream> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // Thousands of short connections come from one address: their ports are taken again.
        set_socket_reuseaddr(&socket, true)?;
        if let Some(bytes) = self.receive_bytes {
            set_socket_recv_buffer_size(&socket, bytes)?;
        }
        bind(&socket, &SocketAddrV4::new(self.from, 0))?;
        connect(&socket, &self.to)?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        Ok(stream)
    }
}

/// A request without a body; each line of `fields` ends in CRLF.
pub(super) fn head(method: &str, target: &str, fields: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n").into_bytes()
}

/// A request with a body.
pub(super) fn message(method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n", body.len());
    [head(method, target, &length), body.to_vec()].concat()
}

/// What a connection that was left alone has to say, without waiting: a status, or how it stands.
pub(super) fn glance(stream: &mut TcpStream) -> String {
    let mut start = [0; 16];
    let read = stream.set_nonblocking(true).and_then(|()| stream.read(&mut start));
    match read {
        Ok(0) => "closed".to_owned(),
        Ok(count) => {
            let text = String::from_utf8_lossy(&start[..count]).into_owned();
            let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
            status.unwrap_or("the middle of an answer").to_owned()
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => "nothing yet".to_owned(),
        Err(error) => word(&error),
    }
}

/// An error in a word or two, for counts.
pub(super) fn word(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "closed".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "reset".to_owned(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "silence".to_owned(),
        ErrorKind::InvalidData => "no http".to_owned(),
        _ => error.to_string(),
    }
}
