//! Reads the address that the load goes to, a TCP address or the path of a Unix socket, and
//! connects to it.
//!
//! Invariant: a target holds one address, chosen when it was read. It is the first of the resolver;
//! in `reachable`, the first that accepts within 1 s, else the first. docs/lab/load.md says so,
//! too. `http://` before and slashes behind `host:port` are dropped.
//! `connect` blocks; its time-out holds for TCP only. `start_connect` does not block. TCP sockets
//! get TCP_NODELAY, and nothing else is tuned.
//! Refuses: TLS, paths of URLs, and to look a name up again.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::LoadError;

/// An address of several that does not accept within this is passed over.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(1);

/// The address of the server under load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// HTTP over TCP.
    Tcp(SocketAddr),
    /// HTTP over a Unix stream socket.
    Unix(PathBuf),
}

impl Target {
    /// Reads a target as its `FromStr` does. Of a name with several addresses, such as `localhost`,
    /// it takes the first that accepts a connection now. Where none does it takes the first of all.
    ///
    /// # Errors
    /// When it names no address.
    pub fn reachable(text: &str) -> Result<Self, LoadError> {
        if text.starts_with("unix:") {
            return text.parse();
        }
        let found = first_that_accepts(&addresses(text)?);
        found.map(Self::Tcp).ok_or_else(|| LoadError::Target(text.to_owned()))
    }

    /// Returns a connected, blocking socket.
    ///
    /// # Errors
    /// What the system said; a refusal usually means that nobody listens yet.
    pub fn connect(&self, timeout: Duration) -> io::Result<Socket> {
        let (socket, address) = self.socket()?;
        match self {
            Self::Tcp(_) => socket.connect_timeout(&address, timeout)?,
            Self::Unix(_) => socket.connect(&address)?,
        }
        Ok(socket)
    }

    /// Returns a non-blocking socket on its way to the target; writable means arrived.
    pub(crate) fn start_connect(&self) -> io::Result<Socket> {
        let (socket, address) = self.socket()?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address) {
            Ok(()) => Ok(socket),
            Err(error) if in_progress(&error) => Ok(socket),
            Err(error) => Err(error),
        }
    }

    fn socket(&self) -> io::Result<(Socket, SockAddr)> {
        match self {
            Self::Tcp(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
                socket.set_tcp_nodelay(true)?;
                Ok((socket, SockAddr::from(*address)))
            }
            Self::Unix(path) => {
                Ok((Socket::new(Domain::UNIX, Type::STREAM, None)?, SockAddr::unix(path)?))
            }
        }
    }
}

impl FromStr for Target {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let found = addresses(text)?;
        found.first().copied().map(Self::Tcp).ok_or_else(|| LoadError::Target(text.to_owned()))
    }
}

/// All addresses of `host:port`, in the order in which the resolver gives them.
fn addresses(text: &str) -> Result<Vec<SocketAddr>, LoadError> {
    let address = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    match address.to_socket_addrs() {
        Ok(found) => Ok(found.collect()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(LoadError::Target(text.to_owned()))
        }
        Err(source) => Err(LoadError::Lookup { address: address.to_owned(), source }),
    }
}

/// A connection is tried only where there is a choice.
fn first_that_accepts(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let accepts = |address: &&SocketAddr| Target::Tcp(**address).connect(ACCEPT_TIMEOUT).is_ok();
    let chosen = if addresses.len() > 1 { addresses.iter().find(accepts) } else { None };
    chosen.or(addresses.first()).copied()
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn in_progress(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
}

#[cfg(test)]
mod tests;
