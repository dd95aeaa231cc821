//! Reads lines of the `combined` and `common` formats of nginx and Apache, and of varnishncsa.
//!
//! `ADDRESS IDENTITY USER [TIME] "REQUEST" STATUS BYTES "REFERER" "USER AGENT"` (nginx.org,
//! ngx_http_log_module); `common` may end after the bytes. More may follow, after a space.
//!
//! A line whose structural bytes lie as they mostly do is cut at them without a further search. Any
//! other is read from left to right. Invariant: both ways (`cut` and `read`) find the same fields.
//! Refuses: torn lines, and two lines in one. The signs of these are a second time group and a
//! quote that is not closed. Others are text where the grammar has none, and an address glued to
//! another. What looks like none of these passes.
//! What passes must pass in `recount/src/formats.rs`, too.

use exchange::{DecodeError, DecodeReason};

use super::event::{Event, FieldSlot};
use super::marks::{self, ByteSet, MarkedRegion};
use super::number::whole;
use super::span::{LineSpan, without_return};
use super::times::{LOG_TIME, TimeCache};

/// What gives a line its structure.
pub(super) const SET: ByteSet = [b'"', b'[', b'\\', b'\n'];

/// How lines are read.
pub(super) struct CombinedReader<'r> {
    pub times: &'r mut TimeCache,
    /// Lines may end after the bytes.
    pub is_common: bool,
}

/// Reads the lines of a region.
pub(super) fn each<'l>(
    region: MarkedRegion<'l, '_>,
    reader: &mut CombinedReader<'_>,
    event: &mut Event<'l>,
    mut seen: impl FnMut(usize, &mut Event<'l>, Result<(), DecodeError>),
) {
    let MarkedRegion { bytes, mut marks } = region;
    let mut start = 0;
    loop {
        if let Some(first) = marks.first_chunk()
            && let Some(end) = cut(&bytes[start..], start, first, reader.times, event)
        {
            seen(start, event, Ok(()));
            start += end + 1;
            marks = &marks[first.len()..];
            continue;
        }
        let Some(whole) = marks::next_line(bytes, start, &mut marks) else { return };
        let line = without_return(whole);
        event.begin(line, memchr::memchr(b'\\', line).is_some());
        let outcome = read(line, reader, event);
        seen(start, event, outcome);
        start += whole.len() + 1;
    }
}

/// Cuts the first line of `rest` at its structural bytes, and returns its length; nothing when
/// they do not lie as usual.
#[inline]
fn cut<'l>(
    rest: &'l [u8],
    start: usize,
    marks: &[u32; 8],
    times: &mut TimeCache,
    event: &mut Event<'l>,
) -> Option<usize> {
    let [bracket, q0, q1, q2, q3, q4, q5, end] = marks.map(|mark| mark as usize - start);
    let line = rest.get(..end)?;
    let is_usual = line.get(bracket) == Some(&b'[')
        && rest[end] == b'\n'
        && q5 + 1 == end
        && [q0, q1, q2, q3, q4, q5].iter().all(|quote| line[*quote] == b'"')
        && q0 == bracket + LOG_TIME + 3
        && q4 == q3 + 2
        && line[q3 + 1] == b' '
        && line[bracket..q0].ends_with(b"] ");
    if !is_usual {
        return None;
    }
    let client = client(line, bracket)?;
    let time = times.log(line[bracket + 1..].first_chunk()?)?;
    let numbers = numbers(&line[q1 + 1..q2])?;
    event.begin(line, false);
    event.set_time(time);
    event.set_present(FieldSlot::ClientIp, LineSpan::new(0, client.0));
    if let Some(user) = client.1 {
        event.set_present(FieldSlot::User, user);
    }
    event.set_request(LineSpan::new(q0 + 1, q1));
    event.set(FieldSlot::Status, LineSpan::new(q1 + 2, q1 + 5));
    event.set(FieldSlot::BytesOut, LineSpan::new(q1 + 6, q1 + 6 + numbers));
    event.set_present(FieldSlot::Referer, LineSpan::new(q2 + 1, q3));
    event.set_present(FieldSlot::UserAgent, LineSpan::new(q4 + 1, q5));
    Some(end)
}

/// Takes ` 200 1234 ` apart; returns the length of the second number.
#[inline]
fn numbers(text: &[u8]) -> Option<usize> {
    let [b' ', a, b, c, b' ', bytes @ .., b' '] = text else { return None };
    ([a, b, c].iter().all(|digit| digit.is_ascii_digit()) && is_size(bytes)).then_some(bytes.len())
}

