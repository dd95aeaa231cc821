//! An upstream's first answer, read by us and by hyper (RFC 9112 §4–§7).
//!
//! - Where both read an answer, they agree on what it is and where its body ends.
//! - It is the same in whatever pieces it arrives.
//! - None of its fields can become two.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use gateway::fuzzing::{AnswerReading, read_answer};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

pub(super) const TOKENS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 5, 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding: 78wq\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "\r\n",
    "5\r\nhello\r\n0\r\n\r\n",
    "hello",
    " folded\r\n",
    "X: y\r\n",
];

/// The first line: `HEAD` when that was asked; its other bytes cut the rest into pieces.
pub(super) fn run(input: &[u8]) {
    let (cuts, bytes) = super::settings(input);
    let bodiless = cuts.starts_with(b"HEAD");
    let whole = read_answer([bytes], bodiless);
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for cut in cuts.iter().map(|b| usize::from(*b % 19)) {
        let (piece, more) = rest.split_at(cut.min(rest.len()));
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    // What is refused in the end may look like the beginning of an answer until then.
    assert_eq!(read_answer(pieces, bodiless), whole, "in pieces it means something else");
    assert_eq!(read_answer(bytes.chunks(1), bodiless), whole, "byte by byte");
    let Some(ours) = whole else { return };
    holds_lines(&ours.fields);
    if let Some(end) = ours.kept {
        assert!(ours.is_whole && end <= bytes.len());
        let alone = read_answer([&bytes[..end]], bodiless);
        assert_eq!(alone.as_ref(), Some(&ours), "what stands behind it changes it");
    }
    if let Some(theirs) = hypers_reading(bytes, bodiless).filter(|_| ours.status != 101) {
        let AnswerReading { status, body, is_whole, .. } = ours;
        assert_eq!(theirs, (status, is_whole.then_some(body)), "two readings of one answer");
    }
}

/// Every line is a name, a colon and a value that ends where the line does.
fn holds_lines(fields: &[u8]) {
    let Some(lines) = fields.strip_suffix(b"\r\n") else { return assert!(fields.is_empty()) };
    for line in lines.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let colon = line.windows(2).position(|pair| pair == b": ").expect("a line has a colon");
        assert!(colon > 0 && !line.iter().any(|b| matches!(b, b'\r' | 0)), "{line:?}");
    }
}

/// Status and body as hyper's client reads them; no body when it breaks off.
fn hypers_reading(bytes: &[u8], bodiless: bool) -> Option<(u16, Option<Vec<u8>>)> {
    thread_local! {
        static RUNTIME: Runtime =
            Builder::new_current_thread().build().expect("a runtime without drivers starts");
    }
    // The answer comes behind the request, or it would be one to no request.
    let answer = AnswerOnDemand { bytes: bytes.to_vec(), asked: false, reader: None };
    let ask = async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(answer)).await.ok()?;
        let request = Request::builder().method(if bodiless { "HEAD" } else { "GET" });
        let request = request.uri("/").body(Empty::<Bytes>::new()).expect("a request is made");
        let read = async {
            let (head, body) = sender.send_request(request).await.ok()?.into_parts();
            let body = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
            Some((head.status.as_u16(), body))
        };
        // How the connection ended says nothing about the first answer.
        tokio::join!(read, connection).0
    };
    RUNTIME.with(|runtime| runtime.block_on(ask))
}

/// A server that says these bytes as soon as it is asked anything.
struct AnswerOnDemand {
    bytes: Vec<u8>,
    asked: bool,
    reader: Option<Waker>,
}

impl AsyncRead for AnswerOnDemand {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let length = self.bytes.len().min(space.remaining());
        space.put_slice(&self.bytes[..length]);
        self.bytes.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for AnswerOnDemand {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        self.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
