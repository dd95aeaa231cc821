//! The request that is asked about, and its head in bytes.
//!
//! Invariant: no part can break out of its line: control characters are refused. An id that its
//! source cannot carry, such as one with `;` in a cookie, is refused instead of being another one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http1::Head;
use http1::request::parse;

use crate::gateway::Gateway;
use crate::user::{PathPlace, User, UserPlaces, UserSource};

/// Who asks, unless the question says so.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The request that is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainRequest {
    /// `http://HOST/PATH?QUERY`, or `/PATH?QUERY`.
    pub url: String,
    /// The method; `GET` where empty.
    pub method: String,
    /// The id of the user, put where the route looks for it.
    pub user: Option<String>,
    /// More fields of the request.
    pub fields: Vec<(String, String)>,
    /// The address that it comes from; this machine where absent.
    pub client: Option<IpAddr>,
    /// Whether the user's own answer is known to fail, so that everybody's takes its place.
    pub falls_back: bool,
}

impl ExplainRequest {
    /// Returns the head of the request, with the user at this source.
    pub(super) fn head_bytes(&self, source: Option<&UserSource>) -> Result<Vec<u8>, String> {
        let texts = self.fields.iter().flat_map(|(name, value)| [name, value]);
        let texts = texts.chain([&self.url, &self.method]).chain(&self.user);
        if let Some(wrong) = texts.clone().find(|text| text.bytes().any(|b| b.is_ascii_control())) {
            return Err(format!("`{}` holds a control character", wrong.escape_debug()));
        }
        let (host, mut target) = parts(&self.url)?;
        let mut fields = String::new();
        let mut field = |name: &str, value: &str| fields.push_str(&format!("{name}: {value}\r\n"));
        if !self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            field("host", host);
        }
        self.fields.iter().for_each(|(name, value)| field(name, value));
        match (source, &self.user) {
            (Some(UserSource::Cookie(name)), Some(user)) => {
                field("cookie", &format!("{name}={user}"));
            }
            (Some(UserSource::Header(name)), Some(user)) => field(name, user),
            (Some(UserSource::Query(name)), Some(user)) => {
                let separator = if target.contains('?') { '&' } else { '?' };
                target.push_str(&format!(
                    "{separator}{name}={}",
                    exchange::encode_query(user.as_bytes())
                ));
            }
            (Some(UserSource::Path(at)), Some(user)) => put_segment(&mut target, *at, user),
            (None, _) | (_, None) => {}
        }
        let method = if self.method.is_empty() { "GET" } else { &self.method };
        Ok(format!("{method} {target} HTTP/1.1\r\n{fields}\r\n").into_bytes())
    }

    /// Checks that the head carries the user that is asked about.
    pub(super) fn check_user(
        &self,
        places: Option<&UserPlaces>,
        head: &Head<'_>,
    ) -> Result<(), String> {
        let (Some(user), Some(places)) = (&self.user, places) else { return Ok(()) };
        match places.find(head, usize::MAX) {
            User::Id(_) if self.has_user(places, head) => Ok(()),
            User::Unacceptable(_) => Ok(()),
            User::Nobody if user.is_empty() => Ok(()),
            _ => Err(format!("`{}` cannot carry the id `{user}`", places.first())),
        }
    }

    /// Whether a head names the user that is asked about.
    pub(super) fn has_user(&self, places: &UserPlaces, head: &Head<'_>) -> bool {
        let user = self.user.as_ref().map(|user| user.as_bytes());
        matches!(places.find(head, usize::MAX), User::Id(id) if Some(&*id) == user)
    }
}

/// Hands over the head that stands in these bytes.
pub(super) fn with_head<R>(
    bytes: &[u8],
    question: &ExplainRequest,
    gateway: &Gateway,
    ask: impl FnOnce(&Head<'_>) -> R,
) -> Result<R, String> {
    let mut fields = Vec::new();
    let underscores = gateway.plan.limits.connections.underscores;
    let line = parse(bytes, underscores, &mut fields).map_err(|error| error.to_string())?;
    let line = line.ok_or("the question is no whole request")?;
    let peer = SocketAddr::new(question.client.unwrap_or(HERE), 0);
    let mut head = Head::new(bytes, &line, &fields, peer);
    head.believe(&gateway.plan.limits.connections.trusted);
    Ok(ask(&head))
}

/// Splits a URL into its host and its target.
fn parts(url: &str) -> Result<(&str, String), String> {
    let wrong = || format!("`{url}` is no URL; write `http://HOST/PATH`, or `/PATH`");
    let url = url.split('#').next().unwrap_or_default();
    if url.contains(' ') {
        return Err(wrong());
    }
    if url.starts_with('/') {
        return Ok(("localhost", url.to_owned()));
    }
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(wrong());
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    if host.is_empty() {
        return Err(wrong());
    }
    Ok((host, if target.starts_with('/') { target.to_owned() } else { format!("/{target}") }))
}

/// Puts an id in place of a segment of the path, before its format, if there is one at this place.
fn put_segment(target: &mut String, at: PathPlace, user: &str) {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (target.as_str(), String::new()),
    };
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    if let Some(segment) = segments.get_mut(at.place) {
        let format = segment.rfind('.').filter(|_| at.has_format).map(|dot| segment.split_off(dot));
        *segment = exchange::encode_query(user.as_bytes()) + format.as_deref().unwrap_or_default();
    }
    *target = segments.join("/") + &query;
}
