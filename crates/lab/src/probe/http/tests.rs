//! Claims about requests and their answers, against origins that are scripted.

use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use testkit::{Gate, Origin, OriginReply};

use load::{Ask, ReplyReader};

use super::{HttpCaller, feed};
use crate::LabError;
use crate::probe::call::{CallDetails, CallFailure, Caller, Stopwatch};
use crate::probe::{AddressFamily, HttpOptions, ProbeTarget};

const LONG: Duration = Duration::from_secs(20);

struct Calls(HttpCaller, Vec<(&'static str, f64)>);

impl Calls {
    fn to(url: &str, options: HttpOptions) -> Self {
        let ProbeTarget::Http(url) = url.parse().unwrap() else { panic!() };
        Self(HttpCaller::new(&url, AddressFamily::Any, &Arc::new(options)).unwrap(), Vec::new())
    }

    fn make_within(&mut self, number: u64, timeout: Duration) -> Result<CallDetails, CallFailure> {
        self.0.prepare(number);
        let mut watch = Stopwatch::start(timeout);
        let made = self.0.call(&mut watch);
        self.1 = watch.phases;
        made
    }

    fn make(&mut self, number: u64) -> Result<CallDetails, CallFailure> {
        self.make_within(number, LONG)
    }

    fn phases(&self) -> Vec<&str> {
        self.1.iter().map(|(name, _)| *name).collect()
    }
}

fn once(origin: &Origin, path: &str) -> Result<CallDetails, CallFailure> {
    Calls::to(&format!("http://{}{path}", origin.address()), HttpOptions::default()).make(7)
}

fn named<'m>(made: &'m CallDetails, name: &str) -> &'m str {
    made.names.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

#[test]
fn the_number_stands_in_path_header_and_body() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let options = HttpOptions {
        method: "POST".to_owned(),
        fields: vec![("X-Key".to_owned(), "k{n}".to_owned())],
        body: b"{\"id\": {n}}".to_vec(),
        ..HttpOptions::default()
    };
    let mut calls = Calls::to(&format!("http://{}/a?{{n}}", origin.address()), options);
    calls.make(12).unwrap();
    let seen = &origin.requests()[0];
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/a?12"));
    assert_eq!(seen.header("x-key"), Some("k12"));
    assert_eq!(seen.body, b"{\"id\": 12}");
}

#[test]
fn a_head_that_comes_in_pieces_is_kept_whole_and_the_body_only_counted() {
    let answer = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 6\r\n\r\nabcdef";
    let head = answer.len() - 6;
    for size in 1..head {
        let (mut reader, mut ask) = (ReplyReader::default(), Ask { keep: true, ..Ask::default() });
        let pieces: Vec<&[u8]> =
            answer[..head].chunks(size).chain(answer[head..].chunks(size)).collect();
        let whole = pieces.iter().map(|piece| feed(&mut reader, piece, &mut ask).unwrap());
        assert_eq!(whole.filter(|is_whole| *is_whole).count(), 1);
        assert_eq!(reader.kept(), (&answer[..head], &b""[..]), "in pieces of {size}");
        assert_eq!(reader.body_bytes, 6);
    }
}

#[test]
fn bodies_of_any_framing_are_read_whole_and_counted() {
    let origin = Origin::start(|request| match request.path() {
        "/chunked" => OriginReply::ok(vec![b'x'; 100_000]).chunked(999),
        "/until-close" => OriginReply::ok("").raw("HTTP/1.0 200 OK\r\n\r\nabc"),
        "/early" => OriginReply::ok("four").early("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
        _ => OriginReply::ok(vec![b'x'; 300_000]),
    });
    for (path, bytes) in
        [("/chunked", 100_000.0), ("/length", 300_000.0), ("/until-close", 3.0), ("/early", 4.0)]
    {
        let made = once(&origin, path).unwrap();
        assert_eq!(made.numbers, [("bytes".to_owned(), bytes)], "{path}");
        assert_eq!(named(&made, "status"), "200");
    }
}

#[test]
fn a_head_request_awaits_no_body() {
    let origin = Origin::start(|_| OriginReply::ok("body"));
    let options = HttpOptions { method: "HEAD".to_owned(), ..HttpOptions::default() };
    let mut calls = Calls::to(&format!("http://{}/", origin.address()), options);
    assert_eq!(calls.make(0).unwrap().numbers[0].1, 0.0);
}

#[test]
fn answers_that_are_cut_off_or_nonsense_are_failures() {
    let origin = Origin::start(|request| match request.path() {
        "/silent" => OriginReply::ok("").close_before_head(),
        "/cut" => OriginReply::ok("0123456789").close_mid_body(4),
        "/status" => OriginReply::status(503),
        "/lengths" => OriginReply::ok("")
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n12"),
        "/both" => OriginReply::ok("")
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n12"),
        _ => OriginReply::ok("").raw("ICY 200 OK\r\n\r\n"),
    });
    let words = |path| once(&origin, path).unwrap_err().words;
    assert_eq!(words("/silent"), "connection closed");
    assert_eq!(words("/cut"), "connection closed");
    assert_eq!(words("/status"), "status 503");
    for path in ["/nonsense", "/lengths", "/both"] {
        assert_eq!(words(path), "the answer is not HTTP/1", "{path}");
    }
}

#[test]
fn statuses_that_are_expected_are_no_failures_and_others_are() {
    let origin = Origin::start(|_| OriginReply::status(404));
    let options = HttpOptions { statuses: vec![404..=404], ..HttpOptions::default() };
    let made = Calls::to(&format!("http://{}/", origin.address()), options).make(0).unwrap();
    assert_eq!(named(&made, "status"), "404");
}

#[test]
fn a_target_that_is_silent_or_gone_is_told_apart() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("late").after(&held));
    let address = format!("http://{}/", origin.address());
    let mut calls = Calls::to(&address, HttpOptions::default());
    let failure = calls.make_within(0, Duration::from_millis(30)).unwrap_err();
    assert_eq!(failure.words, "timed out (wait)");
    gate.open();
    drop(origin);
    assert_eq!(calls.make(0).unwrap_err().words, "connection refused");
}

