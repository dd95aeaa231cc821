//! Makes the request to an origin or a model out of the client's request, and may outlive that.
//!
//! Invariants for a fetch whose response may be stored: it carries no precondition and no range of
//! the client. On a route that personalises, a fetch for everyone carries no user id, no unkeyed
//! cookie, no `Authorization`, and none of what `identifies` names. Where the path names a user, or
//! something else holds the id, nothing is stored (`shows_user`). One for a user carries the id of
//! the key. Of target, host and override headers (`key::overrides`), each carries exactly what the
//! key covers. Other end-to-end fields pass as `KeyPlan` says; a response that differs by one must
//! name it in `Vary`.
//!
//! `storing` asks here what the upstream sees of cookies, credentials and fields. A field that the
//! gateway writes itself must be in `is_written_anew`; else the client's own goes along.
//! `append_selecting` must agree with that of `key`, `shows_credentials` with that of `request`.
//! `forwarded` writes for whom the request is. Origins read `tidegate-decision`
//! (docs/operating/profiles.md). docs/operating/cache-keys.md lists what an upstream gets. Never
//! here: sending it (`upstream`), its framing (`upstream::render`), key rules (`key`), the models
//! (`ports`).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cache::key::{KeyBytes, append_selecting};
use cache::{Entry, etag};
use exchange::{Decision, ModelRequest};
use http::Method;
use http1::accept::Accepted;
use http1::hop_by_hop::{has_connection_options, is_connection_option, is_hop_by_hop};
use http1::{FieldLines, Head};
use smallvec::SmallVec;

use super::forwarded::ForwardedFor;
use crate::error::Refusal;
use crate::freshness::RequestFacts;
use crate::key;
use crate::plan::{Route, Target};
use crate::request_directives::RequestDirectives;
use crate::trace::Trace;
use crate::upstream::{InterimResponses, Upstream, UpstreamRequest};
use crate::user::{User, UserSource};
use crate::via;
use chassis::ClientId;

/// Fields by which a client asks for less than the whole response.
const CONDITIONS: [&str; 6] =
    ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range"];

/// The field that states how many bytes of a body to the model API are JSON; binary tensors follow.
pub(crate) const JSON_LENGTH: &str = "inference-header-content-length";

/// Bytes of the lines that the gateway adds to the client's fields.
const ADDED_BYTES: usize = 400;

/// Different ids in a request that are looked for.
const IDS_MAX: usize = 16;

/// Whether a request has a range or a precondition.
pub(crate) fn asks_for_less(head: &Head<'_>) -> bool {
    CONDITIONS.iter().any(|name| head.get(name).is_some())
}

/// A request to an origin or a model.
#[derive(Debug, Clone)]
pub(crate) struct OriginRequest {
    /// Index of the route.
    pub route: usize,
    /// Index of the arm of the route.
    pub arm: usize,
    /// The decision about the client's request.
    pub decision: Decision,
    /// Id of the client's request, or of the refresh.
    pub id: u128,
    /// Where the response is stored.
    pub storage: Storage,
    /// The interim responses of the upstream.
    pub interim: InterimResponses,
    /// The codings that the client accepts.
    pub accepted: Accepted,
    client: ClientRequest,
    /// The user id, whatever the decision is.
    user: Option<Vec<u8>>,
    /// The ids in a request that names nobody acceptable.
    unusable_ids: Vec<Vec<u8>>,
    /// Whether the first place for it has it.
    is_in_first: bool,
    /// Whether the upstream sees who asks, though the response is everybody's.
    shows_user: bool,
    body: Bytes,
    /// Bytes of the body that an upload sends.
    upload_bytes: u64,
    json_length: Option<usize>,
}

/// Where a response is stored, and the entry that it replaces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Storage {
    /// The key of the response; empty if it must not be stored.
    pub key: KeyBytes,
    /// Length of the key without its variant.
    pub base_length: usize,
    /// The stale entry that the response replaces or confirms.
    pub stale: Option<Arc<Entry>>,
    /// The directives for a response from disk; `None` if the disk is not to be asked.
    pub recall: Option<RequestDirectives>,
}

/// The parts of the client's request that may go on.
#[derive(Debug, Clone)]
struct ClientRequest {
    method: Method,
    /// Path and query.
    target: String,
    host: Box<str>,
    fields: FieldLines,
    forwarded: ForwardedFor,
}

impl Storage {
    /// Returns the key without its variant.
    pub(crate) fn base(&self) -> &[u8] {
        &self.key[..self.base_length]
    }
}