#[inline]
fn is_size(bytes: &[u8]) -> bool {
    match bytes {
        b"-" => true,
        // What has fewer digits fits.
        _ if bytes.len() < 19 => !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit),
        _ => whole(bytes).is_some(),
    }
}

/// Reads address, identity and user before the bracket: the length of the address, and the user
/// unless it is the usual `-`.
#[inline]
fn client(line: &[u8], bracket: usize) -> Option<(usize, Option<LineSpan>)> {
    let text = line[..bracket].strip_suffix(b" ")?;
    let first = memchr::memchr(b' ', text).filter(|first| (1..16).contains(first));
    match first {
        Some(first) if text[first..] == *b" - -" => Some((first, None)),
        _ => unusual_client(text),
    }
}

#[cold]
fn unusual_client(text: &[u8]) -> Option<(usize, Option<LineSpan>)> {
    let first = memchr::memchr(b' ', text).filter(|first| *first > 0)?;
    let second = first + 1 + memchr::memchr(b' ', &text[first + 1..])?;
    let user = &text[second + 1..];
    let is_glued = marks::is_glued_user(user);
    let address = &text[..first];
    let is_numeric = address.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_sound = !is_numeric || address.len() <= 15;
    (second > first + 1 && is_sound && !is_glued)
        .then(|| (first, Some(LineSpan::new(second + 1, text.len()))))
}

/// Reads any line.
fn read<'l>(
    line: &'l [u8],
    reader: &mut CombinedReader<'_>,
    event: &mut Event<'l>,
) -> Result<(), DecodeError> {
    let CombinedReader { times, is_common } = reader;
    let expected = |offset, what| match offset >= line.len() {
        true => DecodeError { offset: line.len(), reason: DecodeReason::Torn },
        false => DecodeError { offset, reason: DecodeReason::Expected(what) },
    };
    let bracket = memchr::memmem::find(line, b" [").map(|space| space + 1);
    let bracket = bracket.ok_or_else(|| expected(line.len(), ""))?;
    let (address, user) =
        client(line, bracket).ok_or_else(|| expected(0, "an address, an identity and a user"))?;
    event.set_present(FieldSlot::ClientIp, LineSpan::new(0, address));
    if let Some(user) = user {
        event.set_present(FieldSlot::User, user);
    }
    let after = line[bracket + 1..].split_first_chunk().filter(|(_, rest)| rest.starts_with(b"] "));
    let time = after.and_then(|(time, _)| times.log(time)).ok_or_else(|| {
        expected(bracket + 1, "a time like 21/Nov/2026:03:54:12 +0000 in brackets")
    })?;
    event.set_time(time);
    let mut at = bracket + 1 + LOG_TIME + 2;
    let quoted = |at: &mut usize, what| {
        let inside = marks::quoted(line, *at).ok_or_else(|| match line.get(*at) {
            Some(b'"') => expected(line.len(), what),
            _ => expected(*at, what),
        })?;
        *at = inside.1 + 1;
        Ok(LineSpan::new(inside.0, inside.1))
    };
    event.set_request(quoted(&mut at, "the request in quotes")?);
    let status = line.get(at..at + 5).filter(|text| matches!(text, [b' ', .., b' ']));
    let status = status.and_then(|text| whole(&text[1..4]));
    status.ok_or_else(|| expected(at, "a status of three digits"))?;
    event.set(FieldSlot::Status, LineSpan::new(at + 1, at + 4));
    at += 5;
    let length = memchr::memchr(b' ', &line[at..]).unwrap_or(line.len() - at);
    if !is_size(&line[at..at + length]) {
        return Err(expected(at, "the number of bytes"));
    }
    event.set(FieldSlot::BytesOut, LineSpan::new(at, at + length));
    at += length;
    if !*is_common || line[at..].starts_with(b" \"") {
        for (slot, what) in
            [(FieldSlot::Referer, "the referer"), (FieldSlot::UserAgent, "the user agent")]
        {
            if line.get(at) != Some(&b' ') {
                return Err(expected(at, what));
            }
            at += 1;
            event.set_present(slot, quoted(&mut at, what)?);
        }
    }
    match &line[at..] {
        [] => Ok(()),
        [b' ', more @ ..] if !marks::has_time_group(more) => Ok(()),
        _ => Err(expected(at, "the end of the line, not the start of another one")),
    }
}

#[cfg(test)]
mod tests;
