//! Framing of replies, whatever the pieces they arrive in.

use super::{Malformed, ReplyReader};
use crate::Ask;

const KEEP: Ask = Ask { ticket: 0, head: false, keep: true, status: None, bytes: None };

/// Feeds `input` cut into pieces of every size; returns status, body and bytes left over.
fn check(input: &[u8], ask: Ask, status: u16, body: &[u8], left: usize) {
    for size in 1..=input.len() {
        let mut reader = ReplyReader::default();
        let mut taken = 0;
        let mut complete = false;
        while !complete {
            assert!(taken < input.len(), "never complete in pieces of {size}");
            let piece = &input[taken..input.len().min(taken + size)];
            let (bytes, done) = reader.feed(piece, ask).expect("well-formed");
            assert!(done || bytes == piece.len(), "bytes left over before the end");
            taken += bytes;
            complete = done;
        }
        assert_eq!(reader.status, status);
        assert_eq!(reader.kept().1, body);
        assert_eq!(reader.body_bytes, body.len() as u64);
        assert_eq!(input.len() - taken, left, "in pieces of {size}");
        assert!(reader.kept().0.ends_with(b"\r\n\r\n"));
    }
}

fn refuses(input: &[u8]) {
    let mut reader = ReplyReader::default();
    assert_eq!(reader.feed(input, KEEP), Err(Malformed));
}

#[test]
fn takes_the_length_that_the_head_names_and_no_byte_more() {
    check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 ", KEEP, 200, b"hello", 9);
}

#[test]
fn joins_chunks_and_skips_extensions_and_trailers() {
    let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\nHTTP";
    check(reply, KEEP, 200, b"abc0123456789", 4);
}

#[test]
fn refuses_lengths_that_contradict_each_other_or_a_transfer_encoding() {
    let head = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
    refuses(head("Content-Length: 2\r\nContent-Length: 3\r\n").as_bytes());
    for encoding in ["chunked", "gzip"] {
        let fields = format!("Content-Length: 5\r\nTransfer-Encoding: {encoding}\r\n");
        refuses(head(&fields).as_bytes());
    }
    // The same length twice is no contradiction (RFC 9112 §6.3).
    let reply = head("Content-Length: 2\r\nContent-Length: 2\r\n") + "ok";
    check(reply.as_bytes(), KEEP, 200, b"ok", 0);
}

#[test]
fn an_encoding_that_does_not_end_in_chunks_lasts_until_the_close() {
    for encoding in ["gzip", "chunked, gzip", "xchunked"] {
        let reply = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {encoding}\r\n\r\n0\r\n\r\n");
        let mut reader = ReplyReader::default();
        assert!(!reader.feed(reply.as_bytes(), KEEP).expect("well-formed").1, "{encoding}");
        assert!(reader.ends_with_stream());
    }
    let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\tChunked \r\n\r\n1\r\nx\r\n0\r\n\r\n";
    check(reply, KEEP, 200, b"x", 0);
}

#[test]
fn skips_informational_replies() {
    let reply = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check(reply, KEEP, 200, b"x", 0);
}

#[test]
fn expects_no_body_after_head_204_and_304() {
    let head = Ask { head: true, ..KEEP };
    check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", head, 200, b"", 0);
    check(b"HTTP/1.1 204 No Content\r\n\r\n", KEEP, 204, b"", 0);
    check(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", KEEP, 304, b"", 0);
}

#[test]
fn reads_until_close_when_nothing_names_a_length() {
    let mut reader = ReplyReader::default();
    let (taken, done) =
        reader.feed(b"HTTP/1.1 200 OK\r\n\r\nall of it", KEEP).expect("well-formed");
    assert_eq!((taken, done), (28, false));
    assert!(reader.ends_with_stream() && reader.close);
}

#[test]
fn tells_which_connections_close() {
    for (reply, close) in [
        ("HTTP/1.1 204 x\r\n\r\n", false),
        ("HTTP/1.1 204 x\r\nConnection: close\r\n\r\n", true),
        ("HTTP/1.0 204 x\r\n\r\n", true),
        ("HTTP/1.0 204 x\r\nConnection: keep-alive\r\n\r\n", false),
    ] {
        let mut reader = ReplyReader::default();
        assert!(reader.feed(reply.as_bytes(), KEEP).expect("well-formed").1);
        assert_eq!(reader.close, close, "{reply}");
    }
}

#[test]
fn refuses_what_is_not_http() {
    refuses(b"SSH-2.0-OpenSSH\r\n\r\n");
    refuses(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n");
    refuses(b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n");
    refuses(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
    refuses(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n");
    refuses(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n");
}
