//! A fetch to be made, owned: it outlives the request that asked for it.
//!
//! Invariants: what is fetched for everybody on a route that knows users carries nothing of the one
//! who happened to ask: no id, no cookie, no `Authorization`; on no route a condition of theirs.
//! What is fetched to be stored carries of target, host and headers by which those are overridden
//! what its key tells apart, and no more.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chassis::http::Head;
use exchange::Decision;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use http_body_util::Full;

use crate::accept::Accepted;
use crate::cache::{Entry, KeyBytes, append_selecting};
use crate::compress::tags;
use crate::demand::Demand;
use crate::entry::{connection_options, is_hop_by_hop};
use crate::error::Refusal;
use crate::freshness::Asked;
use crate::interim::News;
use crate::key;
use crate::plan::{Route, Target};
use crate::ports::Question;
use crate::trace::Trace;
use crate::upstream::{Request, Upstream};
use crate::user::UserSource;

/// Fields by which a client asks for less than the whole answer.
const CONDITIONS: [HeaderName; 6] = [
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_MATCH,
    header::IF_UNMODIFIED_SINCE,
    header::IF_RANGE,
    header::RANGE,
];

/// Whether a request asks for a part, or for nothing where it has the answer already.
pub fn asks_for_less(head: &Head<'_>) -> bool {
    CONDITIONS.iter().any(|name| head.get(name.as_str()).is_some())
}

/// A fetch to be made.
#[derive(Debug, Clone)]
pub struct Order {
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
    client: HeaderMap,
    host: HeaderValue,
    peer: IpAddr,
    user: Option<Vec<u8>>,
    body: Bytes,
}

