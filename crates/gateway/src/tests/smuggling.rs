//! Regressions of request smuggling, on raw sockets.
//!
//! Each case hides a request, `/hidden`, from a parser that frames the bytes differently. It checks
//! the replies, that the origin saw only the expected requests, and that the next client gets its
//! own response. Published cases are among them:
//!
//! - CVE-2025-4366 of Pingora: a body not drained on a cache hit;
//! - CVE-2026-2833 of Pingora: a tunnel before the 101 (in `upgrades`);
//! - CVE-2026-2835 of Pingora: codings and endless bodies of HTTP/1.0;
//! - CVE-2026-2836 of Pingora: a cache key without the host;
//! - CL.TE, TE.CL, TE.TE (Linhart et al., 2005; Kettle, 2019).

use std::net::Shutdown;

use super::raw::{RawOrigin, connect, read_body, rest, say, values};
use super::{Served, serve};

const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

/// An origin that answers with method, target, host and the bytes of the body.
fn echo() -> RawOrigin {
    RawOrigin::start(|head, line| {
        let body = read_body(head, line).len();
        let asked = head.split(" HTTP/").next().unwrap();
        let host = values(head, "host").join("+");
        let text = format!("[{asked} {host} {body}]");
        say(line, format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()));
        true
    })
}

const ROUTES: &str = r#"
[[route]]
path = "/cached/{*rest}"
to = "upstream:o"
cache = { ttl = "60s" }
[[route]]
path = "/post"
methods = ["POST"]
to = "upstream:o"
[[route]]
path = "/collect"
collect = "only"
[[route]]
path = "/cors"
to = "upstream:o"
cors = {}
[[route]]
path = "/small"
to = "upstream:o"
body_bytes_max = "4B"
[[route]]
path = "/socket"
to = "upstream:o"
upgrade = ["websocket"]
[[route]]
path = "/pass/{*rest}"
to = "upstream:o"
"#;

/// A gateway in front of an origin that echoes, with the requests that the origin should see.
struct Attacked {
    served: Served,
    origin: RawOrigin,
    expected: Vec<String>,
    cases: usize,
}

impl Attacked {
    fn new() -> Self {
        let origin = echo();
        let upstream = format!("[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n", origin.address);
        let served = serve(&format!("{upstream}{ROUTES}"));
        Self { served, origin, expected: Vec::new(), cases: 0 }
    }

    /// Sends bytes, ends its side, and returns what comes back.
    fn send(&self, bytes: &[u8]) -> String {
        let mut line = connect(self.served.address, bytes);
        // The gateway may have closed it already.
        let _ = line.get_ref().shutdown(Shutdown::Write);
        rest(&mut line)
    }

    /// Runs a case: the bytes get replies with these statuses, and the origin sees these requests.
    fn case(&mut self, bytes: impl AsRef<[u8]>, statuses: &[u16], asked: &[&str]) -> String {
        let bytes = bytes.as_ref();
        let shown = String::from_utf8_lossy(bytes).into_owned();
        let text = self.send(bytes);
        let heads = text.split("HTTP/1.1 ").skip(1).filter_map(|head| head[..3].parse().ok());
        assert_eq!(heads.collect::<Vec<u16>>(), statuses, "{shown:?} was answered {text:?}");
        assert!(!text.contains("/hidden"), "{shown:?} was answered {text:?}");
        self.expected.extend(asked.iter().map(|asked| (*asked).to_owned()));
        self.cases += 1;
        let victim = format!("/pass/victim{}", self.cases);
        let theirs = self.send(format!("GET {victim} HTTP/1.1\r\nHost: v\r\n\r\n").as_bytes());
        assert!(theirs.ends_with(&format!("[GET {victim} v 0]")), "after {shown:?}: {theirs}");
        self.expected.push(format!("GET {victim}"));
        assert_eq!(self.origin.asked(), self.expected, "after {shown:?}");
        text
    }

    /// Runs a case that is refused: the connection closes, and nothing is forwarded.
    fn refused(&mut self, bytes: impl AsRef<[u8]>, status: u16) {
        let text = self.case(&bytes, &[status], &[]);
        let shown = String::from_utf8_lossy(bytes.as_ref()).into_owned();
        assert!(text.contains("\r\nconnection: close\r\n"), "{shown:?} was answered {text:?}");
    }

