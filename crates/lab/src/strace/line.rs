//! Parses one line of strace, in every form that strace 4.5 to 6 writes.
//!
//! A line has a process (`28772 `, `[pid 28772] `, with `-Y` `28772<comm> `), a time (`-ttt`,
//! `-tt`, `-t`), both or none. Then comes a call, the two halves of one, a signal, an end, or a
//! frame of a stack (`-k`). The result is found from the right, because texts may hold ` = ` and
//! `<`. Invariant: nothing is copied, and no line is an error: what is no form is
//! [`TraceEvent::Other`]. Never here: what belongs together (`threads.rs`). Source: strace(1) and
//! `syscall.c`, `strace.c` of strace 6.1; perf-trace(1).

use memchr::{memchr, memrchr};

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StraceLine<'l> {
    /// The thread; none where only one process was traced.
    pub pid: Option<u32>,
    /// When, in microseconds since 1970, since midnight, or since the start of `perf trace`.
    pub time_us: Option<u64>,
    pub event: TraceEvent<'l>,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceEvent<'l> {
    /// A whole call.
    Call(TracedCall<'l>),
    /// Its first half: name and arguments so far.
    Unfinished { name: &'l [u8], args: &'l [u8] },
    /// Its second half, with the rest of the arguments.
    Resumed(TracedCall<'l>),
    /// A signal was delivered, or the process was stopped.
    Signal,
    /// The thread has ended.
    Ended,
    /// Another thread of the process ran `execve`; this one goes on as the process.
    Superseded { by: u32 },
    /// A frame of the stack of the call before.
    Frame(&'l [u8]),
    /// strace has begun to trace this thread; `strace: Process 28774 attached`.
    Attached(u32),
    /// What else strace says of itself, and whatever is no form.
    Other,
}

/// A call that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TracedCall<'l> {
    pub name: &'l [u8],
    pub args: &'l [u8],
    /// What stands behind `=`.
    pub result: &'l [u8],
    /// How long it took (`-T`), in nanoseconds.
    pub took_ns: Option<u64>,
}

impl<'l> TracedCall<'l> {
    /// The number that it returned.
    pub(super) fn value(&self) -> Option<i64> {
        let text = self.result.strip_prefix(b"-");
        let digits = text.unwrap_or(self.result);
        let number = leading_number(digits)?;
        let number = i64::try_from(number).ok()?;
        Some(if text.is_some() { -number } else { number })
    }

    /// The name of its error, such as `ENOENT`.
    pub(super) fn error(&self) -> Option<&'l [u8]> {
        let rest = self.result.strip_prefix(b"-1 ").or_else(|| self.result.strip_prefix(b"? "))?;
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        rest.starts_with(b"E").then_some(&rest[..length])
    }
}

/// Parses a line without its line end.
pub(super) fn parse(line: &[u8]) -> StraceLine<'_> {
    let (pid, rest) = process(line);
    let (time_us, rest) = time(rest);
    StraceLine { pid, time_us, event: event(rest) }
}

fn process(line: &[u8]) -> (Option<u32>, &[u8]) {
    let in_brackets = line.strip_prefix(b"[pid ").map(<[u8]>::trim_ascii_start);
    let text = in_brackets.unwrap_or(line);
    let (pid, digits) = digits_of(text);
    if digits == 0 || digits > 10 {
        return (None, line);
    }
    let mut rest = &text[digits..];
    if rest.first() == Some(&b'<')
        && let Some(end) = memchr(b'>', rest)
    {
        rest = &rest[end + 1..];
    }
    let rest = match in_brackets {
        Some(_) => rest.strip_prefix(b"]"),
        None => Some(rest),
    };
    match rest.and_then(|rest| rest.strip_prefix(b" ")) {
        Some(rest) => (u32::try_from(pid).ok(), rest.trim_ascii_start()),
        None => (None, line),
    }
}

fn time(text: &[u8]) -> (Option<u64>, &[u8]) {
    let (whole, digits) = digits_of(text);
    if digits == 0 || digits > 12 {
        return (None, text);
    }
    let rest = &text[digits..];
    let (seconds, rest) = match rest.first() {
        Some(b'.') => (whole, rest),
        Some(b':') if digits == 2 && rest.len() >= 6 && rest[3] == b':' => {
            let minute = leading_number(&rest[1..3]).unwrap_or(0);
            let second = leading_number(&rest[4..6]).unwrap_or(0);
            (whole * 3600 + minute * 60 + second, &rest[6..])
        }
        _ => return (None, text),
    };
    let (micros, rest) = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let (number, digits) = digits_of(fraction);
            let micros = if digits == 6 { number } else { micros_of(&fraction[..digits]) };
            (micros, &fraction[digits..])
        }
        None => (0, rest),
    };
    match rest.strip_prefix(b" ") {
        Some(rest) => (Some(seconds.saturating_mul(1_000_000).saturating_add(micros)), rest),
        None => (None, text),
    }
}

