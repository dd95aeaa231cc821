//! Claims about hosts and paths that a client may have forged.

use super::{canonical_host, is_ambiguous};

#[test]
fn a_port_and_a_dot_that_change_nothing_are_left_out() {
    for host in ["a.example", "a.example.", "a.example:80", "a.example.:80"] {
        assert_eq!(canonical_host(host), "a.example");
    }
    for host in ["a.example:8080", "a.example:443", "[::1]", "127.0.0.1", "", "a.example.:81"] {
        assert_eq!(canonical_host(host), host);
    }
    assert_eq!(canonical_host("[::1]:80"), "[::1]");
}

#[test]
fn dot_segments_are_seen_however_they_are_written() {
    for path in [
        "/a/../b",
        "/a/./b",
        "/..",
        "/.",
        "/a/%2e%2e/b",
        "/a/%2E./b",
        "/a/..%2fb",
        "/a%2f..%2Fb",
        "/a/..%5cb",
        "/a\\..\\b",
        "/a/..;/b",
        "/a/..;x=1/b",
        "/a/%2e%2e%3b/b",
        "/a/%252e%252e/b",
        "/a%252f..%252fb",
        "/a/%252e%252e%252fb",
    ] {
        assert!(is_ambiguous(path), "{path}");
    }
    for path in [
        "/",
        "/a",
        "/a.b/c..d/...",
        "//a",
        "/a//b",
        "/group%2Fname",
        "/a%20b",
        "/a;v=1.0/b",
        "/%",
        "/a%2",
        "/100%25",
        "/a%3fb=..",
        "/.well-known/x",
        "/..a/b",
    ] {
        assert!(!is_ambiguous(path), "{path}");
    }
}
