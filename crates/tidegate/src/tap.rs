//! Shows exchanges to those who watch at `GET /tap`, as they end.
//!
//! Each viewer has a filter and a queue of lines. A line is that of the journal, masked as the
//! journal masks it; with `headers=1` it has the request's headers, too, without secrets. Each
//! second a viewer gets a line `{"tap":{…}}` that counts what ended, matched and was dropped.
//! Invariants: who does not watch costs one atomic load an exchange. An exchange that nobody wants
//! writes to no memory that another core writes to. A viewer never holds up an exchange: what does
//! not fit its queue is dropped and counted. The filter sees what the viewer
//! may, so it finds no masked value out. A view ends when its client leaves, and when the drain
//! begins. Bounds: `VIEWERS_MAX` viewers, and `QUEUE_BYTES_MAX` bytes for each. Refuses: 400 for a
//! wrong parameter, 503 for one viewer too many. Never here: the answer to clients of the public
//! listener, and what is read of the lines (`traffic`).

mod lanes;

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use chassis::Draining;
use chassis::admin::{Page, Visit};
use chassis::http::Source;
use exchange::{
    ExchangeRef, FieldName, FieldValue, Fields, Filter, decode_query, is_secret_header,
};
use http1::Head;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Interval, MissedTickBehavior, interval};

use self::lanes::CountLanes;
use crate::ports::Masking;
use crate::recorded::REDACTED;

/// Viewers at a time.
const VIEWERS_MAX: usize = 16;
/// Bytes of lines that wait for one viewer.
const QUEUE_BYTES_MAX: usize = 4 << 20;
/// Bytes that are sent at once.
const PIECE_BYTES_MAX: usize = 64 << 10;
/// Bytes of the value of a header.
const VALUE_BYTES_MAX: usize = 1024;
/// Time between two lines that count.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// All viewers of a server.
pub(crate) struct Taps {
    masking: Masking,
    /// How many there are.
    open: AtomicUsize,
    viewers: ArcSwap<Vec<Arc<Viewer>>>,
    changes: Mutex<()>,
    /// What ended while anybody watched.
    ended: CountLanes,
}

/// Who watches.
struct Viewer {
    filter: Option<Filter>,
    with_headers: bool,
    lines: UnboundedSender<Bytes>,
    queued_bytes: AtomicUsize,
    /// What had ended when its view began.
    ended_before: u64,
    matched: AtomicU64,
    dropped: AtomicU64,
}

/// What a viewer is sent.
struct TapView {
    taps: Arc<Taps>,
    viewer: Arc<Viewer>,
    lines: UnboundedReceiver<Bytes>,
    counts: Interval,
    draining: Draining,
}

impl Taps {
    /// Nobody watches yet.
    pub(crate) fn new(masking: Masking) -> Self {
        Self {
            masking,
            open: AtomicUsize::new(0),
            viewers: ArcSwap::default(),
            changes: Mutex::default(),
            ended: CountLanes::default(),
        }
    }

    /// Answers `GET /tap`.
    ///
    /// # Errors
    /// With the page of a refusal.
    pub(crate) fn open(
        self: &Arc<Self>,
        visit: &Visit<'_>,
        draining: &Draining,
    ) -> Result<Box<dyn Source>, Page> {
        let refuse =
            |status, reason: &str| Page::json(status, format!("{}\n", json!({ "error": reason })));
        let (filter, with_headers) = asked(visit.query).map_err(|reason| refuse(400, &reason))?;
        let (lines, receiver) = unbounded_channel();
        let viewer = Arc::new(Viewer {
            filter,
            with_headers,
            lines,
            queued_bytes: AtomicUsize::new(0),
            ended_before: self.ended.sum(),
            matched: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        });
        let is_full = self.change(|viewers| {
            let is_full = viewers.len() >= VIEWERS_MAX;
            viewers.extend((!is_full).then(|| Arc::clone(&viewer)));
            is_full
        });
        if is_full {
            return Err(refuse(503, &format!("{VIEWERS_MAX} others watch already")));
        }
        let mut counts = interval(COUNT_INTERVAL);
        counts.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (taps, draining) = (Arc::clone(self), draining.clone());
        Ok(Box::new(TapView { taps, viewer, lines: receiver, counts, draining }))
    }

    fn close(&self, viewer: &Arc<Viewer>) {
        self.change(|viewers| viewers.retain(|other| !Arc::ptr_eq(other, viewer)));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Arc<Viewer>>) -> T) -> T {
        let _one_at_a_time = self.changes.lock();
        let mut viewers = Vec::clone(&self.viewers.load());
        let result = change(&mut viewers);
        self.open.store(viewers.len(), Ordering::Relaxed);
        self.viewers.store(Arc::new(viewers));
        result
    }

    fn line(&self, watched: &WatchedExchange<'_, '_>, with_headers: bool) -> Bytes {
        let mut line = Vec::with_capacity(512);
        exchange::encode(watched.masked, &mut line);
        if with_headers {
            line.truncate(line.trim_ascii_end().len() - 1);
            line.extend_from_slice(b",\"request_headers\":");
            line.extend_from_slice(watched.headers().to_string().as_bytes());
            line.extend_from_slice(b"}\n");
        }
        line.into()
    }

    fn show_masked(&self, watched: &WatchedExchange<'_, '_>) {
        let mut lines: [Option<Bytes>; 2] = [None, None];
        for viewer in self.viewers.load().iter() {
            if !viewer.filter.as_ref().is_none_or(|filter| filter.matches(watched)) {
                continue;
            }
            viewer.matched.fetch_add(1, Ordering::Relaxed);
            let line = &mut lines[usize::from(viewer.with_headers)];
            let line = line.get_or_insert_with(|| self.line(watched, viewer.with_headers));
            viewer.offer(line);
        }
    }
}

