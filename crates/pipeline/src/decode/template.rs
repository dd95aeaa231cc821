//! Compiles any `log_format` of nginx (nginx.org, ngx_http_log_module) to literals and variables,
//! and reads lines by it.
//!
//! A variable ends where the literal after it begins. Inside quotes an escaped quote does not end
//! it: nginx escapes quotes unless the format says `escape=none`. `$time_local` ends after its
//! known length. Two spaces stand for one or more, as in columns that are padded. Lists of nginx's
//! upstream variables are one variable (`lists`).
//! A format is refused that has no time, a `$` without a name, or two variables with nothing
//! between them.
//! A line is refused that differs from a literal, goes on after its end, has no time, or no number
//! where one is meant. For bytes `-` passes. Two lines in one are refused, too.
//! Their signs: a time group in a value outside quotes, a space in the address, ` - ` in the user.
//! A column between spaces has none itself, unless it is free text.
//! Lines of HAProxy may lack the end of the request (`CUT_BYTES_MIN`), and those of Squid may have
//! headers behind them (`tail`).
//! `recount/src/plain.rs` takes the parts from here, and cuts lines by code of its own
//! (`recount/src/cut.rs`). Both must refuse the same lines.
//! Never here: what variables mean (`meaning`).

use exchange::{DecodeError, DecodeReason, FieldName};

use super::escape::Escape;
use super::event::{Event, FieldSlot};
use super::lists;
use super::marks;
use super::meaning::{Meaning, of_variable};
use super::number::whole;
use super::span::LineSpan;
use super::times::{LOG_TIME, TimeCache};

/// A compiled format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTemplate {
    parts: Vec<TemplatePart>,
    /// How nginx escapes.
    pub escape: Escape,
    /// Fields beyond the slots.
    pub extra: Vec<FieldName>,
    /// What may follow the last variable in brackets, by its name and its place in `extra`.
    tail: Option<(&'static str, usize)>,
}

