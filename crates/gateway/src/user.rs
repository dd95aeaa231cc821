//! Finds the user id in a request: in a cookie, a header, a query field or a segment of the path.
//!
//! Invariant: a request with two different ids has no acceptable one, and neither has one with an
//! id that is too long. `profiles` has a bound of its own (`id_bytes_max`). An empty id does not
//! count. A path that servers may read in two ways names none (`PathPlace::is_ambiguous`). Records
//! and profile files have ids in the form found here, or its hash, and rollouts draw by it. Another
//! form finds no profile and moves users. Names of cookies are matched exactly, query fields after
//! decoding, headers in any case. Several `Cookie` lines are read as one list (RFC 6265 §5.4, RFC
//! 9113 §8.2.3). `key::without_field` and `key::rules` take the same query field out of fetches for
//! everyone. They use `exchange::query_value`, too, so that no id is found here and missed there.
//! Never here: whether the user exists (`ports::Profiles`), hiding the id from upstreams
//! (`fetch::origin_request`).

use std::borrow::Cow;
use std::fmt;

use http1::Head;

use crate::spelling;

/// Where a route looks for the user id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserSource {
    /// A cookie of this name.
    Cookie(Box<str>),
    /// A header of this name, in lower case.
    Header(Box<str>),
    /// A query field of this name.
    Query(Box<str>),
    /// A segment of the path.
    Path(PathPlace),
}

/// Where in a path the user id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathPlace {
    /// The number of the segment, from 1.
    pub place: usize,
    /// Whether the pattern of the route has a format there, behind a dot, which is no part of the
    /// id.
    pub has_format: bool,
}

/// Where a route looks for the user id, in order; at least one place. A request may have the id in
/// any of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPlaces(Box<[UserSource]>);

/// The user of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User<'h> {
    /// The request names no user.
    Nobody,
    /// The request has this user id.
    Id(Cow<'h, [u8]>),
    /// The request names somebody, and it is not known whom, or may not be looked up.
    Unacceptable(Unusable),
}

/// Why what names a user is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// There are two different ids.
    TwoIds,
    /// The id is longer than the limit.
    LongId,
    /// The path may name two different ones.
    AmbiguousPath,
}

/// Whether a decision's detail says that a request names somebody who is not known.
pub fn names_somebody_unknown(detail: &str) -> bool {
    use Unusable::{AmbiguousPath, LongId, TwoIds};
    [TwoIds, LongId, AmbiguousPath].iter().any(|reason| reason.detail() == detail)
}

impl Unusable {
    /// Returns its word in `Tidegate-Decision` and records.
    pub(crate) fn detail(self) -> &'static str {
        match self {
            Self::TwoIds => "two-ids",
            Self::LongId => "long-id",
            Self::AmbiguousPath => "ambiguous-path",
        }
    }
}

impl fmt::Display for UserSource {
    /// As [`UserSource::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Path(at) => write!(f, "path:{}", at.place),
        }
    }
}

impl UserSource {
    /// Parses `cookie:NAME`, `header:NAME`, `query:NAME` or `path:NUMBER`. What the pattern of the
    /// route says of a segment is not known here.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        match kind {
            "cookie" => Some(Self::Cookie(name.into())),
            "header" => Some(Self::Header(name.to_ascii_lowercase().into())),
            "query" => Some(Self::Query(name.into())),
            "path" => {
                let place = name.parse().ok().filter(|place| *place > 0)?;
                Some(Self::Path(PathPlace { place, has_format: false }))
            }
            _ => None,
        }
    }

    /// Returns its query field, if it is one.
    pub(crate) fn query(&self) -> Option<Box<str>> {
        match self {
            Self::Query(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// Finds the id, of at most `bytes_max` bytes.
    pub fn find<'h>(&self, head: &Head<'h>, bytes_max: usize) -> User<'h> {
        match self {
            Self::Cookie(name) => single(cookies(head, name).map(Cow::Borrowed), bytes_max),
            Self::Header(name) => single(header_values(head, name), bytes_max),
            Self::Query(name) => single(query_values(head.query(), name), bytes_max),
            Self::Path(at) if at.is_ambiguous(head.path()) => {
                User::Unacceptable(Unusable::AmbiguousPath)
            }
            Self::Path(at) => single(at.id(head.path().as_bytes()).into_iter(), bytes_max),
        }
    }

    /// Appends every id that is here, acceptable or not.
    fn add_all(&self, head: &Head<'_>, ids: &mut Vec<Vec<u8>>) {
        match self {
            Self::Cookie(name) => ids.extend(cookies(head, name).map(<[u8]>::to_vec)),
            Self::Header(name) => ids.extend(header_values(head, name).map(Cow::into_owned)),
            Self::Query(name) => ids.extend(query_values(head.query(), name).map(Cow::into_owned)),
            Self::Path(at) => ids.extend(at.id(head.path().as_bytes()).map(Cow::into_owned)),
        }
    }
}

