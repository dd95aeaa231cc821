//! Reads the text of varnishlog, line by line, into an [`Assembler`].
//!
//! | from | written by | a line |
//! |---|---|---|
//! | 4.0 to 8 | `-g vxid`, `request`, `session` | `-   ReqURL   /` below `*   << Request  >> 2` |
//! | 4.0 to 8 | `-v`, any grouping | `-            3 ReqURL         c /` |
//! | 4.0 to 8 | `-g raw` | `         3 ReqURL         c /` |
//! | 2.1, 3.0 | without `-O`, and with it | `   11 RxURL        c /` |
//!
//! VXIDs have 64 bits. A line that is none of these is counted, such as one that another process
//! has cut in two. Grouped text ends a group by a blank line, if `End` was filtered out everywhere.
//! Where it was not, a transaction without is one that was cut.
//! In raw text a transaction is known by its `Begin`, up to 3.0 by its `ReqStart`; records without
//! are counted as strays. Up to 3.0 records of backends and of sessions are passed over.
//! Refuses: to fail, whatever the bytes are.

use memchr::memchr;

use crate::assembly::Assembler;
use crate::limits::WatchCounts;
use crate::seconds::whole;
use crate::tag::Tag;
use crate::transaction::Kind;

/// Columns of a tag: from 4.0 on, and before.
const TAG_COLUMNS: usize = 14;
const LEGACY_TAG_COLUMNS: usize = 12;

/// Reads the log of 4.0 and later.
#[derive(Default)]
pub(crate) struct Modern {
    /// The transaction of the group that the next records belong to.
    open: Option<u64>,
    /// Whether the records of this transaction are of no use.
    skips: bool,
    /// The transactions of this group that have not ended.
    members: Vec<u64>,
    /// Whether the log has records `End`.
    has_ends: bool,
}

impl Modern {
    /// Reads a line without its line feed.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        assembler: &mut Assembler,
        counts: &mut WatchCounts,
    ) {
        let is_read = match line.first() {
            None => {
                self.close(assembler, counts);
                true
            }
            Some(b'-') if self.skips => true,
            Some(b'-') => self.grouped(line, assembler, counts),
            Some(b'*') => self.header(line, assembler, counts),
            Some(b' ' | b'0'..=b'9') => raw(line, assembler, counts),
            Some(_) => false,
        };
        counts.unread += u64::from(!is_read);
    }

    /// Begins the transaction of a header.
    fn header(&mut self, line: &[u8], assembler: &mut Assembler, counts: &mut WatchCounts) -> bool {
        let Some(header) = header(line) else { return false };
        if header.is_first {
            // The group before has ended without a blank line.
            self.close(assembler, counts);
        }
        self.skips = !assembler.wants(header.kind);
        self.open = Some(header.vxid);
        if !self.skips {
            assembler.begin(header.vxid, header.kind, counts);
            self.members.push(header.vxid);
        }
        true
    }

    /// Adds a record to the transaction that is open.
    fn grouped(
        &mut self,
        line: &[u8],
        assembler: &mut Assembler,
        counts: &mut WatchCounts,
    ) -> bool {
        let Some(VarnishRecord { tag, data, .. }) = grouped_record(line) else { return false };
        let Some(vxid) = self.open else {
            counts.strays += 1;
            return true;
        };
        counts.strays += u64::from(!assembler.record(vxid, (tag, data), counts));
        if tag == Tag::END {
            assembler.end(vxid, counts);
            self.members.retain(|member| *member != vxid);
            (self.open, self.has_ends) = (None, true);
        }
        true
    }

    /// Ends the transactions of a group that have no record `End`, or gives them up.
    fn close(&mut self, assembler: &mut Assembler, counts: &mut WatchCounts) {
        for vxid in self.members.drain(..) {
            if self.has_ends {
                assembler.interrupt(vxid, counts);
            } else {
                assembler.end(vxid, counts);
            }
        }
        (self.open, self.skips) = (None, false);
    }
}

/// A line of a header.
pub(crate) struct GroupHeader {
    pub(crate) vxid: u64,
    pub(crate) kind: Kind,
    /// Whether it begins a group.
    is_first: bool,
}

/// A line of a record.
pub(crate) struct VarnishRecord<'a> {
    /// The VXID, up to 3.0 the file descriptor; 0 where the line does not say it.
    pub(crate) vxid: u64,
    /// Client, backend or neither: `c`, `b` or `-`.
    pub(crate) side: u8,
    pub(crate) tag: Tag,
    pub(crate) data: &'a [u8],
}

/// `*   << Request  >> 318737`
pub(crate) fn header(line: &[u8]) -> Option<GroupHeader> {
    let at = line.windows(3).take(24).position(|found| found == b"<< ")?;
    let rest = &line[at + 3..];
    let kind = match rest.split(|byte| *byte == b' ').next() {
        Some(b"Request") => Kind::Request,
        Some(b"BeReq") => Kind::Backend,
        Some(b"Session") => Kind::Session,
        _ => Kind::Other,
    };
    let vxid = whole(rest.rsplit(|byte| *byte == b' ').find(|word| !word.is_empty())?)?;
    let is_first = line.get(1..at)?.iter().all(|byte| *byte == b' ');
    Some(GroupHeader { vxid, kind, is_first })
}

