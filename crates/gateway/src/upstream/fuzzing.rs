//! Reads a response as a connection does, without a socket; only for the fuzz targets.
//!
//! Invariant: it uses the parsers of the product: `http1::response`, and `Rest` of `body`. Interim
//! responses are skipped, and have no bound here. The order of steps repeats that of `connection`,
//! `response` and `body`: which heads are final, and when a connection is kept. A change there
//! comes here, too; `fuzz/src/targets/answer.rs` compares the outcome with hyper's. Never here: a
//! parser of its own.

use bytes::{Buf, BytesMut};

use super::body::{BodyStep, Rest};
use http1::response;

/// The first final response of a connection, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerReading {
    /// The status.
    pub status: u16,
    /// Its fields, as lines.
    pub fields: Vec<u8>,
    /// The part of its body that has arrived.
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub is_whole: bool,
    /// The bytes before the next response, if the connection may carry one.
    pub kept: Option<usize>,
}

/// Reads a response that arrives in pieces, to the end of the connection. Returns `None` if it is
/// refused, or its head is incomplete. `bodiless` says that the request was a HEAD.
pub fn read_answer<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    bodiless: bool,
) -> Option<AnswerReading> {
    let (mut inbox, mut reading, mut total) = (BytesMut::new(), None, 0);
    for piece in pieces {
        inbox.extend_from_slice(piece);
        total += piece.len();
        while reading.is_none() {
            let Some((head, length)) = response::parse(&inbox, bodiless).ok()? else { break };
            inbox.advance(length);
            if head.status >= 200 || head.status == 101 {
                let keeps = head.framing.keeps.then_some(0);
                let fields = head.fields.whole_lines().flat_map(|(_, line)| line.to_vec());
                let (fields, body) = (fields.collect(), Vec::new());
                let first = AnswerReading {
                    status: head.status,
                    fields,
                    body,
                    is_whole: false,
                    kept: keeps,
                };
                reading = Some((first, Rest::of(head.framing.length)));
            }
        }
        while let Some((found, rest)) = reading.as_mut().filter(|(found, _)| !found.is_whole) {
            match rest.find(&mut inbox) {
                Ok(BodyStep::Piece(piece)) => found.body.extend_from_slice(&piece),
                Ok(BodyStep::Nothing) => break,
                Ok(BodyStep::End) => found.is_whole = true,
                Err(_) => return None,
            }
        }
    }
    let (mut found, rest) = reading?;
    found.is_whole |= matches!(rest, Rest::UntilClose);
    found.kept = found.kept.filter(|_| found.is_whole).map(|_| total - inbox.len());
    Some(found)
}
