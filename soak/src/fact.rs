//! What an answer says of itself: its URL, language and user, and the version it shows.
//!
//! Invariant: the whole body follows from the fact, byte for byte. So a reader who knows the fact
//! can tell a right and complete body from any other, and so for each piece of it.

use std::fmt;

use stdx::mixed;

use crate::dice::hash;

/// The field that carries the fact of an answer, also where there is no body.
pub(crate) const FIELD: &str = "x-soak";
/// What the origin never says in earnest: where a client reads it, it was smuggled in.
pub(crate) const POISON: &str = "POISON";

/// What an answer says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Counts the key's versions.
    pub version: u64,
    /// The language that was asked for, `-` when the answer is the same for all.
    pub variant: String,
    /// The user whose answer it is, `-` when it is everybody's.
    pub user: String,
    /// Names an answer that is for one request alone; 0 when it may be shared.
    pub once: u64,
    /// Host, path and query.
    pub url: String,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, variant, user, once, url } = self;
        write!(f, "{version} {variant} {user} {once} {url}")
    }
}

impl Fact {
    /// Reads what [`Fact`] displays.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let fact = Self {
            version: words.next()?.parse().ok()?,
            variant: words.next()?.to_owned(),
            user: words.next()?.to_owned(),
            once: words.next()?.parse().ok()?,
            url: words.next()?.to_owned(),
        };
        words.next().is_none().then_some(fact)
    }

    /// The entity tag: another one for every fact.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}\"", self.tag_text())
    }

    /// Whether a tag is this fact's: as it was given, or weakened because the body is encoded.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        let ours = self.tag_text();
        let weak = tag.strip_prefix("W/\"").is_some_and(|text| text.starts_with(&ours));
        weak || tag == self.etag()
    }

    fn tag_text(&self) -> String {
        format!("{}-{:016x}.", self.version, hash(self.to_string().as_bytes()))
    }

    /// The tag by which it can be purged: its last segment's, on every route.
    pub(crate) fn purge_tag(url: &str) -> String {
        let path = url.split('?').next().unwrap_or("");
        format!("key-{}", path.rsplit('/').next().unwrap_or(""))
    }

    /// The body: the fact in words, then noise of sixteen letters that follows from it.
    pub(crate) fn body(&self) -> Vec<u8> {
        let text = format!("{self}\n");
        let mut state = hash(text.as_bytes());
        let noise = length(state);
        let mut body = Vec::with_capacity(text.len() + noise + 8);
        body.extend_from_slice(text.as_bytes());
        while body.len() < text.len() + noise {
            state = mixed(state.wrapping_add(1));
            body.extend(state.to_le_bytes().map(|byte| b'a' + (byte & 15)));
        }
        body.truncate(text.len() + noise);
        body
    }
}

/// Most bodies are small, some large, a few larger than what the gateway stores (256 kB).
fn length(hash: u64) -> usize {
    let within = (hash >> 8) as usize;
    match hash % 100 {
        0..6 => 0,
        6..80 => within % 3_000,
        80..95 => within % 60_000,
        95..98 => within % 250_000,
        _ => 260_000 + within % 400_000,
    }
}