    /// Ends the gateway and the origin, after all that reached the origin has been read.
    fn finish(self, cases_expected: usize) {
        let Self { served, origin, expected, cases } = self;
        drop(served);
        assert_eq!(origin.finish(), expected);
        assert_eq!(cases, cases_expected, "no case is lost unseen");
    }
}

fn post(fields: &str, body: &str) -> String {
    format!("POST /pass/x HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}")
}

/// Spellings of `Transfer-Encoding` that one parser takes for `chunked` and another does not.
const CODINGS: [(&str, u16); 36] = [
    ("Transfer-Encoding: xchunked", 501),
    ("Transfer-Encoding: chunkedx", 501),
    ("Transfer-Encoding: chunk", 501),
    ("Transfer-Encoding: identity", 501),
    ("Transfer-Encoding: chunked, identity", 501),
    ("Transfer-Encoding: identity, chunked", 501),
    ("Transfer-Encoding: chunked, chunked", 501),
    ("Transfer-Encoding: gzip, chunked", 501),
    ("Transfer-Encoding: chunked,", 501),
    ("Transfer-Encoding: ,chunked", 501),
    ("Transfer-Encoding: chunked;q=1", 501),
    ("Transfer-Encoding: \"chunked\"", 501),
    ("Transfer-Encoding: 'chunked'", 501),
    ("Transfer-Encoding:", 501),
    ("Transfer-Encoding: \t", 501),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 501),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", 501),
    ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", 501),
    ("Transfer-Encoding: chunked\r\ntransfer-encoding: x", 501),
    ("Transfer-Encoding: c\u{17f}hunked", 501),
    ("Transfer-Encoding : chunked", 400),
    ("Transfer-Encoding\t: chunked", 400),
    (" Transfer-Encoding: chunked", 400),
    ("\tTransfer-Encoding: chunked", 400),
    ("Transfer-Encoding:\r\n chunked", 400),
    ("Transfer-Encoding: chunked\r\n , identity", 400),
    ("X: y\r\n Transfer-Encoding: chunked", 400),
    ("X: y\rTransfer-Encoding: chunked", 400),
    ("X: y\nTransfer-Encoding: chunked", 400),
    ("X: y\r\r\nTransfer-Encoding: chunked", 400),
    ("Transfer-Encoding: \x0bchunked", 400),
    ("Transfer-Encoding: chunked\x0c", 400),
    ("Transfer-Encoding: chunked\0", 400),
    ("Transfer-Encoding\0: chunked", 400),
    ("Transfer_Encoding: chunked", 400),
    ("Transfer-Encoding chunked", 400),
];

/// Spellings of `Content-Length: 5` and of other lengths.
const LENGTHS: [(&str, u16); 34] = [
    ("Content-Length: 5, 5", 400),
    ("Content-Length: 5,6", 400),
    ("Content-Length: 5,", 400),
    ("Content-Length: ,5", 400),
    ("Content-Length: 5\r\nContent-Length: 5", 400),
    ("Content-Length: 5\r\nContent-Length: 0", 400),
    ("Content-Length: 0\r\nContent-Length: 5", 400),
    ("Content-Length: 5\r\ncontent-length: 6", 400),
    ("Content-Length: +5", 400),
    ("Content-Length: -5", 400),
    ("Content-Length: -0", 400),
    ("Content-Length: 0x5", 400),
    ("Content-Length: 5h", 400),
    ("Content-Length: 5.0", 400),
    ("Content-Length: 5e0", 400),
    ("Content-Length: 5 5", 400),
    ("Content-Length: 5;", 400),
    ("Content-Length: 5_0", 400),
    ("Content-Length: \"5\"", 400),
    ("Content-Length:", 400),
    ("Content-Length: five", 400),
    ("Content-Length: \u{665}", 400),
    ("Content-Length: 18446744073709551616", 400),
    ("Content-Length: 18446744073709551621", 400),
    ("Content-Length: 99999999999999999999999999", 400),
    ("Content-Length: 999999999999999999", 413),
    ("Content-Length : 5", 400),
    ("Content-Length\t: 5", 400),
    (" Content-Length: 5", 400),
    ("Content-Length:\r\n 5", 400),
    ("Content-Length: 5\r\n 0", 400),
    ("Content-Length: \x0b5", 400),
    ("Content-Length: 5\0", 400),
    ("Content_Length: 5", 400),
];

