//! Undoes how texts are escaped, each way only where the program writes it.
//!
//! | way | written by |
//! |---|---|
//! | `Log` | nginx (`escape=default`), Apache (`ap_escape_logitem`), lighttpd, varnishncsa |
//! | `Json` | the journal, JSON of others, nginx (`escape=json`) |
//! | `Logfmt` | Go's `strconv.Quote` and JSON, nginx's `\xHH` in a `log_format` of this kind |
//! | `Hash` | HAProxy: `#XX` (configuration manual, "Non-printable characters") |
//! | `Quotes` | Traefik: only `\"` |
//! | `Plus`, `Percent` | headers of IIS, of CloudFront |
//!
//! Invariant: what is no escape stands for itself. Envoy, Squid and containers escape nothing.
//! `recount/src/escapes.rs` does the same by code of its own. Never here: which field has which.

use std::borrow::Cow;

/// How text is escaped in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// Not at all.
    None,
    /// `\xXX`, `\"`, `\\` and `\n`, as nginx and Apache do.
    Log,
    /// As JSON does.
    Json,
    /// As JSON does, and `\xXX`, `\a`, `\v`.
    Logfmt,
    /// `#XX`, as HAProxy does.
    Hash,
    /// `\"`, as Traefik does.
    Quotes,
    /// A `+` for a space, in headers only.
    Plus,
    /// `%XX`, in headers only.
    Percent,
}

impl Escape {
    /// The byte that every escape in a text begins with.
    #[inline]
    pub(super) fn mark(self) -> u8 {
        if self == Self::Hash { b'#' } else { b'\\' }
    }

    /// The text without its escapes.
    pub(super) fn undone(self, raw: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::None | Self::Plus | Self::Percent => Cow::Borrowed(raw),
            Self::Log => exchange::unescape_log(raw),
            Self::Json => exchange::unescape_json(raw).unwrap_or(Cow::Borrowed(raw)),
            Self::Logfmt => logfmt(raw).unwrap_or(Cow::Borrowed(raw)),
            Self::Hash => hexadecimal(raw, b'#'),
            Self::Quotes => quotes(raw),
        }
    }

    /// The text of a header, where headers are written in a way of their own.
    pub(super) fn undone_in_header(self, raw: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Plus if memchr::memchr(b'+', raw).is_some() => {
                raw.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect()
            }
            Self::Percent => hexadecimal(raw, b'%'),
            _ => Cow::Borrowed(raw),
        }
    }
}

/// Undoes JSON's escapes, `\xXX`, `\a` and `\v`.
///
/// # Errors
/// The place of what is no escape.
pub(super) fn logfmt(raw: &[u8]) -> Result<Cow<'_, [u8]>, usize> {
    let (mut out, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = memchr::memchr(b'\\', &raw[at..]) {
        at += found;
        let (byte, length) = match &raw[at + 1..] {
            [b'x', high, low, ..] => (byte(*high, *low), 4),
            [b'a', ..] => (Some(7), 2),
            [b'v', ..] => (Some(11), 2),
            _ => (None, 2),
        };
        let Some(byte) = byte else {
            at = (at + 2).min(raw.len());
            continue;
        };
        out.extend_from_slice(
            &exchange::unescape_json(&raw[from..at]).map_err(|place| from + place)?,
        );
        out.push(byte);
        at += length;
        from = at;
    }
    let rest = exchange::unescape_json(&raw[from..]).map_err(|place| from + place)?;
    if from == 0 {
        return Ok(rest);
    }
    out.extend_from_slice(&rest);
    Ok(Cow::Owned(out))
}

/// Undoes `#XX`, or `%XX`.
fn hexadecimal(raw: &[u8], mark: u8) -> Cow<'_, [u8]> {
    if memchr::memchr(mark, raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let (mut out, mut at) = (Vec::with_capacity(raw.len()), 0);
    while let Some(first) = raw.get(at) {
        let found = match &raw[at..] {
            [first, high, low, ..] if *first == mark => byte(*high, *low),
            _ => None,
        };
        out.push(found.unwrap_or(*first));
        at += if found.is_some() { 3 } else { 1 };
    }
    Cow::Owned(out)
}

fn quotes(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memmem::find(raw, b"\\\"").is_none() {
        return Cow::Borrowed(raw);
    }
    let is_kept = |at: &usize| raw[*at] != b'\\' || raw.get(at + 1) != Some(&b'"');
    (0..raw.len()).filter(is_kept).map(|at| raw[at]).collect()
}

fn byte(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

#[cfg(test)]
mod tests;
