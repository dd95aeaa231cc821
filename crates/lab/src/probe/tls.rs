//! Shakes hands for a call by TLS, and puts refusals of certificates into words.
//!
//! Load tests take configuration and words from here, too (`load_test/tls.rs`).
//! rustls with ring; `trust` decides whose certificates are believed. [`ClientStream`] is a
//! connection in the clear or by TLS.
//! Invariant: the handshake, phase `tls`, ends at the deadline of the call. ALPN offers HTTP/1.1
//! only. Words have no moments, so calls that fail alike count together. What has no words here is
//! told as rustls tells it; some of that has lists. The words name the option `--ca` of the binary.
//!
//! Refuses: client certificates, and resumption of sessions. Every new connection shows what a new
//! client sees.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Error, InvalidMessage, StreamOwned,
};
use trust::{Trust, TrustError};

use super::call::{CallFailure, Stopwatch};
use crate::{LabError, input_file};

/// A connection that speaks in the clear or by TLS.
#[derive(Debug)]
pub(crate) enum ClientStream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Returns what rustls is to do: take any certificate, those that `authority` has signed, or those
/// that the web's authorities have.
///
/// # Errors
/// When the file of `authority` cannot be read, or holds no certificate.
pub(crate) fn config(
    is_insecure: bool,
    authority: Option<&Path>,
) -> Result<Arc<ClientConfig>, LabError> {
    let trust = match (is_insecure, authority) {
        (true, _) => Trust::Anyone,
        (false, Some(file)) => Trust::File(file),
        (false, None) => Trust::Web,
    };
    let mut config = trust.client().map_err(|error| match error {
        TrustError::TooLong { file } => input_file::too_long(&file.display().to_string(), "--ca"),
        other => other.into(),
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Shakes hands over a connection: the phase `tls`.
pub(crate) fn shake_hands(
    mut tcp: TcpStream,
    host: &str,
    config: &Arc<ClientConfig>,
    watch: &mut Stopwatch,
) -> Result<ClientStream, CallFailure> {
    let failed = |error: &io::Error| match error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
        Some(refusal) => CallFailure::new(format!("tls: {}", described(refusal))),
        None => CallFailure::of("tls", error),
    };
    let name = ServerName::try_from(host.to_owned());
    let name =
        name.map_err(|_| CallFailure::new("tls: the host is no name that a certificate has"))?;
    let session = ClientConnection::new(Arc::clone(config), name);
    let mut session =
        session.map_err(|error| CallFailure::new(format!("tls: {}", described(&error))))?;
    while session.is_handshaking() {
        let left = Some(watch.left("tls")?);
        tcp.set_read_timeout(left).map_err(|error| CallFailure::of("tls", &error))?;
        tcp.set_write_timeout(left).map_err(|error| CallFailure::of("tls", &error))?;
        // Only as much as is there: each turn looks at the time that is left.
        if session.wants_write() {
            session.write_tls(&mut tcp).map_err(|error| failed(&error))?;
        } else if session.read_tls(&mut tcp).map_err(|error| failed(&error))? == 0 {
            return Err(CallFailure::of("tls", &io::ErrorKind::UnexpectedEof.into()));
        } else if let Err(error) = session.process_new_packets() {
            // The alert that tells the server why.
            drop(session.write_tls(&mut tcp));
            return Err(CallFailure::new(format!("tls: {}", described(&error))));
        }
    }
    watch.lap("tls");
    Ok(ClientStream::Tls(Box::new(StreamOwned::new(session, tcp))))
}

impl ClientStream {
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => &tls.sock,
        }
    }
}

impl Read for ClientStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}

/// Returns what rustls says, in words that are the same for every call that fails so: without
/// moments and lists.
pub(crate) fn described(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(reason) => format!("certificate refused ({})", refusal(reason)),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "what was answered is no TLS".to_owned()
        }
        other => other.to_string(),
    }
}

fn refusal(reason: &CertificateError) -> String {
    use CertificateError as Why;
    let words = match reason {
        Why::UnknownIssuer => "its issuer is not believed; --ca names a file with it or its issuer",
        Why::Expired | Why::ExpiredContext { .. } => "it has expired",
        Why::NotValidYet | Why::NotValidYetContext { .. } => "it is not valid yet",
        Why::NotValidForName => "it is for another name",
        // What rustls has no word of its own for, webpki does.
        Why::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "it is an authority's, and not a server's; --ca names a file with it"
        }
        other => return other.to_string(),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests;
