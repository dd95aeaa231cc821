//! A connection's first request, read by us and by hyper: where both read one, they agree on what
//! it is and where its body ends. Two servers in a row that disagree can be made to smuggle.

use std::cell::RefCell;
use std::convert::Infallible;

use crate::reading::{Chunks, decode_chunks, read_head};
use http_body_util::{BodyExt, Empty};
use http1::request::BodyLength;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::runtime::{Builder, Runtime};

pub(super) const TOKENS: &[&str] = super::head::TOKENS;

/// A request as a reader understood it.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    method: String,
    target: String,
    body: Vec<u8>,
}

pub(super) fn run(input: &[u8]) {
    let Some(ours) = our_reading(input) else { return };
    if let Some(theirs) = hypers_reading(input) {
        assert_eq!(ours, theirs, "two readings of one request");
    }
}

fn our_reading(input: &[u8]) -> Option<Reading> {
    read_head(input, |head| {
        let (head, length) = head.ok()??;
        let rest = &input[length..];
        let body = match head.body_length() {
            BodyLength::None => Vec::new(),
            BodyLength::Exact(bytes) => rest.get(..usize::try_from(bytes).ok()?)?.to_vec(),
            BodyLength::Chunked => match decode_chunks([rest]) {
                Chunks::Whole(body, _) => body,
                _ => return None,
            },
        };
        Some(Reading { method: head.method().to_owned(), target: head.target().to_owned(), body })
    })
}

fn hypers_reading(input: &[u8]) -> Option<Reading> {
    thread_local! {
        static RUNTIME: Runtime =
            Builder::new_current_thread().build().expect("a runtime without drivers starts");
    }
    let first = RefCell::new(None);
    let service = service_fn(|request: Request<Incoming>| {
        let first = &first;
        async move {
            let (head, body) = request.into_parts();
            if let Ok(body) = body.collect().await
                && first.borrow().is_none()
            {
                let method = head.method.to_string();
                let body = body.to_bytes().to_vec();
                *first.borrow_mut() = Some(Reading { method, target: head.uri.to_string(), body });
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let both_ways = TokioIo::new(tokio::io::join(input, tokio::io::sink()));
    let connection =
        conn::http1::Builder::new().keep_alive(false).serve_connection(both_ways, service);
    // How the connection ended says nothing about the first request.
    let _ = RUNTIME.with(|runtime| runtime.block_on(connection));
    first.into_inner().filter(|reading| reading.target.starts_with('/'))
}
