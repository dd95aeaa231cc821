//! A fetch to be made, owned: it outlives the request that asked for it.
//!
//! Invariants: what is fetched for everybody on a route that knows users carries nothing of the one
//! who happened to ask: no id, no cookie, no `Authorization`; on no route a condition of theirs.
//! What is fetched to be stored carries of target, host and headers by which those are overridden
//! what its key tells apart, and no more.

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use exchange::Decision;
use http::Method;
use http1::Head;

use crate::cache::etag;
use crate::cache::memory::{Entry, KeyBytes, append_selecting};
use crate::error::Refusal;
use crate::freshness::Asked;
use crate::key;
use crate::plan::{Route, Target};
use crate::ports::Question;
use crate::request_directives::Demand;
use crate::trace::Trace;
use crate::upstream::interim::News;
use crate::upstream::{Request, Upstream};
use crate::user::UserSource;
use http1::FieldLines;
use http1::accept::Accepted;
use http1::hop_by_hop::{has_connection_options, is_connection_option, is_hop_by_hop};

/// Fields by which a client asks for less than the whole answer.
const CONDITIONS: [&str; 6] =
    ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range"];

/// How much of a body to the model API is JSON, where binary tensors follow.
pub(crate) const JSON_LENGTH: &str = "inference-header-content-length";

/// Bytes for what is said besides the client's fields.
const ROOM_FOR_OWN: usize = 320;

/// Whether a request asks for a part, or for nothing where it has the answer already.
pub(crate) fn asks_for_less(head: &Head<'_>) -> bool {
    CONDITIONS.iter().any(|name| head.get(name).is_some())
}

/// A fetch to be made.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Index of the route.
    pub route: usize,
    /// Which of its targets.
    pub arm: usize,
    /// Under which key the answer is stored; empty when it is not to be.
    pub key: KeyBytes,
    /// Length of the key without its variant.
    pub base_length: usize,
    /// An entry that the answer replaces.
    pub stale: Option<Arc<Entry>>,
    /// What is demanded of an answer from disk; `None` when none is looked for there.
    pub recall: Option<Demand>,
    /// Why this answer.
    pub decision: Decision,
    /// Id of the request, or of the refresh.
    pub id: u128,
    /// What the upstream says ahead of its answer.
    pub news: News,
    /// In which codings the request likes its answer.
    pub accepted: Accepted,
    method: Method,
    target: String,
    /// The request's fields as the client sent them.
    client: FieldLines,
    host: Box<str>,
    peer: IpAddr,
    user: Option<Vec<u8>>,
    body: Bytes,
    json_length: Option<usize>,
}

impl Order {
    /// The fetch that a request asks for; `user` when the answer is to be the user's own.
    ///
    /// # Errors
    /// When the request cannot be said in HTTP again.
    pub(crate) fn new(
        head: &Head<'_>,
        route: &Route,
        trace: &Trace,
        body: Bytes,
    ) -> Result<Self, Refusal> {
        let wrong = |_| Refusal::Body(400, "the request's method is malformed".to_owned());
        let mut client = FieldLines::default();
        let mut host = "";
        let mut news = News::default();
        // A model reads no fields: copying them would be a third of what its question costs.
        if matches!(route.targets[trace.arm].1, Target::Upstream(_)) {
            news = News::of_upstream();
            host = head.host();
            client = FieldLines::with_capacity(16, 512);
            head.fields().for_each(|(name, value)| client.append(name, value));
        }
        let json_length = match route.targets[trace.arm].1 {
            Target::Models => json_length(head)?,
            _ => None,
        };
        let own = trace.decision == Decision::Personalised || route.personalise.is_none();
        let target = match key::user_field(route) {
            Some(name) if !own => key::without_field(head.path_and_query(), name),
            _ => head.path_and_query().to_owned(),
        };
        let personalised = trace.decision == Decision::Personalised;
        Ok(Self {
            route: trace.route.unwrap_or_default(),
            arm: trace.arm,
            key: KeyBytes::new(),
            base_length: 0,
            stale: None,
            recall: None,
            decision: trace.decision,
            id: trace.id,
            news,
            accepted: Accepted::of(head),
            method: Method::from_bytes(head.method().as_bytes()).map_err(wrong)?,
            target,
            client,
            host: host.into(),
            peer: head.peer().ip().to_canonical(),
            user: trace.user().filter(|_| personalised).map(<[u8]>::to_vec),
            body,
            json_length,
        })
    }

