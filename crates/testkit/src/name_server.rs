//! A loopback name server by UDP and TCP that can be killed and can misbehave.
//!
//! Invariant: a question is counted before it is answered. A name without records of a kind gets an
//! empty answer, and one without any records NXDOMAIN. Names are compared without case.
//! Refuses: libraries for DNS, which would not misbehave; compressed names in questions.

use std::collections::HashMap;
use std::fmt;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{FIXTURE_TIMEOUT, free_port};

const A: u16 = 1;
const AAAA: u16 = 28;

/// How a name server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// By its records.
    #[default]
    Well,
    /// By UDP with an empty answer that is cut off, by TCP by its records.
    CutOff,
    /// With SERVFAIL.
    Servfail,
    /// With NXDOMAIN.
    Nxdomain,
    /// With bytes that are not DNS.
    Garbage,
    /// With the id of another question, and an address that nobody asked for.
    OtherId,
    /// To questions for A by its records; to those for AAAA not at all.
    OnlyA,
    /// Not at all.
    Silence,
}

/// A running name server; dropping it ends it.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    answers: Answers,
    /// By name: seconds of TTL, and addresses.
    records: HashMap<String, (u32, Vec<IpAddr>)>,
    questions: Vec<String>,
}

impl NameServer {
    /// Starts a name server without records on a free loopback port.
    pub fn start() -> NameServer {
        NameServer::start_on(free_port())
    }

    /// Starts a name server without records on the given port: one that comes back.
    pub fn start_on(port: u16) -> NameServer {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let udp = UdpSocket::bind(address).expect("the port is free for UDP");
        let tcp = TcpListener::bind(address).expect("the port is free for TCP");
        // Ends the wait of a server that was stopped.
        udp.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout above 0");
        let shared = Arc::new(Shared::default());
        let (for_udp, for_tcp) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            std::thread::spawn(move || by_udp(&udp, &for_udp)),
            std::thread::spawn(move || by_tcp(&tcp, &for_tcp)),
        ];
        NameServer { address, shared, threads }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the addresses of a name, with their TTL in seconds.
    pub fn set(&self, name: &str, ttl: u32, addresses: &[&str]) {
        let parse = |text: &&str| text.parse().expect("an address");
        let addresses = addresses.iter().map(parse).collect();
        self.shared.state().records.insert(name.to_lowercase(), (ttl, addresses));
    }

    /// Sets how it answers from now on.
    pub fn answer(&self, answers: Answers) {
        self.shared.state().answers = answers;
    }

    /// Returns how often it was asked for a name, by UDP and TCP, for A and AAAA.
    pub fn count(&self, name: &str) -> usize {
        self.shared.state().count(name)
    }

    /// Waits until it was asked `more` times for the name from now on; panics after
    /// [`FIXTURE_TIMEOUT`].
    pub fn wait_for_more(&self, name: &str, more: usize) {
        let deadline = Instant::now() + FIXTURE_TIMEOUT;
        let mut state = self.shared.state();
        let wanted = state.count(name) + more;
        while state.count(name) < wanted {
            let left = deadline.saturating_duration_since(Instant::now());
            let count = state.count(name);
            assert!(!left.is_zero(), "{count} of {wanted} questions for `{name}` came");
            let woken = self.shared.asked.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread of TCP, which looks at `stopped` after each connection.
        drop(TcpStream::connect(self.address));
        for thread in self.threads.drain(..) {
            // A panic in there has already been printed.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a question and returns its answer, if it gets one.
    fn answer(&self, question: &[u8], by_tcp: bool) -> Option<Vec<u8>> {
        let (name, kind, end) = parse(question)?;
        let mut state = self.state();
        state.questions.push(name.clone());
        self.asked.notify_all();
        let records = state.records.get(&name);
        let code = if records.is_none() { 3 } else { 0 };
        let of_kind = |address: &&IpAddr| address.is_ipv4() == (kind == A);
        let (ttl, addresses) = match records {
            Some((ttl, all)) if kind == A || kind == AAAA => {
                (*ttl, all.iter().filter(of_kind).copied().collect())
            }
            _ => (0, Vec::new()),
        };
        let question = &question[..end];
        match state.answers {
            Answers::CutOff if !by_tcp => Some(message(question, 0, true, (0, &[]))),
            Answers::Servfail => Some(message(question, 2, false, (0, &[]))),
            Answers::Nxdomain => Some(message(question, 3, false, (0, &[]))),
            Answers::Garbage => Some(b"this is not DNS at all".to_vec()),
            Answers::OtherId => {
                let wrong = [IpAddr::from([127, 66, 66, 66])];
                let mut answer = message(question, 0, false, (3600, &wrong));
                answer[0] ^= 0x55;
                Some(answer)
            }
            Answers::Silence => None,
            Answers::OnlyA if kind == AAAA => None,
            _ => Some(message(question, code, false, (ttl, &addresses))),
        }
    }
}

impl State {
    fn count(&self, name: &str) -> usize {
        self.questions.iter().filter(|asked| asked.eq_ignore_ascii_case(name)).count()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

fn by_udp(socket: &UdpSocket, shared: &Shared) {
    let mut question = [0; 4096];
    while !shared.stopped.load(Ordering::SeqCst) {
        let Ok((length, client)) = socket.recv_from(&mut question) else { continue };
        if let Some(answer) = shared.answer(&question[..length], false) {
            // A client that has left needs no answer.
            let _ = socket.send_to(&answer, client);
        }
    }
}

fn by_tcp(listener: &TcpListener, shared: &Shared) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(mut stream) = stream else { continue };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let mut length = [0; 2];
        while stream.read_exact(&mut length).is_ok() {
            let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
            if stream.read_exact(&mut question).is_err() {
                break;
            }
            let Some(answer) = shared.answer(&question, true) else { break };
            let length = u16::try_from(answer.len()).expect("a short answer").to_be_bytes();
            if stream.write_all(&[&length[..], &answer].concat()).is_err() {
                break;
            }
        }
    }
}

/// Returns name, type and end of the question.
fn parse(message: &[u8]) -> Option<(String, u16, usize)> {
    let mut at = 12;
    let mut labels: Vec<String> = Vec::new();
    loop {
        let length = usize::from(*message.get(at)?);
        let label = message.get(at + 1..at + 1 + length)?;
        at += 1 + length;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(label).to_lowercase());
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    message.get(at + 3)?;
    Some((labels.join("."), kind, at + 4))
}

/// Builds an answer (RFC 1035 §4.1); the name of each record is that of the question.
fn message(question: &[u8], code: u8, cut: bool, (ttl, found): (u32, &[IpAddr])) -> Vec<u8> {
    let mut message = question[..2].to_vec();
    message.extend([0x81 | u8::from(cut) << 1, 0x80 | code, 0, 1]);
    message.extend(u16::try_from(found.len()).expect("few records").to_be_bytes());
    message.extend([0; 4]);
    message.extend(&question[12..]);
    for address in found {
        let (kind, bytes) = match address {
            IpAddr::V4(v4) => (A, v4.octets().to_vec()),
            IpAddr::V6(v6) => (AAAA, v6.octets().to_vec()),
        };
        message.extend([0xc0, 12]);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1]);
        message.extend(ttl.to_be_bytes());
        message.extend([0, bytes.len() as u8]);
        message.extend(bytes);
    }
    message
}