impl OriginRequest {
    /// Makes the request for a client's request. The query of a read names the user only if the
    /// decision is to personalise.
    ///
    /// # Errors
    /// When the method or the length of JSON is malformed, and when the request has come through
    /// this process before.
    pub(crate) fn new(
        head: &Head<'_>,
        route: &Route,
        trace: &Trace,
        body: Bytes,
    ) -> Result<Self, Refusal> {
        let wrong = |_| Refusal::Body(400, "the request's method is malformed".to_owned());
        let mut fields = FieldLines::default();
        let mut host = "";
        let mut interim = InterimResponses::default();
        let mut forwarded = ForwardedFor::default();
        // A model reads no fields. Copying them would be a third of the cost of such a request.
        if matches!(route.target(trace.arm), Target::Upstream(_)) {
            if via::has_been_here(head) {
                return Err(Refusal::Loop);
            }
            interim = InterimResponses::of_upstream();
            host = head.host();
            forwarded = ForwardedFor::of(head);
            fields = FieldLines::with_capacity(16, 512);
            head.fields().for_each(|(name, value)| fields.append(name, value));
        }
        let json_length = match route.target(trace.arm) {
            Target::Models => json_length(head)?,
            _ => None,
        };
        // A change, or an event, is the client's own, and may well be about the user.
        let is_read = matches!(head.method(), "GET" | "HEAD") && route.collect.is_none();
        let personalises = route.personalise.is_some();
        let is_generic = personalises && is_read && trace.decision != Decision::Personalised;
        let target = match is_generic {
            true => route.key.without_user(head.path_and_query()),
            false => head.path_and_query().to_owned(),
        };
        let client = ClientRequest {
            method: Method::from_bytes(head.method().as_bytes()).map_err(wrong)?,
            target,
            host: host.into(),
            fields,
            forwarded,
        };
        let user = trace.user().map(<[u8]>::to_vec);
        let names_nobody = user.is_none() && trace.decision == Decision::NoProfile;
        let places = route.personalise.as_ref().filter(|_| names_nobody);
        Ok(Self {
            route: trace.route.unwrap_or_default(),
            arm: trace.arm,
            decision: trace.decision,
            id: trace.id,
            storage: Storage::default(),
            interim,
            accepted: Accepted::of(head),
            client,
            user,
            unusable_ids: places.map_or(Vec::new(), |places| places.user.all_ids(head)),
            is_in_first: is_in_first(route, head),
            shows_user: false,
            body,
            upload_bytes: 0,
            json_length,
        })
    }

    /// Prepares the request for a response that may be stored. A HEAD becomes a GET, whose response
    /// serves both. Parts of the request that the key does not cover are removed.
    #[must_use]
    pub(crate) fn stored_as(mut self, route: &Route, storage: Storage) -> Self {
        if self.client.method == Method::HEAD {
            self.client.method = Method::GET;
        }
        self.storage = storage;
        self.keep_to_key(route);
        self
    }

    fn keep_to_key(&mut self, route: &Route) {
        let is_private = self.is_private();
        let identifiers = &route.key.identifiers;
        let private_cookies = identifiers.cookies(&self.client.fields);
        // With rules, the key may cover a part of the cookies.
        let may_have_rule = |name: &[u8]| name == b"cookie" && route.key.rules.is_some();
        let passes = |name: &[u8]| route.key.passes_on(name, is_private);
        self.client.fields.retain(|name| may_have_rule(name) || passes(name));
        // What a client wrote there must not change what others get.
        via::FIELDS.iter().for_each(|name| self.client.fields.remove(name));
        self.client.host = self.client.forwarded.keep_to_key(&self.client.host);
        if let Some(rules) = &route.key.rules {
            self.client.target = key::forwarded(&route.key, &self.client.target, is_private);
            let hides_cookies =
                is_private || self.hides_user(route) || !route.key.passes_on(b"cookie", false);
            rules.rewrite(&mut self.client.fields, hides_cookies);
        }
        if is_private {
            identifiers.rewrite(&mut self.client.fields);
            self.add_cookies(&private_cookies);
            self.name_user(route);
        }
        // A model answers everybody without looking who asks.
        if self.hides_user(route) && matches!(route.target(self.arm), Target::Upstream(_)) {
            self.shows_user = identifiers.are_in_path(&self.client.target) || self.tells_id(route);
        }
    }