    /// The same fetch, to be stored under `key`. A HEAD becomes a GET: its answer serves both.
    /// Of the request that is left which the key tells apart.
    #[must_use]
    pub(crate) fn stored_as(
        mut self,
        route: &Route,
        key: KeyBytes,
        base_length: usize,
        stale: Option<Arc<Entry>>,
    ) -> Self {
        if self.method == Method::HEAD {
            self.method = Method::GET;
        }
        self.key = key;
        self.base_length = base_length;
        self.stale = stale;
        self.keep_to_key(route);
        self
    }

    fn keep_to_key(&mut self, route: &Route) {
        let rules = route.rules.as_ref();
        for name in &key::OVERRIDES {
            if !rules.is_some_and(|rules| rules.names_header(name)) {
                self.client.remove(name);
            }
        }
        self.host = key::canonical_host(&self.host).to_ascii_lowercase().into();
        if let Some(rules) = rules {
            let own = self.user.is_some();
            self.target = key::forwarded(route, &self.target, own);
            let hides_cookies = self.hides_user(route);
            rules.rewrite(&mut self.client, own, hides_cookies);
        }
    }

    /// Asks with the client's own conditions, and stores nothing: where the whole cannot be stored
    /// there will be nothing to cut a part from, or to compare with.
    pub(crate) fn ask_for_no_more(&mut self) {
        self.key.clear();
    }

    /// Whether the answer may be stored.
    pub(crate) fn is_for_storing(&self) -> bool {
        !self.key.is_empty()
    }

    /// The path.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Whether the upstream sees cookies that the key does not tell apart, and that are not the
    /// user's whose answer it is.
    pub(crate) fn shows_cookies(&self, route: &Route) -> bool {
        let hidden = self.user.is_some() || self.hides_user(route);
        let unkeyed = match &route.rules {
            Some(rules) => rules.has_unkeyed_cookies(&self.client),
            None => self.client.has("cookie"),
        };
        !hidden && unkeyed
    }

    /// The kind of request that this one is, of which some may have answers that can be stored and
    /// others not: its key, and whether it shows cookies.
    pub(crate) fn kind(&self, route: &Route) -> (&[u8], bool) {
        (&self.key, self.shows_cookies(route))
    }

    /// What storing must know of the request.
    pub(crate) fn asked(&self, route: &Route, delay: Duration) -> Asked {
        let sent = self.client.has("authorization");
        let matters = matches!(route.targets[self.arm].1, Target::Upstream(_));
        Asked {
            authorised: sent && matters && !self.hides_user(route),
            cookies: self.shows_cookies(route),
            delay,
        }
    }

    /// Whether the upstream never sees this request field, whoever asks, or sees no more of it than
    /// the key tells.
    pub(crate) fn hides(&self, name: &str, route: &Route) -> bool {
        let source = route.personalise.as_ref().map(|p| &p.user);
        let of_user = self.hides_user(route)
            && (matches!(name, "authorization" | "cookie")
                || matches!(source, Some(UserSource::Header(user)) if **user == *name));
        let by_rule = route.rules.as_ref().is_some_and(|rules| rules.determines(name))
            && (name != "cookie" || self.user.is_none());
        let by_coding = name == "accept-encoding" && route.compress.is_some();
        of_user || by_rule || by_coding || key::OVERRIDES.contains(&name)
    }

    /// Whether only the head of the answer is asked for.
    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Appends the value of a request field as the cache compares it.
    pub(crate) fn append_selecting(&self, name: &str, key: &mut KeyBytes) {
        append_selecting(name, self.client.all(name), key);
    }

    /// The request's body.
    pub(crate) fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// The question to a model.
    pub(crate) fn question<'a>(&'a self, target: &'a Target) -> Question<'a> {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let model = match target {
            Target::Model(name) => Some(name.as_ref()),
            _ => None,
        };
        Question {
            model,
            method: self.method.as_str(),
            path,
            query,
            body: &self.body,
            json_length: self.json_length,
            user: self.user.as_deref(),
            decision: self.decision,
            id: self.id,
        }
    }