impl Order {
    /// The fetch that a request asks for; `user` when the answer is to be the user's own.
    ///
    /// # Errors
    /// When the request cannot be said in HTTP again.
    pub fn new(
        head: &Head<'_>,
        route: &Route,
        trace: &Trace,
        body: Bytes,
    ) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::Body(400, format!("the request's {what} is malformed"));
        let mut client = HeaderMap::new();
        let mut host = HeaderValue::from_static("");
        let mut news = News::default();
        // A model reads no fields: copying them would be a third of what its question costs.
        if matches!(route.targets[trace.arm].1, Target::Upstream(_)) {
            news = News::of_upstream();
            client.reserve(16);
            host = HeaderValue::from_str(head.host()).map_err(|_| wrong("host"))?;
            for (name, value) in head.fields() {
                let name = HeaderName::from_bytes(name.as_bytes());
                let value = HeaderValue::from_bytes(value).map_err(|_| wrong("field value"))?;
                client.append(name.map_err(|_| wrong("field name"))?, value);
            }
        }
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
            method: Method::from_bytes(head.method().as_bytes()).map_err(|_| wrong("method"))?,
            target,
            client,
            host,
            peer: head.peer().ip().to_canonical(),
            user: trace.user().filter(|_| personalised).map(<[u8]>::to_vec),
            body,
        })
    }

    /// The same fetch, to be stored under `key`. A HEAD becomes a GET: its answer serves both.
    /// Of the request that is left which the key tells apart.
    #[must_use]
    pub fn stored_as(
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
        let host = key::canonical_host(self.host.to_str().unwrap_or_default());
        if let Ok(host) = HeaderValue::from_str(&host.to_ascii_lowercase()) {
            self.host = host;
        }
        if let Some(rules) = rules {
            let own = self.user.is_some();
            self.target = key::forwarded(route, &self.target, own);
            let hides_cookies = self.hides_user(route);
            rules.rewrite(&mut self.client, own, hides_cookies);
        }
    }

    /// Asks with the client's own conditions, and stores nothing: where the whole cannot be stored
    /// there will be nothing to cut a part from, or to compare with.
    pub fn ask_for_no_more(&mut self) {
        self.key.clear();
    }

    /// Whether the answer may be stored.
    pub fn is_for_storing(&self) -> bool {
        !self.key.is_empty()
    }

    /// The path.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Whether the upstream sees cookies that the key does not tell apart, and that are not the
    /// user's whose answer it is.
    pub fn shows_cookies(&self, route: &Route) -> bool {
        let hidden = self.user.is_some() || self.hides_user(route);
        let unkeyed = match &route.rules {
            Some(rules) => rules.has_unkeyed_cookies(&self.client),
            None => self.client.contains_key(header::COOKIE),
        };
        !hidden && unkeyed
    }

    /// The kind of request that this one is, of which some may have answers that can be stored and
    /// others not: its key, and whether it shows cookies.
    pub fn kind(&self, route: &Route) -> (&[u8], bool) {
        (&self.key, self.shows_cookies(route))
    }

    /// What storing must know of the request.
    pub fn asked(&self, route: &Route, delay: Duration) -> Asked {
        let sent = self.client.contains_key(header::AUTHORIZATION);
        let matters = matches!(route.targets[self.arm].1, Target::Upstream(_));
        Asked {
            authorised: sent && matters && !self.hides_user(route),
            cookies: self.shows_cookies(route),
            delay,
        }
    }

    /// Whether the upstream never sees this request field, whoever asks, or sees no more of it than
    /// the key tells.
    pub fn hides(&self, name: &str, route: &Route) -> bool {
        let source = route.personalise.as_ref().map(|p| &p.user);
        let of_user = self.hides_user(route)
            && (matches!(name, "authorization" | "cookie")
                || matches!(source, Some(UserSource::Header(user)) if **user == *name));
        let by_rule = route.rules.as_ref().is_some_and(|rules| rules.determines(name))
            && (name != "cookie" || self.user.is_none());
        let by_coding = name == "accept-encoding" && route.compress.is_some();
        of_user || by_rule || by_coding || key::OVERRIDES.iter().any(|header| header == name)
    }

    /// Whether only the head of the answer is asked for.
    pub fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Appends the value of a request field as the cache compares it.
    pub fn append_selecting(&self, name: &str, key: &mut KeyBytes) {
        let lines = self.client.get_all(name).iter().map(HeaderValue::as_bytes);
        append_selecting(name, lines, key);
    }

    /// Whether a repeated request changes nothing (RFC 9110 §9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// The question to a model.
    pub fn question<'a>(&'a self, target: &'a Target) -> Question<'a> {
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
            user: self.user.as_deref(),
            decision: self.decision,
            id: self.id,
        }
    }

    /// The request to an upstream.
    ///
    /// # Errors
    /// When the target is none that HTTP knows.
    pub fn request(&self, route: &Route, upstream: &Upstream) -> Result<Request, Refusal> {
        let mut headers = self.client.clone();
        for option in connection_options(&self.client) {
            headers.remove(option.as_str());
        }
        let hops: Vec<HeaderName> = headers.keys().filter(|n| is_hop_by_hop(n)).cloned().collect();
        for name in hops.iter().chain([&header::EXPECT, &header::CONTENT_LENGTH]) {
            headers.remove(name);
        }
        if self.hides_user(route) {
            self.hide_user(&mut headers, route);
        }
        if self.is_for_storing() {
            CONDITIONS.iter().for_each(|name| {
                headers.remove(name);
            });
            self.ask_for_changes(&mut headers);
            // What is encoded here is fetched once for all, as it is.
            let encodings =
                if route.compress.is_some() { "identity" } else { self.accepted.class() };
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(encodings));
        } else if route.compress.is_some() {
            tags::restore(&mut headers);
        }
        let host = upstream.host.as_deref().and_then(|host| HeaderValue::from_str(host).ok());
        headers.insert(header::HOST, host.unwrap_or_else(|| self.host.clone()));
        self.say_for_whom(&mut headers);
        let body = Full::new(self.body.clone());
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.parse().map_err(|_| {
            Refusal::Body(
                400,
                "the request target holds characters that no URL may hold".to_owned(),
            )
        })?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Whether what is fetched is for everybody although the route knows users.
    fn hides_user(&self, route: &Route) -> bool {
        route.personalise.is_some() && self.user.is_none() && self.is_for_storing()
    }

    fn hide_user(&self, headers: &mut HeaderMap, route: &Route) {
        headers.remove(header::AUTHORIZATION);
        if route.rules.is_none() {
            // Otherwise what is left of them is part of the key.
            headers.remove(header::COOKIE);
        }
        if let Some(UserSource::Header(name)) = route.personalise.as_ref().map(|p| &p.user) {
            headers.remove(name.as_ref());
        }
    }

    /// Asks only whether the stale entry still stands, when it can be told (RFC 9111 §4.3.1).
    fn ask_for_changes(&self, headers: &mut HeaderMap) {
        let Some(stale) = &self.stale else { return };
        let value = |text: &Option<Box<[u8]>>| HeaderValue::from_bytes(text.as_deref()?).ok();
        if let Some(etag) = value(&stale.etag) {
            headers.insert(header::IF_NONE_MATCH, etag);
        }
        if let Some(modified) = value(&stale.last_modified) {
            headers.insert(header::IF_MODIFIED_SINCE, modified);
        }
    }

    fn say_for_whom(&self, headers: &mut HeaderMap) {
        let before = headers.get("x-forwarded-for").and_then(|value| value.to_str().ok());
        let list = match before {
            Some(before) => format!("{before}, {}", self.peer),
            None => self.peer.to_string(),
        };
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        set("x-forwarded-for", &list);
        set("x-forwarded-proto", "http");
        set("x-request-id", &format!("{:032x}", self.id));
        set("tidegate-decision", self.decision.name());
    }
}
