//! Listening sockets: one per core on the same port (`SO_REUSEPORT`), and the accept loop.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use crate::drain::Draining;
use crate::http::{self, Answer, Connections, Limits};

const BACKLOG: i32 = 4096;
/// Pause after a failed accept (out of descriptors, say), so that the core is not spent on it.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A bound socket that a core has not begun to accept on.
#[derive(Debug)]
pub struct Listener {
    socket: std::net::TcpListener,
}

/// Binds `count` sockets to one address; a port of 0 is chosen once and shared.
///
/// The system would share the address with any other process of ours, too, and each would get some
/// of the connections: so nobody may listen on it before.
///
/// # Errors
/// When the address is taken or not ours.
pub fn bind(address: SocketAddr, count: usize) -> io::Result<Vec<Listener>> {
    // This one never listens: what connects before the others do is refused, and not broken off.
    drop(bound(address, false)?);
    let first = listening(address)?;
    let shared = first.local_addr()?;
    let mut listeners = vec![Listener { socket: first }];
    for _ in 1..count {
        listeners.push(Listener { socket: listening(shared)? });
    }
    Ok(listeners)
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
    /// The bound address, its port chosen.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts and serves until `draining` says stop, then lets connections finish.
    ///
    /// Must run within a `LocalSet`: connections stay on the thread that accepted them.
    ///
    /// # Errors
    /// When the socket cannot be watched.
    pub async fn serve<S: Answer + 'static>(
        self,
        role: Rc<S>,
        limits: Limits,
        draining: Draining,
    ) -> io::Result<()> {
        let listener = TcpListener::from_std(self.socket)?;
        let connections_max = limits.connections_max;
        let connections = Rc::new(Connections::new(limits));
        let sweeper = tokio::task::spawn_local(sweep(Rc::clone(&connections)));
        loop {
            let accepted = tokio::select! {
                biased;
                () = draining.begun() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if connections.count() >= connections_max => {
                    role.refused();
                    refuse(&stream);
                }
                Ok((stream, peer)) => {
                    // Replies are whole writes; waiting for more (Nagle) would only delay them.
                    let _ = stream.set_nodelay(true);
                    let (role, connections) = (Rc::clone(&role), Rc::clone(&connections));
                    tokio::task::spawn_local(async move {
                        http::serve(&*role, stream, peer, &connections).await;
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
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

/// What a connection beyond the bound is told.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 0\r\n\r\n";

/// Says 503 to a connection beyond the bound, without waiting for anything.
fn refuse(stream: &TcpStream) {
    // What was sent already is read: closing over it would take the reply along.
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
