//! Sends a request once, by HTTP/1.1 without TLS, and says how it was answered.
//!
//! Interim answers are passed over. The body is read to its end and thrown away: by
//! `Content-Length`, else until the connection is closed, as the request asks.
//! Bounds: [`TIME_MAX`] in all, [`HEAD_BYTES_MAX`] of a head, [`BODY_BYTES_MAX`] of a body.
//! Invariant: a request is sent at most once.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use ::traffic::ReplayRequest;
use anyhow::{Context, Result, anyhow, ensure};

const TIME_MAX: Duration = Duration::from_secs(30);
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const HEAD_BYTES_MAX: usize = 64 << 10;
const BODY_BYTES_MAX: u64 = 256 << 20;

/// Sends it, and returns the status and how many microseconds it took to the last byte.
///
/// # Errors
/// When there is no connection, or no answer of HTTP in time.
pub(super) fn send(request: &ReplayRequest) -> Result<(u16, u64)> {
    let mut addresses = request.address.to_socket_addrs().context("look the address up")?;
    let address = addresses.next().context("the name has no address")?;
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIME_MAX).context("connect")?;
    stream.set_write_timeout(Some(TIME_MAX)).context("set a timeout")?;
    stream.write_all(&request.bytes).context("send")?;
    let mut answer = ReplayAnswer { stream, began, buffer: Vec::new() };
    let mut head = answer.head()?;
    while (100..200).contains(&head.status) && head.status != 101 {
        head = answer.head()?;
    }
    let has_body = request.method != "HEAD" && !matches!(head.status, 101 | 204 | 304);
    if has_body {
        answer.body(head.length)?;
    }
    Ok((head.status, u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)))
}

struct ReplyHead {
    status: u16,
    /// Nothing if the body ends with the connection.
    length: Option<u64>,
}

struct ReplayAnswer {
    stream: TcpStream,
    began: Instant,
    /// What was received and not yet used.
    buffer: Vec<u8>,
}

impl ReplayAnswer {
    fn head(&mut self) -> Result<ReplyHead> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            ensure!(self.buffer.len() <= HEAD_BYTES_MAX, "the head of the answer is too long");
            ensure!(self.receive()? > 0, "the connection was closed before there was an answer");
        };
        let head: Vec<u8> = self.buffer.drain(..end).collect();
        let head = String::from_utf8_lossy(&head);
        let mut lines = head.lines();
        let status =
            lines.next().and_then(|line| line.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok());
        let status = status.ok_or_else(|| anyhow!("the answer is not of HTTP/1"))?;
        let length = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())
        });
        Ok(ReplyHead { status, length: length.flatten() })
    }

    fn body(&mut self, length: Option<u64>) -> Result<()> {
        let mut seen = self.buffer.len() as u64;
        while length.is_none_or(|length| seen < length) {
            ensure!(seen <= BODY_BYTES_MAX, "the answer is too long");
            self.buffer.clear();
            match self.receive()? {
                0 if length.is_some() => return Err(anyhow!("the answer broke off")),
                0 => return Ok(()),
                received => seen += received as u64,
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<usize> {
        let left = TIME_MAX.saturating_sub(self.began.elapsed());
        ensure!(!left.is_zero(), "no whole answer in {} s", TIME_MAX.as_secs());
        self.stream.set_read_timeout(Some(left)).context("set a timeout")?;
        let mut piece = [0; 16 << 10];
        let received = match self.stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(anyhow!("no whole answer in {} s", TIME_MAX.as_secs()));
            }
            received => received.context("receive")?,
        };
        self.buffer.extend_from_slice(&piece[..received]);
        Ok(received)
    }
}

#[cfg(test)]
mod tests;
