//! The origin: two servers that tell one history, rightly or with a fault.
//!
//! It also watches what reaches it: a request that no client sent, or a POST that comes twice, is
//! as wrong as a wrong body.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::dice::{Dice, hash};
use crate::fact::{FIELD, Fact};
use crate::fault::{Answer, Fault};
use crate::history::{History, Representation, Sharing};
use crate::tally::Tally;

const BODY_BYTES_MAX: u64 = 1 << 20;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What is true.
    pub history: Arc<History>,
    /// What happened.
    pub tally: Arc<Tally>,
    /// Share of answers with a fault, percent; 0 when the origin is well.
    pub faults_percent: AtomicU64,
    seed: u64,
    requests: AtomicU64,
    posts: Mutex<HashSet<u64>>,
    stopped: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

/// A running origin.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Its servers.
    pub addresses: Vec<SocketAddr>,
    /// What they share.
    pub shared: Arc<Shared>,
}

/// A request as it arrived.
#[derive(Debug)]
struct Request {
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// Host, path and query.
    fn url(&self) -> String {
        format!("{}{}", self.field("host").unwrap_or(""), self.target)
    }

    fn field(&self, name: &str) -> Option<&str> {
        let same = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.fields.iter().find(same).map(|(_, value)| value.as_str())
    }
}

impl Origin {
    /// Starts it.
    ///
    /// # Errors
    /// When no port is free.
    pub(crate) fn start(seed: u64, history: Arc<History>, tally: Arc<Tally>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            history,
            tally,
            seed,
            faults_percent: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            posts: Mutex::default(),
            stopped: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let mut addresses = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            addresses.push(listener.local_addr()?);
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&listener, &shared));
        }
        Ok(Self { addresses, shared })
    }

    /// Closes every connection; new ones are served as before.
    pub(crate) fn close_connections(&self) {
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.drain(..) {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        for address in &self.addresses {
            // Wakes the thread that accepts.
            drop(TcpStream::connect(address));
        }
        self.close_connections();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let down = Arc::new(Mutex::new(Instant::now()));
    while let Ok((stream, _)) = listener.accept() {
        if shared.stopped.load(Ordering::Relaxed) {
            return;
        }
        if *down.lock().unwrap_or_else(PoisonError::into_inner) > Instant::now() {
            continue;
        }
        let (shared, down) = (Arc::clone(shared), Arc::clone(&down));
        std::thread::spawn(move || {
            // A gateway that closes a connection is no fault of the origin's.
            drop(serve(stream, &shared, &down));
        });
    }
}

fn serve(stream: TcpStream, shared: &Shared, down: &Mutex<Instant>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    {
        let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|stream| stream.peer_addr().is_ok());
        open.push(stream.try_clone()?);
    }
    let outcome = answer_all(&stream, shared, down);
    // The list above holds a second handle: only this ends the connection.
    drop(stream.shutdown(Shutdown::Both));
    outcome
}

fn answer_all(stream: &TcpStream, shared: &Shared, down: &Mutex<Instant>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream.try_clone()?;
    while let Some(request) = read(&mut reader)? {
        let number = shared.requests.fetch_add(1, Ordering::Relaxed);
        let mut dice = Dice::new(shared.seed, number.wrapping_add(1 << 32));
        let percent = shared.faults_percent.load(Ordering::Relaxed);
        let (fault, name) = Fault::draw(&mut dice, percent);
        if let Some(name) = name {
            shared.tally.fault(name);
        }
        if fault == Fault::Flap {
            let end = Instant::now() + Duration::from_millis(200 + dice.below(800));
            *down.lock().unwrap_or_else(PoisonError::into_inner) = end;
            shared.history.is_down(end);
            return Ok(());
        }
        let url = request.url();
        if name.is_some() {
            shared.history.fails(&url);
        }
        let answer = answer(&request, shared, fault, &mut dice);
        let written = answer.write(fault, &mut stream, &mut dice);
        if name.is_some() || written.is_err() {
            shared.history.fails(&url);
        }
        if !written? {
            return Ok(());
        }
    }
    Ok(())
}

fn answer(request: &Request, shared: &Shared, fault: Fault, dice: &mut Dice) -> Answer {
    let head_only = request.method == "HEAD";
    if fault == Fault::Error {
        let status = dice.pick(&[500, 502, 503, 504]);
        let fields = vec![(FIELD.to_owned(), "error".to_owned())];
        return Answer { status, fields, body: b"error\n".to_vec(), head_only };
    }
    if request.target.contains("smuggled") {
        shared.tally.wrong(format!("a smuggled request reached the origin: {request:?}"));
    }
    let url = request.url();
    if request.method == "POST" {
        return posted(request, shared, &url, dice);
    }
    let representation = shared.history.current(&url, dice);
    let fact = fact(request, &url, representation, dice);
    shared.history.says(&fact);
    let mut fields = fields(representation, &fact);
    let etag = fact.etag();
    let knows = request.field("if-none-match").is_some_and(|tags| tags.contains(&etag));
    if knows && representation.status == 200 && dice.chance(85) {
        return Answer { status: 304, fields, body: Vec::new(), head_only };
    }
    let body = fact.body();
    let range = request.field("range").filter(|_| request.field("if-range").is_none());
    if let Some((from, to)) = range.and_then(|range| piece(range, body.len()))
        && representation.status == 200
        && dice.chance(60)
    {
        fields.push(("content-range".to_owned(), format!("bytes {from}-{to}/{}", body.len())));
        return Answer { status: 206, fields, body: body[from..=to].to_vec(), head_only };
    }
    Answer { status: representation.status, fields, body, head_only }
}

