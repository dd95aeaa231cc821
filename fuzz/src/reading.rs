//! Heads and chunks of requests, read as a connection of `chassis` reads them.

use std::net::{Ipv4Addr, SocketAddr};

use http1::Head;
use http1::chunked::{Decoder, Step};
use http1::request::{self, Malformed, Underscores};

/// What a chunked body turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// Whole: its data, and how many of the bytes belonged to it.
    Whole(Vec<u8>, usize),
    /// It goes on; its data so far.
    Partial(Vec<u8>),
    /// No chunked body; its data before that was clear.
    Malformed(Vec<u8>),
}

/// Reads a head as a connection does; `None` when it is not complete, else it with the number of
/// bytes up to its end.
pub(crate) fn read_head<R>(
    bytes: &[u8],
    look: impl FnOnce(Result<Option<(Head<'_>, usize)>, Malformed>) -> R,
) -> R {
    let mut fields = Vec::new();
    let empty = request::empty_lines(bytes);
    let bytes = &bytes[empty..];
    match request::parse(bytes, Underscores::Drop, &mut fields) {
        Err(malformed) => look(Err(malformed)),
        Ok(None) => look(Ok(None)),
        Ok(Some(line)) => {
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            let head = Head::new(&bytes[..line.head_bytes()], &line, &fields, peer);
            look(Ok(Some((head, empty + line.head_bytes()))))
        }
    }
}

/// Decodes a chunked body of a request that arrives in pieces, as a connection does.
pub(crate) fn decode_chunks<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Chunks {
    decode_chunks_by(Decoder::new(), pieces)
}

/// Decodes a chunked body that arrives in pieces.
pub(crate) fn decode_chunks_by<'p>(
    mut decoder: Decoder,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Chunks {
    let (mut inbox, mut body, mut consumed) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        inbox.extend_from_slice(piece);
        loop {
            let (skip, data, more) = match decoder.step(&inbox) {
                Step::Data { skip, data } => (skip, data, true),
                Step::More { skip } => (skip, 0, false),
                Step::Done { skip } => return Chunks::Whole(body, consumed + skip),
                Step::Malformed => return Chunks::Malformed(body),
            };
            body.extend_from_slice(&inbox[skip..skip + data]);
            inbox.drain(..skip + data);
            consumed += skip + data;
            if !more {
                break;
            }
        }
    }
    Chunks::Partial(body)
}
