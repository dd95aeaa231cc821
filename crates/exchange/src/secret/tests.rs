//! Claims about headers that hold secrets.

use super::*;

#[test]
fn headers_that_let_somebody_in_are_secrets() {
    for name in [
        "authorization",
        "Proxy-Authorization",
        "COOKIE",
        "set-cookie",
        "X-Api-Key",
        "apikey",
        "X-Auth-Token",
        "x-amz-security-token",
        "x_csrf_token",
        "Ocp-Apim-Subscription-Key",
        "X-Goog-IAP-JWT-Assertion",
    ] {
        assert!(is_secret_header(name.as_bytes()), "{name}");
    }
    for name in ["accept", "sec-websocket-key", "x-user", "cookies-accepted", "etag", "key", ""] {
        assert!(!is_secret_header(name.as_bytes()), "{name}");
    }
}
