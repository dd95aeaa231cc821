//! Which URLs can be called.

use super::{HttpAddress, ServerAddresses};
use crate::LabError;

fn parsed(url: &str) -> (String, String) {
    let address = HttpAddress::parse(url).unwrap();
    (address.host, address.path)
}

fn refusal(url: &str) -> String {
    HttpAddress::parse(url).unwrap_err().to_string()
}

#[test]
fn takes_host_and_path_apart() {
    assert_eq!(parsed("http://a:81/x?y=1#z"), ("a:81".into(), "/x?y=1".into()));
    assert_eq!(parsed("HTTP://a"), ("a".into(), "/".into()));
    assert_eq!(parsed("http://a?q"), ("a".into(), "/?q".into()));
    assert_eq!(parsed("http://user:secret@a/"), ("a".into(), "/".into()));
}

#[test]
fn a_host_without_a_port_is_reached_at_port_80_or_443() {
    let mut targets = ServerAddresses::default();
    let mut target = |url: &str| targets.of(&HttpAddress::parse(url).unwrap()).unwrap().to_string();
    assert_eq!(target("http://127.0.0.1/"), "127.0.0.1:80");
    assert_eq!(target("http://127.0.0.1:8080/"), "127.0.0.1:8080");
    assert_eq!(target("http://[::1]/"), "[::1]:80");
    assert_eq!(target("http://[::1]:81/"), "[::1]:81");
    assert_eq!(target("https://127.0.0.1/"), "127.0.0.1:443");
    assert_eq!(target("https://127.0.0.1:8443/"), "127.0.0.1:8443");
}

#[test]
fn refuses_by_name_what_the_generator_cannot_speak() {
    assert!(refusal("h2://a/").contains("also over TLS"));
    assert!(refusal("h2c://a/").contains("HTTP/1.1 only"));
    assert!(refusal("ftp://a/").contains("no other schemes"));
    assert!(refusal("a/b").contains("write a URL"));
    assert!(refusal("http:///b").contains("write a URL"));
    assert!(refusal("http://a/b c").contains("write a URL"));
    assert!(refusal("http://a/\r\nX: 1").contains("write a URL"));
}

#[test]
fn a_name_that_nobody_has_is_no_target() {
    let address = HttpAddress::parse("http://nobody.invalid/").unwrap();
    assert!(matches!(ServerAddresses::default().of(&address), Err(LabError::Load(_))));
}

#[test]
fn a_certificate_has_the_host_without_port_and_brackets() {
    let certified = |url: &str| HttpAddress::parse(url).unwrap().certified();
    assert_eq!(certified("https://a.test:8443/x").as_deref(), Some("a.test"));
    assert_eq!(certified("https://[::1]:8443/").as_deref(), Some("::1"));
    assert_eq!(certified("https://[::1]/").as_deref(), Some("::1"));
    assert_eq!(certified("http://a.test/"), None);
}
