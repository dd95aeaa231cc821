//! Defines the trait by which requests are rendered and their outcomes seen, and the sources that
//! are ready-made.
//!
//! `Requests` is the trait; `lab` (`load_test/recorder.rs`) and rows of `bench` implement it. `Ask`
//! says what a reply should be. `RequestOutcome`, `LostRequest` and `Pulse` are what a source is
//! told. `lab` relies on the order: `pulse` at the start, then `next` or `skip` for each intended
//! time.
//! A `Template` is made of a `Request`. The `Request` adds `Host`, and `Content-Length` where there
//! is a body or the method is POST; other headers are the caller's. A `Mix` interleaves templates
//! by weight, and its tickets are their places; `counter` makes numbers for holes.
//! Invariant: a template never changes its length. It is rendered once; per request only its holes
//! are filled, with as many digits as the marker has. Higher digits are cut off.
//! A hole whose marker does not occur panics, because every request would then silently be the
//! same. So does a mix without templates.
//! Never here: when a request is sent (`event_loop`), and how outcomes are counted (`report`).

use std::fmt::Write as _;

use crate::Errors;

/// What to expect of a reply, and what to do with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ask {
    /// Given back with the outcome.
    pub ticket: u64,
    /// The request is a HEAD, its reply has no body whatever its headers say.
    pub head: bool,
    /// Keep head and body of the reply for `Requests::done`.
    pub keep: bool,
    /// Another status counts as a mismatch.
    pub status: Option<u16>,
    /// A body of another number of bytes counts as a mismatch.
    pub bytes: Option<u64>,
}

/// When things happened to a request, in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// It was meant to be sent.
    pub intended_ns: u64,
    /// It was sent.
    pub sent_ns: u64,
    /// Its reply was complete, or it was given up.
    pub ended_ns: u64,
}

/// A complete reply.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedReply<'a> {
    /// The status code.
    pub status: u16,
    /// Microseconds from the intended time to the end of the reply.
    pub latency_us: u64,
    /// When it was meant to be asked for, was asked for, and ended.
    pub times: RequestTimes,
    /// Bytes of its body, chunk framing not counted.
    pub body_bytes: u64,
    /// Status line and headers; empty unless `Ask::keep`.
    pub head: &'a [u8],
    /// The body without chunk framing; empty unless `Ask::keep`.
    pub body: &'a [u8],
}

/// What became of a request.
#[derive(Debug, Clone, Copy)]
pub enum RequestOutcome<'a> {
    /// The reply arrived whole.
    Reply(ReceivedReply<'a>),
    /// It did not.
    Failed(LostRequest),
}

/// A request that got no complete reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostRequest {
    /// Why not.
    pub loss: Loss,
    /// When it was meant to be sent, was sent, and was given up.
    pub times: RequestTimes,
}

/// Why a request got no complete reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Its connection ended before the reply did.
    Closed,
    /// The reply was not complete within the plan's time-out.
    Timeout,
    /// It was answered by something that is not HTTP/1.
    Malformed,
    /// More came on its connection than was asked for, so that no reply there is surely its own.
    Unasked,
    /// The run was cancelled, and the reply did not come soon after.
    Cut,
}

impl Loss {
    /// What it is to the requests behind, which were neither late nor wrong.
    pub(crate) fn behind(self) -> Self {
        match self {
            Self::Timeout | Self::Malformed => Self::Closed,
            other => other,
        }
    }
}

/// How a run goes, told about ten times a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Nanoseconds since the start of the run.
    pub now_ns: u64,
    /// Requests sent and not answered.
    pub in_flight: usize,
    /// Intended requests that wait for a connection.
    pub backlog: usize,
    /// Open connections.
    pub connections: usize,
    /// For so long no connection was open, one was wanted, and every attempt to open one failed.
    pub refused_ns: u64,
    /// What went wrong so far, warm-up excluded.
    pub errors: Errors,
}

/// A source of requests that also sees what becomes of them.
pub trait Requests {
    /// Appends the bytes of the next request to `out`, and says what its reply should be.
    fn next(&mut self, out: &mut Vec<u8>) -> Ask;

    /// Called once per request sent, warm-up included.
    fn done(&mut self, ticket: u64, outcome: RequestOutcome<'_>) {
        let _ = (ticket, outcome);
    }

    /// Called instead of `next` for a request that is given up before it was sent. It was meant to
    /// be sent so many nanoseconds after the start of the run.
    fn skip(&mut self, intended_ns: u64) {
        let _ = intended_ns;
    }

