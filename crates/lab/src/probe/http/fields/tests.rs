//! Claims about the fields of requests and answers.

use super::{attributes, head, outcome};
use crate::probe::{HttpOptions, ProbeTarget, Url};

fn url(text: &str) -> Url {
    let ProbeTarget::Http(url) = text.parse().unwrap() else { panic!() };
    url
}

fn names(answer: &str, wanted: &[&str]) -> Vec<(String, String)> {
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    attributes(answer.as_bytes(), &wanted).names
}

fn name(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_request_has_what_every_server_wants_and_no_field_twice() {
    let fields = vec![name("host", "shop"), name("X-Key", "{n}")];
    let options = HttpOptions { fields, ..HttpOptions::default() };
    let text = head(&url("http://127.0.0.1:8080/a?b"), &options);
    assert!(text.starts_with("GET /a?b HTTP/1.1\r\nUser-Agent: tidegate/"), "{text}");
    assert!(text.ends_with("Connection: close\r\nhost: shop\r\nX-Key: {n}\r\n"), "{text}");
    assert_eq!(text.to_ascii_lowercase().matches("host:").count(), 1);
    let text = head(&url("http://[::1]:8080/"), &HttpOptions { keeps_alive: true, ..options });
    assert!(!text.contains("Connection"), "{text}");
}

#[test]
fn telling_fields_and_those_asked_for_become_attributes() {
    let answer = "HTTP/1.1 200 OK\r\nServer: nginx\r\nX-Cache:  MISS \r\nX-Worker: w3\r\n\
                  Date: x\r\nx-cache: HIT\r\n\r\n";
    let expected = [name("server", "nginx"), name("x-cache", "MISS, HIT"), name("x-worker", "w3")];
    assert_eq!(names(answer, &["x-worker"]), expected);
    assert_eq!(names("nonsense", &[]), []);
}

#[test]
fn metrics_of_several_fields_are_parts_of_the_wait() {
    let answer = "HTTP/1.1 200 OK\r\nServer-Timing: db;dur=5\r\nserver-timing: app;dur=2.5\r\n\r\n";
    let made = attributes(answer.as_bytes(), &[]);
    assert_eq!(made.parts, [("server.db".to_owned(), 5.0), ("server.app".to_owned(), 2.5)]);
    assert_eq!(made.around, "wait");
}

#[test]
fn cache_status_keeps_what_the_calls_have_in_common() {
    assert_eq!(outcome("tidegate; hit; ttl=59"), "tidegate; hit");
    assert_eq!(
        outcome("tidegate; fwd=uri-miss; key=\"a;hit, b\"; stored"),
        "tidegate; fwd=uri-miss"
    );
    assert_eq!(outcome("origin; hit, edge; fwd=stale; ttl=-3"), "origin; hit, edge; fwd=stale");
    assert_eq!(outcome(""), "");
}
