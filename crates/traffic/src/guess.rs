//! Tells the formats of sources apart from their first lines.
//!
//! | first lines | format |
//! |---|---|
//! | `*   << Request  >> 2` | varnishlog of 4.0 and later, grouped |
//! | a number, a tag, `c`, `b` or `-` | varnishlog, raw; its version by tags that only one has |
//! | `{`, and a line of ours | Tidegate's journal |
//! | `{`, with `side` | varnishlog-json |
//! | what `exchange` decodes | LTSV, else combined or common |
//!
//! Where all tags are of both versions, the width of the number decides: ten columns from 4.0 on,
//! five before. Lines that are of no format are passed over, for captures begin anywhere.
//! Never here: reading them.

use std::fmt;
use std::str::FromStr;

use exchange::{decode, decode_combined, decode_ltsv};

use crate::tag::Tag;

/// Lines that are looked at.
const LINES_MAX: usize = 200;

/// How the lines of a source are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// Tidegate's own JSON lines.
    Tidegate,
    /// `combined` or `common`.
    Combined,
    /// Labelled tab-separated values.
    Ltsv,
    /// varnishlog of 4.0 and later, grouped or raw.
    Varnish,
    /// varnishlog of 2.1 and 3.0.
    Varnish3,
    /// varnishlog-json.
    VarnishJson,
}

impl InputFormat {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Tidegate,
        Self::Combined,
        Self::Ltsv,
        Self::Varnish,
        Self::Varnish3,
        Self::VarnishJson,
    ];

    /// Returns the name that options use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::Combined => "combined",
            Self::Ltsv => "ltsv",
            Self::Varnish => "varnish",
            Self::Varnish3 => "varnish3",
            Self::VarnishJson => "varnish-json",
        }
    }

    /// Whether the lines are records of Varnish's log.
    pub(crate) fn has_records(self) -> bool {
        matches!(self, Self::Varnish | Self::Varnish3)
    }

    /// Whether the lines say what the cache did.
    pub(crate) fn says_cache(self) -> bool {
        !matches!(self, Self::Combined | Self::Ltsv)
    }

    /// Whether the lines have the headers of answers.
    pub(crate) fn says_response_headers(self) -> bool {
        self.has_records() || self == Self::VarnishJson
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for InputFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            format!("`{name}` is no format; there is {}", names.join(", "))
        })
    }
}

/// The format of the first lines, if one of them tells.
pub(crate) fn guess(chunk: &[u8]) -> Option<InputFormat> {
    let mut by_width = None;
    for line in chunk.split(|byte| *byte == b'\n').take(LINES_MAX) {
        match of_line(line) {
            Sign::Certain(format) => return Some(format),
            Sign::Likely(format) if by_width.is_none() => by_width = Some(format),
            Sign::Likely(_) | Sign::None => {}
        }
    }
    by_width
}

/// What a line tells.
enum Sign {
    Certain(InputFormat),
    Likely(InputFormat),
    None,
}

fn of_line(line: &[u8]) -> Sign {
    match line.first() {
        Some(b'*') if memchr::memmem::find(line, b"<< ").is_some() => {
            Sign::Certain(InputFormat::Varnish)
        }
        Some(b'{') if decode(line).is_ok() => Sign::Certain(InputFormat::Tidegate),
        Some(b'{') if memchr::memmem::find(line, b"\"side\"").is_some() => {
            Sign::Certain(InputFormat::VarnishJson)
        }
        Some(b'-') => grouped_record(line),
        Some(b' ' | b'0'..=b'9') => raw_record(line),
        _ => access_line(line),
    }
}

/// A record below a header that was cut off.
fn grouped_record(line: &[u8]) -> Sign {
    let words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    match words.take(3).skip(1).find_map(Tag::find) {
        Some(_) => Sign::Certain(InputFormat::Varnish),
        None => access_line(line),
    }
}

fn raw_record(line: &[u8]) -> Sign {
    let indent = line.iter().take_while(|byte| **byte == b' ').count();
    let digits = line[indent..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut words = line[indent + digits..].split(|byte| *byte == b' ').filter(|w| !w.is_empty());
    let tag = words.next().and_then(Tag::find);
    let (Some(tag), Some(b"c" | b"b" | b"-")) = (tag, words.next()) else {
        return access_line(line);
    };
    let name = tag.name();
    let is_old = ["Rx", "Tx", "ReqEnd", "Session", "StatSess", "BackendXID", "Interrupted"];
    let is_new = ["Req", "Resp", "Bere", "Timestamp", "Begin", "End", "Link", "Sess", "VCL_use"];
    if is_old.iter().any(|begin| name.starts_with(begin)) {
        Sign::Certain(InputFormat::Varnish3)
    } else if tag != Tag::REQ_START && is_new.iter().any(|begin| name.starts_with(begin)) {
        Sign::Certain(InputFormat::Varnish)
    } else if indent + digits >= 10 {
        Sign::Likely(InputFormat::Varnish)
    } else {
        Sign::Likely(InputFormat::Varnish3)
    }
}

fn access_line(line: &[u8]) -> Sign {
    if decode_ltsv(line).is_ok() {
        Sign::Certain(InputFormat::Ltsv)
    } else if decode_combined(line).is_ok() {
        Sign::Certain(InputFormat::Combined)
    } else {
        Sign::None
    }
}

#[cfg(test)]
mod tests;
