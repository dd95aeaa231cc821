//! Reads a trace line by line, in one pass.
//!
//! Bound: a line of `LINE_BYTES_MAX`; a longer one is passed over and counted.

use std::io::Read;

use memchr::{memchr_iter, memrchr};

use super::line::{self, TraceEvent};
use super::perf_trace;
use super::report::StraceReport;
use super::threads::TraceState;
use crate::error::LabError;

const BUFFER_BYTES: usize = 256 << 10;
const LINE_BYTES_MAX: usize = 1 << 20;

/// Reads a trace to its end. `seen` is called now and then with the lines so far; `false` ends the
/// reading.
///
/// # Errors
/// When it cannot be read, or has no call.
pub fn read_trace(
    name: &str,
    mut input: impl Read,
    mut seen: impl FnMut(u64) -> bool,
) -> Result<StraceReport, LabError> {
    let failed = |reason: String| LabError::File { file: name.to_owned(), reason };
    let mut state = TraceState::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut unread = 0;
    let mut passes_over = false;
    loop {
        let read = match input.read(&mut buffer[unread..]) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error.to_string())),
        };
        let end = unread + read;
        let whole = match memrchr(b'\n', &buffer[unread..end]) {
            _ if read == 0 => end,
            Some(at) => unread + at + 1,
            None => 0,
        };
        let mut from = 0;
        for at in memchr_iter(b'\n', &buffer[..whole]) {
            take(&mut state, &buffer[from..at], &mut passes_over);
            from = at + 1;
        }
        if read == 0 {
            if from < end {
                take(&mut state, &buffer[from..end], &mut passes_over);
            }
            break;
        }
        buffer.copy_within(from..end, 0);
        unread = end - from;
        if unread == buffer.len() {
            if unread >= LINE_BYTES_MAX {
                (unread, passes_over) = (0, true);
            } else {
                buffer.resize(unread * 2, 0);
            }
        }
        if !seen(state.counts.lines) {
            break;
        }
    }
    state.finish();
    if state.counts.calls == 0 {
        let lines = state.counts.lines;
        return Err(failed(format!("none of its {lines} lines is a call of strace or perf trace")));
    }
    Ok(StraceReport::new(state))
}

fn take(state: &mut TraceState, text: &[u8], passes_over: &mut bool) {
    state.counts.lines += 1;
    if std::mem::take(passes_over) {
        state.counts.too_long += 1;
        return;
    }
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if !text.is_empty() {
        let line = line::parse(text);
        let other = matches!(line.event, TraceEvent::Other).then(|| perf_trace::parse(text));
        state.take(&other.flatten().unwrap_or(line));
    }
}
