//! Reads the chunked coding strictly (RFC 9112 §7.1).
//!
//! Refuses: bare LF line ends, sizes over 2^60, chunk extensions and trailers over their bounds.

/// A line of a chunk header or trailer may not be longer.
const LINE_BYTES_MAX: usize = 4096;
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// Where the decoder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Body(u64),
    BodyEnd,
    Trailer(usize),
    Done,
}

/// Progress of one call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Skip `skip` bytes; then `data` bytes belong to the body.
    Data { skip: usize, data: usize },
    /// Nothing can be said before more bytes arrive; `skip` bytes are done with.
    More { skip: usize },
    /// The body ended; `skip` bytes were its end.
    Done { skip: usize },
    /// Not a chunked body.
    Malformed,
}

/// Decodes one body.
#[derive(Debug)]
pub(super) struct Decoder(State);

impl Decoder {
    pub(super) fn new() -> Self {
        Self(State::Size)
    }

    /// Looks at the bytes received so far; the caller removes what the step consumed.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Step {
        let mut skip = 0;
        loop {
            let rest = &bytes[skip..];
            match self.0 {
                State::Size => match line(rest) {
                    Line::Whole(text) => {
                        let Some(size) = size(text) else { return Step::Malformed };
                        skip += text.len() + 2;
                        self.0 = if size == 0 { State::Trailer(0) } else { State::Body(size) };
                    }
                    Line::Partial => return Step::More { skip },
                    Line::Malformed => return Step::Malformed,
                },
                State::Body(left) if rest.is_empty() => {
                    debug_assert!(left > 0, "an empty chunk goes to the trailer");
                    return Step::More { skip };
                }
                State::Body(left) => {
                    let data = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    let left = left - data as u64;
                    self.0 = if left == 0 { State::BodyEnd } else { State::Body(left) };
                    return Step::Data { skip, data };
                }
                State::BodyEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        skip += 2;
                        self.0 = State::Size;
                    }
                    [] | [b'\r'] => return Step::More { skip },
                    _ => return Step::Malformed,
                },
                State::Trailer(seen) => match line(rest) {
                    Line::Whole([]) => {
                        self.0 = State::Done;
                        return Step::Done { skip: skip + 2 };
                    }
                    Line::Whole(text) if seen + text.len() <= TRAILER_BYTES_MAX => {
                        skip += text.len() + 2;
                        self.0 = State::Trailer(seen + text.len());
                    }
                    Line::Partial => return Step::More { skip },
                    Line::Whole(_) | Line::Malformed => return Step::Malformed,
                },
                State::Done => return Step::Done { skip: 0 },
            }
        }
    }
}

enum Line<'b> {
    Whole(&'b [u8]),
    Partial,
    Malformed,
}

fn line(bytes: &[u8]) -> Line<'_> {
    match memchr::memchr(b'\n', bytes) {
        Some(end) if end > LINE_BYTES_MAX => Line::Malformed,
        Some(end) if end > 0 && bytes[end - 1] == b'\r' => Line::Whole(&bytes[..end - 1]),
        Some(_) => Line::Malformed,
        None if bytes.len() > LINE_BYTES_MAX => Line::Malformed,
        None => Line::Partial,
    }
}

fn size(text: &[u8]) -> Option<u64> {
    let digits = text.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(text.len());
    let extension = &text[digits..];
    let extension_is_plain = extension.is_empty()
        || (matches!(extension[0], b';' | b' ' | b'\t') && !extension.contains(&b'\r'));
    if digits == 0 || digits > 15 || !extension_is_plain {
        return None;
    }
    let text = std::str::from_utf8(&text[..digits]).ok()?;
    u64::from_str_radix(text, 16).ok()
}
