//! An origin and a client that send raw bytes, which need not be HTTP.
//!
//! Whatever the gateway sends is kept as it came.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use socket2::{Domain, Socket, Type};
use testkit::FIXTURE_TIMEOUT;

use super::eventually;

/// One connection to the origin.
pub(super) type Line = BufReader<TcpStream>;

/// A running origin; dropping it closes every connection.
pub(super) struct RawOrigin {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Every head that came, in order.
    heads: Mutex<Vec<String>>,
    connections: Mutex<Vec<TcpStream>>,
    ended: AtomicUsize,
    stopped: AtomicBool,
}

impl RawOrigin {
    /// Starts an origin. Its script gets each head, and the connection behind that head. It returns
    /// whether another request may come on the connection.
    pub(super) fn start(script: impl Fn(&str, &mut Line) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (shared, script) = (Arc::<Shared>::default(), Arc::new(script));
        let own = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if own.stopped.load(Ordering::SeqCst) {
                    return;
                }
                own.connections.lock().unwrap().push(stream.try_clone().unwrap());
                let (shared, script) = (Arc::clone(&own), Arc::clone(&script));
                std::thread::spawn(move || {
                    let mut line = BufReader::new(stream);
                    while let Some(head) = read_head(&mut line) {
                        shared.heads.lock().unwrap().push(head.clone());
                        if !script(&head, &mut line) {
                            break;
                        }
                    }
                    // The gateway may have closed the connection already.
                    let _ = line.get_ref().shutdown(Shutdown::Both);
                    shared.ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Returns every head so far.
    pub(super) fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }

    /// Returns method and target of every request so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.heads().iter().map(|head| line_of(head)).collect()
    }

    /// Waits until every connection has ended and was read to its end. Returns method and target of
    /// every request.
    pub(super) fn finish(self) -> Vec<String> {
        self.wait_for_ends(self.connections());
        self.asked()
    }

    /// Waits until this number of connections have ended.
    pub(super) fn wait_for_ends(&self, count: usize) {
        eventually("connections end", || self.shared.ended.load(Ordering::SeqCst) >= count);
    }

    /// Returns the number of connections so far.
    pub(super) fn connections(&self) -> usize {
        self.shared.connections.lock().unwrap().len()
    }
}

fn line_of(head: &str) -> String {
    head.lines().next().unwrap_or("").split(" HTTP/").next().unwrap_or("").to_owned()
}

impl Drop for RawOrigin {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
        for connection in self.shared.connections.lock().unwrap().iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// Reads up to the empty line; `None` at the end of the connection.
fn read_head(line: &mut Line) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if line.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Returns the values of a field in a head.
pub(super) fn values<'h>(head: &'h str, name: &str) -> Vec<&'h str> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let of_name = fields.filter(|(other, _)| other.eq_ignore_ascii_case(name));
    of_name.map(|(_, value)| value.trim()).collect()
}

/// Reads the body of a head, which must announce it by at most one length.
pub(super) fn read_body(head: &str, line: &mut Line) -> Vec<u8> {
    assert!(values(head, "transfer-encoding").is_empty(), "{head}");
    let lengths = values(head, "content-length");
    assert!(lengths.len() < 2, "{head}");
    bytes(line, lengths.first().map_or(0, |length| length.parse().unwrap()))
}

/// Sends bytes; the other side may have closed the connection.
pub(super) fn say(line: &mut Line, bytes: impl AsRef<[u8]>) {
    let _ = line.get_mut().write_all(bytes.as_ref());
}

/// Connects and sends bytes.
pub(super) fn connect(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Line {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
    stream.write_all(bytes.as_ref()).unwrap();
    BufReader::new(stream)
}

/// Opens a connection from another address of this machine, and sends bytes on it.
pub(super) fn connect_as(client: [u8; 4], to: SocketAddr, bytes: impl AsRef<[u8]>) -> Line {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((client, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
    stream.write_all(bytes.as_ref()).unwrap();
    BufReader::new(stream)
}

/// Returns the lines of the next head, without the empty one.
pub(super) fn head(line: &mut Line) -> Vec<String> {
    read_head(line)
        .expect("a head comes")
        .lines()
        .map(str::to_owned)
        .filter(|l| !l.is_empty())
        .collect()
}

/// Reads exactly this number of bytes.
pub(super) fn bytes(line: &mut Line, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    line.read_exact(&mut bytes).unwrap();
    bytes
}

/// Reads until the other side closes.
pub(super) fn rest(line: &mut Line) -> String {
    let mut bytes = Vec::new();
    line.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