    /// Adds cookies behind those that are there.
    fn add_cookies(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let mut all = self.client.fields.get("cookie").unwrap_or_default().to_vec();
        if !all.is_empty() {
            all.extend_from_slice(b"; ");
        }
        all.extend_from_slice(line);
        self.client.fields.insert("cookie", &all);
    }

    /// Whether a user id is a whole value of the query, a segment of the path, or a field. A
    /// segment may have a format behind it.
    fn tells_id(&self, route: &Route) -> bool {
        let ids = || self.user.iter().chain(&self.unusable_ids);
        match ids().count() {
            0 => return false,
            // Nobody looks for so many.
            IDS_MAX.. => return true,
            _ => {}
        }
        let (path, query) = self.client.target.split_once('?').unwrap_or((&self.client.target, ""));
        let names_user =
            |segment: &str| ids().any(|id| exchange::is_id_in_path(segment.as_bytes(), id));
        let in_path = || path.split('/').any(names_user);
        let is_id = |value: &[u8]| ids().any(|id| **id == *value);
        let is_value = |pair: &str| {
            let value = pair.split_once('=').map_or("", |(_, value)| value);
            is_id(&exchange::decode_query(value.as_bytes()))
        };
        let in_field =
            |(name, value): (&[u8], &[u8])| is_id(value.trim_ascii()) && self.goes_on(name, route);
        query.split('&').any(is_value) || in_path() || self.client.fields.iter().any(in_field)
    }

    /// Adds the user id, as the key has it, in its first place if the client sent it there. In
    /// query and path it is there already, and the key covers the other places by themselves.
    fn name_user(&mut self, route: &Route) {
        let source = route.personalise.as_ref().map(|personalise| personalise.user.first());
        let source = source.filter(|_| self.is_in_first);
        let (Some(id), Some(source)) = (&self.user, source) else { return };
        let fields = &mut self.client.fields;
        match source {
            UserSource::Header(name) => fields.insert(name, id),
            UserSource::Cookie(name) => {
                // These would end a value without quotes (RFC 6265 §4.1.1).
                let quote: &[u8] = if id.iter().any(|b| b" ,".contains(b)) { b"\"" } else { b"" };
                let mut line = [name.as_bytes(), b"=", quote, id, quote].concat();
                if let Some(others) = fields.get("cookie") {
                    line.extend_from_slice(b"; ");
                    line.extend_from_slice(others);
                }
                fields.insert("cookie", &line);
            }
            UserSource::Query(_) | UserSource::Path(_) => {}
        }
    }

    /// Keeps the client's preconditions and range, and stores nothing. If the response cannot be
    /// stored, the gateway could neither cut a range from it nor compare it later.
    pub(crate) fn ask_for_no_more(&mut self) {
        self.storage.key.clear();
    }

    /// Makes it a request of this process, such as a refresh, whose id no proxy has named.
    pub(crate) fn ask_as(&mut self, id: u128) {
        self.id = id;
        self.client.forwarded.request_id = None;
    }

    /// Whether the response may be stored.
    pub(crate) fn is_for_storing(&self) -> bool {
        !self.storage.key.is_empty()
    }

    /// Whether a target for personalised responses alone refuses. The user gets everybody's then.
    pub(crate) fn is_refused(&self, route: &Route, status: u16) -> bool {
        route.private_arm() == Some(self.arm) && status >= 400
    }

    /// Whether the response is for the user alone.
    fn is_private(&self) -> bool {
        self.user.is_some() && self.decision == Decision::Personalised
    }

    /// Whether the upstream sees who asks, though the response is to be everybody's. It may be that
    /// user's own then.
    pub(crate) fn shows_user(&self) -> bool {
        self.shows_user
    }

    /// Whether the upstream sees cookies that the key does not cover. On a personalised request the
    /// cookies belong to the user of the key, and do not count.
    pub(crate) fn shows_cookies(&self, route: &Route) -> bool {
        let hidden = self.is_private() || self.hides_user(route);
        let unkeyed = match &route.key.rules {
            Some(rules) => rules.has_unkeyed_cookies(&self.client.fields),
            None => self.client.fields.has("cookie"),
        };
        !hidden && unkeyed
    }

    /// Returns the kind of this request: its key, and whether it shows cookies. Responses to one
    /// kind may be storable while those to another kind with the same key are not.
    pub(crate) fn kind(&self, route: &Route) -> (&[u8], bool) {
        (&self.storage.key, self.shows_cookies(route))
    }

