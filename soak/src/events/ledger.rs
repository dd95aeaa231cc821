//! Reads a journal's directory plainly, by names and bytes alone, as the oracle of the soak.
//!
//! Names are those of `journal/src/lib.rs`. A segment is called after the offset of its first byte,
//! and its bytes count up to the start of the next one. Shares no code with the program. Invariant:
//! of a packed segment that is damaged in any bit nothing counts, for nobody can say which of it is
//! right. Refuses: to judge what becomes of a line.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use stdx::calendar::{CivilDate, TimeOfDay, unix_seconds};

/// A file with lines.
#[derive(Debug, Clone)]
pub(in crate::events) struct Segment {
    pub path: PathBuf,
    /// The offset of its first byte.
    pub start: u64,
    pub is_packed: bool,
}

/// A complete line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::events) struct Line {
    /// Its bytes, with the line feed.
    pub at: Range<u64>,
    pub text: Vec<u8>,
}

/// What a directory holds.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct Ledger {
    pub segments: Vec<Segment>,
    /// By offset.
    pub lines: Vec<Line>,
    /// Up to where lines are durable, as the writer has noted it.
    pub durable: u64,
}

impl Ledger {
    /// Reads a directory, which need not exist.
    ///
    /// # Errors
    /// When files cannot be read.
    pub(in crate::events) fn read(dir: &Path) -> Result<Self> {
        loop {
            match Self::read_listed(dir) {
                // Packed since it was listed.
                Err(error) if is_gone(&error) => {}
                read => return read,
            }
        }
    }

    fn read_listed(dir: &Path) -> Result<Self> {
        let segments = segments(dir)?;
        let mut lines = Vec::new();
        for (at, segment) in segments.iter().enumerate() {
            let mut bytes = content(segment)?;
            if let Some(next) = segments.get(at + 1) {
                bytes.truncate((next.start - segment.start) as usize);
            }
            let mut start = segment.start;
            for text in bytes.split_inclusive(|byte| *byte == b'\n') {
                let end = start + text.len() as u64;
                if text.ends_with(b"\n") {
                    lines.push(Line { at: start..end, text: text.to_vec() });
                }
                start = end;
            }
        }
        let durable = fs::read_to_string(dir.join("synced")).ok();
        let durable = durable.and_then(|text| text.get(..20)?.parse().ok()).unwrap_or(0);
        Ok(Self { segments, lines, durable })
    }
}

impl Line {
    /// The event of the line, if it is one.
    pub(in crate::events) fn event(&self) -> Option<u64> {
        let line: Value = serde_json::from_slice(&self.text).ok()?;
        let query = line["query"].as_str()?.strip_prefix("item=")?;
        query.split('&').next()?.parse().ok()
    }

    /// When its exchange began, in seconds since the Unix epoch.
    pub(in crate::events) fn time_s(&self) -> Option<i64> {
        let line: Value = serde_json::from_slice(&self.text).ok()?;
        let time = line["time"].as_str()?;
        let number = |at: std::ops::Range<usize>| time.get(at)?.parse::<u32>().ok();
        let year = number(0..4)?;
        let date = CivilDate { year, month: number(5..7)?, day: number(8..10)? };
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        unix_seconds(date, TimeOfDay { hour, minute, second })
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn segments(dir: &Path) -> Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((digits, form)) = name.split_once('.') else { continue };
        if digits.len() == 20 && matches!(form, "log" | "log.zst") {
            let (start, is_packed) = (digits.parse()?, form == "log.zst");
            segments.push(Segment { path, start, is_packed });
        }
    }
    // Where both forms are there, the packed one was finished.
    segments.sort_by_key(|segment| (segment.start, !segment.is_packed));
    segments.dedup_by_key(|segment| segment.start);
    Ok(segments)
}

fn content(segment: &Segment) -> Result<Vec<u8>> {
    let bytes =
        fs::read(&segment.path).with_context(|| format!("reading `{}`", segment.path.display()))?;
    if !segment.is_packed {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let is_whole =
        zstd::Decoder::new(&*bytes).and_then(|mut decoder| decoder.read_to_end(&mut plain)).is_ok();
    Ok(if is_whole { plain } else { Vec::new() })
}
