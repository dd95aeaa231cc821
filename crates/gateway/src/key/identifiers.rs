//! Holds what names a user to an upstream, besides fields of the query (`rules`).
//!
//! Those are headers, cookies and segments of the path (`personalise.identifies`). Invariants: a
//! fetch for everybody carries none of these headers and cookies. A path cannot be left out, so
//! what is fetched by a path that names a user is not stored (`fetch::origin_request`). A user's
//! own response is stored under these fields as well as the id, for the upstream sees them. Never
//! here: where the gateway itself finds the id (`user`), checks (`plan::check::key`).

use cache::key::KeyBytes;
use http1::FieldLines;

use super::rules::{FieldSource, append_list, named_cookies, set};
use crate::user::{PathPlace, UserSource};

/// What names a user to an upstream.
#[derive(Debug, Default)]
pub struct Identifiers {
    /// Headers, in lower case.
    headers: Vec<Box<str>>,
    /// Cookies, but that of the gateway's own id.
    cookies: Vec<Box<str>>,
    /// Places in the path.
    places: Vec<PathPlace>,
}

impl Identifiers {
    /// Takes those of a route: the first source of the id, and all.
    pub fn new<'s>(user: &UserSource, sources: impl Iterator<Item = &'s UserSource>) -> Self {
        let mut all = Self::default();
        for source in sources {
            match source {
                UserSource::Header(name) => all.headers.push(name.clone()),
                // The id itself is a cookie that `name_user` writes.
                UserSource::Cookie(name) if source != user => all.cookies.push(name.clone()),
                UserSource::Path(at) => all.places.push(*at),
                UserSource::Cookie(_) | UserSource::Query(_) => {}
            }
        }
        all
    }

    /// Whether a header, named in lower case, names a user.
    pub(crate) fn has_header(&self, name: &[u8]) -> bool {
        self.headers.iter().any(|header| header.as_bytes() == name)
    }

    /// Whether the path of a target names a user, or may name one to an upstream that reads it
    /// otherwise.
    pub(crate) fn are_in_path(&self, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        self.places.iter().any(|at| at.id(path.as_bytes()).is_some() || at.is_ambiguous(path))
    }

    /// Appends the values of headers and cookies to the key of a user's own response.
    pub(super) fn append(&self, from: &impl FieldSource, key: &mut KeyBytes) {
        for name in &self.headers {
            key.extend_from_slice(b"\n:");
            append_list(from.lines(name), key);
        }
        if !self.cookies.is_empty() {
            key.extend_from_slice(b"\n;");
            named_cookies(&self.cookies, from, key);
        }
    }

    /// Returns the cookies that name a user, as one line.
    pub(crate) fn cookies(&self, client: &FieldLines) -> KeyBytes {
        let mut line = KeyBytes::new();
        named_cookies(&self.cookies, client, &mut line);
        line
    }

    /// Makes each header that names a user one line, as the key has it.
    pub(crate) fn rewrite(&self, client: &mut FieldLines) {
        for name in &self.headers {
            let mut line = KeyBytes::new();
            append_list(client.lines(name), &mut line);
            set(client, name, &line);
        }
    }
}
