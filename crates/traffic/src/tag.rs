//! Names the tags of Varnish's log, from 2.1 to 8, and looks them up by their bytes.
//!
//! A [`Tag`] is a place in `NAMES`. Looking one up takes a multiplication and one comparison: the
//! table is made while compiling, and two names on one place would not compile.
//! The client's tags of 2.1 and 3.0 are read as what took their place in 4.0 ([`Tag::modern`]):
//! `RxURL` is `ReqURL`. So queries and summaries know one vocabulary.
//! A new tag goes into `NAMES`. If two names then share a place, `MULTIPLIER` needs another value.
//! Never here: what a record says.

/// The tag of a record of Varnish's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(u8);

/// Some of the tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TagSet([u64; 2]);

const NAMES: [&str; 123] = [
    "Debug",
    "Error",
    "CLI",
    "SessOpen",
    "SessClose",
    "BackendOpen",
    "BackendReuse",
    "BackendClose",
    "HttpGarbage",
    "Proxy",
    "ProxyGarbage",
    "Backend",
    "Length",
    "FetchError",
    "ReqMethod",
    "ReqURL",
    "ReqStatus",
    "ReqReason",
    "ReqProtocol",
    "ReqHeader",
    "ReqUnset",
    "ReqLost",
    "RespMethod",
    "RespURL",
    "RespStatus",
    "RespReason",
    "RespProtocol",
    "RespHeader",
    "RespUnset",
    "RespLost",
    "BereqMethod",
    "BereqURL",
    "BereqStatus",
    "BereqReason",
    "BereqProtocol",
    "BereqHeader",
    "BereqUnset",
    "BereqLost",
    "BerespMethod",
    "BerespURL",
    "BerespStatus",
    "BerespReason",
    "BerespProtocol",
    "BerespHeader",
    "BerespUnset",
    "BerespLost",
    "ObjMethod",
    "ObjURL",
    "ObjStatus",
    "ObjReason",
    "ObjProtocol",
    "ObjHeader",
    "ObjUnset",
    "ObjLost",
    "BogoHeader",
    "LostHeader",
    "TTL",
    "Fetch_Body",
    "VCL_acl",
    "VCL_call",
    "VCL_trace",
    "VCL_return",
    "VCL_use",
    "ReqStart",
    "Hit",
    "HitPass",
    "HitMiss",
    "ExpBan",
    "ExpKill",
    "WorkThread",
    "ESI_xmlerror",
    "Hash",
    "Backend_health",
    "VCL_Log",
    "VCL_Error",
    "Gzip",
    "Link",
    "Begin",
    "End",
    "VSL",
    "Storage",
    "Timestamp",
    "ReqAcct",
    "ESI_BodyBytes",
    "PipeAcct",
    "BereqAcct",
    "VfpAcct",
    "VdpAcct",
    "Witness",
    "BackendStart",
    "H2RxHdr",
    "H2RxBody",
    "H2TxHdr",
    "H2TxBody",
    "Filters",
    "SessError",
    "Notice",
    "ConnectAcct",
    "VSL_glitch",
    "SessionOpen",
    "SessionClose",
    "StatSess",
    "ReqEnd",
    "BackendXID",
    "Interrupted",
    "ObjRequest",
    "ObjResponse",
    "ObjLostHeader",
    "RxRequest",
    "RxResponse",
    "RxStatus",
    "RxURL",
    "RxProtocol",
    "RxHeader",
    "RxLostHeader",
    "TxRequest",
    "TxResponse",
    "TxStatus",
    "TxURL",
    "TxProtocol",
    "TxHeader",
    "TxLostHeader",
    "Fetch_body",
];

/// What the client's tags of 2.1 and 3.0 became in 4.0.
const RENAMED: [(Tag, Tag); 12] = [
    (Tag::named("RxRequest"), Tag::named("ReqMethod")),
    (Tag::named("RxURL"), Tag::named("ReqURL")),
    (Tag::named("RxProtocol"), Tag::named("ReqProtocol")),
    (Tag::named("RxHeader"), Tag::named("ReqHeader")),
    (Tag::named("RxLostHeader"), Tag::named("ReqLost")),
    (Tag::named("TxStatus"), Tag::named("RespStatus")),
    (Tag::named("TxResponse"), Tag::named("RespReason")),
    (Tag::named("TxProtocol"), Tag::named("RespProtocol")),
    (Tag::named("TxHeader"), Tag::named("RespHeader")),
    (Tag::named("TxLostHeader"), Tag::named("RespLost")),
    (Tag::named("SessionOpen"), Tag::named("SessOpen")),
    (Tag::named("SessionClose"), Tag::named("SessClose")),
];