/// What this answer says of itself.
fn fact(request: &Request, url: &str, representation: Representation, dice: &mut Dice) -> Fact {
    let personalised = request.field("tidegate-decision") == Some("personalised");
    let cookie = request.field("cookie").and_then(|line| line.split_once("userId="));
    let authorised = request.field("authorization").and_then(|line| line.strip_prefix("Bearer "));
    let user = match (personalised, cookie, authorised) {
        (true, Some((_, id)), _) => id.split(';').next().unwrap_or(id),
        (_, _, Some(id)) if !representation.mode.open => id,
        _ => "-",
    };
    let variant = match request.field("accept-language") {
        Some(language) if representation.varies => language,
        _ => "-",
    };
    let is_private =
        user != "-" || matches!(representation.mode.sharing, Sharing::Once | Sharing::Private);
    Fact {
        version: representation.version,
        variant: variant.to_owned(),
        user: user.to_owned(),
        once: if is_private { dice.number() | 1 } else { 0 },
        url: url.to_owned(),
    }
}

fn fields(representation: Representation, fact: &Fact) -> Vec<(String, String)> {
    let date = |offset: i64| {
        let seconds = Duration::from_secs(offset.unsigned_abs());
        let is_past = offset < 0;
        let now = SystemTime::now();
        httpdate::fmt_http_date(if is_past { now - seconds } else { now + seconds })
    };
    let mut fields = vec![(FIELD.to_owned(), fact.to_string()), ("etag".to_owned(), fact.etag())];
    fields.push(("date".to_owned(), date(0)));
    for (name, value) in representation.mode.fields {
        let value = match *name {
            "expires" | "last-modified" => date(value.parse().unwrap_or(0)),
            _ => (*value).to_owned(),
        };
        fields.push(((*name).to_owned(), value));
    }
    fields.push(("surrogate-key".to_owned(), Fact::purge_tag(&fact.url)));
    if fact.version.is_multiple_of(2) {
        fields.push(("content-type".to_owned(), "text/plain".to_owned()));
    }
    if representation.varies {
        fields.push(("vary".to_owned(), "Accept-Language".to_owned()));
    }
    fields
}

/// Answers a POST with a digest of what arrived; its URL changes by it.
fn posted(request: &Request, shared: &Shared, url: &str, dice: &mut Dice) -> Answer {
    shared.history.change(url, dice);
    let id = request.field("x-soak-post").and_then(|id| id.parse().ok()).unwrap_or(0);
    if !shared.posts.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
        shared.tally.wrong(format!("the POST {id} to `{url}` reached the origin twice"));
    }
    let text = format!("posted {id} {:x} {}", hash(&request.body), request.body.len());
    let fields = vec![(FIELD.to_owned(), text.clone())];
    Answer { status: 200, fields, body: text.into_bytes(), head_only: false }
}

/// The one range that is asked for, when there is exactly one and it lies within the body.
fn piece(range: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let last = length.checked_sub(1)?;
    let (from, to) = match (from.parse().ok(), to.parse().ok()) {
        (Some(from), Some(to)) => (from, last.min(to)),
        (Some(from), None) if to.is_empty() => (from, last),
        (None, Some(suffix)) if from.is_empty() && suffix > 0 => {
            (length.saturating_sub(suffix), last)
        }
        _ => return None,
    };
    (from <= to).then_some((from, to))
}

/// Reads a request; `None` when the gateway closed the connection.
fn read(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(start) = line(from)? else { return Ok(None) };
    let mut words = start.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut fields = Vec::new();
    while let Some(text) = line(from)?.filter(|text| !text.is_empty()) {
        let (name, value) = text.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, fields, body: Vec::new() };
    if request.field("transfer-encoding").is_some() {
        loop {
            let size = line(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            let size = u64::from_str_radix(&size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
            exactly(from, size, &mut request.body)?;
            line(from)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = request.field("content-length").and_then(|l| l.parse().ok()) {
        exactly(from, length, &mut request.body)?;
    }
    Ok(Some(request))
}

fn exactly(from: &mut impl BufRead, bytes: u64, to: &mut Vec<u8>) -> io::Result<()> {
    if bytes > BODY_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let read = from.take(bytes).read_to_end(to)? as u64;
    if read < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if from.take(1 << 16).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
}