    /// Called at the start of the run, and then about every 100 ms while it goes.
    fn pulse(&mut self, pulse: &Pulse) {
        let _ = pulse;
    }
}

/// A request being written down; becomes a [`Template`].
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    path: String,
    headers: String,
    host: String,
    body: Vec<u8>,
    ask: Ask,
}

impl Request {
    /// Starts a request with any method.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: String::new(),
            host: "localhost".to_owned(),
            body: Vec::new(),
            ask: Ask { head: method == "HEAD", ..Ask::default() },
        }
    }

    /// Starts a GET.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// Starts a POST of JSON.
    pub fn post_json(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", path).header("Content-Type", "application/json").body(body)
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the `Host` header.
    pub fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        write!(self.headers, "{name}: {value}\r\n").expect("writing to a string cannot fail");
        self
    }

    /// Counts every other status as a mismatch.
    pub fn expect_status(mut self, status: u16) -> Self {
        self.ask.status = Some(status);
        self
    }

    /// Counts every other number of body bytes as a mismatch.
    pub fn expect_bytes(mut self, bytes: u64) -> Self {
        self.ask.bytes = Some(bytes);
        self
    }

    /// Returns what its reply should be.
    pub fn ask(&self) -> Ask {
        self.ask
    }

    /// Renders the request.
    pub fn template(self) -> Template {
        let length = match self.body.len() {
            0 if self.method != "POST" => String::new(),
            n => format!("Content-Length: {n}\r\n"),
        };
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n{}{length}\r\n",
            self.method, self.path, self.host, self.headers
        )
        .into_bytes();
        bytes.extend_from_slice(&self.body);
        Template { bytes, holes: Vec::new(), ask: self.ask }
    }
}

/// A rendered request with holes for numbers.
pub struct Template {
    bytes: Vec<u8>,
    holes: Vec<Hole>,
    ask: Ask,
}

struct Hole {
    at: usize,
    width: usize,
    number: Box<dyn FnMut() -> u64 + Send>,
}

impl Template {
    /// Makes a hole where `marker` first occurs, and fills it for each request with the next
    /// `number`. It has as many decimal digits as the marker is long, with leading zeros.
    ///
    /// # Panics
    /// When the marker does not occur in the request.
    pub fn hole(mut self, marker: &str, number: impl FnMut() -> u64 + Send + 'static) -> Self {
        let at = memchr::memmem::find(&self.bytes, marker.as_bytes());
        let at = at.expect("the marker of a hole occurs in the request");
        self.holes.push(Hole { at, width: marker.len(), number: Box::new(number) });
        self
    }

    /// The bytes as rendered, holes as last filled.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Requests for Template {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        for hole in &mut self.holes {
            let mut number = (hole.number)();
            for digit in self.bytes[hole.at..hole.at + hole.width].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        out.extend_from_slice(&self.bytes);
        self.ask
    }
}

/// Several templates, each taken as often as its weight says, evenly interleaved.
///
/// The order is the smooth weighted round-robin of nginx: for weights 2 and 1 it is a b a.
pub struct Mix {
    parts: Vec<WeightedTemplate>,
    weight_total: i64,
}

struct WeightedTemplate {
    weight: i64,
    credit: i64,
    template: Template,
}

impl Mix {
    /// Returns a mix of weighted templates; the ticket of a request is its template's index.
    ///
    /// # Panics
    /// When there is no template.
    pub fn new(parts: impl IntoIterator<Item = (u32, Template)>) -> Self {
        let parts: Vec<WeightedTemplate> = parts
            .into_iter()
            .map(|(weight, template)| WeightedTemplate {
                weight: i64::from(weight),
                credit: 0,
                template,
            })
            .collect();
        assert!(!parts.is_empty(), "a mix has at least one template");
        let weight_total = parts.iter().map(|part| part.weight).sum();
        Self { parts, weight_total }
    }
}

impl Requests for Mix {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        let mut best = 0;
        for index in 0..self.parts.len() {
            self.parts[index].credit += self.parts[index].weight;
            if self.parts[index].credit > self.parts[best].credit {
                best = index;
            }
        }
        let part = &mut self.parts[best];
        part.credit -= self.weight_total;
        Ask { ticket: best as u64, ..part.template.next(out) }
    }
}

/// Returns a source of numbers for holes: `first`, `first + 1`, … `count` of them, then again.
pub fn counter(first: u64, count: u64) -> impl FnMut() -> u64 + Send + 'static {
    let mut taken = 0;
    move || {
        let number = first + taken;
        taken = (taken + 1) % count.max(1);
        number
    }
}

#[cfg(test)]
mod tests;
