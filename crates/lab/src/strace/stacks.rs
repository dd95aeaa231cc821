//! Adds up calls by the stack that made them (`-k`), for calls of a millisecond or within requests.
//!
//! Bound: `STACKS_MAX` stacks of `FRAMES_MAX` frames each; others are not kept, and counted.

use std::collections::HashMap;

use serde::Serialize;

const STACKS_MAX: usize = 2000;
const FRAMES_MAX: usize = 12;
const FRAME_BYTES_MAX: usize = 120;
const LONG_NS: u64 = 1_000_000;

/// Calls that were made from one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackSummary {
    /// The system call.
    pub call: String,
    /// Functions, the innermost first.
    pub frames: Vec<String>,
    /// How many calls.
    pub calls: u64,
    /// Seconds in all.
    pub total_s: f64,
}

/// All stacks of a trace.
#[derive(Debug, Default)]
pub(super) struct StackTotals {
    all: HashMap<(String, Vec<String>), (u64, u64)>,
    /// The call whose frames come now: name and nanoseconds.
    now: Option<(String, u64)>,
    frames: Vec<String>,
    /// Whether the trace has stacks at all.
    has_frames: bool,
}

impl StackTotals {
    /// Frames that follow belong to this call.
    pub(super) fn begin(&mut self, name: &str, took_ns: u64, is_on_path: bool) {
        if !self.has_frames {
            // The name is not copied for each call of a trace without stacks.
            match &mut self.now {
                Some((last, took)) if last == name => *took = took_ns,
                now => *now = Some((name.to_owned(), took_ns)),
            }
            return;
        }
        self.flush();
        self.now = (took_ns >= LONG_NS || is_on_path).then(|| (name.to_owned(), took_ns));
    }

    pub(super) fn frame(&mut self, text: &[u8]) {
        self.has_frames = true;
        if self.now.is_some() && self.frames.len() < FRAMES_MAX {
            let text = &text[..text.len().min(FRAME_BYTES_MAX)];
            let text = String::from_utf8_lossy(text);
            // `/lib/x.so(function+0x12) [0x7f]`: the address differs from run to run.
            let text = text.split(" [0x").next().unwrap_or_default();
            self.frames.push(text.to_owned());
        }
    }

    pub(super) fn flush(&mut self) {
        let (Some((name, took)), false) = (self.now.take(), self.frames.is_empty()) else {
            self.frames.clear();
            return;
        };
        let key = (name, std::mem::take(&mut self.frames));
        if self.all.len() < STACKS_MAX || self.all.contains_key(&key) {
            let totals = self.all.entry(key).or_default();
            *totals = (totals.0 + 1, totals.1 + took);
        }
    }

    /// All of them, the longest first.
    pub(super) fn summaries(&self) -> Vec<StackSummary> {
        let summary = |((call, frames), (calls, ns)): (&(String, Vec<String>), &(u64, u64))| {
            let (call, frames) = (call.clone(), frames.clone());
            StackSummary { call, frames, calls: *calls, total_s: *ns as f64 / 1e9 }
        };
        let mut all: Vec<StackSummary> = self.all.iter().map(summary).collect();
        all.sort_by(|one, other| {
            other.total_s.total_cmp(&one.total_s).then_with(|| one.frames.cmp(&other.frames))
        });
        all
    }
}
