//! Compiles any `log_format` of nginx (nginx.org, ngx_http_log_module) to literals and variables,
//! and reads lines by it.
//!
//! A variable ends where the literal after it begins. Inside quotes an escaped quote does not end
//! it: nginx escapes quotes unless the format says `escape=none`. `$time_local` ends after its
//! known length.
//! A format is refused that has no time, a `$` without a name, or two variables with nothing
//! between them.
//! A line is refused that differs from a literal, goes on after its end, has no time, or no number
//! for status or bytes. For bytes `-` passes, and `$bytes_sent` is not checked at all. Two lines in
//! one are refused, too. Their signs: a time group in a value outside quotes, a space in the
//! address, ` - ` in the user.
//! `recount/src/plain.rs` takes the parts from here, and cuts lines by code of its own
//! (`recount/src/cut.rs`). Both must refuse the same lines.
//! Never here: what variables mean (`meaning`).

use exchange::{DecodeError, DecodeReason, FieldName};

use super::event::{Escape, Event, FieldSlot};
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
            template.parts.push(TemplatePart { before: before.as_bytes().into(), variable });
            rest = tail;
        }
        template.parts.push(TemplatePart { before: rest.as_bytes().into(), variable: None });
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
        for (index, part) in self.parts.iter().enumerate() {
            if !line[at..].starts_with(&part.before) {
                return Err(differs(line, at, &part.before));
            }
            at += part.before.len();
            let Some((name, meaning)) = &part.variable else { break };
            let next = &*self.parts[index + 1].before;
            let end = self
                .end(line, at, next, name)
                .ok_or(DecodeError { offset: line.len(), reason: DecodeReason::Torn })?;
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
    fn end(&self, line: &[u8], at: usize, next: &[u8], name: &str) -> Option<usize> {
        if name == "time_local" && line.len() >= at + LOG_TIME {
            return Some(at + LOG_TIME);
        }
        if next.is_empty() {
            return Some(line.len());
        }
        if next[0] != b'"' || self.escape == Escape::None {
            return memchr::memmem::find(&line[at..], next).map(|length| at + length);
        }
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
            Meaning::FieldSlot(FieldSlot::Status) if whole(text).is_none() => {
                return Err(expected("a status"));
            }
            Meaning::FieldSlot(FieldSlot::BytesOut | FieldSlot::BytesIn) if !is_size(text) => {
                return Err(expected("a number of bytes"));
            }
            meaning => {
                let is_glued = match meaning {
                    Meaning::FieldSlot(FieldSlot::ClientIp) => memchr::memchr(b' ', text).is_some(),
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
