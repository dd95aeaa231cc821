//! Claims about connections, made over real sockets. A test role on a thread of its own does what
//! the path of a request says.

mod bodies;
mod framing;
mod lives;
mod replies;
mod tunnels;

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use testkit::{Client, FIXTURE_TIMEOUT, Reply as Received};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use http1::Head;

use super::Limits;
use super::{Answer, Incoming, Payload, Reply, Sent, Source};
use crate::clients::{ClientBudgets, ClientId};
use crate::drain::Drain;
use crate::inflight::Charge;
use crate::listen::bind;

/// A listener with its role on a thread, until dropped.
struct Served {
    address: SocketAddr,
    drain: Drain,
    /// Lets one request for `/wait` or `/watched` go on.
    gate: Arc<Semaphore>,
    /// Requests that reached `/wait` or another gate.
    arrived: mpsc::Receiver<()>,
    /// How often the work of `/watched` was polled.
    polls: Arc<AtomicUsize>,
    /// Connections that were refused.
    refused: Arc<AtomicUsize>,
    sent: mpsc::Receiver<Sent>,
    buffers: Arc<Mutex<HashSet<usize>>>,
    thread: Option<JoinHandle<()>>,
}

struct Script {
    budgets: Arc<ClientBudgets>,
    gate: Arc<Semaphore>,
    arrived: mpsc::Sender<()>,
    sent: mpsc::Sender<Sent>,
    polls: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    /// Addresses of the buffers that held the heads.
    buffers: Arc<Mutex<HashSet<usize>>>,
}

fn serve(limits: Limits) -> Served {
    serve_within(limits, Arc::new(ClientBudgets::unbounded()))
}

/// Serves with these budgets for bytes.
fn serve_within(limits: Limits, budgets: Arc<ClientBudgets>) -> Served {
    let listener = bind("127.0.0.1:0".parse().unwrap(), 1).unwrap().remove(0);
    let address = listener.address().unwrap();
    let drain = Drain::default();
    let gate = Arc::new(Semaphore::new(0));
    let (arrivals, arrived) = mpsc::channel();
    let (sends, sent) = mpsc::channel();
    let buffers = Arc::<Mutex<HashSet<usize>>>::default();
    let polls = Arc::<AtomicUsize>::default();
    let (draining, own_gate, own_buffers) = (drain.draining(), gate.clone(), buffers.clone());
    let own_polls = Arc::clone(&polls);
    let refused = Arc::<AtomicUsize>::default();
    let own_refused = Arc::clone(&refused);
    let thread = std::thread::spawn(move || {
        let role = Script {
            gate: own_gate,
            budgets,
            arrived: arrivals,
            sent: sends,
            polls: own_polls,
            refused: own_refused,
            buffers: own_buffers,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let serving = listener.serve(Rc::new(role), limits, draining);
        LocalSet::new().block_on(&runtime, serving).unwrap();
    });
    Served { address, drain, gate, arrived, polls, refused, sent, buffers, thread: Some(thread) }
}

fn serve_plain() -> Served {
    serve(Limits::default())
}

impl Served {
    fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    /// Waits for the outcome of the next reply.
    fn next_sent(&self) -> Sent {
        self.sent.recv_timeout(FIXTURE_TIMEOUT).expect("a reply was sent")
    }

    fn wait_for_arrival(&self) {
        self.arrived.recv_timeout(FIXTURE_TIMEOUT).expect("a request arrived");
    }

    /// Ends the listener and waits for its thread.
    fn finish(mut self, grace: Duration) {
        self.drain.begin(grace);
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.drain.begin(Duration::ZERO);
        self.gate.add_permits(1000);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || std::thread::panicking(), "the listener panicked");
        }
    }
}

/// Sends bytes on a new connection, and returns all that comes back until it closes.
fn exchange(served: &Served, bytes: &[u8]) -> String {
    let mut client = served.client();
    client.write_raw(bytes).unwrap();
    client.finish_sending().unwrap();
    String::from_utf8(client.read_to_close().unwrap()).unwrap()
}

/// Sends one request raw and reads its reply.
fn reply_to(client: &mut Client, request: &str) -> Received {
    client.write_raw(request.as_bytes()).unwrap();
    client.read_reply(request.split(' ').next().unwrap()).unwrap()
}

/// Returns the number of replies in the received text.
fn replies(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("HTTP/1.")).count()
}

impl Script {
    async fn wait_unless_left(&self, reply: &mut Reply) {
        reply.end_with_client();
        self.arrived.send(()).unwrap();
        let mut permit = pin!(self.gate.acquire());
        let work = poll_fn(|cx| {
            self.polls.fetch_add(1, Ordering::SeqCst);
            permit.as_mut().poll(cx)
        });
        if let Some(permit) = reply.unless_left(work).await {
            permit.unwrap().forget();
            say(reply, "watched");
        }
    }
}

