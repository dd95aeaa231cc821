//! Encodes private responses as they are sent: short bodies at once, others piece by piece.
//!
//! Invariants: a body that ends early ends early in its encoded form too, so it never looks
//! complete. A body of unknown length is flushed whenever the upstream pauses or fails, so no
//! client waits for a buffer to fill. One turn of the I/O core encodes at most twice
//! [`TURN_BYTES`]. Bound: at most [`STREAMS_MAX`] streams of the process are encoded, because each
//! holds memory; further bodies pass unchanged. Replies to HEAD pass too, and those to forged
//! requests, unless `cors` lets that page read them. It changes `Content-Encoding`, `ETag`, `Vary`
//! and `Accept-Ranges` to match, and the tag of a 304. `encoded_fields` of `cache::encodings` makes
//! the same changes for stored responses. Order and sizes were measured
//! (docs/decisions/gateway.md). Never here: which responses may be encoded (`compression`), stored
//! responses (`cache::encodings`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use chassis::http::{Payload, Source};
use exchange::Decision;
use http1::Head;

use crate::compression::{add_vary, is_forged, liked};
use crate::fetch::PrivateAnswer;
use crate::gateway::Gateway;
use crate::plan::Route;
use cache::codec::{self, StreamEncoder};
use cache::etag;
use http1::FieldLines;
use http1::accept::Coding;

/// Bytes of a body that are encoded before other tasks get their turn.
const TURN_BYTES: usize = 8 * 1024;
/// Bytes of a complete body that is encoded at once.
const WHOLE_BYTES_MAX: usize = 2 * TURN_BYTES;
/// Bodies that the process encodes piece by piece at once.
const STREAMS_MAX: usize = 256;
/// Codings from the quickest to the slowest; the quickest that the client prefers is used.
const QUICKEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Br];

/// Encodes a response if the route, the client and the fields of the response allow it.
pub(crate) fn encoded(
    mut answer: PrivateAnswer,
    gateway: &Arc<Gateway>,
    route: &Route,
    head: &Head<'_>,
) -> PrivateAnswer {
    let Some(compression) = &route.compress else { return answer };
    if answer.status == 304 {
        name_as_asked(&mut answer.headers, head);
        return answer;
    }
    let length = length(&answer.payload);
    if length == Some(0) && head.method() != "HEAD"
        || !compression.covers(answer.status, &answer.headers, length)
    {
        return answer;
    }
    add_vary(&mut answer.headers);
    let liked = liked(head, compression.codings, Decision::Generic);
    let Some(coding) = QUICKEST.into_iter().find(|coding| liked.has(*coding)) else {
        return answer;
    };
    // Without the body it is not known whether encoding would save anything.
    if head.method() == "HEAD" || (is_forged(head) && !is_permitted(route, head)) {
        return answer;
    }
    let (payload, is_encoded) = encode(answer.payload, gateway, coding);
    answer.payload = payload;
    if is_encoded {
        gateway.metrics.encoded[coding as usize].add(1);
        tell(&mut answer.headers, coding);
    }
    answer
}

fn length(payload: &Payload) -> Option<u64> {
    match payload {
        Payload::Empty => Some(0),
        Payload::Whole(bytes) | Payload::Stored(bytes) => Some(bytes.len() as u64),
        Payload::Withheld(length) | Payload::Stream(length, _) => *length,
        Payload::Tunnel(..) => None,
        Payload::Spliced(before, middle, after) => {
            Some((before.len() + middle.len() + after.len()) as u64)
        }
    }
}

/// Whether the route allows the page that asks to read the response. Then its size reveals nothing
/// more.
fn is_permitted(route: &Route, head: &Head<'_>) -> bool {
    let Some(cors) = route.cors.as_ref().filter(|cors| cors.credentials) else { return false };
    let Some(origin) = head.get("origin") else { return false };
    cors.origins.iter().any(|allowed| allowed.as_bytes() == origin)
}

fn encode(payload: Payload, gateway: &Arc<Gateway>, coding: Coding) -> (Payload, bool) {
    match payload {
        Payload::Whole(bytes) if bytes.len() <= WHOLE_BYTES_MAX => {
            match codec::whole(coding, &[&bytes], false) {
                Ok(encoded) if encoded.len() < bytes.len() => {
                    (Payload::Whole(encoded.into()), true)
                }
                _ => (Payload::Whole(bytes), false),
            }
        }
        Payload::Whole(bytes) => match Begun::new(gateway, coding, Some(bytes.len() as u64)) {
            Some(begun) => (begun.over(Box::new(Once(Some(bytes)))), true),
            None => (Payload::Whole(bytes), false),
        },
        Payload::Stream(length, source) => match Begun::new(gateway, coding, length) {
            Some(begun) => (begun.over(source), true),
            None => (Payload::Stream(length, source), false),
        },
        payload => (payload, false),
    }
}

/// Changes the fields of a response whose body is encoded.
fn tell(headers: &mut FieldLines, coding: Coding) {
    headers.insert("content-encoding", coding.name().as_bytes());
    headers.remove("accept-ranges");
    if let Some(tag) = headers.get("etag").map(<[u8]>::to_vec) {
        headers.remove("etag");
        retag(headers, &tag, coding);
    }
}

