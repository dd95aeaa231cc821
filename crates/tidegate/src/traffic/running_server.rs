//! Reads the exchanges of a running server from `/tap` of its admin listener, as lines.
//!
//! The server filters, and counts what it dropped for us. A server that has gone is asked again,
//! after 0.2 to 5 seconds, until a signal; stderr tells of both.
//! Invariants: a line is handed on whole or not at all. What the server says of the view itself
//! (`{"tap":…}`) is no exchange, and is taken out. A view in which nothing arrives for ten seconds
//! has gone, for the server writes each second.
//! Refuses: a server that refuses, with its own words; TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use http1::chunked::{Decoder, Step};
use http1::framing::Length;
use http1::response;
use serde_json::Value;
use stdx::Backoff;

use crate::commands::{NO_TOKEN, NOT_THERE};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two looks whether a signal has come.
const LOOK: Duration = Duration::from_millis(200);
/// Time without a byte after which a view has gone.
const SILENT_MAX: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of a line; the server writes none of this length.
const LINE_BYTES_MAX: usize = 1 << 20;
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Which server, and what of it.
#[derive(Debug, Clone)]
pub(super) struct LiveView {
    pub address: SocketAddr,
    pub token: Option<String>,
    /// Only what this filter takes.
    pub filter: Option<String>,
    /// With the headers of requests.
    pub with_headers: bool,
    /// Nothing is told on stderr, where a full screen is drawn.
    pub is_quiet: bool,
}

/// How the server does, for whoever shows it.
#[derive(Debug, Default)]
pub(super) struct ServerProgress {
    /// What it has dropped in all views, because we did not keep up.
    pub dropped: AtomicU64,
    /// Whether it has gone, and is asked again.
    pub is_gone: AtomicBool,
}

/// The lines of a running server.
pub(super) struct LiveSource {
    view: LiveView,
    stop: Arc<AtomicBool>,
    progress: Arc<ServerProgress>,
    dropped_before: u64,
    stream: Option<Stream>,
    backoff: Backoff,
    /// Lines that are whole, and not handed on yet.
    ready: Vec<u8>,
    taken: usize,
}

/// One view.
struct Stream {
    connection: TcpStream,
    decoder: Decoder,
    /// Bytes of the coding that are not decoded.
    coded: Vec<u8>,
    /// The beginning of a line.
    partial: Vec<u8>,
    heard: Instant,
}

impl LiveSource {
    /// Opens a view.
    ///
    /// # Errors
    /// When no server is there, or it refuses.
    pub(super) fn open(view: LiveView, stop: Arc<AtomicBool>) -> Result<Self> {
        let stream = Some(Stream::open(&view)?);
        Ok(Self {
            view,
            stop,
            progress: Arc::default(),
            dropped_before: 0,
            stream,
            backoff: Backoff::new(FIRST_WAIT, LAST_WAIT, std::process::id().into()),
            ready: Vec::new(),
            taken: 0,
        })
    }

    /// How the server does.
    pub(super) fn progress(&self) -> Arc<ServerProgress> {
        Arc::clone(&self.progress)
    }

    /// Waits for the server, and opens another view; returns false if a signal came.
    fn reopen(&mut self) -> bool {
        let address = self.view.address;
        self.tell(&format!("the server at {address} has gone; it is asked again until it is back"));
        self.progress.is_gone.store(true, Ordering::Relaxed);
        self.dropped_before = self.progress.dropped.load(Ordering::Relaxed);
        loop {
            let end = Instant::now() + self.backoff.delay();
            while Instant::now() < end {
                if self.stop.load(Ordering::Relaxed) {
                    return false;
                }
                std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
            }
            if let Ok(stream) = Stream::open(&self.view) {
                self.tell(&format!("the server at {address} is back"));
                self.progress.is_gone.store(false, Ordering::Relaxed);
                self.backoff.reset();
                self.stream = Some(stream);
                return true;
            }
        }
    }

    fn tell(&self, text: &str) {
        if !self.view.is_quiet {
            crate::output::tell!("note: {text}");
        }
    }

