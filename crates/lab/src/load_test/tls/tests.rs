//! Load over TLS, on a small server with a certificate of a test authority.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use load::{Arrivals, Stop};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::TlsTrust;
use crate::load_test::{CallDefaults, Calls, LoadOutcome, LoadTest, Pacing};
use crate::{LabError, load_test};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn certificates(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testkit/src/certificates").join(name)
}

/// A server that answers each request of each connection, as many at once as were sent.
fn server() -> SocketAddr {
    serve(answer)
}

/// A server that does so with each connection.
fn serve(answer: fn(TcpStream, Arc<ServerConfig>)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = CertificateDer::from_pem_file(certificates("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || answer(tcp.unwrap(), config));
        }
    });
    address
}

/// A server that answers whoever connects, in the clear.
fn plain_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let mut tcp = tcp.unwrap();
            tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let _ = tcp.read_to_end(&mut Vec::new());
        }
    });
    address
}

fn answer(tcp: TcpStream, config: Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), tcp);
    let (mut buffer, mut ends) = ([0; 4096], 0);
    // A client that does not believe us says goodbye instead.
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        for byte in &buffer[..read] {
            ends = if matches!(byte, b'\r' | b'\n') { ends + 1 } else { 0 };
            if ends == 4 && stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
}

fn load(url: &str, tls: TlsTrust, pace: Pacing, pipeline: usize) -> Result<LoadOutcome, LabError> {
    let mut calls = Calls::new(CallDefaults::default());
    calls.add(url)?;
    let plan = LoadTest {
        pace,
        stop: Stop::Count(200),
        warm_up: Duration::ZERO,
        timeout: Duration::from_secs(30),
        threads: 1,
        connections: 3,
        connections_max: 3,
        pipeline,
        tls,
        kept_max: 1000,
        cancel: Arc::new(AtomicBool::new(false)),
    };
    plan.run(calls.all(), &mut |_: &load_test::Second| ())
}

#[test]
fn calls_are_made_over_tls_in_both_loops_and_pipelined() {
    let url = format!("https://{}/", server());
    let trust = TlsTrust { authority: Some(certificates("authority.pem")), is_insecure: false };
    let open = Pacing::Open(Arrivals::Uniform { rate: 5000.0 });
    for (pace, pipeline) in
        [(Pacing::Closed { connections: 3 }, 1), (Pacing::Closed { connections: 2 }, 8), (open, 4)]
    {
        let loaded = load(&url, trust.clone(), pace, pipeline).unwrap();
        assert_eq!((loaded.succeeded, loaded.failures()), (200, 0), "{:?}", loaded.failed);
        // Records have more bytes than what they say.
        assert!(loaded.bytes[0] > 200 * ANSWER.len() as u64, "{:?}", loaded.bytes);
    }
}

#[test]
fn an_unknown_certificate_is_refused_in_words_unless_any_will_do() {
    let url = format!("https://{}/", server());
    let pace = Pacing::Closed { connections: 2 };
    let error = load(&url, TlsTrust::default(), pace.clone(), 1).unwrap_err();
    let words = stdx::Chain(&error).to_string();
    assert!(
        words.contains("certificate refused (its issuer is not believed; --ca names"),
        "{words}"
    );
    let anyone = TlsTrust { is_insecure: true, ..TlsTrust::default() };
    assert_eq!(load(&url, anyone, pace, 1).unwrap().succeeded, 200);
}

#[test]
fn a_server_without_tls_and_a_file_without_authorities_are_told() {
    let url = format!("https://{}/", plain_server());
    let pace = Pacing::Closed { connections: 1 };
    let anyone = TlsTrust { is_insecure: true, ..TlsTrust::default() };
    let error = load(&url, anyone, pace.clone(), 1).unwrap_err();
    let words = stdx::Chain(&error).to_string();
    assert!(words.ends_with(": what was answered is no TLS"), "{words}");
    let missing = TlsTrust { authority: Some("no/such.pem".into()), is_insecure: false };
    assert!(matches!(load(&url, missing, pace, 1), Err(LabError::Trust(_))));
}

/// Answers one request with a reply that lasts until the end, and says so where it `says_goodbye`.
fn answer_until_the_end(tcp: TcpStream, config: Arc<ServerConfig>, says_goodbye: bool) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), tcp);
    if !matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
        return;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
    if says_goodbye {
        stream.conn.send_close_notify();
    }
    // A client that has gone is no matter.
    let _ = stream.flush();
}

#[test]
fn a_reply_that_is_cut_off_without_a_goodbye_is_no_success() {
    let anyone = TlsTrust { is_insecure: true, ..TlsTrust::default() };
    let closed = Pacing::Closed { connections: 2 };
    let whole = serve(|tcp, config| answer_until_the_end(tcp, config, true));
    let loaded = load(&format!("https://{whole}/"), anyone.clone(), closed.clone(), 1).unwrap();
    assert_eq!((loaded.succeeded, loaded.failures()), (200, 0), "{:?}", loaded.failed);
    let cut = serve(|tcp, config| answer_until_the_end(tcp, config, false));
    let loaded = load(&format!("https://{cut}/"), anyone, closed, 1).unwrap();
    assert_eq!((loaded.succeeded, loaded.failed["connection closed"]), (0, 200));
}
