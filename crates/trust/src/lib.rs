//! Makes the client's side of TLS, by whose certificates it believes: by rustls, with ring.
//!
//! [`Trust`] names the web's authorities, one file in PEM, or anybody; [`Trust::client`] returns
//! rustls' configuration for TLS 1.2 and 1.3. Which options choose which is decided by the callers:
//! `sinks/src/tls.rs` and `lab/src/probe/tls.rs`. They may change ALPN and resumption.
//! `verifier.rs` judges single certificates.
//! Invariant: the server holds the key of the certificate that it shows, also where any certificate
//! will do. Where anybody is believed, that keeps eavesdroppers out, but not an impostor in the
//! server's place. Failure: a file that cannot be read, holds no certificate, or holds a bad one
//! among good ones is an error as a whole. So is one that is longer than 64 MiB.
//!
//! Refuses: client certificates, revocation lists, and the operating system's store of authorities,
//! which no two machines share.

mod verifier;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::{ClientConfig, RootCertStore};

use verifier::{Believed, Verifier};

/// What a file of certificates may hold; the web's authorities take a quarter of a MiB.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Who is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Servers whose certificate an authority of the web has signed (Mozilla's list).
    Web,
    /// Servers whose certificate an authority of this file, in PEM, has signed, or stands in it.
    File(&'a Path),
    /// Every server.
    Anyone,
}

/// Authorities that cannot be believed: name another file, or mend it.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read, or what it holds is no certificate of an authority.
    #[error("read the certificates of `{file}`")]
    File {
        /// Which file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is longer than [`FILE_BYTES_MAX`].
    #[error("read the certificates of `{file}`: more than {} MiB", FILE_BYTES_MAX >> 20)]
    TooLong {
        /// Which file.
        file: PathBuf,
    },
    /// There is no certificate in the file.
    #[error("read the certificates of `{file}`: there is none in it, in PEM")]
    Empty {
        /// Which file.
        file: PathBuf,
    },
}

impl Trust<'_> {
    /// Returns what rustls is to do for a client, by TLS 1.2 or 1.3.
    ///
    /// # Errors
    /// When the authorities of a file cannot be read.
    pub fn client(&self) -> Result<ClientConfig, TrustError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().expect("ring has every cipher");
        let believed = match self {
            Self::Web => {
                let all = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
                let builder = builder.with_root_certificates(all.collect::<RootCertStore>());
                return Ok(builder.with_no_client_auth());
            }
            Self::Anyone => Believed::Anyone,
            Self::File(file) => listed(file, &provider)?,
        };
        let verifier = Arc::new(Verifier { provider, believed });
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        Ok(builder.with_no_client_auth())
    }
}

fn listed(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Believed, TrustError> {
    let wrong = |source| TrustError::File { file: file.to_owned(), source };
    let unread = |error| match error {
        PemError::Io(error) => wrong(error),
        other => wrong(io::Error::other(other.to_string())),
    };
    let mut pem = Vec::new();
    let opened = File::open(file).and_then(|it| it.take(FILE_BYTES_MAX + 1).read_to_end(&mut pem));
    opened.map_err(wrong)?;
    if pem.len() as u64 > FILE_BYTES_MAX {
        return Err(TrustError::TooLong { file: file.to_owned() });
    }
    let all = CertificateDer::pem_slice_iter(&pem);
    let listed: Vec<CertificateDer<'static>> = all.collect::<Result<_, _>>().map_err(unread)?;
    if listed.is_empty() {
        return Err(TrustError::Empty { file: file.to_owned() });
    }
    let mut authorities = RootCertStore::empty();
    for certificate in &listed {
        let added = authorities.add(certificate.clone());
        added.map_err(|error| wrong(io::Error::other(error.to_string())))?;
    }
    let authorities = Arc::new(authorities);
    let signed = WebPkiServerVerifier::builder_with_provider(authorities, Arc::clone(provider));
    let signed = signed.build().expect("there are authorities, and no revocation lists");
    Ok(Believed::Listed { signed, listed })
}

#[cfg(test)]
mod tests;
