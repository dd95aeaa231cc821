//! Reads `Accept-Encoding`: the weights of zstd, br, gzip and identity, and the class of a request.
//!
//! Invariant: a request gets the largest class whose codings it accepts and ranks no lower than
//! identity. The four classes are `zstd, br, gzip`, `br, gzip`, `gzip` and `identity`. So a
//! response has at most four variants by this field, and each client can decode its own. `*` stands
//! for gzip alone. A malformed weight counts as a refusal of its coding. `USUAL` gives what `read`
//! would. Never here: 406; a client that accepts none gets identity.
//! These texts must not change. A class is part of stored keys, also on disk (`cache::key`), and
//! goes to origins. `Coding::name` is part of `ETag`s that clients keep (`cache::etag`), a label of
//! metrics and a word of `compress.encodings`.
//! A new coding also goes into `Coding::ALL` and `Codings::ALL`, the weights and `USUAL`, `read`,
//! `class`, `names_no_coding` (`framing.rs`) and `soak/src/judge.rs`. It goes into both `QUICKEST`,
//! of `cache::encodings` and `gateway::reply::streaming`, and the doc of `encodings` in
//! `gateway::config`. `Coding::ALL` and the weights are in the order of `Coding`. The classes are a
//! decision (docs/decisions/gateway.md). Source: RFC 9110 §12.5.3.

use crate::request::Head;

/// A content coding that Tidegate can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// RFC 8878
    Zstd,
    /// RFC 7932
    Br,
    /// RFC 1952
    Gzip,
}

impl Coding {
    /// Every coding.
    pub const ALL: [Self; 3] = [Self::Zstd, Self::Br, Self::Gzip];

    /// Returns its name in `Content-Encoding` (RFC 9110 §8.4.1).
    pub fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Br => "br",
            Self::Gzip => "gzip",
        }
    }
}

/// A set of codings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Codings(u8);

impl Codings {
    /// The set of every coding.
    pub const ALL: Self = Self(0b111);

    /// Returns the set with one coding more.
    #[must_use]
    pub fn with(self, coding: Coding) -> Self {
        Self(self.0 | 1 << coding as u8)
    }

    /// Whether the set holds a coding.
    pub fn has(self, coding: Coding) -> bool {
        self.0 & (1 << coding as u8) != 0
    }

    /// Returns the codings that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the set holds no coding.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A weight in thousandths; 0 means refused (RFC 9110 §12.4.2).
type Weight = u16;

/// The usual spellings of the field, with their weights of zstd, br and gzip. Most requests match
/// one of these, and need no parsing.
const USUAL: [(&[u8], [Weight; 3]); 5] = [
    (b"gzip, deflate, br, zstd", [1000, 1000, 1000]),
    (b"gzip, deflate, br", [0, 1000, 1000]),
    (b"gzip, deflate", [0, 0, 1000]),
    (b"gzip, br", [0, 1000, 1000]),
    (b"gzip", [0, 0, 1000]),
];

/// The codings that a request accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accepted {
    weights: [Weight; 3],
    /// Weight of the identity encoding; 0, the least preference, unless the field names it.
    identity: Weight,
}

impl Accepted {
    /// Reads the `Accept-Encoding` lines of a request.
    pub fn of(head: &Head<'_>) -> Self {
        let mut lines = head.all("accept-encoding");
        let (first, second) = (lines.next(), lines.next());
        let usual = |line| USUAL.iter().find(|(text, _)| *text == line);
        match first.filter(|_| second.is_none()).and_then(usual) {
            Some((_, weights)) => Self { weights: *weights, identity: 0 },
            None => Self::read(first.into_iter().chain(second).chain(lines)),
        }
    }

    /// Reads the lines of the field. A coding with a malformed weight counts as refused.
    pub fn read<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Self {
        let mut weights = [None; 3];
        let (mut identity, mut any) = (None, None);
        for member in lines.flat_map(|line| line.split(|b| *b == b',')) {
            let mut parts = member.split(|b| *b == b';');
            let name = parts.next().unwrap_or_default().trim_ascii();
            let slot = match name.len() {
                2 if name.eq_ignore_ascii_case(b"br") => &mut weights[Coding::Br as usize],
                4 if name.eq_ignore_ascii_case(b"gzip") => &mut weights[Coding::Gzip as usize],
                4 if name.eq_ignore_ascii_case(b"zstd") => &mut weights[Coding::Zstd as usize],
                // An old name of the same coding (RFC 9110 §8.4.1.3).
                6 if name.eq_ignore_ascii_case(b"x-gzip") => &mut weights[Coding::Gzip as usize],
                8 if name.eq_ignore_ascii_case(b"identity") => &mut identity,
                1 if name == b"*" => &mut any,
                _ => continue,
            };
            *slot = Some(parts.next().map_or(1000, weight));
        }
        // `*` stands for gzip alone: every client can decode it.
        let gzip = &mut weights[Coding::Gzip as usize];
        *gzip = gzip.or(any);
        Self { weights: weights.map(Option::unwrap_or_default), identity: identity.unwrap_or(0) }
    }

    /// Returns the codings of `offered` with the highest weight. The set is empty if the client
    /// accepts none of them, or prefers the identity encoding.
    pub fn best(&self, offered: Codings) -> Codings {
        let weight = |coding: &Coding| self.weights[*coding as usize];
        let here = || Coding::ALL.into_iter().filter(|coding| offered.has(*coding));
        let most = here().map(|coding| weight(&coding)).max().unwrap_or(0);
        if most == 0 || most < self.identity {
            return Codings::default();
        }
        here().filter(|coding| weight(coding) == most).fold(Codings::default(), Codings::with)
    }

    /// Whether a coding is acceptable at all.
    pub fn takes(&self, coding: Coding) -> bool {
        self.weights[coding as usize] > 0
    }

    /// Returns the class of the request. It replaces the field in requests to origins and in the
    /// keys of variants.
    pub fn class(&self) -> &'static str {
        let takes = |coding| self.takes(coding) && self.weights[coding as usize] >= self.identity;
        match (takes(Coding::Gzip), takes(Coding::Br), takes(Coding::Zstd)) {
            (true, true, true) => "zstd, br, gzip",
            (true, true, false) => "br, gzip",
            (true, false, _) => "gzip",
            (false, ..) => "identity",
        }
    }
}

/// Reads `q=…` in thousandths; anything else counts as 0, a refusal.
fn weight(parameter: &[u8]) -> Weight {
    let text = parameter.trim_ascii();
    let Some(text) = text.strip_prefix(b"q=").or_else(|| text.strip_prefix(b"Q=")) else {
        return 0;
    };
    let (whole, part) = match text.split_first() {
        Some((b'1', part)) => (1000, part),
        Some((b'0', part)) => (0, part),
        _ => return 0,
    };
    let digits = match part.split_first() {
        None => return whole,
        Some((b'.', digits)) if digits.len() <= 3 => digits,
        Some(_) => return 0,
    };
    let mut sum = whole;
    for (digit, place) in digits.iter().zip([100, 10, 1]) {
        if !digit.is_ascii_digit() {
            return 0;
        }
        sum += Weight::from(digit - b'0') * place;
    }
    if sum > 1000 { 0 } else { sum }
}

#[cfg(test)]
mod tests;