/// Found by trying: no two names share a place with it.
const MULTIPLIER: u64 = 0x9c1c_aaf7_5e87_66ed;
const PLACES: usize = 2048;
const NONE: u8 = u8::MAX;

static BY_PLACE: [u8; PLACES] = places();

impl Tag {
    pub(crate) const BEGIN: Self = Self::named("Begin");
    pub(crate) const END: Self = Self::named("End");
    pub(crate) const HIT: Self = Self::named("Hit");
    pub(crate) const INTERRUPTED: Self = Self::named("Interrupted");
    pub(crate) const LINK: Self = Self::named("Link");
    pub(crate) const PIPE_ACCT: Self = Self::named("PipeAcct");
    pub(crate) const REQ_ACCT: Self = Self::named("ReqAcct");
    pub(crate) const REQ_END: Self = Self::named("ReqEnd");
    pub(crate) const REQ_HEADER: Self = Self::named("ReqHeader");
    pub(crate) const REQ_METHOD: Self = Self::named("ReqMethod");
    pub(crate) const REQ_PROTOCOL: Self = Self::named("ReqProtocol");
    pub(crate) const REQ_START: Self = Self::named("ReqStart");
    pub(crate) const REQ_UNSET: Self = Self::named("ReqUnset");
    pub(crate) const REQ_URL: Self = Self::named("ReqURL");
    pub(crate) const RESP_HEADER: Self = Self::named("RespHeader");
    pub(crate) const RESP_REASON: Self = Self::named("RespReason");
    pub(crate) const RESP_STATUS: Self = Self::named("RespStatus");
    pub(crate) const RESP_UNSET: Self = Self::named("RespUnset");
    pub(crate) const TIMESTAMP: Self = Self::named("Timestamp");
    pub(crate) const VCL_CALL: Self = Self::named("VCL_call");
    pub(crate) const VCL_RETURN: Self = Self::named("VCL_return");

    /// The tag of a name, for constants: a name that is none does not compile.
    pub(crate) const fn named(name: &str) -> Self {
        let mut at = 0;
        while at < NAMES.len() {
            if same(NAMES[at].as_bytes(), name.as_bytes()) {
                return Self(at as u8);
            }
            at += 1;
        }
        panic!("no such tag")
    }

    /// The tag of these bytes.
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        if name.len() < 2 {
            return None;
        }
        let found = BY_PLACE[place(name)];
        let known = NAMES.get(usize::from(found))?;
        (known.as_bytes() == name).then_some(Self(found))
    }

    /// Every tag.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..NAMES.len() as u8).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// What took the tag's place in 4.0.
    pub(crate) fn modern(self) -> Self {
        let renamed = RENAMED.iter().find(|(old, _)| *old == self);
        renamed.map_or(self, |(_, new)| *new)
    }

    /// Whether only transactions with a backend have such records.
    pub(crate) fn is_of_backend(self) -> bool {
        let name = self.name();
        name.starts_with("Bere") || name.starts_with("Backend") || name.starts_with("Fetch")
    }
}

impl TagSet {
    pub(crate) fn insert(&mut self, tag: Tag) {
        self.0[usize::from(tag.0 / 64)] |= 1 << (tag.0 % 64);
    }

    pub(crate) fn contains(self, tag: Tag) -> bool {
        self.0[usize::from(tag.0 / 64)] & (1 << (tag.0 % 64)) != 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Tag> {
        Tag::all().filter(move |tag| self.contains(*tag))
    }
}

impl FromIterator<Tag> for TagSet {
    fn from_iter<I: IntoIterator<Item = Tag>>(tags: I) -> Self {
        let mut set = Self::default();
        tags.into_iter().for_each(|tag| set.insert(tag));
        set
    }
}

const fn places() -> [u8; PLACES] {
    let mut places = [NONE; PLACES];
    let mut at = 0;
    while at < NAMES.len() {
        let place = place(NAMES[at].as_bytes());
        assert!(places[place] == NONE, "two names on one place: try another MULTIPLIER");
        places[place] = at as u8;
        at += 1;
    }
    places
}

/// Where a name of at least two bytes stands in the table.
const fn place(name: &[u8]) -> usize {
    let mut word = 0;
    if let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        word = u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(23);
    } else {
        let mut at = 0;
        while at < name.len() {
            word = word << 8 | name[at] as u64;
            at += 1;
        }
    }
    ((word ^ name.len() as u64).wrapping_mul(MULTIPLIER) >> 53) as usize
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests;
