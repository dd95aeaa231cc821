//! Claims about hosts that are called at given addresses.

use super::Pin;
use crate::probe::ProbeTarget;

fn held(pin: &str, target: &str) -> Option<String> {
    let mut target: ProbeTarget = target.parse().unwrap();
    pin.parse::<Pin>().unwrap().hold(&mut target).then(|| target.to_string())
}

#[test]
fn a_host_and_port_is_held_and_named_with_its_address() {
    let at = |text: &str| Some(text.to_owned());
    let url = "https://Example.org/a";
    assert_eq!(held("example.org:443:10.0.0.1", url), at("https://Example.org/a at 10.0.0.1"));
    assert_eq!(held("*:443:[::1],10.0.0.2", url), at("https://Example.org/a at ::1, 10.0.0.2"));
    assert_eq!(held("db:5432:::1", "tcp://db:5432"), at("tcp://db:5432 at ::1"));
    assert_eq!(held("[::1]:80:::2", "http://[::1]/"), at("http://[::1]/ at ::2"));
}

#[test]
fn another_port_or_host_and_what_does_not_connect_go_free() {
    assert_eq!(held("example.org:443:10.0.0.1", "http://example.org/"), None);
    assert_eq!(held("example.org:80:10.0.0.1", "http://www.example.org/"), None);
    assert_eq!(held("*:53:10.0.0.1", "dns:example.org@ns"), None);
    assert_eq!(held("*:80:10.0.0.1", "icmp:example.org"), None);
}

#[test]
fn a_pin_without_port_or_address_is_refused() {
    for bad in ["", "a", "a:80", "a:80:", "a:0:::1", "a:http:::1", ":80:::1", "a:80:b", "a:80:::1,"]
    {
        let error = bad.parse::<Pin>().unwrap_err().to_string();
        assert!(error.contains("HOST:PORT:ADDRESS"), "{error}");
    }
}
