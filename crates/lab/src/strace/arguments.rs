//! Reads what matters of a call's arguments: descriptors, paths, timeouts, first bytes.
//!
//! Arguments are as strace writes them: numbers, `"texts"` with escapes, `{structures}`,
//! `[lists]`; with `-y` a descriptor is `3</path>`.
//! Invariant: a form that is not known is nothing, never a guess.
//! Source: the printers of strace 4.5 to 6.1 (`{0, 250000000}` before 4.15).

use memchr::{memchr, memmem};

use super::line::leading_number;

/// A descriptor, with what it stands for where the trace says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor<'a> {
    pub number: i32,
    /// `/var/x`, `TCP:[…]`, `pipe:[3]`.
    pub target: Option<&'a [u8]>,
}

/// The descriptor at the start of a text.
pub(super) fn descriptor(text: &[u8]) -> Option<Descriptor<'_>> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = i32::try_from(leading_number(text)?).ok()?;
    let target = text[digits..].strip_prefix(b"<").map(|rest| {
        // A socket's own `->` is within brackets: the last `>` before the next argument ends it.
        let end = match memmem::find(rest, b">, ") {
            Some(end) => end,
            None => memchr::memrchr(b'>', rest).unwrap_or(rest.len()),
        };
        &rest[..end]
    });
    Some(Descriptor { number, target })
}

/// Splits arguments at commas outside texts and brackets, as far as `count`.
pub(super) fn split(args: &[u8], count: usize) -> Vec<&[u8]> {
    let (mut parts, mut depth, mut from, mut at) = (Vec::new(), 0_i32, 0, 0);
    while at < args.len() && parts.len() + 1 < count {
        match args[at] {
            b'"' => at = text_end(args, at),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth <= 0 => {
                parts.push(args[from..at].trim_ascii());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(args[from.min(args.len())..].trim_ascii());
    parts
}

/// The place of the quote that ends the text that begins at `at`; the end where none does.
fn text_end(args: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < args.len() {
        match args[at] {
            b'\\' => at += 1,
            b'"' => return at,
            _ => {}
        }
        at += 1;
    }
    args.len()
}

/// The first text in the arguments, without its quotes, escapes as they are.
pub(super) fn first_text(args: &[u8]) -> Option<&[u8]> {
    let open = memchr(b'"', args)?;
    let end = text_end(args, open);
    Some(&args[open + 1..end])
}

/// The texts in a list, such as those of `execve`.
pub(super) fn texts(list: &[u8], count: usize) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), list);
    while found.len() < count
        && let Some(open) = memchr(b'"', rest)
    {
        let end = text_end(rest, open);
        found.push(&rest[open + 1..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    found
}

/// Where the timeout of a call stands, and in which unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeoutForm {
    /// The argument is milliseconds, as of `poll`.
    Millis(usize),
    /// `{tv_sec=0, tv_nsec=250000000}`, from the call on.
    Nanos(usize),
    /// `{tv_sec=0, tv_usec=250000}`, as of `select`.
    Micros(usize),
    /// As of `clock_nanosleep`, whose flags may make it a time.
    Clock(usize),
    /// `futex`: the fourth argument, if the operation waits.
    Futex,
}

/// The timeout of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallTimeout {
    /// So many microseconds after the call.
    After(u64),
    /// At this time since 1970, in microseconds.
    At(u64),
    /// At a time of another clock, which the trace does not have.
    AtOther,
}

/// The call's timeout; nothing where it has none.
pub(super) fn timeout(form: TimeoutForm, args: &[u8]) -> Option<CallTimeout> {
    let part = |at: usize| split(args, at + 2).get(at).copied();
    match form {
        TimeoutForm::Millis(at) => {
            leading_number(part(at)?)?.checked_mul(1000).map(CallTimeout::After)
        }
        TimeoutForm::Nanos(at) => two_numbers(part(at)?, 1000).map(CallTimeout::After),
        TimeoutForm::Micros(at) => two_numbers(part(at)?, 1).map(CallTimeout::After),
        TimeoutForm::Clock(at) => {
            let parts = split(args, at + 2);
            let length = two_numbers(parts.get(at)?, 1000)?;
            let is_time = parts.get(1)?.starts_with(b"TIMER_ABSTIME");
            Some(match (is_time, parts[0] == b"CLOCK_REALTIME") {
                (false, _) => CallTimeout::After(length),
                (true, true) => CallTimeout::At(length),
                (true, false) => CallTimeout::AtOther,
            })
        }
        TimeoutForm::Futex => {
            let parts = split(args, 5);
            let operation = parts.get(1)?;
            let has = |word: &[u8]| memmem::find(operation, word).is_some();
            if !operation.starts_with(b"FUTEX_WAIT") && !operation.starts_with(b"FUTEX_LOCK_PI") {
                return None;
            }
            let number = two_numbers(parts.get(3)?, 1000)?;
            // Only the end of a plain wait is a length; of others it is a time of a clock.
            let is_length = !has(b"BITSET") && !has(b"REQUEUE") && !has(b"LOCK_PI");
            Some(match (is_length, has(b"CLOCK_REALTIME") || has(b"LOCK_PI")) {
                (true, _) => CallTimeout::After(number),
                (false, true) => CallTimeout::At(number),
                (false, false) => CallTimeout::AtOther,
            })
        }
    }
}

/// Microseconds of `{tv_sec=1, tv_nsec=5000}` or `{1, 5000}`; `per_us` parts make a microsecond.
fn two_numbers(text: &[u8], per_us: u64) -> Option<u64> {
    let inner = text.strip_prefix(b"{")?;
    let comma = memchr(b',', inner)?;
    let number = |text: &[u8]| {
        let text = text.trim_ascii();
        let value = memchr(b'=', text).map_or(text, |at| &text[at + 1..]);
        leading_number(value)
    };
    let (seconds, parts) = (number(&inner[..comma])?, number(&inner[comma + 1..])?);
    seconds.checked_mul(1_000_000)?.checked_add(parts / per_us)
}

/// Undoes strace's escapes of a path: `\"`, `\\`, `\n`, `\303`.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (byte, length) = match (text[at], text.get(at + 1)) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b'0'..=b'7')) => {
                let digits = &text[at + 1..text.len().min(at + 4)];
                let count = digits.iter().take_while(|it| (b'0'..=b'7').contains(*it)).count();
                let value =
                    digits[..count].iter().fold(0_u32, |sum, it| sum * 8 + u32::from(it - b'0'));
                (value as u8, count + 1)
            }
            (b'\\', Some(other)) => (*other, 2),
            (byte, _) => (byte, 1),
        };
        out.push(byte);
        at += length;
    }
    out
}

#[cfg(test)]
mod tests;
