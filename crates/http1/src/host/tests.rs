//! Claims about which texts are hosts.

use super::host_is_valid;

#[test]
fn names_addresses_and_ports_are_hosts() {
    for host in [
        "",
        "a",
        "www.example.com",
        "xn--bcher-kva.example:8080",
        "b%C3%BCcher.example",
        "a_b",
        "192.0.2.1",
        "192.0.2.1:65535",
        "[::1]",
        "[2001:db8::1]:443",
        "[fe80::1%25eth0]",
        "[v1.a:b]",
        "a:",
        "[::1]:",
    ] {
        assert!(host_is_valid(host.as_bytes()), "{host}");
    }
}

#[test]
fn what_two_readers_could_take_for_two_hosts_is_none() {
    for host in [
        "[::1", "::1", "::1]", "[]", "[::1]a", "[::1]]", "[[::1]]", "a]", "a[0]", "a:b", "a:80:80",
        "a:65536", "a:99999", "a:000080", "a:-1", "a:+1", "a: 80", "u@a", "a/b", "a,b", "a\"",
        "a b", "a\\b", "a#b", "a?b", "\u{fc}",
    ] {
        assert!(!host_is_valid(host.as_bytes()), "{host}");
    }
}