impl Answer for Script {
    type Trace = ();

    fn budgets(&self) -> Option<&Arc<ClientBudgets>> {
        Some(&self.budgets)
    }

    async fn answer(&self, head: &Head<'_>, body: &mut Incoming<'_>, reply: &mut Reply) {
        self.buffers.lock().unwrap().insert(head.method().as_ptr() as usize);
        match head.path() {
            "/ignore" => say(reply, "ignored"),
            "/echo" => match body.whole(1 << 20, &mut Charge::unbounded()).await {
                Ok(bytes) => {
                    reply.begin(200);
                    reply.payload(Payload::Whole(bytes.into()));
                }
                Err(error) => reply.error(error.status(), &error.to_string()),
            },
            "/short" => match body.whole(4, &mut Charge::unbounded()).await {
                Ok(_) => say(reply, "short"),
                Err(error) => reply.error(error.status(), &error.to_string()),
            },
            "/wait" => {
                self.arrived.send(()).unwrap();
                self.gate.acquire().await.unwrap().forget();
                say(reply, "waited");
            }
            "/watched" => self.wait_unless_left(reply).await,
            "/silent" => say_nothing(reply),
            "/status" => {
                reply.begin(head.query().unwrap().parse().unwrap());
                reply.payload(Payload::Whole("body".into()));
            }
            "/stream" => {
                reply.begin(200);
                let length = head.query().map(|length| length.parse().unwrap());
                let pieces = ["one,", "", "two,", "three"].map(|piece| Ok(Bytes::from(piece)));
                reply.payload(Payload::Stream(length, Box::new(Pieces(pieces.into()))));
            }
            "/breaks" => {
                reply.begin(200);
                let pieces = [Ok("one,".into()), Err(io::ErrorKind::ConnectionReset.into())];
                reply.payload(Payload::Stream(None, Box::new(Pieces(pieces.into()))));
            }
            "/endless" => {
                reply.begin(200);
                reply.payload(Payload::Stream(None, Box::new(Endless)));
            }
            "/big" => {
                reply.begin(200);
                reply.payload(Payload::Whole(vec![b'x'; 3_000_000].into()));
            }
            "/spliced" => {
                reply.begin(200);
                let after = "x".repeat(head.query().unwrap().parse().unwrap());
                reply.payload(Payload::Spliced("before ".into(), "middle ", after.into()));
            }
            "/tunnel" => change_protocol(head, reply),
            "/early" => {
                reply.inform(103, b"link: </a.css>\r\n").await;
                self.arrived.send(()).unwrap();
                self.gate.acquire().await.unwrap().forget();
                reply.inform(102, b"").await;
                say(reply, "late");
            }
            "/none" => {}
            _ => {
                let host = head.host();
                say(reply, &format!("{} {host} {}", head.method(), head.path_and_query()));
            }
        }
    }

    fn sent(&self, _: &Head<'_>, (): (), sent: &Sent) {
        // The test may have ended.
        let _ = self.sent.send(*sent);
    }

    fn refused(&self, _: Option<ClientId>) {
        self.refused.fetch_add(1, Ordering::SeqCst);
    }
}

fn change_protocol(head: &Head<'_>, reply: &mut Reply) {
    let (near, far) = tokio::io::duplex(64);
    tokio::task::spawn_local(echo(far));
    reply.begin(101);
    reply.field("upgrade", b"echo");
    let idle = head.query().map_or(60, |seconds| seconds.parse().unwrap());
    reply.payload(Payload::Tunnel(Box::new(near), Duration::from_secs(idle)));
}

/// Sends back what it receives, and `bye` at its end.
async fn echo(far: tokio::io::DuplexStream) {
    use tokio::io::AsyncWriteExt;
    let (mut reader, mut writer) = tokio::io::split(far);
    tokio::io::copy(&mut reader, &mut writer).await.unwrap();
    // The tunnel may have been cut.
    let _ = writer.write_all(b"bye").await;
    let _ = writer.shutdown().await;
}

fn say(reply: &mut Reply, text: &str) {
    reply.begin(200);
    reply.payload(Payload::Whole(Bytes::copy_from_slice(text.as_bytes())));
}

struct Pieces(VecDeque<io::Result<Bytes>>);

impl Source for Pieces {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Ready(self.0.pop_front())
    }
}

/// Begins a reply whose body never sends a piece.
fn say_nothing(reply: &mut Reply) {
    reply.end_with_client();
    reply.begin(200);
    reply.payload(Payload::Stream(None, Box::new(Silent)));
}

struct Silent;

impl Source for Silent {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Pending
    }
}

struct Endless;

thread_local! {
    static ZEROES: RefCell<Bytes> = RefCell::new(Bytes::from(vec![0; 65_536]));
}

impl Source for Endless {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Ready(Some(Ok(ZEROES.with_borrow(Bytes::clone))))
    }
}
