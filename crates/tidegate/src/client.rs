//! Sends HTTP requests to the listeners of this program, blocking, over plain connections.
//!
//! The demo's readers, the admin commands and `events status` use it. `NotListening` tells a server
//! that is not there from one that fails.
//! Invariant: connecting, the answer's head and its body may take 10 s each; more is an error. So
//! is a body over 64 MiB. Sending has no bound of time, and GET, HEAD and DELETE send no body. Any
//! status is an answer and no error.
//! Refuses: TLS, redirects and proxies. What goes to upstreams is `gateway::upstream`, and what
//! measures is `load`.

use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, io};

use anyhow::{Context, Result};
use ureq::Agent;
use ureq::config::AutoHeaderValue;
use ureq::http::Request;

const TIMEOUT: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A client of one listener, whose connection is kept between requests.
pub(crate) struct Client {
    agent: Agent,
    address: SocketAddr,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientRequest<'c> {
    pub method: &'c str,
    /// Path and query.
    pub target: &'c str,
    /// Names and values of fields.
    pub fields: &'c [(&'static str, String)],
    pub body: &'c [u8],
}

/// What came back.
#[derive(Debug)]
pub(crate) struct ClientReply {
    pub status: u16,
    pub body: Vec<u8>,
    fields: ureq::http::HeaderMap,
}

/// Nothing listens at the address.
#[derive(Debug)]
pub(crate) struct NotListening {
    address: SocketAddr,
    source: io::Error,
}

impl fmt::Display for NotListening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connect to `{}`", self.address)
    }
}

impl std::error::Error for NotListening {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Client {
    /// A client of the listener at `address`; connects with the first call.
    pub(crate) fn new(address: SocketAddr) -> Self {
        let config = Agent::config_builder()
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .timeout_recv_body(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(AutoHeaderValue::None)
            .accept(AutoHeaderValue::None)
            .accept_encoding(AutoHeaderValue::None);
        Self { agent: config.build().into(), address }
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`NotListening`] when nothing listens there; another when the connection breaks, or the
    /// answer is not HTTP or comes too late.
    pub(crate) fn send(&self, call: ClientRequest<'_>) -> Result<ClientReply> {
        let ClientRequest { method, target, fields, body } = call;
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{target}", self.address));
        for (name, value) in fields {
            request = request.header(*name, value);
        }
        let answer = match method {
            "GET" | "HEAD" | "DELETE" => self.agent.run(request.body(())?),
            _ => self.agent.run(request.body(body)?),
        };
        let mut answer = answer.map_err(|error| self.failed(call, error))?;
        let body = answer.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_vec();
        let body = body.with_context(|| format!("{method} {target}: read the answer"))?;
        let fields = std::mem::take(answer.headers_mut());
        Ok(ClientReply { status: answer.status().as_u16(), body, fields })
    }

    fn failed(&self, call: ClientRequest<'_>, error: ureq::Error) -> anyhow::Error {
        let address = self.address;
        match error {
            ureq::Error::Io(source) if source.kind() == io::ErrorKind::ConnectionRefused => {
                NotListening { address, source }.into()
            }
            ureq::Error::Timeout(ureq::Timeout::Connect) => {
                NotListening { address, source: io::ErrorKind::TimedOut.into() }.into()
            }
            error => anyhow::Error::new(error).context(format!("{} {}", call.method, call.target)),
        }
    }
}

impl ClientReply {
    /// The value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }
}
