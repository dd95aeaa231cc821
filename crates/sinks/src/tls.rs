//! TLS to servers, by rustls: what `sslmode` and `sslrootcert` mean.
//!
//! `require` encrypts and looks at no certificate, as libpq does. It keeps listeners out, but not a
//! server that answers in the right one's place. `verify-full` keeps both out.

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