#[test]
fn the_wait_ends_with_the_first_byte_and_phases_lie_side_by_side() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let port = origin.address().port();
    let mut calls = Calls::to(&format!("http://localhost:{port}/"), HttpOptions::default());
    calls.0.family = AddressFamily::V4;
    calls.make(0).unwrap();
    assert_eq!(calls.phases(), ["resolve", "connect", "send", "wait", "transfer"]);
}

#[test]
fn connections_are_kept_on_request_and_a_closed_one_is_replaced() {
    let origin = Origin::start(|request| match request.nth {
        1 => OriginReply::ok("bye").close(),
        _ => OriginReply::ok("hi"),
    });
    let options = HttpOptions { keeps_alive: true, ..HttpOptions::default() };
    let mut calls = Calls::to(&format!("http://{}/", origin.address()), options);
    let used: Vec<String> =
        (0..4).map(|n| named(&calls.make(n).unwrap(), "connection").to_owned()).collect();
    assert_eq!(used, ["new", "reused", "new", "reused"]);
    assert_eq!(calls.phases(), ["send", "wait", "transfer"]);
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_request_that_met_a_closing_connection_is_sent_again() {
    let origin = Origin::start(|request| match request.nth {
        // The connection ends without a byte, as when a server's patience ran out just then.
        1 => OriginReply::ok("").close_before_head(),
        _ => OriginReply::ok("hi"),
    });
    let options = HttpOptions { keeps_alive: true, ..HttpOptions::default() };
    let mut calls = Calls::to(&format!("http://{}/", origin.address()), options);
    calls.make(0).unwrap();
    assert_eq!(named(&calls.make(1).unwrap(), "connection"), "new");
    assert_eq!(origin.count("/"), 3);
}

fn certificates(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testkit/src/certificates").join(name)
}

/// A server that shakes hands with one client, if it will, and says hello.
fn tls_server() -> u16 {
    tls_server_of(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true)
}

/// A server that answers one request with these bytes, and may hang up without a `close_notify`.
fn tls_server_of(answer: &'static [u8], says_goodbye: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificate = CertificateDer::from_pem_file(certificates("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    std::thread::spawn(move || {
        let (tcp, _) = listener.accept().unwrap();
        let session = rustls::ServerConnection::new(config).unwrap();
        let mut stream = rustls::StreamOwned::new(session, tcp);
        let mut request = [0; 1000];
        // A client that does not believe us says goodbye instead.
        if std::io::Read::read(&mut stream, &mut request).is_ok() {
            stream.write_all(answer).unwrap();
            if says_goodbye {
                stream.conn.send_close_notify();
            }
            stream.flush().unwrap();
        }
    });
    port
}

#[test]
fn tls_is_a_phase_and_a_named_authority_is_believed() {
    let authority = Some(certificates("authority.pem"));
    let options = HttpOptions { authority, ..HttpOptions::default() };
    let mut calls = Calls::to(&format!("https://127.0.0.1:{}/", tls_server()), options);
    assert_eq!(calls.make(0).unwrap().numbers[0].1, 5.0);
    assert_eq!(calls.phases(), ["connect", "tls", "send", "wait", "transfer"]);
}

#[test]
fn over_tls_an_answer_that_lasts_until_the_end_needs_its_close_notify() {
    for says_goodbye in [true, false] {
        let port = tls_server_of(b"HTTP/1.1 200 OK\r\n\r\nhello", says_goodbye);
        let options = HttpOptions { is_insecure: true, ..HttpOptions::default() };
        let made = Calls::to(&format!("https://127.0.0.1:{port}/"), options).make(0);
        let failed = made.map_err(|failure| failure.words).err();
        assert_eq!(failed.as_deref(), (!says_goodbye).then_some("connection closed"));
    }
}

#[test]
fn an_unknown_certificate_is_refused_unless_any_will_do() {
    let mut calls =
        Calls::to(&format!("https://127.0.0.1:{}/", tls_server()), HttpOptions::default());
    let words = calls.make(0).unwrap_err().words;
    assert!(words.starts_with("tls: certificate refused (its issuer is not believed; "), "{words}");
    let options = HttpOptions { is_insecure: true, ..HttpOptions::default() };
    let mut calls = Calls::to(&format!("https://127.0.0.1:{}/", tls_server()), options);
    calls.make(0).unwrap();
}

#[test]
fn a_server_that_speaks_no_tls_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut tcp, _) = listener.accept().unwrap();
        tcp.write_all(b"220 mail.example ESMTP\r\n").unwrap();
        // Until the client hangs up.
        drop(std::io::copy(&mut tcp, &mut std::io::sink()));
    });
    let mut calls = Calls::to(&format!("https://127.0.0.1:{port}/"), HttpOptions::default());
    let words = calls.make(0).unwrap_err().words;
    assert_eq!(words, "tls: what was answered is no TLS");
    server.join().unwrap();
}

#[test]
fn a_file_without_certificates_stops_the_probe() {
    let options =
        HttpOptions { authority: Some(certificates("server.key")), ..HttpOptions::default() };
    let ProbeTarget::Http(url) = "https://127.0.0.1/".parse().unwrap() else { panic!() };
    let error = HttpCaller::new(&url, AddressFamily::Any, &Arc::new(options)).err().unwrap();
    assert!(matches!(error, LabError::Trust(_)), "{error}");
    assert!(error.to_string().contains("server.key"), "{error}");
}
