//! Heads and bodies, well formed and not.

use std::io::ErrorKind;

use super::{Framing, framing, read_body, read_head};

fn message(mut text: &[u8]) -> std::io::Result<Vec<u8>> {
    let head = read_head(&mut text)?.expect("the sample has a head");
    read_body(&mut text, &framing(&head.headers, Framing::UntilClose)?)
}

#[test]
fn bodies_end_where_their_framing_says() {
    let chunked = b"X\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: 1\r\n\r\nrest";
    assert_eq!(message(chunked).unwrap(), b"abc");
    assert_eq!(message(b"X\r\ncontent-length: 2\r\n\r\nabc").unwrap(), b"ab");
    assert_eq!(message(b"X\r\n\r\nabc").unwrap(), b"abc");
}

#[test]
fn a_body_that_ends_early_is_an_error() {
    let short = message(b"X\r\nContent-Length: 9\r\n\r\nabc").unwrap_err();
    assert_eq!(short.kind(), ErrorKind::UnexpectedEof);
    let torn = message(b"X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").unwrap_err();
    assert_eq!(torn.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_closed_connection_has_no_head() {
    assert!(read_head(&mut &b""[..]).unwrap().is_none());
    assert!(read_head(&mut &b"GET / HT"[..]).is_err());
}
