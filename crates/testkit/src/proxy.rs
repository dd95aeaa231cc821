//! A TCP proxy that loses answers.
//!
//! Invariant: a fault is made once, when a client sends the bytes that it waits for. Refuses: to
//! understand what it passes on.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::{FIXTURE_TIMEOUT, Gate};

/// What happens to a connection when a client has sent certain bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server gets them and answers; the answer is thrown away and the connection cut.
    LoseAnswer,
    /// The server never gets them; the connection is cut.
    LoseRequest,
    /// The server never gets them, the connection stays open, and nothing comes.
    Hang,
}

/// A proxy on loopback in front of a server.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    fault: Mutex<Option<(Vec<u8>, Fault)>>,
    fault_made: Gate,
    ends: AtomicBool,
}

impl Proxy {
    /// Starts a proxy in front of this port of loopback.
    pub fn start(port: u16) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            fault: Mutex::new(None),
            fault_made: Gate::new(),
            ends: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if for_thread.ends.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                    join(&client, &server, &for_thread);
                }
            }
        });
        Proxy { address, shared }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Makes a fault, once, when a client sends these bytes in one piece.
    pub fn fault_at(&self, bytes: &[u8], fault: Fault) {
        let mut next = self.shared.fault.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some((bytes.to_vec(), fault));
    }

    /// Waits until a fault was made; panics after [`FIXTURE_TIMEOUT`].
    pub fn wait_for_fault(&self) {
        let deadline = Instant::now() + FIXTURE_TIMEOUT;
        assert!(self.shared.fault_made.pass(|| Instant::now() > deadline), "no fault was made");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

fn join(client: &TcpStream, server: &TcpStream, shared: &Arc<Shared>) {
    let clones = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
    let (Some((from, to)), Some((back, answers))) = (clones(), clones()) else { return };
    let loses = Arc::new(AtomicBool::new(false));
    let (shared, is_lost) = (Arc::clone(shared), Arc::clone(&loses));
    std::thread::spawn(move || requests(from, to, &shared, &loses));
    std::thread::spawn(move || replies(answers, back, &is_lost));
}

fn requests(mut client: TcpStream, mut server: TcpStream, shared: &Shared, loses: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let piece = &buffer[..read];
        let fault = {
            let mut next = shared.fault.lock().unwrap_or_else(PoisonError::into_inner);
            let is_hit = |(bytes, _): &mut (Vec<u8>, Fault)| {
                piece.windows(bytes.len()).any(|window| window == bytes.as_slice())
            };
            next.take_if(is_hit)
        };
        if fault.is_some() {
            shared.fault_made.open();
        }
        match fault {
            Some((_, Fault::LoseRequest)) => break,
            Some((_, Fault::Hang)) => continue,
            Some((_, Fault::LoseAnswer)) => {
                // The server does what it was asked, and then finds that nobody is there.
                loses.store(true, Ordering::SeqCst);
                let _ = server.write_all(piece);
                let _ = server.shutdown(Shutdown::Write);
                return;
            }
            None => {}
        }
        if server.write_all(piece).is_err() {
            break;
        }
    }
    cut(&client, &server);
}

fn replies(mut server: TcpStream, mut client: TcpStream, loses: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = server.read(&mut buffer) {
        if !loses.load(Ordering::SeqCst) && client.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    cut(&client, &server);
}

fn cut(client: &TcpStream, server: &TcpStream) {
    // Whichever is closed already stays so.
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
