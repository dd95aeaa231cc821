//! Decides by `sslmode` and `sslrootcert` which certificates are trusted.
//!
//! PostgreSQL takes its rustls configuration from here, MySQL only its errors. `disable` gives
//! none. `prefer` and `require` encrypt and look at no certificate. They keep listeners out, but
//! not a server that answers in the right one's place. `verify-full` keeps both out: it trusts
//! `sslrootcert`, or else the public roots. `require` with `sslrootcert` is `verify-full`.
//! Elsewhere: falling back to plain text for `prefer` (each connection), ClickHouse's TLS
//! (`clickhouse/http.rs`).

use std::sync::Arc;

use rustls::ClientConfig;
use trust::{Trust, TrustError};

use crate::address::{Encryption, ServerAddress};

/// What rustls is to do for `address`; none when the connection is not encrypted.
///
/// # Errors
/// When the file of root certificates cannot be read.
pub(crate) fn config(address: &ServerAddress) -> Result<Option<Arc<ClientConfig>>, TrustError> {
    let trust = match (&address.encryption, &address.root_certificates) {
        (Encryption::Disable, _) => return Ok(None),
        (Encryption::Prefer | Encryption::Require, _) => Trust::Anyone,
        (Encryption::VerifyFull, Some(file)) => Trust::File(file),
        (Encryption::VerifyFull, None) => Trust::Web,
    };
    Ok(Some(Arc::new(trust.client()?)))
}
