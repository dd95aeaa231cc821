//! Makes the responses that claims in this crate are about, and polls futures step by step.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::entry::{Entry, Lifetime, NewEntry};

/// Fresh for a minute, then of use for 5 s while it is refetched, and for 9 s after errors.
pub(crate) const MINUTE: Lifetime = Lifetime {
    age: Duration::ZERO,
    fresh: Duration::from_secs(60),
    while_revalidate: Duration::from_secs(5),
    if_error: Duration::from_secs(9),
    strict: false,
    open: false,
};

/// Returns a response with these fields and this body, and nothing else.
pub(crate) fn response(fields: &[(&str, &str)], body: impl Into<Bytes>) -> NewEntry {
    NewEntry {
        status: 200,
        fields: fields.iter().copied().collect(),
        body: body.into(),
        ranked_by: None,
        decision_at: None,
        varies: false,
        tags: Default::default(),
        stamp: 0,
        codings: None,
    }
}

/// Returns a response with this body that has just arrived, fresh for a minute.
pub(crate) fn entry(body: impl Into<Bytes>) -> Arc<Entry> {
    Entry::new(response(&[("etag", "\"1\"")], body), MINUTE, Instant::now())
}

/// Polls a future once.
pub(crate) fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}
