//! The origin of the siege: it believes whatever a request says, and answers as the target asks.
//!
//! It stands for the careless servers behind real gateways. It reads `X_User` as `X-User`, and
//! obeys headers that override a request. It decodes and folds paths, and answers endlessly if
//! asked to.
//! Invariant: what it believed stands in the body (`expected`), so a stored answer shows who made
//! it. Never here: whether an answer is right.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::expected::{body, number, receipt};

/// What attackers write where an origin should not see it.
pub(super) const MARK: &str = "evil";
const BODY_BYTES_MAX: u64 = 32 << 20;
const LINE_BYTES_MAX: u64 = 1 << 17;
const ENDLESS_PIECE: [u8; 16 << 10] = [b'e'; 16 << 10];

/// A running origin.
#[derive(Debug)]
pub(super) struct Careless {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Where a looped request goes again.
    gateway: SocketAddr,
    stopped: AtomicBool,
    crumbs: AtomicU64,
    opened: AtomicU64,
    open: Mutex<HashMap<u64, TcpStream>>,
}

struct Request {
    head: String,
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Careless {
    /// Starts it; looped requests go to `gateway`.
    ///
    /// # Errors
    /// When no port is free.
    pub(super) fn start(gateway: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            gateway,
            stopped: AtomicBool::new(false),
            crumbs: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            open: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &for_thread));
        Ok(Self { address, shared })
    }

    /// Closes its connections; new ones are served as before.
    pub(super) fn close_connections(&self) {
        for stream in self.shared.open().values() {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

impl Drop for Careless {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        self.close_connections();
    }
}

impl Shared {
    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Request {
    fn field(&self, name: &str) -> Option<&str> {
        let same = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.fields.iter().find(same).map(|(_, value)| value.as_str())
    }

    fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.field("cookie")?.split(';');
        let named = |cookie: &str| cookie.trim().split_once('=').is_some_and(|it| it.0 == name);
        cookies.into_iter().find(|cookie| named(cookie))?.trim().split_once('=').map(|it| it.1)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.stopped.load(Ordering::Relaxed) {
            return;
        }
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            let id = shared.opened.fetch_add(1, Ordering::Relaxed);
            if let Ok(second) = stream.try_clone() {
                shared.open().insert(id, second);
            }
            // A gateway that closes a connection is within its rights.
            drop(converse(&stream, &shared));
            drop(stream.shutdown(Shutdown::Both));
            shared.open().remove(&id);
        });
    }
}

fn converse(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut writer = stream;
    while let Some(request) = read(&mut reader)? {
        if request.field("upgrade").is_some() {
            return echo(&mut reader, writer);
        }
        let pause = number(&request.target, "slow=").unwrap_or(0).min(20_000);
        thread::sleep(Duration::from_millis(pause as u64));
        if request.target.contains("loop") {
            let reply = again(&request, shared.gateway)?;
            writer.write_all(&reply)?;
            return Ok(());
        }
        let (status, mut fields, content) = answer(&request, shared);
        if request.target.contains("endless") {
            let head = format!("HTTP/1.1 200 OK\r\n{fields}Transfer-Encoding: chunked\r\n\r\n");
            writer.write_all(head.as_bytes())?;
            loop {
                write!(writer, "{:x}\r\n", ENDLESS_PIECE.len())?;
                writer.write_all(&ENDLESS_PIECE)?;
                writer.write_all(b"\r\n")?;
            }
        }
        if status != 304 {
            fields += &format!("Content-Length: {}\r\n", content.len());
        }
        let mut message = format!("HTTP/1.1 {status} Said\r\n{fields}\r\n").into_bytes();
        if request.method != "HEAD" && status != 304 {
            message.extend_from_slice(&content);
        }
        writer.write_all(&message)?;
    }
    Ok(())
}

/// Agrees to the upgrade, and sends back whatever comes.
fn echo(reader: &mut impl BufRead, mut writer: &TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n";
    writer.write_all(format!("{head}\r\n").as_bytes())?;
    let mut piece = vec![0; 16 << 10];
    loop {
        let count = reader.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        writer.write_all(&piece[..count])?;
    }
}

