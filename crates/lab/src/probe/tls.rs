//! TLS of a call, by rustls with ring.
//!
//! Refuses: client certificates, and resumption of sessions, because every new connection is to
//! show what a new client sees.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    StreamOwned,
};

use super::call::{Failure, Stopwatch};
use crate::LabError;

/// A connection that speaks in the clear or by TLS.
#[derive(Debug)]
pub(crate) enum Stream {
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
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().expect("ring has every cipher");
    let builder = match is_insecure {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyOne(provider))),
        false => builder.with_root_certificates(roots(authority)?),
    };
    let mut config = builder.with_no_client_auth();
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
) -> Result<Stream, Failure> {
    let failed = |error: &io::Error| match error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
        Some(refusal) => Failure::new(format!("tls: {}", told(refusal))),
        None => Failure::of("tls", error),
    };
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| Failure::new("tls: the host is no name that a certificate has"))?;
    let session = ClientConnection::new(Arc::clone(config), name);
    let mut session = session.map_err(|error| Failure::new(format!("tls: {}", told(&error))))?;
    while session.is_handshaking() {
        let left = Some(watch.left("tls")?);
        tcp.set_read_timeout(left).map_err(|error| Failure::of("tls", &error))?;
        tcp.set_write_timeout(left).map_err(|error| Failure::of("tls", &error))?;
        // Only as much as is there: each turn looks at the time that is left.
        if session.wants_write() {
            session.write_tls(&mut tcp).map_err(|error| failed(&error))?;
        } else if session.read_tls(&mut tcp).map_err(|error| failed(&error))? == 0 {
            return Err(Failure::of("tls", &io::ErrorKind::UnexpectedEof.into()));
        } else if let Err(error) = session.process_new_packets() {
            // The alert that tells the server why.
            drop(session.write_tls(&mut tcp));
            return Err(Failure::new(format!("tls: {}", told(&error))));
        }
    }
    watch.lap("tls");
    Ok(Stream::Tls(Box::new(StreamOwned::new(session, tcp))))
}

impl Stream {
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => &tls.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
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

/// What rustls says, without the lists that differ from call to call.
fn told(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => format!("certificate refused ({why})"),
        other => other.to_string(),
    }
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, LabError> {
    let Some(file) = file else {
        return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
    };
    let wrong = |source: io::Error| {
        let what = format!("read the certificates of `{}`", file.display());
        LabError::System { what, source }
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file);
    for certificate in certificates.map_err(|error| wrong(io::Error::other(error.to_string())))? {
        let certificate =
            certificate.map_err(|error| wrong(io::Error::other(error.to_string())))?;
        roots.add(certificate).map_err(|error| wrong(io::Error::other(error.to_string())))?;
    }
    match roots.is_empty() {
        true => Err(wrong(io::Error::other("there is none in it"))),
        false => Ok(roots),
    }
}

/// Takes every certificate; whoever answers must still hold its key.
#[derive(Debug)]
struct AnyOne(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyOne {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
