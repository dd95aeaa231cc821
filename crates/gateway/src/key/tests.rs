//! Claims about hosts and paths that a client may have forged.

use http1::Scheme;

use super::canonical_host;

#[test]
fn a_port_and_a_dot_that_change_nothing_are_left_out() {
    for host in ["a.example", "a.example.", "a.example:80", "a.example.:80"] {
        assert_eq!(canonical_host(host, Scheme::Http), "a.example");
    }
    for host in ["a.example:8080", "a.example:443", "[::1]", "127.0.0.1", "", "a.example.:81"] {
        assert_eq!(canonical_host(host, Scheme::Http), host);
    }
    assert_eq!(canonical_host("[::1]:80", Scheme::Http), "[::1]");
    assert_eq!(canonical_host("a.example:443", Scheme::Https), "a.example");
    assert_eq!(canonical_host("a.example:80", Scheme::Https), "a.example:80");
}
