//! Decides whether a server's certificate is believed, for `Trust::File` and `Trust::Anyone`.
//!
//! A certificate that stands in the file itself is believed, also if its issuer is unknown or it is
//! an authority's. A certificate in the file whose extended key usage excludes servers is not.
//! `openssl req -x509` makes authorities, and servers show them as their own.
//! Invariant: the name and the dates are checked, also of a certificate from the file, unless
//! anyone is believed. `is_of_issuer` relies on rustls checking the dates before the issuer. The
//! signature of the handshake is always checked, so the server holds the key. Refusals are rustls'
//! own, unchanged: `lab/src/probe/tls.rs` words them by kind, and one by its text.
//!
//! Never here: the web's authorities, which rustls' own verifier judges (`lib.rs`).

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Checks what servers show.
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) believed: Believed,
}

/// Whose certificate is believed.
#[derive(Debug)]
pub(crate) enum Believed {
    /// Everybody's.
    Anyone,
    /// What an authority has signed, and what is `listed`.
    Listed { signed: Arc<WebPkiServerVerifier>, listed: Vec<CertificateDer<'static>> },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Believed::Listed { signed, listed } = &self.believed else {
            return Ok(ServerCertVerified::assertion());
        };
        match signed.verify_server_cert(shown, between, name, stapled, now) {
            Err(Error::InvalidCertificate(reason))
                if is_of_issuer(&reason) && listed.contains(shown) =>
            {
                rustls::client::verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether a certificate was refused because of its issuer, or because it is an authority's.
///
/// Its dates are checked before either.
fn is_of_issuer(reason: &CertificateError) -> bool {
    match reason {
        CertificateError::UnknownIssuer => true,
        CertificateError::Other(other) => {
            other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
        }
        _ => false,
    }
}