/// `-   ReqURL         /vmods/`, or with VXID and side
pub(crate) fn grouped_record(line: &[u8]) -> Option<VarnishRecord<'_>> {
    let prefix = memchr(b' ', line)?;
    let skipped = line[prefix..].iter().position(|byte| *byte != b' ')?;
    let rest = &line[prefix + skipped..];
    let (vxid, rest) = after_number(rest).unwrap_or((0, rest));
    let (tag, data) = tag_and_data(rest, TAG_COLUMNS)?;
    let (side, data) = match side_and_data(data) {
        Some(read) if vxid != 0 => read,
        _ => (b'-', data),
    };
    Some(VarnishRecord { vxid, side, tag, data })
}

/// `     65542 Timestamp      c Resp: 1473174473.456773 0.001251 0.000108`
pub(crate) fn raw_record(line: &[u8]) -> Option<VarnishRecord<'_>> {
    record_with(line, TAG_COLUMNS)
}

/// `   11 RxURL        c /`
pub(crate) fn legacy_record(line: &[u8]) -> Option<VarnishRecord<'_>> {
    record_with(line, LEGACY_TAG_COLUMNS)
}

fn record_with(line: &[u8], columns: usize) -> Option<VarnishRecord<'_>> {
    let (vxid, rest) = numbered(line)?;
    let (tag, data) = tag_and_data(rest, columns)?;
    let (side, data) = side_and_data(data)?;
    Some(VarnishRecord { vxid, side, tag, data })
}

fn raw(line: &[u8], assembler: &mut Assembler, counts: &mut WatchCounts) -> bool {
    let Some(VarnishRecord { vxid, side, tag, data }) = raw_record(line) else { return false };
    let kind = if side == b'b' { Kind::Backend } else { Kind::Request };
    if vxid == 0 || !assembler.wants(kind) {
        return true;
    }
    if tag == Tag::BEGIN {
        assembler.begin(vxid, Kind::Other, counts);
    }
    counts.strays += u64::from(!assembler.record(vxid, (tag, data), counts));
    if tag == Tag::END {
        assembler.end(vxid, counts);
    }
    true
}

/// Reads a line of 2.1 or 3.0, without its line feed; returns whether it is one.
pub(crate) fn legacy(line: &[u8], assembler: &mut Assembler, counts: &mut WatchCounts) {
    if line.is_empty() {
        return;
    }
    let Some(VarnishRecord { vxid: descriptor, side, tag, data }) = legacy_record(line) else {
        counts.unread += 1;
        return;
    };
    match tag.modern() {
        _ if side != b'c' => return,
        Tag::REQ_START => assembler.begin(descriptor, Kind::Request, counts),
        Tag::INTERRUPTED => return assembler.interrupt(descriptor, counts),
        _ => {}
    }
    let is_known = assembler.record(descriptor, (tag.modern(), data), counts);
    counts.strays += u64::from(!is_known && is_of_request(tag));
    if tag == Tag::REQ_END {
        assembler.end(descriptor, counts);
    }
}

/// Whether a record stands between `ReqStart` and `ReqEnd` only.
fn is_of_request(tag: Tag) -> bool {
    matches!(tag.modern(), Tag::REQ_END | Tag::REQ_URL | Tag::REQ_METHOD | Tag::RESP_STATUS)
}

/// The number at the beginning of a line, and what follows its spaces.
fn numbered(line: &[u8]) -> Option<(u64, &[u8])> {
    let start = line.iter().position(|byte| *byte != b' ')?;
    after_number(&line[start..])
}

/// The number at the beginning, and what follows its spaces.
fn after_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit())?;
    let number = whole(&text[..digits])?;
    let spaces = text[digits..].iter().position(|byte| *byte != b' ')?;
    (spaces > 0).then(|| (number, &text[digits + spaces..]))
}

/// A tag and its data, which begins behind the columns of the tag.
fn tag_and_data(text: &[u8], columns: usize) -> Option<(Tag, &[u8])> {
    let length = memchr(b' ', text).unwrap_or(text.len());
    let tag = Tag::find(&text[..length])?;
    let padded = text.get(length..columns + 1);
    let start = match padded {
        Some(padding) if padding.iter().all(|byte| *byte == b' ') => columns + 1,
        // A longer tag, or text whose columns somebody has taken away.
        _ => length + text[length..].iter().take_while(|byte| **byte == b' ').count(),
    };
    Some((tag, text.get(start..).unwrap_or_default()))
}

/// The side (client, backend or none) and what follows it.
fn side_and_data(data: &[u8]) -> Option<(u8, &[u8])> {
    match data {
        [side @ (b'c' | b'b' | b'-')] => Some((*side, &[])),
        [side @ (b'c' | b'b' | b'-'), b' ', data @ ..] => Some((*side, data)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
