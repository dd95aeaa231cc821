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
//! `recount/src/plain.rs` takes the parts from here, and cuts lines by code of its own
//! (`recount/src/cut.rs`). Both must refuse the same lines.
//! Never here: what variables mean (`meaning`).

use exchange::{DecodeError, DecodeReason, FieldName};

use super::event::{Escape, Event, FieldSlot};
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
}

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
}

impl LogTemplate {
    /// Compiles a format.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn compile(format: &str, escape: Escape) -> Result<Self, String> {
        let mut template = Self { parts: Vec::new(), escape, extra: Vec::new() };
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
        self.parts.push(TemplatePart { before, variable, end, is_column: false });
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
            part.end = next[..run].into();
        }
        Ok(())
    }

    /// What stands before each variable, and its name; none after the last text.
    pub fn parts(&self) -> impl Iterator<Item = (&[u8], Option<&str>)> {
        self.parts
            .iter()
            .map(|part| (&*part.before, part.variable.as_ref().map(|(name, _)| &**name)))
    }

    /// Whether text is escaped as in JSON, and whether it is escaped at all.
    pub fn escapes(&self) -> (bool, bool) {
        (self.escape == Escape::Json, self.escape != Escape::None)
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
            at = literal(line, at, &part.before)?;
            let Some((name, meaning)) = &part.variable else { break };
            let end = self.end(line, at, part, name)?;
            if part.is_column && memchr::memchr(b' ', &line[at..end]).is_some() {
                let reason = DecodeReason::Expected("a value without spaces");
                return Err(DecodeError { offset: at, reason });
            }
            self.take((at, end), *meaning, times, event)?;
            at = end;
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
        if next.is_empty() {
            return Ok(line.len());
        }
        if next[0] != b'"' || self.escape == Escape::None {
            let found = memchr::memmem::find(&line[at..], next).map(|length| at + length);
            return found.ok_or(torn);
        }
        self.end_of_quoted(line, at).ok_or(torn)
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
        let text = &line[start..end];
        let expected = |what| DecodeError { offset: start, reason: DecodeReason::Expected(what) };
        match meaning {
            Meaning::Time => {
                event.set_time(times.any(text).ok_or_else(|| expected("a time"))?);
            }
            Meaning::FieldSlot(FieldSlot::Status) if text == b"-" || text == b"-1" => {}
            Meaning::FieldSlot(FieldSlot::Status) if whole(text).is_none() => {
                return Err(expected("a status"));
            }
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
