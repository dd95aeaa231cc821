//! Which addresses are in a network.

use super::Network;

#[test]
fn networks_hold_the_addresses_of_their_first_bits() {
    let has = |network: &str, address: &str| {
        let network = Network::parse(network).expect("a network");
        network.has(address.parse().expect("an address"))
    };
    assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
    assert!(has("127.0.0.1", "127.0.0.1") && !has("127.0.0.1", "127.0.0.2"));
    assert!(has("0.0.0.0/0", "9.9.9.9") && !has("0.0.0.0/0", "::1"));
    assert!(has("127.0.0.1", "::ffff:127.0.0.1"));
    assert!(has("fd00::/8", "fd12::1") && !has("fd00::/8", "fe80::1"));
    for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "a/8"] {
        assert_eq!(Network::parse(text), None, "`{text}`");
    }
}
