//! Claims about how a handshake that failed is told.

use std::time::Duration;

use rustls::pki_types::UnixTime;

use super::*;

#[test]
fn a_certificate_that_expired_is_told_alike_whenever_it_is_seen() {
    let seen_at = |seconds: u64| {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let not_after = UnixTime::since_unix_epoch(Duration::from_secs(1000));
        described(&Error::InvalidCertificate(CertificateError::ExpiredContext { time, not_after }))
    };
    assert_eq!(seen_at(2000), "certificate refused (it has expired)");
    assert_eq!(seen_at(2000), seen_at(3000));
}