/// A line of HAProxy of at least so many bytes may have been cut at the `len` of its `log`. That is
/// 1,024 by default, and counts the head of syslog.
const CUT_BYTES_MIN: usize = 800;
/// What HAProxy writes where there is no server, and where there is no request.
const HAPROXY_ABSENT: [&[u8]; 2] = [b"<NOSRV>", b"<BADREQ>"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct TemplatePart {
    /// What stands before the variable.
    before: Box<[u8]>,
    /// The variable; none after the last literal.
    variable: Option<(Box<str>, Meaning)>,
    /// What the variable ends before: what stands after it, up to its first run of spaces.
    end: Box<[u8]>,
    /// It is a column between spaces, and so has none itself.
    is_column: bool,
    /// A quote follows, so that the space at its end is none of its own.
    is_padded: bool,
}

impl LogTemplate {
    /// Compiles a format.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn compile(format: &str, escape: Escape) -> Result<Self, String> {
        let mut template = Self { parts: Vec::new(), escape, extra: Vec::new(), tail: None };
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('$') {
            let (name, tail) = variable(after)
                .ok_or_else(|| format!("`${}` names no variable", first_word(after)))?;
            if before.is_empty() && !template.parts.is_empty() {
                return Err(format!(
                    "nothing stands between `${name}` and the variable before it: it cannot be \
                     told where one ends"
                ));
            }
            let meaning = of_variable(name, &mut template.extra);
            let variable = Some((name.into(), meaning));
            template.push(before, variable);
            rest = tail;
        }
        template.push(rest, None);
        template.complete()?;
        let has_time =
            template.parts.iter().any(|part| matches!(part.variable, Some((_, Meaning::Time))));
        match has_time {
            true => Ok(template),
            false => {
                Err("the format has no time: add `$time_local`, `$time_iso8601` or `$msec`"
                    .to_owned())
            }
        }
    }

    fn push(&mut self, before: &str, variable: Option<(Box<str>, Meaning)>) {
        let (before, end) = (before.as_bytes().into(), Box::default());
        let (is_column, is_padded) = (false, false);
        self.parts.push(TemplatePart { before, variable, end, is_column, is_padded });
    }

    /// Notes where each variable ends.
    fn complete(&mut self) -> Result<(), String> {
        for at in 0..self.parts.len() - 1 {
            let next = self.parts[at + 1].before.clone();
            let run = memchr::memmem::find(&next, b"  ").map_or(next.len(), |run| run + 1);
            let part = &mut self.parts[at];
            let Some((name, _)) = &part.variable else { continue };
            if lists::is_list(name) && (*next == *b", " || *next == *b" : ") {
                return Err(format!(
                    "`${name}` is a list with such text between its values: it \
                     cannot be told where it ends"
                ));
            }
            let is_between = |text: &[u8]| text.first().is_none_or(|byte| *byte == b' ');
            part.is_column = (part.before.is_empty() || part.before.ends_with(b" "))
                && is_between(&next)
                && !is_free(name);
            part.is_padded = part.before.ends_with(b" ") && next.starts_with(b"\"");
            part.end = next[..run].into();
        }
        Ok(())
    }

    /// Lets `name` follow the last variable, after a space and in brackets.
    pub(super) fn allow_tail(&mut self, name: &'static str) {
        self.tail = Some((name, self.extra.len()));
        self.extra.push(FieldName::Variable(name.into()));
    }

    /// The name of what may follow the last variable.
    pub fn tail(&self) -> Option<&'static str> {
        self.tail.map(|(name, _)| name)
    }

    /// What stands before each variable, and its name; none after the last text.
    pub fn parts(&self) -> impl Iterator<Item = (&[u8], Option<&str>)> {
        self.parts
            .iter()
            .map(|part| (&*part.before, part.variable.as_ref().map(|(name, _)| &**name)))
    }

    /// Reads one line.
    pub fn read(
        &self,
        line: &[u8],
        times: &mut TimeCache,
        event: &mut Event<'_>,
    ) -> Result<(), DecodeError> {
        let mut at = 0;
        for part in &self.parts {
            if part.variable.is_none() && at == line.len() && self.may_be_cut(line) {
                return Ok(());
            }
            at = literal(line, at, &part.before)?;
            let Some((name, meaning)) = &part.variable else { break };
            let end = self.end(line, at, part, name)?;
            if part.is_column && memchr::memchr(b' ', &line[at..end]).is_some() {
                let reason = DecodeReason::Expected("a value without spaces");
                return Err(DecodeError { offset: at, reason });
            }
            let is_padded = part.is_padded && line[at..end].ends_with(b" ");
            self.take((at, end - usize::from(is_padded)), *meaning, times, event)?;
            at = end;
        }
        let rest = &line[at..];
        if let Some((_, extra)) = self.tail.filter(|_| is_bracketed(rest)) {
            event.set_extra(extra, LineSpan::new(at + 1, line.len()));
            at = line.len();
        }
        match at == line.len() {
            true => Ok(()),
            false => {
                let reason = DecodeReason::Expected("the end of the line");
                Err(DecodeError { offset: at, reason })
            }
        }
    }

    /// Finds where the variable that starts at `at` ends.
    fn end(
        &self,
        line: &[u8],
        at: usize,
        part: &TemplatePart,
        name: &str,
    ) -> Result<usize, DecodeError> {
        let next = &*part.end;
        let torn = DecodeError { offset: line.len(), reason: DecodeReason::Torn };
        if name == "time_local" && line.len() >= at + LOG_TIME {
            return Ok(at + LOG_TIME);
        }
        if lists::is_list(name) {
            let wrong = DecodeError {
                offset: at,
                reason: DecodeReason::Expected("values of upstream servers"),
            };
            return lists::length(&line[at..], next, name).map(|length| at + length).ok_or(wrong);
        }
        let space = self.tail.and_then(|_| memchr::memchr(b' ', &line[at..]));
        if next.is_empty() {
            return Ok(space.map_or(line.len(), |length| at + length));
        }
        let mut found = memchr::memmem::find_iter(&line[at..], next).map(|length| at + length);
        let end = match (next[0], self.escape) {
            (b'"', Escape::Quotes) => found.find(|end| line[end - 1] != b'\\'),
            (b'"', Escape::Log | Escape::Json) => self.end_of_quoted(line, at),
            _ => found.next(),
        };
        match end {
            None if name == "request" && self.may_be_cut(line) => Ok(line.len()),
            end => end.ok_or(torn),
        }
    }

    /// Whether the program may have cut the line before its last quote.
    fn may_be_cut(&self, line: &[u8]) -> bool {
        self.escape == Escape::Hash && line.len() >= CUT_BYTES_MIN
    }

    /// Finds the quote that ends a value.
    fn end_of_quoted(&self, line: &[u8], at: usize) -> Option<usize> {
        // The quote before the value may belong to the literal or not; its inside is what counts.
        let mut end = at;
        loop {
            end += memchr::memchr2(b'"', b'\\', line.get(end..)?)?;
            match line[end] {
                b'"' => return Some(end),
                _ => end += 2,
            }
        }
    }

    fn take(
        &self,
        (start, end): (usize, usize),
        meaning: Meaning,
        times: &mut TimeCache,
        event: &mut Event<'_>,
    ) -> Result<(), DecodeError> {
        let line = event.line();
        let is_of_haproxy = self.escape == Escape::Hash;
        // With `option logasap` bytes have a plus.
        let has_plus = is_of_haproxy && meaning.is_bytes() && line[start..end].starts_with(b"+");
        let start = start + usize::from(has_plus);
        let text = &line[start..end];
        let expected = |what| DecodeError { offset: start, reason: DecodeReason::Expected(what) };
        match meaning {
            Meaning::Time => {
                event.set_time(times.any(text).ok_or_else(|| expected("a time"))?);
            }
            Meaning::FieldSlot(FieldSlot::Status) if text == b"-" || text == b"-1" => {}
            Meaning::FieldSlot(FieldSlot::Status) if text.is_empty() => {
                return Err(expected("a status"));
            }
            _ if is_of_haproxy && HAPROXY_ABSENT.contains(&text) => {}
            meaning if meaning.is_bytes() && !is_size(text) => {
                return Err(expected("a number of bytes"));
            }
            meaning => {
                if let Some(what) = meaning.refuses(text) {
                    return Err(expected(what));
                }
                let is_glued = match meaning {
                    Meaning::FieldSlot(FieldSlot::ClientIp) | Meaning::Endpoint => {
                        text.is_empty() || memchr::memchr(b' ', text).is_some()
                    }
                    Meaning::FieldSlot(FieldSlot::User) => marks::is_glued_user(text),
                    _ => line.get(end) != Some(&b'"') && marks::has_time_group(text),
                };
                if is_glued {
                    return Err(expected("one line of this format"));
                }
                meaning.set(event, LineSpan::new(start, end));
            }
        }
        Ok(())
    }
}

