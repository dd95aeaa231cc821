//! Claims about request bodies: their framing, and the bytes that the role leaves unread.

use super::{exchange, replies, reply_to, serve_plain};

const CHUNKED: &str = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn chunks_extensions_and_trailers_are_read_to_their_end() {
    let served = serve_plain();
    let mut client = served.client();
    for (body, expected) in [
        ("0\r\n\r\n", ""),
        ("3\r\nabc\r\n0\r\n\r\n", "abc"),
        ("3 ;name=\"v\";b\r\nabc\r\n0\r\n\r\n", "abc"),
        ("3;name=value\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\nOther: y\tz\r\n\r\n", "abcde"),
        ("3\t; a = b ;c=\" \\\"; \\\\\"\r\nabc\r\n0;last\r\n\r\n", "abc"),
        ("00A\r\n0123456789\r\n000\r\n\r\n", "0123456789"),
    ] {
        assert_eq!(reply_to(&mut client, &format!("{CHUNKED}{body}")).text(), expected);
    }
    client.write_raw(CHUNKED.as_bytes()).unwrap();
    for byte in b"5\r\nhello\r\n5;x\r\nworld\r\n0\r\nT: u\r\n\r\n" {
        client.write_raw(&[*byte]).unwrap();
    }
    assert_eq!(client.read_reply("POST").unwrap().text(), "helloworld");
}

#[test]
fn bodies_that_are_not_chunked_as_announced_are_refused_and_the_connection_closes() {
    let served = serve_plain();
    for body in [
        "x\r\nabc\r\n0\r\n\r\n",
        "3\nabc\r\n0\r\n\r\n",
        "3\r\nabcX\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        " 3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nT: u\n\r\n",
        "ffffffffffffffffff\r\n",
        "\r\n",
        "3 x\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n",
        "3\t\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0 \r\n\r\n",
        "3;\r\nabc\r\n0\r\n\r\n",
        "3;;;\r\nabc\r\n0\r\n\r\n",
        "3;a;\r\nabc\r\n0\r\n\r\n",
        "3;a \r\nabc\r\n0\r\n\r\n",
        "3;a=\r\nabc\r\n0\r\n\r\n",
        "3;=b\r\nabc\r\n0\r\n\r\n",
        "3;a b\r\nabc\r\n0\r\n\r\n",
        "3;a=b=c\r\nabc\r\n0\r\n\r\n",
        "3;a=\"b\r\nabc\r\n0\r\n\r\n",
        "3;a=\"b\\\"\r\nabc\r\n0\r\n\r\n",
        "3;a=\"b\"c\r\nabc\r\n0\r\n\r\n",
        "3,a\r\nabc\r\n0\r\n\r\n",
        "3;\0\r\nabc\r\n0\r\n\r\n",
        "3;\rx\r\nabc\r\n0\r\n\r\n",
        "3;\nx\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nno colon\r\n\r\n",
        "3\r\nabc\r\n0\r\n: no name\r\n\r\n",
        "3\r\nabc\r\n0\r\nT: u\r\n folded: x\r\n\r\n",
        "3\r\nabc\r\n0\r\nT : u\r\n\r\n",
        "3\r\nabc\r\n0\r\nT: \0\r\n\r\n",
    ] {
        let request = format!("{CHUNKED}{body}GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n");
        let text = exchange(&served, request.as_bytes());
        assert!(text.starts_with("HTTP/1.1 400 "), "{body:?}: {text}");
        assert!(text.contains("\r\nconnection: close\r\n"), "{body:?}: {text}");
        assert_eq!(replies(&text), 1, "{body:?}: {text}");
    }
    let endless = format!("{CHUNKED}3;{}", "x".repeat(5000));
    assert!(exchange(&served, endless.as_bytes()).starts_with("HTTP/1.1 400 "));
    let padded = format!("1;{}\r\nx\r\n", "x".repeat(1000)).repeat(17);
    assert!(
        exchange(&served, format!("{CHUNKED}{padded}").as_bytes()).starts_with("HTTP/1.1 400 ")
    );
    let trailers = format!("{CHUNKED}0\r\n{}", "T: uuuuuuuuuuuuuuuuu\r\n".repeat(2000));
    assert!(exchange(&served, trailers.as_bytes()).starts_with("HTTP/1.1 400 "));
}

#[test]
fn thousands_of_tiny_chunks_in_few_packets_are_one_body() {
    let served = serve_plain();
    let mut request = CHUNKED.to_owned();
    request += &"1\r\nx\r\n".repeat(50_000);
    request += "0\r\n\r\n";
    assert_eq!(reply_to(&mut served.client(), &request).body.len(), 50_000);
    assert_eq!(served.next_sent().bytes_in, 50_000);
}

#[test]
fn unread_bodies_are_drained_when_short_and_close_the_connection_when_long() {
    let served = serve_plain();
    let mut client = served.client();
    for _ in 0..3 {
        let short = format!(
            "POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{}",
            "x".repeat(100_000)
        );
        let reply = reply_to(&mut client, &short);
        assert_eq!((reply.text(), reply.header("connection")), ("ignored", None));
        let chunks = CHUNKED.replace("/echo", "/ignore") + "3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(reply_to(&mut client, &chunks).text(), "ignored");
    }
    let long = "POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\nxyz";
    let reply = reply_to(&mut client, long);
    assert_eq!((reply.text(), reply.header("connection")), ("ignored", Some("close")));
    client.finish_sending().unwrap();
    assert_eq!(client.read_to_close().unwrap(), b"");
}

#[test]
fn a_body_longer_than_the_role_allows_is_413() {
    let served = serve_plain();
    let mut client = served.client();
    let exact = "POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde";
    assert_eq!(reply_to(&mut client, exact).status, 413);
    let chunked = CHUNKED.replace("/echo", "/short") + "5\r\nabcde\r\n0\r\n\r\n";
    assert_eq!(reply_to(&mut client, &chunked).status, 413);
    let fits = "POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd";
    assert_eq!(reply_to(&mut client, fits).status, 200);
}

#[test]
fn a_client_that_waits_for_100_continue_gets_it_when_the_body_is_wanted() {
    let served = serve_plain();
    let mut client = served.client();
    let head =
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    client.write_raw(head.as_bytes()).unwrap();
    client.write_raw(b"hi").unwrap();
    assert_eq!(client.read_reply("POST").unwrap().text(), "hi");
    let unwanted = head.replace("/echo", "/ignore");
    let reply = reply_to(&mut client, &unwanted);
    assert_eq!((reply.text(), reply.header("connection")), ("ignored", Some("close")));
}

#[test]
fn the_interim_reply_comes_before_the_body_is_sent() {
    use std::io::{Read, Write};
    let served = serve_plain();
    let mut stream = std::net::TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(testkit::FIXTURE_TIMEOUT)).unwrap();
    stream
        .write_all(
            b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n",
        )
        .unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hi").unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
}

#[test]
fn a_client_that_leaves_within_its_body_is_told_to_the_role() {
    let served = serve_plain();
    let text = exchange(&served, b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
    assert!(text.contains("closed the connection within"), "{text}");
    assert_eq!(served.next_sent().bytes_in, 3);
}
