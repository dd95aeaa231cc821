//! Names of addresses, by `/etc/hosts` and a real name server.

use testkit::NameServer;

use super::*;

#[test]
fn the_first_name_of_the_first_line_is_that_of_an_address() {
    let text = "# 10.0.0.1 note\n10.0.0.2\n10.0.0.1\tdb1.shop db1 # second\n10.0.0.1 other\n\
                fd00::1 six\n";
    let name = |address: &str| name_in_hosts(text, address.parse().unwrap());
    assert_eq!(name("10.0.0.1").as_deref(), Some("db1.shop"));
    assert_eq!(name("fd00::1").as_deref(), Some("six"));
    assert_eq!((name("10.0.0.2"), name("10.0.0.3")), (None, None));
}

#[test]
fn an_address_that_nobody_names_has_no_name() {
    let server = NameServer::start();
    let options = Options { servers: vec![server.address()], ..Options::default() };
    let names = AddressNames::open(&options).unwrap();
    assert_eq!(names.name_of("192.0.2.1".parse().unwrap()), None);
    assert_eq!(names.name_of("127.0.0.1".parse().unwrap()).as_deref(), Some("localhost"));
}