    /// Takes the lines of a piece.
    fn take(&mut self, piece: &[u8]) {
        let Some(stream) = &mut self.stream else { return };
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            stream.partial.extend_from_slice(part);
            if !part.ends_with(b"\n") {
                continue;
            }
            match stream.partial.starts_with(b"{\"tap\":") {
                true => {
                    let counts: Value = serde_json::from_slice(&stream.partial).unwrap_or_default();
                    let dropped = counts["tap"]["dropped"].as_u64().unwrap_or(0);
                    self.progress.dropped.store(self.dropped_before + dropped, Ordering::Relaxed);
                }
                false => self.ready.extend_from_slice(&stream.partial),
            }
            stream.partial.clear();
        }
    }
}

impl Read for LiveSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.stream.as_mut().map(Stream::piece) {
                Some(Ok(piece)) => self.take(&piece),
                Some(Err(_)) | None => {
                    self.stream = None;
                    if !self.reopen() {
                        return Ok(0);
                    }
                }
            }
        }
        let count = out.len().min(self.ready.len() - self.taken);
        out[..count].copy_from_slice(&self.ready[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

impl Stream {
    fn open(view: &LiveView) -> Result<Self> {
        let address = view.address;
        let connection = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
        let connection = connection.with_context(|| format!("connect to `{address}`"));
        let mut connection = connection.context(NOT_THERE)?;
        connection.set_read_timeout(Some(LOOK)).context("set a timeout")?;
        let filter = view
            .filter
            .iter()
            .map(|filter| format!("where={}&", exchange::encode_query(filter.as_bytes())));
        let filter = filter.collect::<String>();
        let headers = u8::from(view.with_headers);
        let token = view.token.iter().map(|token| format!("authorization: Bearer {token}\r\n"));
        let token = token.collect::<String>();
        write!(
            connection,
            "GET /tap?{filter}headers={headers} HTTP/1.1\r\nhost: {address}\r\n{token}\r\n"
        )
        .with_context(|| format!("ask `{address}`"))?;
        let mut stream = Self {
            connection,
            decoder: Decoder::of_answer(),
            coded: Vec::new(),
            partial: Vec::new(),
            heard: Instant::now(),
        };
        stream.read_head().with_context(|| format!("GET /tap of `{address}`"))?;
        Ok(stream)
    }

    fn read_head(&mut self) -> Result<()> {
        loop {
            let head = response::parse(&self.coded, false);
            if let Some((head, length)) = head.map_err(|_| anyhow!("the answer is not HTTP"))? {
                self.coded.drain(..length);
                if head.status == 200 && head.framing.length != Length::Chunked {
                    return Err(anyhow!("the answer is no stream").context(NOT_THERE));
                }
                return match head.status {
                    200 => Ok(()),
                    404 | 405 => Err(anyhow!("{}", head.status).context(NOT_THERE)),
                    status => {
                        let error = anyhow!("{status}, {}", self.reason());
                        Err(if matches!(status, 401 | 403) {
                            error.context(NO_TOKEN)
                        } else {
                            error
                        })
                    }
                };
            }
            anyhow::ensure!(
                self.coded.len() < HEAD_BYTES_MAX,
                "the head of the answer is too long"
            );
            self.more()?;
        }
    }

    /// The reason of a refusal, as far as it is there.
    fn reason(&mut self) -> String {
        let _ = self.more();
        let text = String::from_utf8_lossy(&self.coded).into_owned();
        let parsed: Value = serde_json::from_str(text.trim()).unwrap_or_default();
        parsed["error"].as_str().map_or(text, str::to_owned)
    }

    /// Reads what is there; nothing if nothing came for a moment.
    fn more(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64 << 10];
        match self.connection.read(&mut bytes) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.coded.extend_from_slice(&bytes[..count]);
                self.heard = Instant::now();
                Ok(())
            }
            Err(error) if is_wait(&error) && self.heard.elapsed() < SILENT_MAX => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns what has come of the body.
    fn piece(&mut self) -> io::Result<Vec<u8>> {
        self.more()?;
        let (mut body, mut at) = (Vec::new(), 0);
        loop {
            match self.decoder.step(&self.coded[at..]) {
                Step::Data { skip, data } => {
                    body.extend_from_slice(&self.coded[at + skip..at + skip + data]);
                    at += skip + data;
                }
                Step::More { skip } => {
                    self.coded.drain(..at + skip);
                    break;
                }
                Step::Done { .. } => return Err(ErrorKind::UnexpectedEof.into()),
                Step::Malformed => return Err(ErrorKind::InvalidData.into()),
            }
        }
        if self.partial.len() + body.len() > LINE_BYTES_MAX && !body.contains(&b'\n') {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(body)
    }
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