impl UserPlaces {
    /// Takes the places; where there are none, an error has been noted already.
    pub fn new(places: Vec<UserSource>) -> Self {
        match places.is_empty() {
            true => Self([UserSource::Cookie("userId".into())].into()),
            false => Self(places.into()),
        }
    }

    /// Returns the first.
    pub(crate) fn first(&self) -> &UserSource {
        &self.0[0]
    }

    /// Returns all.
    pub fn all(&self) -> &[UserSource] {
        &self.0
    }

    /// Finds the id, of at most `bytes_max` bytes. Places that have one must agree.
    pub fn find<'h>(&self, head: &Head<'h>, bytes_max: usize) -> User<'h> {
        let mut user = User::Nobody;
        for source in &self.0 {
            match (source.find(head, bytes_max), &user) {
                (User::Nobody, _) => {}
                (User::Id(id), User::Id(before)) if id != *before => {
                    return User::Unacceptable(Unusable::TwoIds);
                }
                (unacceptable @ User::Unacceptable(_), _) => return unacceptable,
                (found, _) => user = found,
            }
        }
        user
    }

    /// Returns every different id in a request that names nobody acceptable.
    pub(crate) fn all_ids(&self, head: &Head<'_>) -> Vec<Vec<u8>> {
        let mut ids = Vec::new();
        self.0.iter().for_each(|source| source.add_all(head, &mut ids));
        ids.retain(|id| !id.is_empty());
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

impl fmt::Display for UserPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join(" or "))
    }
}

impl PathPlace {
    /// Whether an upstream may find another id in a path than the gateway, or one where the gateway
    /// finds none. Any reading counts in which segments are empty, dots, or another number.
    pub(crate) fn is_ambiguous(self, path: &str) -> bool {
        let path = path.as_bytes();
        if spelling::is_plain(path) {
            return false;
        }
        let Some(readings) = spelling::readings(path) else { return true };
        let slashes = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
        readings.iter().any(|reading| {
            spelling::has_odd_segment(reading)
                || slashes(reading) != slashes(path)
                || self.id(reading) != self.id(path)
        })
    }

    /// Returns the id in a path, decoded; `None` if it is empty or not there.
    pub(crate) fn id(self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let segment = path.split(|byte| *byte == b'/').nth(self.place);
        let segment = segment.filter(|segment| !segment.is_empty())?;
        let decoded = match segment.contains(&b'%') {
            true => Cow::Owned(spelling::decoded(segment, |_| true)),
            false => Cow::Borrowed(segment),
        };
        let end = decoded.iter().rposition(|byte| *byte == b'.').filter(|_| self.has_format);
        Some(match (decoded, end) {
            (decoded, None) => decoded,
            (Cow::Borrowed(segment), Some(end)) => Cow::Borrowed(&segment[..end]),
            (Cow::Owned(mut segment), Some(end)) => {
                segment.truncate(end);
                Cow::Owned(segment)
            }
        })
    }
}

/// Returns every value of the cookie `name`, without quotes.
pub(crate) fn cookies<'h, 'n>(
    head: &Head<'h>,
    name: &'n str,
) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
    head.all("cookie").flat_map(move |line| {
        line.split(|b| *b == b';').filter_map(move |pair| {
            let value = pair.trim_ascii().strip_prefix(name.as_bytes())?;
            let value = value.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
            Some(value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value))
        })
    })
}

fn header_values<'h, 'n>(
    head: &Head<'h>,
    name: &'n str,
) -> impl Iterator<Item = Cow<'h, [u8]>> + use<'h, 'n> {
    head.all(name).map(|value| Cow::Borrowed(value.trim_ascii()))
}

fn query_values<'h, 'n>(
    query: Option<&'h str>,
    name: &'n str,
) -> impl Iterator<Item = Cow<'h, [u8]>> + use<'h, 'n> {
    query
        .unwrap_or("")
        .split('&')
        .filter_map(move |pair| exchange::query_value(pair.as_bytes(), name))
}

fn single<'h>(values: impl Iterator<Item = Cow<'h, [u8]>>, bytes_max: usize) -> User<'h> {
    let mut found: Option<Cow<'h, [u8]>> = None;
    for value in values.filter(|value| !value.is_empty()) {
        match &found {
            Some(before) if *before != value => {
                return User::Unacceptable(Unusable::TwoIds);
            }
            _ => found = Some(value),
        }
    }
    match found {
        None => User::Nobody,
        Some(id) if id.len() > bytes_max => User::Unacceptable(Unusable::LongId),
        Some(id) => User::Id(id),
    }
}
