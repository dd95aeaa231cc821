//! Which addresses are in a network, and which texts are none.

use super::{Network, NetworkError};

#[test]
fn networks_hold_the_addresses_of_their_first_bits() {
    let has = |network: &str, address: &str| {
        let network = Network::parse(network).expect("a network");
        network.has(address.parse().expect("an address"))
    };
    assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
    assert!(has("127.0.0.1", "127.0.0.1") && !has("127.0.0.1", "127.0.0.2"));
    assert!(has("0.0.0.0/0", "9.9.9.9") && !has("0.0.0.0/0", "::1"));
    assert!(has("fd00::/8", "fd12::1") && !has("fd00::/8", "fe80::1"));
    assert!(has("::/0", "fe80::1") && !has("::/0", "9.9.9.9"));
    assert!(has("2001:db8::1", "2001:db8::1") && !has("2001:db8::1", "2001:db8::2"));
}

#[test]
fn an_ipv4_address_counts_as_one_however_it_is_written() {
    let has = |network: &str, address: &str| {
        let network = Network::parse(network).expect("a network");
        network.has(address.parse().expect("an address"))
    };
    assert!(has("127.0.0.1", "::ffff:127.0.0.1"));
    assert!(has("::ffff:10.0.0.0/104", "10.1.2.3") && !has("::ffff:10.0.0.0/104", "11.1.2.3"));
    assert!(has("::ffff:10.0.0.1", "::ffff:10.0.0.1"));
    assert!(!has("::/0", "::ffff:10.0.0.1"));
}

#[test]
fn a_text_that_is_no_network_is_refused_with_the_reason() {
    for text in ["", "10.0.0/8", "a/8", "10.0.0.1:80", "fe80::1%eth0", " 10.0.0.1", "010.0.0.1"] {
        assert_eq!(Network::parse(text), Err(NetworkError::Address), "`{text}`");
    }
    for (text, most) in [("10.0.0.0/33", 32), ("::/129", 128), ("10.0.0.0/", 32), ("::/+8", 128)] {
        assert_eq!(Network::parse(text), Err(NetworkError::Bits { most }), "`{text}`");
    }
    for (text, meant) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("2001:db8::1/32", "2001:db8::/32"),
        ("1.1.1.1/0", "0.0.0.0/0"),
    ] {
        let error = Network::parse(text).expect_err("host bits");
        assert_eq!(
            error.to_string(),
            format!("has bits set behind its prefix; write {meant} for that network")
        );
    }
}