/// Sends a request to the gateway again, as a proxy that leads back would.
fn again(request: &Request, gateway: SocketAddr) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(gateway)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(request.head.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut reply = Vec::new();
    stream.take(1 << 20).read_to_end(&mut reply)?;
    Ok(reply)
}

/// Status, header lines and body.
fn answer(request: &Request, shared: &Shared) -> (u16, String, Vec<u8>) {
    let target = request.target.as_str();
    let mut fields = String::new();
    if target.contains("crumb") {
        fields += "Cache-Control: max-age=0\r\nETag: \"crumb\"\r\n";
        if request.field("if-none-match").is_some() {
            let crumb = shared.crumbs.fetch_add(1, Ordering::Relaxed);
            fields += &format!("Set-Cookie: leak={crumb}\r\n");
            return (304, fields, Vec::new());
        }
    }
    if target.contains("cookie") {
        let crumb = shared.crumbs.fetch_add(1, Ordering::Relaxed);
        fields += &format!("Set-Cookie: leak={crumb}\r\nCache-Control: max-age=0, private\r\n");
    }
    if target.contains("elsewhere") {
        fields += &format!("Location: {}\r\n", request.field("x-where").unwrap_or("/d/key/0"));
    }
    fields += odd(number(target, "odd=").unwrap_or(0));
    if matches!(request.method.as_str(), "POST" | "PUT" | "DELETE" | "PATCH") {
        return (200, fields, receipt(target, &request.body).into_bytes());
    }
    let status = if target.contains("broken") { 500 } else { 200 };
    (status, fields, body(target, &user(request), &belief(request)))
}

/// For whom it takes the request to be.
fn user(request: &Request) -> String {
    let decoded = request.target.replace("%6d", "m").replace("%6D", "m").to_ascii_lowercase();
    let is_personal = decoded.trim_start_matches('/').starts_with("me");
    let is_personalised = request.field("tidegate-decision") == Some("personalised");
    let id = if is_personalised { request.cookie("user") } else { None };
    let session = if is_personal || is_personalised { request.cookie("session") } else { None };
    match (id, session) {
        (None, None) => "everybody".to_owned(),
        (Some(id), None) => id.trim_matches('"').to_owned(),
        (id, Some(session)) => format!("{} in session {session}", id.unwrap_or("somebody")),
    }
}

/// What headers that nobody vouches for made it believe: CGI reads `_` and `-` as one.
fn belief(request: &Request) -> String {
    let marked = request.fields.iter().filter(|(_, value)| value.contains(MARK));
    let mut names: Vec<String> = marked.map(|(name, _)| name.replace('_', "-")).collect();
    let scheme = request.field("x-forwarded-proto").unwrap_or("http");
    if scheme != "http" {
        names.push(format!("scheme {scheme}"));
    }
    names.join(" ")
}

/// Headers that a good origin does not send.
fn odd(kind: usize) -> &'static str {
    match kind {
        1 => "X-Folded: a\r\n b\r\n",
        2 => "Transfer-Encoding: chunked\r\n",
        3 => "Content-Length: 5\r\nContent-Length: 6\r\n",
        4 => "X-Control: a\u{1}b\r\n",
        5 => "No colon here\r\n",
        6 => "Connection: close, content-length\r\n",
        7 => "Cache-Control: max-age=99999999999999999999\r\nAge: -5\r\nVary: *\r\n",
        _ => "",
    }
}

/// Reads a request; `None` when the gateway closed the connection.
fn read(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut head = line(from)?;
    if head.is_empty() {
        return Ok(None);
    }
    let mut words = head.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut fields = Vec::new();
    loop {
        let text = line(from)?;
        head += &text;
        if text.trim_end().is_empty() {
            break;
        }
        let (name, value) = text.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { head, method, target, fields, body: Vec::new() };
    let length = request.field("content-length").and_then(|length| length.parse::<u64>().ok());
    let length = length.unwrap_or(0).min(BODY_BYTES_MAX);
    let read = from.take(length).read_to_end(&mut request.body)? as u64;
    if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(Some(request)) }
}

/// A line with its line break; empty at the end of the stream.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}
