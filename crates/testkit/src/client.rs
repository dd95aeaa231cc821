//! A blocking HTTP/1.1 client that can also send what no client should.
//!
//! `send` panics with the address and the reason, since a test can do nothing else; `try_send`
//! returns the error for tests that expect one. Invariant: reads end after [`FIXTURE_TIMEOUT`].
//! Refuses: redirects, pools and retries.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::FIXTURE_TIMEOUT;
use crate::message::{Framing, Headers, framing, read_body, read_head};

/// One connection, kept alive until it is dropped.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

/// A request under construction.
#[derive(Debug)]
pub struct Call<'a> {
    over: Over<'a>,
    method: String,
    target: String,
    headers: Headers,
    body: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Over<'a> {
    Fresh(SocketAddr),
    Open(&'a mut Client),
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Headers,
    pub body: Vec<u8>,
}

impl Client {
    /// Returns a `GET` over a connection of its own.
    pub fn get(address: SocketAddr, target: &str) -> Call<'static> {
        Client::call(address, "GET", target)
    }

    /// Returns a `POST` over a connection of its own.
    pub fn post(address: SocketAddr, target: &str, body: impl Into<Vec<u8>>) -> Call<'static> {
        Client::call(address, "POST", target).body(body)
    }

    /// Returns a request of any method over a connection of its own.
    pub fn call(address: SocketAddr, method: &str, target: &str) -> Call<'static> {
        Call::new(Over::Fresh(address), method, target)
    }

    /// Opens a connection to be kept.
    ///
    /// # Errors
    /// Nobody listens at the address.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&address, FIXTURE_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(FIXTURE_TIMEOUT))?;
        stream.set_write_timeout(Some(FIXTURE_TIMEOUT))?;
        Client::over(stream)
    }

    /// Returns a client over a connection of the caller's making, with the caller's timeouts.
    ///
    /// # Errors
    /// The connection has no peer.
    pub fn over(stream: TcpStream) -> io::Result<Client> {
        Ok(Client { address: stream.peer_addr()?, stream: BufReader::new(stream) })
    }

    /// Returns a request over this connection.
    pub fn request(&mut self, method: &str, target: &str) -> Call<'_> {
        Call::new(Over::Open(self), method, target)
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The peer has closed, or takes nothing for [`FIXTURE_TIMEOUT`].
    pub fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one answer to a request that was sent raw; `method` tells whether it has a body.
    ///
    /// # Errors
    /// The peer closed before the end of the answer, or did not speak HTTP.
    pub fn read_reply(&mut self, method: &str) -> io::Result<Reply> {
        loop {
            let head = read_head(&mut self.stream)?;
            let head = head.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
            let status = head.start.split(' ').nth(1).and_then(|word| word.parse().ok());
            let status: u16 = status.ok_or_else(|| {
                let text = format!("not a status line: `{}`", head.start);
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?;
            if matches!(status, 100..=199) {
                continue;
            }
            let bodiless = method == "HEAD" || matches!(status, 204 | 304);
            let framing = match framing(&head.headers, Framing::UntilClose)? {
                _ if bodiless => Framing::None,
                framing => framing,
            };
            let body = read_body(&mut self.stream, &framing)?;
            return Ok(Reply { status, headers: head.headers, body });
        }
    }

    /// Reads everything up to the peer's close.
    ///
    /// # Errors
    /// The peer does not close within [`FIXTURE_TIMEOUT`].
    pub fn read_to_close(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Says that nothing more will be sent; answers can still be read.
    ///
    /// # Errors
    /// The peer has closed already.
    pub fn finish_sending(&mut self) -> io::Result<()> {
        self.stream.get_ref().shutdown(Shutdown::Write)
    }
}

impl<'a> Call<'a> {
    fn new(over: Over<'a>, method: &str, target: &str) -> Call<'a> {
        let (method, target) = (method.to_owned(), target.to_owned());
        Call { over, method, target, headers: Headers::default(), body: None }
    }

    /// Adds a header line; `Host` and `Content-Length` are sent of themselves unless given.
    pub fn header(mut self, name: &str, value: &str) -> Call<'a> {
        self.headers.0.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Call<'a> {
        self.body = Some(body.into());
        self
    }

    /// Sends the request and returns the whole answer; panics on any error.
    pub fn send(self) -> Reply {
        let what = format!("{} {}", self.method, self.target);
        match self.try_send() {
            Ok(reply) => reply,
            Err(error) => panic!("`{what}` got no answer: {error}"),
        }
    }

    /// Sends the request and returns the whole answer.
    ///
    /// # Errors
    /// Nobody listens, or the peer closed before the end of the answer.
    pub fn try_send(self) -> io::Result<Reply> {
        let mut fresh;
        let address = match &self.over {
            Over::Fresh(address) => *address,
            Over::Open(client) => client.address,
        };
        let message = self.message(address);
        let client = match self.over {
            Over::Fresh(address) => {
                fresh = Client::connect(address)?;
                &mut fresh
            }
            Over::Open(client) => client,
        };
        client.write_raw(&message)?;
        client.read_reply(&self.method)
    }

    fn message(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if self.headers.get("host").is_none() {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in &self.headers.0 {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let framed = ["content-length", "transfer-encoding"];
        let framed = framed.iter().any(|name| self.headers.get(name).is_some());
        if let (Some(body), false) = (&self.body, framed) {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut message = head.into_bytes();
        message.extend_from_slice(self.body.as_deref().unwrap_or_default());
        message
    }
}

impl Reply {
    /// Returns the value of the first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Returns the body as text; panics when it is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }
}

#[cfg(test)]
mod tests;
