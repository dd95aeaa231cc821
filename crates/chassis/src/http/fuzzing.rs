//! The parsers that read strangers' bytes, opened for the fuzz targets; no part of the interface.
//!
//! Nothing in the product calls this.

use std::net::{Ipv4Addr, SocketAddr};

use super::chunked::{Decoder, Step};
use super::head::{self, Head, Malformed};

/// What a chunked body turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunks {
    /// Whole: its data, and how many of the bytes belonged to it.
    Whole(Vec<u8>, usize),
    /// It goes on; its data so far.
    Partial(Vec<u8>),
    /// No chunked body; its data before that was clear.
    Malformed(Vec<u8>),
}

/// Reads a head as a connection does; `None` when it is not complete, else it with the number of
/// bytes up to its end.
pub fn read_head<R>(
    bytes: &[u8],
    look: impl FnOnce(Result<Option<(Head<'_>, usize)>, Malformed>) -> R,
) -> R {
    let mut fields = Vec::new();
    let empty = head::empty_lines(bytes);
    let bytes = &bytes[empty..];
    match head::parse(bytes, &mut fields) {
        Err(malformed) => look(Err(malformed)),
        Ok(None) => look(Ok(None)),
        Ok(Some(line)) => {
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            let head = Head::new(&bytes[..line.length], &line, &fields, peer);
            look(Ok(Some((head, empty + line.length))))
        }
    }
}

/// Decodes a chunked body that arrives in pieces, as a connection does.
pub fn decode_chunks<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Chunks {
    let mut decoder = Decoder::new();
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