fn retag(headers: &mut FieldLines, tag: &[u8], coding: Coding) {
    if let Some(tag) = etag::encoded(tag, coding) {
        headers.insert("etag", &tag);
    }
}

/// Gives a 304 the tag of the client's encoded copy, if that tag was made here.
fn name_as_asked(headers: &mut FieldLines, head: &Head<'_>) {
    let Some(ours) = headers.get("etag").map(<[u8]>::to_vec) else { return };
    let mut tags = head.all("if-none-match").flat_map(|line| line.split(|b| *b == b','));
    let ours_in = tags.find_map(|tag| etag::coding_of_copy(tag.trim_ascii(), &ours)?);
    if let Some(coding) = ours_in {
        retag(headers, &ours, coding);
        add_vary(headers);
    }
}

/// The right to encode one more body.
struct EncodingPermit(Arc<Gateway>);

impl EncodingPermit {
    fn admit(gateway: &Arc<Gateway>) -> Option<Self> {
        let permit = Self(Arc::clone(gateway));
        (gateway.streams.fetch_add(1, Ordering::Relaxed) < STREAMS_MAX).then_some(permit)
    }
}

impl Drop for EncodingPermit {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An encoder with its permit, before it has a body.
struct Begun {
    encoder: StreamEncoder,
    permit: EncodingPermit,
    flushes: bool,
}

impl Begun {
    fn new(gateway: &Arc<Gateway>, coding: Coding, length: Option<u64>) -> Option<Self> {
        let permit = EncodingPermit::admit(gateway)?;
        let encoder = StreamEncoder::new(coding, length).ok()?;
        Some(Self { encoder, permit, flushes: length.is_none() })
    }

    fn over(self, source: Box<dyn Source>) -> Payload {
        let Self { encoder, permit, flushes } = self;
        Payload::Stream(
            None,
            Box::new(Encoded {
                encoder: Some(encoder),
                source,
                left: Bytes::new(),
                broken: None,
                fed: 0,
                is_flushed: true,
                flushes,
                _permit: permit,
            }),
        )
    }
}

/// A body that is encoded piece by piece.
struct Encoded {
    /// The encoder; none after the end.
    encoder: Option<StreamEncoder>,
    source: Box<dyn Source>,
    /// The rest of the current piece.
    left: Bytes,
    /// The error of the source, to report after the flushed bytes.
    broken: Option<io::Error>,
    /// Bytes encoded in this turn.
    fed: usize,
    is_flushed: bool,
    flushes: bool,
    _permit: EncodingPermit,
}

/// The result of polling for a piece.
type EncodedPiece = Poll<Option<io::Result<Bytes>>>;

impl Source for Encoded {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> EncodedPiece {
        loop {
            if self.encoder.is_none() {
                return Poll::Ready(None);
            }
            if self.fed >= TURN_BYTES {
                self.fed = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let step = if self.left.is_empty() { self.read(cx) } else { self.feed() };
            match step {
                // The encoder has given no bytes yet.
                Poll::Ready(Some(Ok(bytes))) if bytes.is_empty() => {}
                Poll::Ready(Some(Err(error))) => {
                    self.encoder = None;
                    return Poll::Ready(Some(Err(error)));
                }
                step => return step,
            }
        }
    }

    fn read_ahead(&mut self, cx: &mut Context<'_>) {
        self.source.read_ahead(cx);
    }
}

impl Encoded {
    /// Reads the next piece. At the end it returns the last bytes of the encoder; at a pause and
    /// before an error it flushes the encoder.
    fn read(&mut self, cx: &mut Context<'_>) -> EncodedPiece {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match self.source.poll_piece(cx) {
            Poll::Ready(Some(Err(error))) if self.flushes && !self.is_flushed => {
                self.is_flushed = true;
                self.broken = Some(error);
                self.bring(StreamEncoder::flush)
            }
            Poll::Ready(Some(Ok(piece))) => {
                self.left = piece;
                Poll::Ready(Some(Ok(Bytes::new())))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error))),
            Poll::Ready(None) => {
                let ended = self.encoder.take().map(StreamEncoder::finish);
                Poll::Ready(ended.map(|rest| rest.map(Bytes::from)))
            }
            Poll::Pending if self.flushes && !self.is_flushed => {
                self.is_flushed = true;
                self.bring(StreamEncoder::flush)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn feed(&mut self) -> EncodedPiece {
        let step = self.left.split_to(self.left.len().min(TURN_BYTES));
        self.fed += step.len();
        self.is_flushed = false;
        self.bring(|encoder| encoder.feed(&step))
    }

    fn bring(&mut self, act: impl FnOnce(&mut StreamEncoder) -> io::Result<()>) -> EncodedPiece {
        let Some(encoder) = &mut self.encoder else { return Poll::Ready(None) };
        Poll::Ready(Some(act(encoder).map(|()| encoder.take().into())))
    }
}

/// A source of one piece.
struct Once(Option<Bytes>);

impl Source for Once {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> EncodedPiece {
        Poll::Ready(self.0.take().map(Ok))
    }
}