    /// Whether the upstream sees the client's `Authorization`.
    pub(crate) fn shows_credentials(&self, route: &Route) -> bool {
        let sent = self.client.fields.has("authorization");
        let matters = matches!(route.target(self.arm), Target::Upstream(_));
        sent && matters && !self.hides_user(route)
    }

    /// Returns the facts about the request that storing depends on. `delay` is the time from the
    /// request to the response.
    pub(crate) fn facts(&self, route: &Route, delay: Duration) -> RequestFacts {
        let authorised = self.shows_credentials(route);
        RequestFacts { authorised, cookies: self.shows_cookies(route), delay }
    }

    /// Whether the upstream never sees this request field, or sees only what the key covers.
    pub(crate) fn hides(&self, name: &str, route: &Route) -> bool {
        let names_user = route.key.identifiers.has_header(name.as_bytes());
        let of_user =
            self.hides_user(route) && (matches!(name, "authorization" | "cookie") || names_user);
        let by_rule = route.key.rules.as_ref().is_some_and(|rules| rules.determines(name));
        // A user's own response is fetched with the id of the key and the cookies that it covers.
        let by_user = self.is_private() && (name == "cookie" || names_user);
        let by_coding = name == "accept-encoding" && route.compress.is_some();
        let passes = route.key.passes_on(name.as_bytes(), self.is_private());
        let is_left_out = !passes && !is_written_anew(name.as_bytes());
        let is_in_keys = matches!(name, "host" | "x-forwarded-host" | "x-forwarded-proto");
        of_user || by_user || by_rule || by_coding || is_left_out || is_in_keys
    }

    /// Whether the method is HEAD.
    pub(crate) fn is_head(&self) -> bool {
        self.client.method == Method::HEAD
    }

    /// Appends the value of a request field in the form that selects a variant.
    pub(crate) fn append_selecting(&self, name: &str, key: &mut KeyBytes) {
        append_selecting(name, self.client.fields.all(name), key);
    }

    /// Returns the body of the request.
    pub(crate) fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// Announces the bytes of the body that an upload sends; it must send just as many.
    #[must_use]
    pub(crate) fn with_upload(self, upload_bytes: u64) -> Self {
        Self { upload_bytes, ..self }
    }

    /// Returns the client, as bounds know it.
    pub(crate) fn client_id(&self) -> ClientId {
        self.client.forwarded.client()
    }

    /// Returns the request to a model.
    pub(crate) fn model_request<'a>(&'a self, target: &'a Target) -> ModelRequest<'a> {
        let sent = &self.client.target;
        let (path, query) = sent.split_once('?').unwrap_or((sent, ""));
        let model = match target {
            Target::Model(name) => Some(name.as_ref()),
            _ => None,
        };
        ModelRequest {
            model,
            method: self.client.method.as_str(),
            path,
            query,
            body: &self.body,
            json_length: self.json_length,
            user: self.user.as_deref().filter(|_| self.is_private()),
            decision: self.decision,
            id: self.id,
        }
    }

    /// Renders the request to an upstream; `offer` lists protocols for `Upgrade`.
    pub(crate) fn render(
        &self,
        route: &Route,
        upstream: &Upstream,
        offer: Option<&[u8]>,
    ) -> UpstreamRequest {
        let host = upstream.plan.host.as_deref().unwrap_or(&self.client.host);
        let capacity = self.client.target.len() + self.client.fields.bytes() + ADDED_BYTES;
        let mut request =
            UpstreamRequest::begin(self.client.method.clone(), &self.client.target, host, capacity);
        let restored = self.restored(route);
        let fields = restored.as_ref().unwrap_or(&self.client.fields);
        let has_options = has_connection_options(fields);
        for (name, line) in fields.whole_lines() {
            let is_of_connection =
                is_hop_by_hop(name) || has_options && is_connection_option(fields, name);
            if !is_of_connection && self.goes_on(name, route) {
                request.line(line);
            }
        }
        if self.is_for_storing() {
            self.ask_for_changes(&mut request);
            // A response that is encoded here is fetched once, in the identity encoding.
            let encodings =
                if route.compress.is_some() { "identity" } else { self.accepted.class() };
            request.field("accept-encoding", encodings.as_bytes());
        }
        self.say_for_whom(&mut request);
        if let Some(protocols) = offer {
            request.offer(protocols);
        }
        request.end(self.body.clone(), self.upload_bytes)
    }

