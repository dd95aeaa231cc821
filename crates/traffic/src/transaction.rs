//! Holds the records of one transaction of Varnish's log: a request, a fetch or a session.
//!
//! The texts of all records stand in one buffer, which the next transaction uses again.
//! Bounds: [`RECORDS_MAX`] records and [`BYTES_MAX`] bytes of text. What comes beyond them is
//! dropped and counted by whoever adds it.
//! Never here: what the records mean together (`summary.rs`), and which transactions belong
//! together (`assembly.rs`).

use crate::seconds::{whole, words};
use crate::tag::Tag;

/// Records of a transaction, and links to others.
pub(crate) const RECORDS_MAX: usize = 10_000;
/// Bytes of text of a transaction.
pub(crate) const BYTES_MAX: usize = 256 << 10;
/// The buffer that a finished transaction leaves to the next one.
const KEPT_BYTES_MAX: usize = 16 << 10;

/// What a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// A connection of a client.
    Session,
    /// A request of a client, also one that ESI or a restart has made.
    Request,
    /// A fetch from a backend.
    Backend,
    /// Not known.
    #[default]
    Other,
}

/// Why a request began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reason {
    /// A client sent it.
    Received,
    /// An `esi:include` asks for it.
    Esi,
    /// VCL began it again.
    Restart,
    /// Another reason, or none is known.
    #[default]
    Other,
}

/// One transaction.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// The VXID; up to 3.0 the file descriptor.
    pub(crate) vxid: u64,
    pub(crate) kind: Kind,
    /// The transaction that began this one; 0 if none did.
    pub(crate) parent: u64,
    pub(crate) reason: Reason,
    /// Transactions that this one began.
    pub(crate) children: Vec<u64>,
    /// How far it is below the first one of its group, from 1 on.
    pub(crate) level: u32,
    /// Whether its end was seen.
    pub(crate) is_done: bool,
    /// The time of the log when it began, in microseconds.
    pub(crate) opened_us: u64,
    records: Vec<(Tag, u32, u32)>,
    text: Vec<u8>,
}

impl Transaction {
    /// Makes it the beginning of another transaction.
    pub(crate) fn begin(&mut self, vxid: u64, kind: Kind) {
        self.vxid = vxid;
        self.kind = kind;
        self.parent = 0;
        self.reason = Reason::Other;
        self.children.clear();
        self.level = 1;
        self.is_done = false;
        self.records.clear();
        self.text.clear();
        if self.text.capacity() > KEPT_BYTES_MAX {
            self.text.shrink_to(KEPT_BYTES_MAX);
            self.records.shrink_to(KEPT_BYTES_MAX / 16);
            self.children.shrink_to(KEPT_BYTES_MAX / 16);
        }
    }

    /// Adds a record; returns whether there was room.
    pub(crate) fn push(&mut self, tag: Tag, data: &[u8]) -> bool {
        let has_room = self.records.len() < RECORDS_MAX
            && data.len() <= BYTES_MAX - self.text.len().min(BYTES_MAX);
        if has_room {
            self.records.push((tag, self.text.len() as u32, data.len() as u32));
            self.text.extend_from_slice(data);
        }
        has_room
    }

    /// Reads `req 318736 rxreq`.
    pub(crate) fn read_begin(&mut self, data: &[u8]) {
        let mut words = words(data);
        self.kind = match words.next() {
            Some(b"sess") => Kind::Session,
            Some(b"req") => Kind::Request,
            Some(b"bereq") => Kind::Backend,
            _ => self.kind,
        };
        self.parent = words.next().and_then(whole).unwrap_or(0);
        self.reason = match words.next() {
            Some(b"rxreq") => Reason::Received,
            Some(b"esi") => Reason::Esi,
            Some(b"restart") => Reason::Restart,
            _ => Reason::Other,
        };
    }

    /// Reads `bereq 3 fetch`; returns whether there was room for it.
    pub(crate) fn read_link(&mut self, data: &[u8]) -> bool {
        let Some(child) = words(data).nth(1).and_then(whole) else { return true };
        let has_room = self.children.len() < RECORDS_MAX;
        if has_room {
            self.children.push(child);
        }
        has_room
    }

    /// The bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Its records, in order.
    pub(crate) fn records(&self) -> impl DoubleEndedIterator<Item = (Tag, &[u8])> {
        let data = |start: u32, length: u32| &self.text[start as usize..(start + length) as usize];
        self.records.iter().map(move |(tag, start, length)| (*tag, data(*start, *length)))
    }

    /// The text of its last record of a tag.
    pub(crate) fn last(&self, tag: Tag) -> Option<&[u8]> {
        self.records().rev().find(|(found, _)| *found == tag).map(|(_, data)| data)
    }
}
