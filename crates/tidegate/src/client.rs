//! A small blocking HTTP client for loopback: the demo's readers and the admin commands.
//!
//! Knows `Content-Length` only, which is all that our own listeners send to it. Never here: what
//! goes to upstreams (`gateway::upstream`) or measures anything (`load`).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

const TIMEOUT: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: usize = 64 << 20;

/// A connection that is kept between requests.
pub(crate) struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The status.
    pub status: u16,
    /// Fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nothing listens there.
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)
            .with_context(|| format!("connect to `{address}`"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { address, stream: BufReader::new(stream) })
    }

    /// Sends a request and reads the whole answer; `fields` are rendered lines ended by CRLF.
    ///
    /// # Errors
    /// When the connection breaks or the answer is not HTTP.
    pub(crate) fn send(
        &mut self,
        method: &str,
        target: &str,
        fields: &str,
        body: &[u8],
    ) -> Result<Reply> {
        let host = self.address;
        let mut request = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n{fields}");
        if !body.is_empty() || method == "POST" {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.get_mut().write_all(&bytes).context("send the request")?;
        self.receive().with_context(|| format!("{method} {target}"))
    }

    fn receive(&mut self) -> Result<Reply> {
        let mut line = String::new();
        self.stream.read_line(&mut line).context("read the answer")?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let Some(status) = status else { bail!("the answer is not HTTP") };
        let mut fields = Vec::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).context("read the answer's head")?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = fields.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(Ok(0), |(_, value)| value.parse::<usize>());
        let length = length.context("read the answer's length")?;
        anyhow::ensure!(length <= BODY_BYTES_MAX, "the answer is too long: {length} bytes");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).context("read the answer's body")?;
        Ok(Reply { status, fields, body })
    }
}

impl Reply {
    /// The value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
