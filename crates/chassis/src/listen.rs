//! Binds listening sockets, one per core on one port (`SO_REUSEPORT`), and accepts connections.
//!
//! Invariant: a connection stays on the core that accepted it. Binding fails if a process listens
//! on the address already. Sockets that a service manager has bound are shared by the cores: each
//! core has one of them, and each of them a core.
//! Bound: beyond `connections_max`, or one client's share of it, a core
//! tells the role (`Answer::refused`) and then answers with the bytes of `TOO_MANY`, a 503. In this
//! order a metric counts the connection before its client knows (docs/decisions/gateway.md). When
//! the drain begins it stops accepting, and returns when all connections are closed or the deadline
//! has passed. A failed accept is tried again after 50 ms, and logged at most once in 10 s. It also
//! runs the sweep of timeouts, once a second. Never here: HTTP, but for that 503.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use crate::drain::Draining;
use crate::http::{self, Answer, Connections, Limits};

const BACKLOG: i32 = 4096;
/// Pause after a failed accept, such as one without a free descriptor, so that the core does not
/// spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Least time between two lines of the log about failed accepts.
const ACCEPT_LOGGED: Duration = Duration::from_secs(10);

/// A bound socket on which no core accepts yet.
#[derive(Debug)]
pub struct Listener {
    socket: std::net::TcpListener,
}

/// Binds `count` sockets to one address. For port 0 the system chooses a port once, for all.
///
/// With `SO_REUSEPORT`, another process of the same user could listen on the address as well, and
/// get some of the connections. So binding fails if any process listens on it already.
///
/// # Errors
/// When the address is in use, or does not belong to this machine.
pub fn bind(address: SocketAddr, count: usize) -> io::Result<Vec<Listener>> {
    // This socket never listens. A client that connects too early is refused; had the socket
    // listened, its close would reset that client.
    drop(bound(address, false)?);
    let first = listening(address)?;
    let shared = first.local_addr()?;
    let mut listeners = vec![Listener { socket: first }];
    for _ in 1..count {
        listeners.push(Listener { socket: listening(shared)? });
    }
    Ok(listeners)
}

/// Shares bound sockets among `count` cores, as evenly as it goes.
///
/// # Errors
/// When there are more sockets than cores, or when one is none of TCP.
pub fn share(sockets: &[std::net::TcpListener], count: usize) -> io::Result<Vec<Listener>> {
    if sockets.len() > count {
        let (sockets, more) = (sockets.len(), "than threads that serve connections");
        return Err(io::Error::other(format!("{sockets} sockets are more {more} ({count})")));
    }
    let shared = sockets.iter().cycle().take(count).map(|socket| {
        let socket = socket.try_clone()?;
        // Fails for what is no socket of TCP.
        socket.local_addr()?;
        socket2::SockRef::from(&socket).listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket })
    });
    shared.collect()
}

fn listening(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = bound(address, true)?;
    socket.set_nonblocking(true)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn bound(address: SocketAddr, is_shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(is_shared)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

impl Listener {
    /// Returns the bound address with its real port.
    ///
    /// # Errors
    /// When the system cannot name the address of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts and serves connections until `draining` begins; then waits for them until its
    /// deadline.
    ///
    /// Must run within a `LocalSet`: connections stay on the thread that accepted them.
    ///
    /// # Errors
    /// When the runtime cannot register the socket.
    pub async fn serve<S: Answer + 'static>(
        self,
        role: Rc<S>,
        limits: Limits,
        draining: Draining,
    ) -> io::Result<()> {
        let listener = TcpListener::from_std(self.socket)?;
        let connections_max = limits.connections_max;
        let connections = Rc::new(Connections::new(limits, role.budgets()));
        let sweeper = tokio::task::spawn_local(sweep(Rc::clone(&connections)));
        let mut logged_at: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                biased;
                () = draining.begun() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if connections.count() >= connections_max => {
                    role.refused(None);
                    refuse(&stream);
                }
                Ok((stream, peer)) if connections.is_at_share(peer) => {
                    role.refused(Some(peer.ip().into()));
                    refuse(&stream);
                }
                Ok((stream, peer)) => {
                    // A reply is written whole, so Nagle's algorithm would only delay it.
                    let _ = stream.set_nodelay(true);
                    let (role, connections) = (Rc::clone(&role), Rc::clone(&connections));
                    // Counted before its task runs: many may be accepted in one go.
                    let accepted = connections.enter(stream, peer);
                    tokio::task::spawn_local(async move {
                        http::serve(&*role, accepted, &connections).await;
                    });
                }
                Err(error) => {
                    if logged_at.is_none_or(|at| at.elapsed() > ACCEPT_LOGGED) {
                        tracing::warn!(%error, "cannot accept connections; trying again");
                        logged_at = Some(Instant::now());
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        connections.drain();
        while connections.count() > 0 && !draining.is_over() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sweeper.abort();
        Ok(())
    }
}

/// The response to a connection beyond the bound.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 0\r\n\r\n";

/// Answers 503 to a connection beyond the bound, without waiting for anything.
fn refuse(stream: &TcpStream) {
    // Closing a socket with unread bytes resets it, and the client would lose the response.
    let _ = stream.try_read(&mut [0; 16 * 1024]);
    let _ = stream.try_write(TOO_MANY);
}

async fn sweep(connections: Rc<Connections>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        second.tick().await;
        connections.sweep();
    }
}

#[cfg(test)]
mod tests;