impl gateway::Tap for Taps {
    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    fn show(&self, exchange: &ExchangeRef<'_>, head: &Head<'_>) {
        // Most exchanges are for nobody, and masking is most of the work.
        self.ended.add_one();
        if self.viewers.load().iter().all(|viewer| viewer.refuses_unmasked(exchange)) {
            return;
        }
        let masking = &self.masking;
        masking.masked(exchange, |masked| {
            self.show_masked(&WatchedExchange { exchange, masked, head, masking });
        });
    }
}

impl Viewer {
    /// Whether the filter does not take an exchange, as far as can be told without masked fields.
    fn refuses_unmasked(&self, exchange: &ExchangeRef<'_>) -> bool {
        let unmasked = UnmaskedFields { exchange, is_more_asked: Cell::new(false) };
        let filter = self.filter.as_ref();
        let is_refused = filter.is_some_and(|filter| !filter.matches(&unmasked));
        is_refused && !unmasked.is_more_asked.get()
    }

    fn offer(&self, line: &Bytes) {
        let queued = self.queued_bytes.fetch_add(line.len(), Ordering::Relaxed);
        if queued + line.len() > QUEUE_BYTES_MAX || self.lines.send(line.clone()).is_err() {
            self.queued_bytes.fetch_sub(line.len(), Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts what it has seen of all that `ended`.
    fn counted(&self, ended: u64) -> Bytes {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let ended = ended.saturating_sub(self.ended_before);
        let (matched, dropped) = (of(&self.matched), of(&self.dropped));
        let counts = json!({ "ended": ended, "matched": matched, "dropped": dropped });
        format!("{}\n", json!({ "tap": counts })).into()
    }
}

impl Source for TapView {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.draining.has_begun() {
            return Poll::Ready(None);
        }
        if self.counts.poll_tick(cx).is_ready() {
            return Poll::Ready(Some(Ok(self.viewer.counted(self.taps.ended.sum()))));
        }
        let Some(first) = ready!(self.lines.poll_recv(cx)) else { return Poll::Ready(None) };
        let mut piece = BytesMut::from(first);
        while piece.len() < PIECE_BYTES_MAX
            && let Ok(line) = self.lines.try_recv()
        {
            piece.extend_from_slice(&line);
        }
        self.viewer.queued_bytes.fetch_sub(piece.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(piece.freeze())))
    }
}

impl Drop for TapView {
    fn drop(&mut self) {
        self.taps.close(&self.viewer);
    }
}

/// What is never masked of an exchange.
struct UnmaskedFields<'w, 'e> {
    exchange: &'w ExchangeRef<'e>,
    /// Whether another field was asked for.
    is_more_asked: Cell<bool>,
}

impl Fields for UnmaskedFields<'_, '_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        match name {
            FieldName::Method
            | FieldName::Status
            | FieldName::BytesIn
            | FieldName::BytesOut
            | FieldName::Route
            | FieldName::Decision
            | FieldName::DecisionDetail
            | FieldName::Cache
            | FieldName::Upstream
            | FieldName::Phase(_)
            | FieldName::Total => self.exchange.field(name),
            _ => {
                self.is_more_asked.set(true);
                None
            }
        }
    }
}

/// An exchange with the headers of its request.
struct WatchedExchange<'w, 'e> {
    /// It as it was.
    exchange: &'w ExchangeRef<'e>,
    /// What may be seen of it.
    masked: &'w ExchangeRef<'w>,
    head: &'w Head<'e>,
    masking: &'w Masking,
}

impl Fields for WatchedExchange<'_, '_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        match name {
            FieldName::Header(name) => {
                let value = self.head.get(name)?;
                (!self.hides(name, value)).then(|| FieldValue::from(value))
            }
            _ => self.masked.field(name),
        }
    }
}

impl WatchedExchange<'_, '_> {
    /// Whether a header of the request is a secret.
    fn hides(&self, name: &str, value: &[u8]) -> bool {
        is_secret_header(name.as_bytes()) || self.masking.hides(name, value, self.exchange)
    }

    /// Its headers in order, as pairs of name and value.
    fn headers(&self) -> serde_json::Value {
        let pairs = self.head.fields().map(|(name, value)| {
            let value = if self.hides(name, value) { REDACTED } else { value };
            json!([name, String::from_utf8_lossy(&value[..value.len().min(VALUE_BYTES_MAX)])])
        });
        pairs.collect()
    }
}

/// Reads `where` and `headers` of a query.
fn asked(query: &str) -> Result<(Option<Filter>, bool), String> {
    let (mut filter, mut with_headers) = (None, false);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode_query(value.as_bytes());
        let value = std::str::from_utf8(&value).map_err(|_| format!("`{name}` is not UTF-8"))?;
        match (name, value) {
            ("where", _) if filter.is_some() => return Err("`where` is there twice".to_owned()),
            ("where", text) => {
                filter = Some(Filter::parse(text).map_err(|error| format!("where: {error}"))?);
            }
            ("headers", "1" | "true") => with_headers = true,
            ("headers", "0" | "false") => with_headers = false,
            ("headers", _) => return Err("`headers` is 1 or 0".to_owned()),
            _ => return Err(format!("`{name}` is none of where, headers")),
        }
    }
    Ok((filter, with_headers))
}

#[cfg(test)]
mod tests;