#[test]
fn codings_that_parsers_read_otherwise_are_refused() {
    let mut attacked = Attacked::new();
    let body = format!("0\r\n\r\n{HIDDEN}");
    for (coding, status) in CODINGS {
        attacked.refused(post(&format!("{coding}\r\n"), &body), status);
        attacked.refused(post(&format!("X: y\r\n{coding}\r\nZ: z\r\n"), &body), status);
        // With a length these are CL.TE and TE.CL; some are refused for both reasons.
        for fields in [
            format!("Content-Length: 5\r\n{coding}\r\n"),
            format!("{coding}\r\nContent-Length: {}\r\n", body.len()),
        ] {
            attacked.refused(post(&fields, &body), status);
        }
    }
    attacked.finish(144);
}

#[test]
fn a_length_beside_a_coding_is_refused_however_it_is_spelt() {
    let mut attacked = Attacked::new();
    for coding in ["chunked", "Chunked", "CHUNKED", "\tchunked", "chunked \t", " chunked"] {
        for length in ["0", "5", "00", "9999", "5\t"] {
            let body = format!("0\r\n\r\n{HIDDEN}");
            for fields in [
                format!("Content-Length: {length}\r\nTransfer-Encoding:{coding}\r\n"),
                format!("Transfer-Encoding:{coding}\r\nContent-Length: {length}\r\n"),
            ] {
                attacked.refused(post(&fields, &body), 400);
                attacked
                    .refused(post(&fields, &body).replace("POST /pass/x", "GET /cached/x"), 400);
            }
        }
    }
    attacked.finish(120);
}

#[test]
fn lengths_that_parsers_read_otherwise_are_refused() {
    let mut attacked = Attacked::new();
    for (length, status) in LENGTHS {
        for request in [
            post(&format!("{length}\r\n"), &format!("12345{HIDDEN}")),
            post(&format!("X: y\r\n{length}\r\nZ: z\r\n"), HIDDEN),
            post(&format!("{length}\r\n"), HIDDEN).replace("POST /pass/x", "GET /pass/x"),
        ] {
            attacked.refused(request, status);
        }
    }
    attacked.finish(102);
}

#[test]
fn chunked_bodies_that_parsers_end_elsewhere_are_refused() {
    let mut attacked = Attacked::new();
    let long = "x".repeat(17_000);
    for body in [
        "5\r\nhello\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
        "5\rhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "4\r\nhello\r\n0\r\n\r\n",
        "6\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5h\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\t5\r\nhello\r\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "5,5\r\nhello\r\n0\r\n\r\n",
        "\r\n5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n\r\n0\r\n\r\n",
        "\r\n\r\n",
        ";x\r\nhello\r\n0\r\n\r\n",
        "0_5\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffb\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffffb\r\nhello\r\n0\r\n\r\n",
        "0000000000000000000005\r\nhello\r\n0\r\n\r\n",
        "5;\nx\r\nhello\r\n0\r\n\r\n",
        "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n",
        "5;\rx\r\nhello\r\n0\r\n\r\n",
        "5;\0\r\nhello\r\n0\r\n\r\n",
        "5\0\r\nhello\r\n0\r\n\r\n",
        &format!("5;{long}\r\nhello\r\n0\r\n\r\n"),
        "5\r\nhello\r\n0\r\nno colon\r\n\r\n",
        "5\r\nhello\r\n0\r\n folded\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\r\n folded\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\nZ: z\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\rZ: z\r\n\r\n",
        "5\r\nhello\r\n0\r\nX : y\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: \0\r\n\r\n",
        "5\r\nhello\r\n-0\r\n\r\n",
        "5\r\nhello\r\n0x0\r\n\r\n",
        "5\r\nhello\r\n",
        "5\r\nhel",
        "",
    ] {
        // A body that ends too early is only cut off; it hides no request.
        let hidden = if body.ends_with("\r\n\r\n") { HIDDEN } else { "" };
        for target in ["POST /pass/x", "GET /cached/x"] {
            let request = post("Transfer-Encoding: chunked\r\n", &format!("{body}{hidden}"));
            attacked.refused(request.replace("POST /pass/x", target), 400);
        }
    }
    attacked.finish(88);
}

