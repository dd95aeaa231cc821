//! Unpacks what is packed by gzip or zstd, wherever it comes from.
//!
//! Its first bytes tell, so nothing is read before somebody reads. What is not packed passes
//! through.

use std::io::{self, BufRead, BufReader, Read};

const BUFFER_BYTES: usize = 64 << 10;

/// What a packed source has inside; any other as it is. Its first bytes tell, once they are there.
pub(crate) enum Unpacked {
    Unread(Option<Box<dyn BufRead + Send>>),
    Begun(Box<dyn Read + Send>),
}

impl Unpacked {
    /// Reads nothing yet.
    pub(crate) fn new(input: impl Read + Send + 'static) -> Self {
        Self::Unread(Some(Box::new(BufReader::with_capacity(BUFFER_BYTES, input))))
    }
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Begun(input) => input.read(out),
            Self::Unread(unread) => {
                let Some(mut input) = unread.take() else { return Ok(0) };
                let begin = input.fill_buf().map(|begin| begin.get(..4).unwrap_or(begin).to_vec());
                *self = Self::Begun(match begin?.as_slice() {
                    [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
                    [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::with_buffer(input)?),
                    _ => Box::new(input),
                });
                self.read(out)
            }
        }
    }
}
