//! Decodes the chunked transfer coding in steps, in bytes that the caller holds (RFC 9112 §7.1).
//!
//! Invariant: it never guesses where a chunk or a body ends. It refuses line ends without CR, and
//! sizes of more than 15 hexadecimal digits, leading zeros included. It refuses a trailer line that
//! is no field. Bounds: 4 KiB a line, and for the whole body 16 KiB of extensions and 16 KiB of
//! trailers; more is malformed. Trailers and extensions are skipped. After `Malformed` the caller
//! must not go on.
//! Requests (`chassis::http`) have extensions by the grammar: `;`, a name, maybe `=` and a value,
//! with blanks around `;` and `=` alone. Of responses (`gateway::upstream`) any extension without
//! control characters is taken, and blanks behind a size. Old origins pad sizes so, and nginx,
//! HAProxy and Varnish take it. The line ends in CR LF all the same, so no two readers differ on
//! where the chunk begins. For users the rules stand in docs/operating/security.md.
//! `fuzz/src/targets/chunked.rs` decodes once more what is accepted. Never here: a bound on the
//! body (its readers), writing chunks (`chassis::http`).

/// Bytes of one line of a chunk header or trailer; a longer line is malformed.
const LINE_BYTES_MAX: usize = 4096;
/// Bytes of all trailer lines of one body.
const TRAILER_BYTES_MAX: usize = 16 * 1024;
/// Bytes of chunk extensions in one body.
const EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// Where the decoder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Body(u64),
    BodyEnd,
    Trailer(usize),
    Done,
}

/// What one call of [`Decoder::step`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Skip `skip` bytes; then `data` bytes belong to the body.
    Data {
        /// Bytes to skip.
        skip: usize,
        /// Bytes of the body behind them.
        data: usize,
    },
    /// Skip `skip` bytes; the decoder needs more bytes to go on.
    More {
        /// Bytes to skip.
        skip: usize,
    },
    /// The body has ended; the last `skip` bytes are its end.
    Done {
        /// Bytes to skip.
        skip: usize,
    },
    /// Not a chunked body.
    Malformed,
}

/// Who wrote the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Client,
    Origin,
}

/// Decodes one body.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    writer: Writer,
    /// Bytes of chunk extensions seen.
    extensions: usize,
}

impl Decoder {
    /// Returns a decoder at the start of the body of a request.
    #[expect(clippy::new_without_default, reason = "a body begins somewhere")]
    pub fn new() -> Self {
        Self { state: State::Size, writer: Writer::Client, extensions: 0 }
    }

    /// Returns a decoder at the start of the body of an answer, which takes extensions of any form.
    pub fn of_answer() -> Self {
        Self { writer: Writer::Origin, ..Self::new() }
    }

    /// Decodes the next step of `bytes`, the bytes received and not yet consumed. The caller must
    /// remove what the step skips or returns as data before it calls again.
    pub fn step(&mut self, bytes: &[u8]) -> Step {
        let mut skip = 0;
        loop {
            let rest = &bytes[skip..];
            match self.state {
                State::Size => match line(rest) {
                    Line::Whole(text) => {
                        let Some((size, extension)) = size(text, self.writer) else {
                            return Step::Malformed;
                        };
                        self.extensions += extension;
                        if self.extensions > EXTENSION_BYTES_MAX {
                            return Step::Malformed;
                        }
                        skip += text.len() + 2;
                        self.state = if size == 0 { State::Trailer(0) } else { State::Body(size) };
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
                    self.state = if left == 0 { State::BodyEnd } else { State::Body(left) };
                    return Step::Data { skip, data };
                }
                State::BodyEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        skip += 2;
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => return Step::More { skip },
                    _ => return Step::Malformed,
                },
                State::Trailer(seen) => match line(rest) {
                    Line::Whole([]) => {
                        self.state = State::Done;
                        return Step::Done { skip: skip + 2 };
                    }
                    Line::Whole(text)
                        if seen + text.len() <= TRAILER_BYTES_MAX && is_field(text) =>
                    {
                        skip += text.len() + 2;
                        self.state = State::Trailer(seen + text.len());
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

/// Returns the size of a chunk and the bytes of its extension, from the line that opens it.
fn size(text: &[u8], writer: Writer) -> Option<(u64, usize)> {
    let digits = text.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(text.len());
    let extension = &text[digits..];
    let fits = match writer {
        Writer::Client => is_extension(extension),
        Writer::Origin => {
            matches!(without_blanks(extension).first(), None | Some(b';'))
                && !has_controls(extension)
        }
    };
    if digits == 0 || digits > 15 || !fits {
        return None;
    }
    let text = std::str::from_utf8(&text[..digits]).ok()?;
    u64::from_str_radix(text, 16).ok().map(|size| (size, extension.len()))
}

/// Whether it is nothing or a list of parameters (RFC 9112 §7.1.1). Each is `;` and a token, maybe
/// `=` and a token or a quoted string. Blanks stand before and behind `;` and `=` only.
fn is_extension(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let Some(name) = without_blanks(rest).strip_prefix(b";").map(without_blanks) else {
            return false;
        };
        let Some(behind) = behind_token(name) else { return false };
        rest = match without_blanks(behind).strip_prefix(b"=").map(without_blanks) {
            None => behind,
            Some(value) => match behind_token(value).or_else(|| behind_quoted(value)) {
                Some(behind) => behind,
                None => return false,
            },
        };
    }
    true
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    &text[blanks..]
}

/// What follows the token at the start; none where there is no token.
fn behind_token(text: &[u8]) -> Option<&[u8]> {
    let length = text.iter().take_while(|b| is_token(b)).count();
    (length > 0).then(|| &text[length..])
}

/// What follows the quoted string at the start (RFC 9110 §5.6.4); none where there is none.
fn behind_quoted(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        rest = match rest {
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', quoted, behind @ ..] if !is_control(quoted) => behind,
            [plain, behind @ ..] if *plain != b'\\' && !is_control(plain) => behind,
            _ => return None,
        };
    }
}

/// Whether a trailer line is a field: a name, a colon, and no control characters.
fn is_field(line: &[u8]) -> bool {
    let colon = memchr::memchr(b':', line).unwrap_or(0);
    colon > 0 && line[..colon].iter().all(is_token) && !has_controls(line)
}

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

fn has_controls(text: &[u8]) -> bool {
    text.iter().any(is_control)
}

fn is_control(byte: &u8) -> bool {
    byte.is_ascii_control() && *byte != b'\t'
}
