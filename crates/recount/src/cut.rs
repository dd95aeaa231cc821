//! Cuts a line of text into the variables of its format, by the literals between them.
//!
//! Also here: finding a time in brackets in a text (`has_time`).
//! `None` means that the line is refused, for one of these reasons:
//!
//! - A literal is not there.
//! - A number is none, or a list of nginx is none.
//! - A column between spaces has a space itself, and is no free text.
//! - An address is empty or holds a space, or a user holds ` - ` or ends with ` -`.
//! - A column of a known program has another form than the program writes.
//! - A value outside quotes holds a time in brackets: that is the start of another line.
//!
//! The delivery must refuse the same lines (`pipeline/src/decode/template.rs`, `marks.rs` beside
//! it). The test `damaged_lines_are_refused_by_both_or_neither` in `plain/tests.rs` compares both.
//! Elsewhere: the formats (`formats.rs`, `plain.rs`), the meaning of names (`variable.rs`).

use exchange::FieldName;
use pipeline::Escape;

use crate::scalar::whole;
use crate::several::{is_list, list};
use crate::variable::{Meaning, is_bytes, is_in_form, may_be, variable};

/// The length of `21/Nov/2026:03:54:12 +0000`.
const LOG_TIME: usize = 26;

/// A variable with its text.
pub(crate) type Cut<'t, 'l> = (&'t str, &'l [u8]);

/// What differs between the programs that write lines of texts and variables.
#[derive(Clone, Copy)]
pub(crate) struct CutRules {
    /// How they escape.
    pub escape: Escape,
    /// The last variable ends before a space.
    pub has_tail: bool,
}

/// A line of HAProxy of so many bytes may have been cut.
const CUT_BYTES_MIN: usize = 800;

impl CutRules {
    /// Where a variable ends that no rule of its name ends.
    fn end(self, text: &[u8], next: &[u8]) -> Option<usize> {
        if next.is_empty() {
            let space = text.iter().position(|byte| *byte == b' ').filter(|_| self.has_tail);
            return Some(space.unwrap_or(text.len()));
        }
        if next[0] == b'"' && matches!(self.escape, Escape::Log | Escape::Json) {
            return end_of_quoted(text);
        }
        let next = to_run(next);
        let is_escaped = |at: usize| {
            self.escape == Escape::Quotes && next[0] == b'"' && at > 0 && text[at - 1] == b'\\'
        };
        (0..text.len()).find(|at| text[*at..].starts_with(next) && !is_escaped(*at))
    }
}

/// Cuts a line into the variables of a format; returns them, and what follows the last text.
pub(crate) fn cut<'t, 'l>(
    line: &'l [u8],
    parts: &[(&[u8], Option<&'t str>)],
    rules: CutRules,
) -> Option<(Vec<Cut<'t, 'l>>, &'l [u8])> {
    let (mut found, mut rest) = (Vec::new(), line);
    let is_of_haproxy = rules.escape == Escape::Hash;
    let may_be_cut = is_of_haproxy && line.len() >= CUT_BYTES_MIN;
    for (at, (before, name)) in parts.iter().enumerate() {
        if may_be_cut && name.is_none() && rest.is_empty() {
            break;
        }
        rest = literal(rest, before)?;
        let Some(name) = name else { break };
        let next = parts.get(at + 1).map_or(&b""[..], |(next, _)| *next);
        let end = match next {
            _ if *name == "time_local" && rest.len() >= LOG_TIME => LOG_TIME,
            _ if is_list(name) => list(rest, to_run(next), name)?.len(),
            next => match rules.end(rest, next) {
                None if *name == "request" && may_be_cut => rest.len(),
                end => end?,
            },
        };
        let (mut value, after) = rest.split_at(end);
        let is_column = (before.is_empty() || before.ends_with(b" "))
            && (next.is_empty() || next.starts_with(b" "));
        if is_column && !is_free(name) && value.contains(&b' ') {
            return None;
        }
        if before.ends_with(b" ") && next.starts_with(b"\"") {
            value = value.strip_suffix(b" ").unwrap_or(value);
        }
        if is_of_haproxy && is_bytes(&variable(name)) {
            value = value.strip_prefix(b"+").unwrap_or(value);
        }
        rest = after;
        if is_of_haproxy && matches!(value, b"<NOSRV>" | b"<BADREQ>") {
            continue;
        }
        sound(name, value, after.first() == Some(&b'"'))?;
        found.push((*name, value));
    }
    Some((found, rest))
}

/// What follows a literal, in which two spaces stand for one or more.
fn literal<'l>(line: &'l [u8], literal: &[u8]) -> Option<&'l [u8]> {
    let (mut rest, mut at) = (line, 0);
    while at < literal.len() {
        rest = rest.strip_prefix(&literal[at..=at])?;
        at += 1;
        if literal[..at].ends_with(b"  ") || literal[at - 1..].starts_with(b"  ") {
            at += literal[at..].iter().take_while(|byte| **byte == b' ').count();
            rest = &rest[rest.iter().take_while(|byte| **byte == b' ').count()..];
        }
    }
    Some(rest)
}

/// A literal up to its first run of spaces, of which one is left.
fn to_run(literal: &[u8]) -> &[u8] {
    let run = literal.windows(2).position(|two| two == b"  ");
    run.map_or(literal, |run| &literal[..=run])
}

/// Whether a value may have spaces where spaces part the columns.
fn is_free(name: &str) -> bool {
    let texts = "request request_uri uri document_uri args query_string remote_user request_body \
                 content_type message msg log";
    let heads = "http_ sent_http_ upstream_http_ cookie_ arg_ ssl_ time";
    texts.split(' ').any(|text| text == name)
        || is_list(name)
        || heads.split(' ').any(|head| name.starts_with(head))
}

/// The first quote that no backslash stands before.
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// None for what a value of this name cannot be, and for the start of another line in it.
fn sound(name: &str, value: &[u8], is_quoted: bool) -> Option<()> {
    let is_sound = match variable(name) {
        Meaning::Time => true,
        Meaning::Field(FieldName::Status) => {
            let what = Meaning::Field(FieldName::Status);
            value == b"-1" || (may_be(&what, value) && !value.is_empty())
        }
        what if is_bytes(&what) => value == b"-" || (whole(value).is_some() && !value.is_empty()),
        Meaning::Field(FieldName::ClientIp) | Meaning::Endpoint => {
            !value.contains(&b' ') && !value.is_empty()
        }
        Meaning::Field(FieldName::User) => {
            !value.ends_with(b" -") && !value.windows(3).any(|window| window == b" - ")
        }
        what => may_be(&what, value) && is_in_form(name, value) && (is_quoted || !has_time(value)),
    };
    is_sound.then_some(())
}

/// Whether a time in brackets stands in a text.
pub(crate) fn has_time(text: &[u8]) -> bool {
    let is_time =
        |window: &[u8]| window[0] == b'[' && exchange::parse_log_time(&window[1..]).is_some();
    text.windows(LOG_TIME + 1).any(is_time)
}
