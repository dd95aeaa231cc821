//! Request heads: one that is accepted can be read in one way only (RFC 9112 §2–6).
//!
//! Held against a second reading, line by line and without cleverness.

use crate::reading::read_head;
use http1::Head;
use http1::request::BodyLength;

pub(super) const TOKENS: &[&str] = &[
    "GET /",
    "POST ",
    "HEAD ",
    "OPTIONS *",
    "CONNECT a:1",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    "Host: a\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "\r\n\r\n",
    "Connection: close\r\n",
    "Expect: 100-continue\r\n",
    "http://a/",
    "https://",
    "chunked",
    "identity",
    ", chunked",
    "content_length: 7\r\n",
];

pub(super) fn run(input: &[u8]) {
    let accepted = read_head(input, |head| match head {
        Ok(Some((head, length))) => {
            check(&head, input, length);
            Some((rendered(&head), length, head.body_length()))
        }
        _ => None,
    });
    let Some((rendered, length, body)) = accepted else { return };
    read_head(&input[..length - 1], |head| {
        assert!(!matches!(head, Ok(Some(_))), "a head is complete before its end");
    });
    read_head(&rendered, |again| {
        let (again, _) = again.expect("what is rendered is a head").expect("and a whole one");
        assert_eq!(super::head::rendered(&again), rendered, "a second reading differs");
        assert_eq!(again.body_length(), body, "a second reading frames the body otherwise");
    });
}

/// Reads the accepted bytes again, slowly.
fn check(head: &Head<'_>, input: &[u8], length: usize) {
    let mut input = input;
    let mut length = length;
    while let Some(rest) = input.strip_prefix(b"\r\n") {
        (input, length) = (rest, length - 2);
    }
    let bytes = &input[..length];
    assert!(bytes.ends_with(b"\r\n\r\n"), "a head ends in an empty line");
    let end = input.windows(4).position(|window| window == b"\r\n\r\n");
    assert_eq!(end.map(|at| at + 4), Some(length), "the first empty line ends a head");
    let lines = split_lines(&bytes[..length - 2]);
    let (start, fields) = lines.split_first().expect("a head has a request line");
    let words: Vec<&[u8]> = start.split(|b| *b == b' ').collect();
    assert_eq!(words.len(), 3, "a request line has three words");
    assert_eq!((words[0], words[1]), (head.method().as_bytes(), head.target().as_bytes()));
    let version: &[u8] = if head.is_http_10() { b"HTTP/1.0" } else { b"HTTP/1.1" };
    assert_eq!(words[2], version);
    let fields: Vec<(&[u8], &[u8])> = fields.iter().map(|line| field(line)).collect();
    let read: Vec<(&[u8], &[u8])> = head.fields().map(|(n, v)| (n.as_bytes(), v)).collect();
    let plain = fields.iter().filter(|(name, _)| !name.contains(&b'_')).copied();
    assert_eq!(read, plain.collect::<Vec<_>>(), "the fields as they stand, but for underscores");
    check_framing(&fields, head);
}

/// Lines between CR LF pairs; neither character may stand alone.
fn split_lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let line = &rest[..end];
        assert!(!line.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)), "a bare CR, LF or NUL");
        lines.push(line);
        rest = &rest[end + 2..];
    }
    assert!(rest.is_empty(), "every line ends in CR LF");
    lines
}

fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let colon = line.iter().position(|b| *b == b':').expect("a field has a colon");
    let name = &line[..colon];
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    assert!(!name.is_empty() && name.iter().all(is_token), "a field name is a token");
    let value = &line[colon + 1..];
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let start = value.iter().position(|b| !blank(b)).unwrap_or(value.len());
    let end = value.iter().rposition(|b| !blank(b)).map_or(start, |at| at + 1);
    (name, &value[start..end])
}

fn check_framing(fields: &[(&[u8], &[u8])], head: &Head<'_>) {
    let all = |wanted: &str| -> Vec<&[u8]> {
        let same = |name: &[u8]| name.eq_ignore_ascii_case(wanted.as_bytes());
        fields.iter().filter(|(name, _)| same(name)).map(|(_, value)| *value).collect()
    };
    let (hosts, lengths) = (all("host"), all("content-length"));
    let codings = all("transfer-encoding");
    assert!(hosts.len() == 1 || (hosts.is_empty() && head.is_http_10()), "one Host");
    assert!(!hosts.iter().any(|host| host.iter().any(|b| b"/?#@, \t\\".contains(b))));
    let has_host = !matches!(head.host().bytes().next(), None | Some(b':'));
    assert!(has_host || head.is_http_10(), "an HTTP/1.1 request names a host");
    for passing in ["content_length", "transfer_encoding"] {
        assert!(all(passing).is_empty(), "a name that passes for another");
    }
    let expected = match (&lengths[..], &codings[..]) {
        ([], []) => BodyLength::None,
        ([length], []) => {
            let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            assert!(digits, "a length is of digits");
            match std::str::from_utf8(length).ok().and_then(|l| l.parse().ok()) {
                Some(0) => BodyLength::None,
                length => BodyLength::Exact(length.expect("a length fits 64 bits")),
            }
        }
        ([], [coding]) => {
            assert!(coding.eq_ignore_ascii_case(b"chunked"), "no coding but chunked");
            assert!(!head.is_http_10(), "HTTP/1.0 knows no coding");
            BodyLength::Chunked
        }
        _ => panic!("two framings"),
    };
    assert_eq!(head.body_length(), expected);
}

fn rendered(head: &Head<'_>) -> Vec<u8> {
    let version = if head.is_http_10() { "1.0" } else { "1.1" };
    let mut out = format!("{} {} HTTP/{version}\r\n", head.method(), head.target()).into_bytes();
    for (name, value) in head.fields() {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out
}