/// Microseconds of the digits behind a point.
fn micros_of(digits: &[u8]) -> u64 {
    let six = digits.iter().chain(std::iter::repeat(&b'0')).take(6);
    six.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

fn event(text: &[u8]) -> TraceEvent<'_> {
    match text.first() {
        Some(b'<') => {
            let Some(rest) = text.strip_prefix(b"<... ") else {
                return TraceEvent::Other;
            };
            resumed(rest)
        }
        Some(b'-') if text.starts_with(b"--- ") => TraceEvent::Signal,
        Some(b'+') if text.starts_with(b"+++ ") => ended(text),
        Some(b' ') if text.starts_with(b" > ") => TraceEvent::Frame(&text[3..]),
        Some(b'>') if text.starts_with(b"> ") => TraceEvent::Frame(&text[2..]),
        Some(b's') if text.starts_with(b"strace: Process ") => {
            let pid = leading_number(&text[16..]).and_then(|pid| u32::try_from(pid).ok());
            pid.map_or(TraceEvent::Other, TraceEvent::Attached)
        }
        _ => call(text),
    }
}

fn ended(text: &[u8]) -> TraceEvent<'_> {
    match text.strip_prefix(b"+++ superseded by execve in pid ") {
        Some(rest) => {
            let by = leading_number(rest).and_then(|pid| u32::try_from(pid).ok());
            by.map_or(TraceEvent::Other, |by| TraceEvent::Superseded { by })
        }
        None => TraceEvent::Ended,
    }
}

fn resumed(text: &[u8]) -> TraceEvent<'_> {
    let length = text.iter().take_while(|byte| is_of_name(**byte)).count();
    let (name, rest) = text.split_at(length);
    let Some(rest) = rest.strip_prefix(b" resumed>") else { return TraceEvent::Other };
    // `<detached ...>` and a cut line have no result.
    match split_result(rest) {
        Some((args, result, took_ns)) => {
            TraceEvent::Resumed(TracedCall { name, args: args.trim_ascii(), result, took_ns })
        }
        None => TraceEvent::Resumed(TracedCall { name, args: b"", result: b"?", took_ns: None }),
    }
}

fn call(text: &[u8]) -> TraceEvent<'_> {
    let length = text.iter().take_while(|byte| is_of_name(**byte)).count();
    if length == 0 || text.get(length) != Some(&b'(') {
        return TraceEvent::Other;
    }
    let (name, rest) = (&text[..length], &text[length + 1..]);
    if let Some(args) = unfinished(rest) {
        return TraceEvent::Unfinished { name, args };
    }
    match split_result(rest) {
        Some((args, result, took_ns)) => {
            TraceEvent::Call(TracedCall { name, args, result, took_ns })
        }
        None => TraceEvent::Other,
    }
}

fn unfinished(rest: &[u8]) -> Option<&[u8]> {
    if rest.last() != Some(&b'>') {
        return None;
    }
    let args = rest.strip_suffix(b" <unfinished ...>").or_else(|| {
        // Cut before the arguments, or detached from within the call.
        rest.strip_suffix(b"<unfinished ...>").or_else(|| rest.strip_suffix(b" <detached ...>"))
    })?;
    Some(args)
}

/// Splits what stands behind the opening parenthesis into arguments, result and time.
pub(super) fn split_result(rest: &[u8]) -> Option<(&[u8], &[u8], Option<u64>)> {
    let rest = rest.trim_ascii_end();
    let (rest, took_ns) = took(rest);
    let mut end = rest.len();
    loop {
        let at = memrchr(b'=', &rest[..end])?;
        if rest.get(at + 1) == Some(&b' ') && at > 0 && rest[at - 1] == b' ' {
            let before = rest[..at].trim_ascii_end();
            if let Some(args) = before.strip_suffix(b")") {
                return Some((args, &rest[at + 2..], took_ns));
            }
        }
        end = at;
    }
}

/// Takes `<0.075222>` off the end.
fn took(text: &[u8]) -> (&[u8], Option<u64>) {
    let Some(inner) = text.strip_suffix(b">") else { return (text, None) };
    let from = inner.len().saturating_sub(24);
    let Some(open) = memrchr(b'<', &inner[from..]) else { return (text, None) };
    let (before, digits) = (&inner[..from + open], &inner[from + open + 1..]);
    match nanos(digits) {
        Some(took) => (before.trim_ascii_end(), Some(took)),
        None => (text, None),
    }
}

/// Nanoseconds of `0.075222`.
fn nanos(text: &[u8]) -> Option<u64> {
    let point = memchr(b'.', text)?;
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let nine = fraction.iter().chain(std::iter::repeat(&b'0')).take(9);
    let nanos = nine.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    leading_number(whole)?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The number that a text begins with, which may be too large for a number, and its digits.
fn digits_of(text: &[u8]) -> (u64, usize) {
    let (mut number, mut count) = (0_u64, 0);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (number, count)
}

/// The number that a text begins with.
pub(super) fn leading_number(text: &[u8]) -> Option<u64> {
    let mut number = None;
    for byte in text {
        if !byte.is_ascii_digit() {
            break;
        }
        let digit = u64::from(byte - b'0');
        number = Some(number.unwrap_or(0_u64).checked_mul(10)?.checked_add(digit)?);
    }
    number
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'?'
}

#[cfg(test)]
mod tests;