/// Whether a space and something in brackets stand there.
fn is_bracketed(text: &[u8]) -> bool {
    text.starts_with(b" [") && text.ends_with(b"]")
}

fn is_size(text: &[u8]) -> bool {
    text == b"-" || whole(text).is_some()
}

/// Matches a literal; two spaces in it stand for one or more. Returns the place behind it.
fn literal(line: &[u8], at: usize, literal: &[u8]) -> Result<usize, DecodeError> {
    if line[at..].starts_with(literal) && !literal.ends_with(b"  ") {
        return Ok(at + literal.len());
    }
    let (mut place, mut rest) = (at, literal);
    while let Some(run) = memchr::memmem::find(rest, b"  ") {
        if !line[place..].starts_with(&rest[..=run]) {
            return Err(differs(line, place, rest));
        }
        place += run;
        place += line[place..].iter().take_while(|byte| **byte == b' ').count();
        let spaces = rest[run..].iter().take_while(|byte| **byte == b' ').count();
        rest = &rest[run + spaces..];
    }
    match line[place..].starts_with(rest) {
        true => Ok(place + rest.len()),
        false => Err(differs(line, place, rest)),
    }
}

/// Whether the text of a variable may have spaces, also where it is a column between spaces.
fn is_free(name: &str) -> bool {
    let is_named = matches!(
        name,
        "request"
            | "request_uri"
            | "uri"
            | "document_uri"
            | "args"
            | "query_string"
            | "remote_user"
            | "request_body"
            | "content_type"
            | "message"
            | "msg"
            | "log"
    );
    let heads = ["http_", "sent_http_", "upstream_http_", "cookie_", "arg_", "ssl_", "time"];
    is_named || lists::is_list(name) || heads.iter().any(|head| name.starts_with(head))
}

/// Splits `name` or `{name}` off.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = match text.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => text.split_at(first_word(text).len()),
    };
    (!name.is_empty() && first_word(name) == name).then_some((name, rest))
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

fn differs(line: &[u8], at: usize, literal: &[u8]) -> DecodeError {
    let same = line[at..].iter().zip(literal).take_while(|(is, wanted)| is == wanted).count();
    match at + same >= line.len() {
        true => DecodeError { offset: line.len(), reason: DecodeReason::Torn },
        false => DecodeError {
            offset: at + same,
            reason: DecodeReason::Expected("what the format has here"),
        },
    }
}

#[cfg(test)]
mod tests;