    /// The request to an upstream; `offer` names the protocols that it offers to change to.
    pub(crate) fn request(
        &self,
        route: &Route,
        upstream: &Upstream,
        offer: Option<&[u8]>,
    ) -> Request {
        let host = upstream.host.as_deref().unwrap_or(&self.host);
        let room = self.target.len() + self.client.bytes() + ROOM_FOR_OWN;
        let mut request = Request::begin(self.method.clone(), &self.target, host, room);
        let restored = self.restored(route);
        let client = restored.as_ref().unwrap_or(&self.client);
        let has_options = has_connection_options(client);
        for (name, line) in client.whole_lines() {
            let is_of_connection =
                is_hop_by_hop(name) || has_options && is_connection_option(client, name);
            if !is_of_connection && self.goes_on(name, route) {
                request.line(line);
            }
        }
        if self.is_for_storing() {
            self.ask_for_changes(&mut request);
            // What is encoded here is fetched once for all, as it is.
            let encodings =
                if route.compress.is_some() { "identity" } else { self.accepted.class() };
            request.field("accept-encoding", encodings.as_bytes());
        }
        self.say_for_whom(&mut request);
        if let Some(protocols) = offer {
            request.offer(protocols);
        }
        request.end(self.body.clone())
    }

    /// Whether a field of the client's goes on as it is.
    fn goes_on(&self, name: &[u8], route: &Route) -> bool {
        let is_for_storing = self.is_for_storing();
        let is_condition = || CONDITIONS.iter().any(|condition| condition.as_bytes() == name);
        let is_replaced =
            is_our_own(name) || is_for_storing && (name == b"accept-encoding" || is_condition());
        let is_hidden = self.hides_user(route) && is_of_user(name, route);
        !is_replaced && !is_hidden
    }

    /// The client's fields with the origin's own tags in its conditions, where they may hold ours.
    fn restored(&self, route: &Route) -> Option<FieldLines> {
        let asks_by_tag = self.client.has("if-match") || self.client.has("if-none-match");
        if self.is_for_storing() || route.compress.is_none() || !asks_by_tag {
            return None;
        }
        let mut restored = self.client.clone();
        etag::restore(&mut restored);
        Some(restored)
    }

    /// Whether what is fetched is for everybody although the route knows users.
    fn hides_user(&self, route: &Route) -> bool {
        route.personalise.is_some() && self.user.is_none() && self.is_for_storing()
    }

    /// Asks only whether the stale entry still stands, when it can be told (RFC 9111 §4.3.1).
    fn ask_for_changes(&self, request: &mut Request) {
        let Some(stale) = &self.stale else { return };
        if let Some(etag) = &stale.etag {
            request.field("if-none-match", etag);
        }
        if let Some(modified) = &stale.last_modified {
            request.field("if-modified-since", modified);
        }
    }

    fn say_for_whom(&self, request: &mut Request) {
        let out = request.head_bytes();
        out.extend_from_slice(b"x-forwarded-for: ");
        for before in self.client.all("x-forwarded-for") {
            out.extend_from_slice(before);
            out.extend_from_slice(b", ");
        }
        write_address(self.peer, out);
        out.extend_from_slice(b"\r\nx-forwarded-proto: http\r\nx-request-id: ");
        let digit = |place: u32| b"0123456789abcdef"[(self.id >> (place * 4)) as usize & 15];
        out.extend((0..32).rev().map(digit));
        out.extend_from_slice(b"\r\ntidegate-decision: ");
        out.extend_from_slice(self.decision.name().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// Reads how much of the body is JSON.
fn json_length(head: &Head<'_>) -> Result<Option<usize>, Refusal> {
    let Some(value) = head.get(JSON_LENGTH) else { return Ok(None) };
    let length = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
    let wrong = || Refusal::Body(400, format!("`{JSON_LENGTH}` is no number of bytes"));
    length.map(Some).ok_or_else(wrong)
}

fn write_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(v4) => {
            for (place, octet) in v4.octets().into_iter().enumerate() {
                out.extend_from_slice(if place == 0 { b"" } else { b"." });
                out.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
            }
        }
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "{v6}")),
    }
}

/// Whether a field tells who asks, on a route that knows users.
fn is_of_user(name: &[u8], route: &Route) -> bool {
    let source = route.personalise.as_ref().map(|p| &p.user);
    // Where there are rules, what is left of the cookies is part of the key.
    name == b"authorization"
        || (name == b"cookie" && route.rules.is_none())
        || matches!(source, Some(UserSource::Header(user)) if user.as_bytes() == name)
}

/// Whether a field is written anew for the upstream, whatever the client says.
fn is_our_own(name: &[u8]) -> bool {
    matches!(
        name,
        b"content-length"
            | b"expect"
            | b"host"
            | b"tidegate-decision"
            | b"x-forwarded-for"
            | b"x-forwarded-proto"
            | b"x-request-id"
    )
}
