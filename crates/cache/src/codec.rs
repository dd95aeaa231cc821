//! Encodes bodies in zstd, gzip or brotli, whole or piece by piece, and sets the level of each.
//!
//! The levels are measured (`cargo run --release -p cache --example compression`). Both zstd and
//! gzip are quick enough for the first request; brotli makes popular bodies smaller still. Bodies
//! that are not stored get a second, quicker level of gzip and brotli.
//! Invariant: a stream has a window of at most 128 KiB, so that many streams fit in memory at once.
//! A whole body in brotli has one of at most 4 MiB.
//! A stream of zstd whose body has another length than announced ends with an error.
//! Other levels may give other bytes: no encoding is on disk, and tags of encoded responses are
//! weak. They also need other estimates in `encoder` (`cost`), and other figures in
//! docs/decisions/gateway.md.
//! Never here: which coding a client gets (`http1::accept`, `encodings`), and decoding.

use std::cell::RefCell;
use std::io::{self, Write};

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::write::GzEncoder;
use zstd::stream::raw::CParameter;

use http1::accept::Coding;

/// Level of zstd.
const ZSTD_LEVEL: i32 = 3;
/// Level of gzip for stored bodies, and for others.
const GZIP_LEVELS: [u32; 2] = [6, 3];
/// Quality of brotli for stored bodies, and for others.
const BR_LEVELS: [i32; 2] = [5, 2];
/// Window of streams, as a power of two.
const STREAM_WINDOW_LOG: u32 = 17;
/// Bytes of output that brotli hands over at once.
const BR_BUFFER_BYTES: usize = 16_384;
/// Smallest and largest window of whole bodies in brotli, as powers of two. Below 17 brotli uses
/// another algorithm, which takes milliseconds even for short bodies.
const BR_WINDOW_LOGS: (u32, u32) = (17, 22);

thread_local! {
    /// One context per thread, because making one costs as much as encoding 4 KB.
    static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

/// Encodes a whole body, given in parts. `kept` says that it will be stored and serve many clients.
///
/// # Errors
/// When a library fails. None is known to fail for bytes in memory.
pub fn whole(coding: Coding, parts: &[&[u8]], kept: bool) -> io::Result<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let out = Vec::with_capacity(length / 3);
    match coding {
        Coding::Zstd => whole_zstd(parts),
        Coding::Gzip => {
            let level = flate2::Compression::new(GZIP_LEVELS[usize::from(!kept)]);
            let mut encoder = GzEncoder::new(out, level);
            parts.iter().try_for_each(|part| encoder.write_all(part))?;
            encoder.finish()
        }
        Coding::Br => {
            let window = usize::BITS - length.leading_zeros();
            let window = window.clamp(BR_WINDOW_LOGS.0, BR_WINDOW_LOGS.1);
            let mut encoder = br(out, BR_LEVELS[usize::from(!kept)], window, length);
            parts.iter().try_for_each(|part| encoder.write_all(part))?;
            Ok(encoder.into_inner())
        }
    }
}

fn whole_zstd(parts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let joined;
    let body = match parts {
        [body] => *body,
        parts => {
            joined = parts.concat();
            &joined
        }
    };
    ZSTD.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
        };
        context.compress(body)
    })
}

fn br(out: Vec<u8>, quality: i32, window: u32, size_hint: usize) -> CompressorWriter<Vec<u8>> {
    let lgwin = window as i32;
    let params = BrotliEncoderParams { quality, lgwin, size_hint, ..Default::default() };
    CompressorWriter::with_params(out, BR_BUFFER_BYTES, &params)
}

/// Encodes a body piece by piece.
pub enum StreamEncoder {
    /// zstd
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    /// brotli
    Br(Box<CompressorWriter<Vec<u8>>>),
    /// gzip
    Gzip(GzEncoder<Vec<u8>>),
}

impl StreamEncoder {
    /// Returns an encoder for a body of `length` bytes, if that is known.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(coding: Coding, length: Option<u64>) -> io::Result<Self> {
        Ok(match coding {
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.set_parameter(CParameter::WindowLog(STREAM_WINDOW_LOG))?;
                encoder.set_pledged_src_size(length)?;
                Self::Zstd(encoder)
            }
            Coding::Br => {
                let hint = length.unwrap_or(0) as usize;
                Self::Br(Box::new(br(Vec::new(), BR_LEVELS[1], STREAM_WINDOW_LOG, hint)))
            }
            Coding::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVELS[1]);
                Self::Gzip(GzEncoder::new(Vec::new(), level))
            }
        })
    }

    /// Encodes a piece of the body.
    ///
    /// # Errors
    /// When the library fails.
    pub fn feed(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Zstd(encoder) => encoder.write_all(piece),
            Self::Br(encoder) => encoder.write_all(piece),
            Self::Gzip(encoder) => encoder.write_all(piece),
        }
    }

    /// Completes the output for everything fed so far, so that the client can decode it.
    ///
    /// # Errors
    /// When the library fails.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Zstd(encoder) => encoder.flush(),
            Self::Br(encoder) => encoder.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }

    /// Takes the output since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Self::Zstd(encoder) => encoder.get_mut(),
            Self::Br(encoder) => encoder.get_mut(),
            Self::Gzip(encoder) => encoder.get_mut(),
        })
    }

    /// Ends the body and returns the rest of the output.
    ///
    /// # Errors
    /// When the library fails, or the body did not have the announced length.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd(encoder) => encoder.finish(),
            Self::Br(encoder) => Ok(encoder.into_inner()),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
