//! Puts load through TLS: the channel of each connection, by rustls.
//!
//! Invariant: ALPN offers HTTP/1.1 only, and no session is resumed, as in `probe/tls.rs`. Each
//! connection shakes hands as that of a new client does. It is open for calls when that is done.
//! So a handshake is in the latency of calls that wait for it, and in no service time. A reply that
//! lasts until the connection closes is whole only after a `close_notify` (RFC 9112 §9.8).
//! A refusal is in the words of `probe/tls.rs`. Refuses: HTTP/2, and client certificates.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use load::{Channel, ChannelSource};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::LabError;
use crate::probe::tls;

/// Whose certificates are believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsTrust {
    /// Whether any certificate is taken.
    pub is_insecure: bool,
    /// Certificates of the authorities to believe, in PEM; those of the web without it.
    pub authority: Option<PathBuf>,
}

/// Opens sessions with one server.
#[derive(Debug)]
pub(super) struct TlsSource {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// The session of one connection.
#[derive(Debug)]
struct TlsChannel {
    session: ClientConnection,
    /// The server has said `close_notify`.
    has_ended: bool,
}

impl TlsSource {
    /// Returns a source of sessions with `host`.
    ///
    /// # Errors
    /// When the authorities cannot be read, or no certificate can have that name.
    pub(super) fn new(host: &str, trust: &TlsTrust) -> Result<Self, LabError> {
        let config = tls::config(trust.is_insecure, trust.authority.as_deref())?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| LabError::Input(format!("`{host}` is no name that a certificate has")))?;
        Ok(Self { config, name })
    }
}

impl ChannelSource for TlsSource {
    fn open(&self) -> io::Result<Box<dyn Channel>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let mut session = session.map_err(refused)?;
        // Bounded by the calls that are in flight, which are rendered whole already.
        session.set_buffer_limit(None);
        Ok(Box::new(TlsChannel { session, has_ended: false }))
    }
}

impl Channel for TlsChannel {
    fn receive(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        while !wire.is_empty() {
            if self.session.read_tls(&mut wire)? == 0 {
                // What comes after `close_notify` says nothing.
                return Ok(());
            }
            let state = self.session.process_new_packets().map_err(refused)?;
            let bytes = state.plaintext_bytes_to_read();
            self.has_ended |= state.peer_has_closed();
            let before = plain.len();
            plain.resize(before + bytes, 0);
            self.session.reader().read_exact(&mut plain[before..])?;
        }
        Ok(())
    }

    fn send(&mut self, plain: &[u8]) -> io::Result<()> {
        self.session.writer().write_all(plain)
    }

    fn take_wire(&mut self, wire: &mut Vec<u8>) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(wire)?;
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        !self.session.is_handshaking()
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}

fn refused(error: rustls::Error) -> io::Error {
    io::Error::other(tls::described(&error))
}

#[cfg(test)]
mod tests;
