//! The client sends what it is told.

use super::Client;
use crate::{Origin, OriginReply};

#[test]
fn bodies_are_sent_with_their_length() {
    let origin = Origin::start(|request| OriginReply::ok(request.body.clone()));
    let reply = Client::post(origin.address(), "/", "hello").header("A", "b").send();
    assert_eq!(reply.text(), "hello");
    assert_eq!(origin.requests()[0].header("content-length"), Some("5"));
    assert_eq!(origin.requests()[0].method, "POST");
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let origin = Origin::start(|request| OriginReply::ok(request.target.clone()));
    let mut client = Client::connect(origin.address()).unwrap();
    client.write_raw(b"GET /one HTTP/1.1\r\n\r\nGET /two").unwrap();
    assert_eq!(client.read_reply("GET").unwrap().text(), "/one");
    client.write_raw(b" HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(client.read_reply("GET").unwrap().text(), "/two");
    client.finish_sending().unwrap();
    assert_eq!(client.read_to_close().unwrap(), b"");
}

#[test]
fn an_address_without_listener_is_an_error() {
    let address = Origin::start(|_| OriginReply::ok("")).address();
    assert!(Client::get(address, "/").try_send().is_err());
}