#[test]
fn heads_that_parsers_read_otherwise_are_refused() {
    let mut attacked = Attacked::new();
    for (head, status) in [
        ("GET /pass/x HTTP/1.1\nHost: a\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\n\n", 400),
        ("GET /pass/x HTTP/1.1\nHost: a\n\n", 400),
        ("GET /pass/x HTTP/1.1\rHost: a\r\r", 400),
        ("\nGET /pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("\rGET /pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (" GET /pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x\r\n\r\n", 400),
        ("GET /pass/x\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x HTTP/0.9\r\nHost: a\r\n\r\n", 505),
        ("GET /pass/x HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("GET /pass/x HTTP/1.10\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x http/1.1\r\nHost: a\r\n\r\n", 505),
        ("GET /pass/x HTTP/1,1\r\nHost: a\r\n\r\n", 505),
        ("GET  /pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET\t/pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x  HTTP/1.1\r\nHost: a\r\n\r\n", 505),
        ("GET /pass/x\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/ x HTTP/1.1\r\nHost: a\r\n\r\n", 505),
        ("GET /pass/\0x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x#y HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("G(T /pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 501),
        ("GET pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nHost:\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nHost : b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a#b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\\b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        ("GET http://u@a/pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http:///pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http:/pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET file:///pass/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a/pass/x HTTP/1.1\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX\0: z\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: y\rZ: z\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n", 400),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417),
        ("GET /pass/x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, x\r\n\r\n", 417),
        (&format!("GET /pass/x HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(100)), 431),
        (&format!("GET /pass/x HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(70_000)), 431),
    ] {
        attacked.refused(format!("{head}{HIDDEN}"), status);
    }
    attacked.finish(60);
}

/// CVE-2025-4366 in another proxy: the body of a request that the cache answered was read as the
/// next request.
#[test]
fn bodies_that_nobody_wants_are_no_requests() {
    let mut attacked = Attacked::new();
    attacked.case("GET /cached/x HTTP/1.1\r\nHost: a\r\n\r\n", &[200], &["GET /cached/x"]);
    let length = format!("Content-Length: {}\r\n\r\n{HIDDEN}", HIDDEN.len());
    let chunked =
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{HIDDEN}\r\n0\r\n\r\n", HIDDEN.len());
    let next = "GET /pass/next HTTP/1.1\r\nHost: a\r\n\r\n";
    for body in [length, chunked] {
        for (line, status, asked) in [
            ("GET /cached/x", 200, Some("GET /cached/x")),
            ("GET /pass/x", 200, Some("GET /pass/x")),
            ("DELETE /pass/x", 200, Some("DELETE /pass/x")),
            ("GET /socket", 200, Some("GET /socket")),
            ("GET /post", 405, None),
            ("GET /nowhere", 404, None),
            ("POST /nowhere", 404, None),
            ("POST /collect", 204, None),
            ("GET /collect", 204, None),
            ("POST /small", 413, None),
        ] {
            let request = format!("{line} HTTP/1.1\r\nHost: a\r\n{body}{next}");
            let all: Vec<&str> = asked.into_iter().chain(["GET /pass/next"]).collect();
            attacked.case(&request, &[status, 200], &all);
            let offer = "Connection: upgrade\r\nUpgrade: websocket\r\n";
            let request = format!("{line} HTTP/1.1\r\nHost: a\r\n{offer}{body}{next}");
            attacked.case(&request, &[status, 200], &all);
        }
        let preflight = "Origin: http://b\r\nAccess-Control-Request-Method: PUT\r\n";
        let request = format!("OPTIONS /cors HTTP/1.1\r\nHost: a\r\n{preflight}{body}{next}");
        attacked.case(request, &[204, 200], &["GET /pass/next"]);
    }
    // A hit leaves the body unread; a body of zero bytes is none.
    let empty = "GET /cached/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    attacked.case(format!("{empty}{empty}{next}"), &[200, 200, 200], &["GET /pass/next"]);
    // These bodies are too long to be drained: the reply is sent, and the connection closes.
    let long = format!("{HIDDEN}{}{HIDDEN}", "x".repeat(300_000));
    for line in ["POST /nowhere", "GET /post"] {
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", long.len());
        let status = if line.ends_with("post") { 405 } else { 404 };
        attacked.case(format!("{head}{long}{next}"), &[status], &[]);
    }
    // A client that waits for 100 Continue may send the next request instead of the body.
    let waits = "Expect: 100-continue\r\nContent-Length: 33\r\n";
    attacked.refused(post(waits, HIDDEN).replace("/pass/x", "/nowhere"), 404);
    attacked.finish(47);
}

/// CVE-2026-2835 in another proxy: codings under HTTP/1.0, and bodies to the end of the connection.
#[test]
fn requests_of_http_1_0_end_where_their_length_says_or_with_the_connection() {
    let mut attacked = Attacked::new();
    let keep = "Connection: keep-alive\r\n";
    for (coding, _) in CODINGS.into_iter().chain([("Transfer-Encoding: chunked", 400)]) {
        for (fields, body) in [("", HIDDEN), (keep, HIDDEN), ("Content-Length: 5\r\n", "0\r\n\r\n")]
        {
            let request = format!(
                "POST /pass/x HTTP/1.0\r\nHost: a\r\n{fields}{coding}\r\n\r\n{body}{HIDDEN}"
            );
            attacked.refused(request, 400);
        }
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "X"] {
        for fields in ["", keep, "Content-Length: 0\r\nConnection: keep-alive\r\n"] {
            let request = format!("{method} /pass/x HTTP/1.0\r\nHost: a\r\n{fields}\r\n{HIDDEN}");
            let asked = format!("{method} /pass/x");
            let text = attacked.case(request, &[200], &[&asked]);
            assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
        }
    }
    let once = "GET /pass/x HTTP/1.0\r\nHost: a\r\n\r\n";
    attacked.case(format!("{once}{HIDDEN}"), &[200], &["GET /pass/x"]);
    attacked.case("GET /pass/x HTTP/1.0\r\n\r\n", &[200], &["GET /pass/x"]);
    let kept = format!("GET /pass/x HTTP/1.0\r\n{keep}\r\n");
    attacked.case(format!("{kept}{once}{HIDDEN}"), &[200, 200], &["GET /pass/x"; 2]);
    let body = format!("POST /pass/x HTTP/1.0\r\n{keep}Content-Length: {}\r\n\r\n", HIDDEN.len());
    attacked.case(format!("{body}{HIDDEN}{once}"), &[200, 200], &["POST /pass/x", "GET /pass/x"]);
    // There is no interim response, even if one is expected.
    let expects = "POST /pass/x HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi";
    attacked.case(expects, &[200], &["POST /pass/x"]);
    attacked.finish(134);
}

/// CVE-2026-2836 in another proxy: hosts shared their entries.
#[test]
fn answers_are_kept_apart_by_the_host_that_was_meant() {
    let mut attacked = Attacked::new();
    let hosts = ["a", "b", "a:8080", "a.b"];
    for (target, host, meant) in hosts.into_iter().map(|host| ("/cached/k", host, host)).chain([
        // The target counts, not the field (RFC 9112 §3.2.2).
        ("http://c/cached/k", "a", "c"),
        ("http://a:81/cached/k", "b", "a:81"),
    ]) {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let text = attacked.case(&request, &[200], &["GET /cached/k"]);
        assert!(text.ends_with(&format!("[GET /cached/k {meant} 0]")), "{request}: {text}");
        let again = attacked.case(&request, &[200], &[]);
        assert!(again.ends_with(&format!("[GET /cached/k {meant} 0]")), "{request}: {again}");
    }
    // The same host in other spellings.
    for request in [
        "GET /cached/k HTTP/1.1\r\nHost: A\r\n\r\n",
        "GET /cached/k HTTP/1.1\r\nHost: a:80\r\n\r\n",
        "GET http://a/cached/k HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET HTTP://A/cached/k HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET /cached/k HTTP/1.0\r\nHost: a\r\n\r\n",
    ] {
        let text = attacked.case(request, &[200], &[]);
        assert!(text.ends_with("[GET /cached/k a 0]"), "{request}: {text}");
    }
    let text = attacked.case("GET /cached/k HTTP/1.0\r\n\r\n", &[200], &["GET /cached/k"]);
    assert!(text.ends_with("[GET /cached/k  0]"), "no host is not another's: {text}");
    let text = attacked.case("GET /cached/k HTTP/1.0\r\nHost:\r\n\r\n", &[200], &[]);
    assert!(text.ends_with("[GET /cached/k  0]"), "an empty one is none: {text}");
    attacked.case("GET /cached/k HTTP/1.1\r\nHost:\r\n\r\n", &[400], &[]);
    // Paths that look like hosts are paths.
    let text = attacked.case("GET //b/cached/k HTTP/1.1\r\nHost: a\r\n\r\n", &[404], &[]);
    assert!(text.contains("no such resource"), "{text}");
    attacked.finish(21);
}

#[test]
fn fields_that_a_client_takes_out_are_taken_out_and_change_nobodys_answer() {
    let mut attacked = Attacked::new();
    for option in ["content-length", "host", "transfer-encoding", "content-length, host, close"] {
        let fields = format!("Connection: {option}\r\nContent-Length: {}\r\n", HIDDEN.len());
        let text = attacked.case(post(&fields, HIDDEN), &[200], &["POST /pass/x"]);
        let body = HIDDEN.len();
        assert!(text.ends_with(&format!("[POST /pass/x a {body}]")), "{option}: {text}");
    }
    // The response without the cookie must not be stored for requests with it.
    for option in ["cookie", "X, Cookie", "host"] {
        let request = format!(
            "GET /cached/c HTTP/1.1\r\nHost: a\r\nCookie: c\r\nX: y\r\nConnection: {option}\r\n\r\n"
        );
        attacked.case(&request, &[200], &["GET /cached/c"]);
    }
    let head = attacked.origin.heads().into_iter().filter(|head| head.contains("/cached/c"));
    let cookies: Vec<usize> = head.map(|head| values(&head, "cookie").len()).collect();
    assert_eq!(cookies, [0, 0, 1]);
    let plain = "GET /cached/c HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n\r\n";
    attacked.case(plain, &[200], &["GET /cached/c"]);
    attacked.case(plain, &[200], &[]);
    attacked.finish(9);
}

#[test]
fn what_is_well_framed_goes_through_as_it_is_meant() {
    let mut attacked = Attacked::new();
    let hidden = HIDDEN.len();
    let chunks = format!("{hidden:x};a=b;c=\"d\"\r\n{HIDDEN}\r\n000\r\nX: y\r\nHost: evil\r\n\r\n");
    for coding in ["chunked", "Chunked", "CHUNKED", "\tchunked\t", "chunked "] {
        let request = post(&format!("Transfer-Encoding:{coding}\r\n"), &chunks);
        let text = attacked.case(&request, &[200], &["POST /pass/x"]);
        assert!(text.ends_with(&format!("[POST /pass/x a {hidden}]")), "{text}");
        attacked.case(request.repeat(3), &[200; 3], &["POST /pass/x"; 3]);
    }
    for length in [format!("{hidden}"), format!("000{hidden}"), format!("\t{hidden} \t")] {
        let request = post(&format!("Content-Length:{length}\r\n"), HIDDEN);
        attacked.case(request.repeat(3), &[200; 3], &["POST /pass/x"; 3]);
    }
    let spaced = format!("\r\n\r\n\r\n{}\r\n\r\n", post("Content-Length: 2\r\n", "hi"));
    attacked.case(spaced.repeat(2), &[200; 2], &["POST /pass/x"; 2]);
    // The bytes behind a body are a request, or are refused.
    let junk = post("Content-Length: 2\r\n", "hi junk\r\n\r\n");
    attacked.case(junk, &[200, 400], &["POST /pass/x"]);
    let expects = post("Expect: 100-continue\r\nContent-Length: 2\r\n", "hi");
    attacked.case(&expects, &[200], &["POST /pass/x"]);
    let head = attacked.origin.heads().into_iter().rfind(|head| head.contains("/pass/x")).unwrap();
    assert!(values(&head, "expect").is_empty(), "{head}");
    attacked.finish(16);
}
