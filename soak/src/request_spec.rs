//! Requests: what a client asks for, drawn from its dice, and how it is put in bytes.

use std::fmt::Write as _;

use crate::dice::{Dice, hash};
use crate::history::Route;

/// Keys of each route.
const KEYS: u64 = 10;
const HOSTS: [&str; 2] = ["a.test", "b.test"];
const LANGUAGES: [&str; 4] = ["de", "en", "fr", "-"];

const CODINGS: [&str; 5] =
    ["gzip", "br", "zstd;q=0.9, gzip;q=0.1", "gzip, deflate, br, zstd", "identity, *;q=0"];

/// Users with a profile.
pub(crate) const USERS: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct RequestSpec {
    /// Name in the report.
    pub kind: &'static str,
    /// The method.
    pub method: &'static str,
    /// Which route it goes to.
    pub route: Route,
    /// Host, path and query.
    pub url: String,
    /// Number of the key.
    pub key: u64,
    /// The language, `-` for none.
    pub language: &'static str,
    /// The user in the cookie.
    pub cookie: Option<&'static str>,
    /// The user in `Authorization`.
    pub authorised: Option<&'static str>,
    /// The tag of a copy that the client has.
    pub if_none_match: Option<String>,
    /// `If-Range`
    pub if_range: Option<String>,
    /// `Range`
    pub range: Option<String>,
    /// `Cache-Control`
    pub directive: Option<&'static str>,
    /// `Accept-Encoding`
    pub codings: Option<&'static str>,
    /// The body, with the id of the POST.
    pub post: Option<(u64, Vec<u8>)>,
    /// The body goes out in chunks.
    pub chunked: bool,
    /// `Expect: 100-continue` comes with the body.
    pub expects: bool,
    /// HTTP/1.0
    pub old: bool,
    /// The connection is to be closed after the answer.
    pub close: bool,
}

impl RequestSpec {
    /// A plain GET of any key.
    pub(crate) fn any(dice: &mut Dice) -> Self {
        let (route, segment) = dice.pick(&Route::ALL);
        let host = dice.pick(&HOSTS);
        // Few keys get most requests, as everywhere.
        let key = dice.below(KEYS).min(dice.below(KEYS));
        Self {
            language: dice.pick(&LANGUAGES),
            cookie: dice.chance(40).then(|| dice.pick(&USERS)),
            authorised: dice.chance(8).then(|| dice.pick(&USERS)),
            codings: dice.chance(30).then(|| dice.pick(&CODINGS)),
            key,
            ..Self::get(route, format!("{host}/{segment}/{key}?q={key}"))
        }
    }

    /// A GET of that URL by nobody.
    pub(crate) fn get(route: Route, url: String) -> Self {
        Self {
            kind: "GET",
            method: "GET",
            route,
            url,
            key: 0,
            language: "-",
            cookie: None,
            authorised: None,
            if_none_match: None,
            if_range: None,
            range: None,
            directive: None,
            codings: None,
            post: None,
            chunked: false,
            expects: false,
            old: false,
            close: false,
        }
    }

    /// Any request; `tag` is one that the client has seen for the same URL.
    pub(crate) fn drawn(dice: &mut Dice, tag: impl Fn(&str) -> Option<String>) -> Self {
        let mut spec = Self::any(dice);
        spec.close = dice.chance(5);
        match dice.below(100) {
            0..40 => {}
            40..47 => (spec.kind, spec.method) = ("HEAD", "HEAD"),
            47..60 => {
                spec.kind = "conditional GET";
                spec.if_none_match = tag(&spec.url);
            }
            60..75 => {
                spec.kind = "Range";
                spec.range = Some(range(dice));
                if dice.chance(30) {
                    spec.if_range = tag(&spec.url);
                }
            }
            75..82 => {
                spec.kind = "GET with a directive";
                let all = ["no-cache", "no-store", "max-age=0", "only-if-cached", "min-fresh=1"];
                spec.directive = Some(dice.pick(&all));
            }
            82..87 => (spec.kind, spec.old) = ("HTTP/1.0", true),
            // The first keys, which are asked for most, are never changed by clients.
            _ if spec.key < KEYS / 3 => {}
            _ => spec.make_post(dice),
        }
        spec
    }

    fn make_post(&mut self, dice: &mut Dice) {
        (self.kind, self.method) = ("POST", "POST");
        let bytes = dice.pick(&[0, 1, 20, 700, 5_000, 80_000, 400_000]);
        let body = (0..bytes).map(|_| dice.number() as u8).collect();
        self.post = Some((dice.number(), body));
        self.chunked = dice.chance(50);
        self.expects = dice.chance(10);
    }

    /// The path with its query.
    pub(crate) fn target(&self) -> &str {
        &self.url[self.url.find('/').unwrap_or(0)..]
    }

    /// What its POST is answered with.
    pub(crate) fn receipt(&self) -> Option<String> {
        let (id, body) = self.post.as_ref()?;
        Some(format!("posted {id} {:x} {}", hash(body), body.len()))
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {}", self.method, self.target());
        let host = &self.url[..self.url.find('/').unwrap_or(0)];
        out.push_str(if self.old { " HTTP/1.0\r\n" } else { " HTTP/1.1\r\n" });
        let mut field = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{name}: {value}\r\n");
        };
        field("Host", host);
        if self.language != "-" {
            field("Accept-Language", self.language);
        }
        if let Some(user) = self.cookie {
            field("Cookie", &format!("theme=dark; userId={user}; _ga=1"));
        }
        if let Some(user) = self.authorised {
            field("Authorization", &format!("Bearer {user}"));
        }
        let optional = [
            ("If-None-Match", self.if_none_match.as_deref()),
            ("If-Range", self.if_range.as_deref()),
            ("Range", self.range.as_deref()),
            ("Cache-Control", self.directive),
            ("Accept-Encoding", self.codings),
            ("Expect", self.expects.then_some("100-continue")),
            ("Connection", self.close.then_some("close")),
        ];
        for (name, value) in optional {
            value.inspect(|value| field(name, value));
        }
        let Some((id, body)) = &self.post else {
            out.push_str("\r\n");
            return out.into_bytes();
        };
        field("X-Soak-Post", &id.to_string());
        if !self.chunked {
            field("Content-Length", &body.len().to_string());
            out.push_str("\r\n");
            return [out.as_bytes(), body].concat();
        }
        field("Transfer-Encoding", "chunked");
        out.push_str("\r\n");
        let mut out = out.into_bytes();
        for piece in body.chunks(7_001) {
            out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\n\r\n");
        out
    }
}

fn range(dice: &mut Dice) -> String {
    let (from, more) = (dice.below(2_000), dice.below(3_000));
    match dice.below(8) {
        0 => format!("bytes=-{more}"),
        1 => format!("bytes={from}-"),
        2 => format!("bytes={from}-{},{}-", from + 5, from + 20 + more),
        3 => "bytes=0-0,-1".to_owned(),
        4 => format!("bytes={}-", from * 1_000),
        5 => format!("bytes={more}-{from}"),
        _ => format!("bytes={from}-{}", from + more),
    }
}