    /// Whether a field of the client is forwarded unchanged.
    fn goes_on(&self, name: &[u8], route: &Route) -> bool {
        let is_for_storing = self.is_for_storing();
        let is_condition = || CONDITIONS.iter().any(|condition| condition.as_bytes() == name);
        // A CGI server reads such a name as one of ours.
        let passes_for_ours = || {
            let dashed = |byte: &u8| if *byte == b'_' { b'-' } else { *byte };
            name.contains(&b'_')
                && is_written_anew(&name.iter().map(dashed).collect::<SmallVec<[u8; 32]>>())
        };
        let is_replaced = is_written_anew(name)
            || passes_for_ours()
            || is_for_storing && (name == b"accept-encoding" || is_condition());
        let is_hidden = self.hides_user(route) && is_of_user(name, route);
        !is_replaced && !is_hidden
    }

    /// Returns the client's fields with the origin's own tags in their preconditions; `None` if no
    /// tag can be one that was made here.
    fn restored(&self, route: &Route) -> Option<FieldLines> {
        let fields = &self.client.fields;
        let asks_by_tag = fields.has("if-match") || fields.has("if-none-match");
        if self.is_for_storing() || route.compress.is_none() || !asks_by_tag {
            return None;
        }
        let mut restored = fields.clone();
        etag::restore(&mut restored);
        Some(restored)
    }

    /// Whether the fetch must hide the user: it is for everyone, on a route that personalises.
    fn hides_user(&self, route: &Route) -> bool {
        route.personalise.is_some() && !self.is_private() && self.is_for_storing()
    }

    /// Adds the preconditions that revalidate the stale entry, if it has validators (RFC 9111
    /// §4.3.1).
    fn ask_for_changes(&self, request: &mut UpstreamRequest) {
        // The stale entry is everybody's, and the response may be this user's own.
        let Some(stale) = self.storage.stale.as_ref().filter(|_| !self.shows_user) else { return };
        if let Some(etag) = &stale.etag {
            request.field("if-none-match", etag);
        }
        if let Some(modified) = &stale.last_modified {
            request.field("if-modified-since", modified);
        }
    }

    fn say_for_whom(&self, request: &mut UpstreamRequest) {
        let out = request.head_bytes();
        self.client.forwarded.append(&self.client.host, out);
        out.extend_from_slice(b"x-request-id: ");
        let id = self.client.forwarded.request_id.unwrap_or(self.id);
        let digit = |place: u32| b"0123456789abcdef"[(id >> (place * 4)) as usize & 15];
        out.extend((0..32).rev().map(digit));
        out.extend_from_slice(b"\r\ntidegate-decision: ");
        out.extend_from_slice(self.decision.name().as_bytes());
        out.extend_from_slice(b"\r\n");
        via::append(&self.client.fields, out);
    }
}

/// Reads how many bytes of the body are JSON.
fn json_length(head: &Head<'_>) -> Result<Option<usize>, Refusal> {
    let Some(value) = head.get(JSON_LENGTH) else { return Ok(None) };
    let length = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
    let wrong = || Refusal::Body(400, format!("`{JSON_LENGTH}` is not a number of bytes"));
    length.map(Some).ok_or_else(wrong)
}

/// Whether the first place in which a route looks for a user has one.
fn is_in_first(route: &Route, head: &Head<'_>) -> bool {
    route.personalise.as_ref().is_some_and(|personalise| match personalise.user.all() {
        [_] => true,
        places => places[0].find(head, usize::MAX) != User::Nobody,
    })
}

/// Whether a field may identify the client, on a route that personalises.
fn is_of_user(name: &[u8], route: &Route) -> bool {
    // If the route has rules, the cookies that are left are part of the key.
    name == b"authorization"
        || (name == b"cookie" && route.key.rules.is_none())
        || route.key.identifiers.has_header(name)
}

/// Whether the gateway writes this field itself, whatever the client sent, or never sends it on.
///
/// CGI servers read `Proxy` as the variable `HTTP_PROXY`, which many programs take for their own
/// proxy (CVE-2016-5385, httpoxy).
fn is_written_anew(name: &[u8]) -> bool {
    matches!(
        name,
        b"cdn-loop"
            | b"content-length"
            | b"expect"
            | b"forwarded"
            | b"host"
            | b"proxy"
            | b"tidegate-decision"
            | b"via"
            | b"x-forwarded-for"
            | b"x-forwarded-host"
            | b"x-forwarded-proto"
            | b"x-request-id"
    )
}
