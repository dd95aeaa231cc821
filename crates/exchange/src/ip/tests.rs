//! Claims about `ip`.

use super::*;

#[track_caller]
fn check(full: &str, expected: &str) {
    let full: IpAddr = full.parse().unwrap();
    assert_eq!(truncate_ip(full).to_string(), expected);
}

#[test]
fn keeps_24_bits_of_ipv4_and_48_of_ipv6() {
    check("192.168.7.255", "192.168.7.0");
    check("2001:db8:aaaa:bbbb:cccc::1", "2001:db8:aaaa::");
    check("::1", "::");
}

#[test]
fn shortens_a_mapped_address_as_ipv4() {
    check("::ffff:10.1.2.3", "10.1.2.0");
}
