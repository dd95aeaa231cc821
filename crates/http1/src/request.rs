//! Parses the head of a request in place, decides how its body is framed, or refuses the head.
//!
//! Invariant: `parse` gives a `RequestLine` only if the end of the body is certain. Then the head
//! has one `Host`, empty only if the target names a host (HTTP/1.0: at most one, maybe empty). It
//! has at most one `Content-Length` of up to 18 digits. Or it has one `Transfer-Encoding: chunked`,
//! under HTTP/1.1 only, and no length. A name such as `content_length`, which CGI reads as a
//! framing field, is refused, and so is a line without CR. Bound: 96 fields; a head with more is
//! refused. `Malformed` names each reason and its status. `Head` looks fields up, and tells
//! keep-alive, offered upgrades and stripped fields. It takes nobody's word about a client, unless
//! `believe` names the proxies. Never here: who the client is (`forwarded`), the bound on the bytes
//! of a head, and reading (`chassis::http`); the chunks (`chunked`).
//! What is refused, and how, stands for users in docs/operating/security.md; CONTRIBUTING.md has
//! the statuses. `fuzz/src/targets/head.rs` reads accepted heads a second time. Sources: RFC 9112
//! §2–6; RFC 9110 §7.6.1, §7.8, §10.1.1.

use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};

use crate::forwarded::{Believed, ClientHeaders, Scheme, TrustedProxies};
use crate::hop_by_hop;
use crate::host::host_is_valid;
use crate::placed::PlacedFields;

pub use crate::placed::FieldPlace;

/// Fields in one head; more are refused with 431.
const FIELDS_MAX: usize = 96;

/// Start and length of the request line's parts, and the framing that the head announces.
#[derive(Debug, Clone, Copy)]
pub struct RequestLine {
    method: (u32, u16),
    target: (u32, u32),
    minor: u8,
    body: BodyLength,
    /// Bytes of the head, its empty line included.
    length: usize,
}

impl RequestLine {
    /// Bytes of the head, its empty line included.
    pub fn head_bytes(&self) -> usize {
        self.length
    }

    /// How the body is framed.
    pub fn body_length(&self) -> BodyLength {
        self.body
    }
}

/// What becomes of fields with `_` in their name. CGI and its heirs (WSGI, PHP, Rack) read such a
/// name as the one with `-`. So a client could send them a field under two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Underscores {
    /// They are left out, as nginx does.
    #[default]
    Drop,
    /// They are kept.
    Keep,
}

/// How the body of a request is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// No body.
    None,
    /// A body of `Content-Length` bytes.
    Exact(u64),
    /// A body in the chunked coding.
    Chunked,
}

/// The reason why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not HTTP, or ambiguous: 400.
    #[error("malformed request: {0}")]
    Bad(&'static str),
    /// Too many fields: 431.
    #[error("too many header fields")]
    TooManyFields,
    /// More bytes than a head may have: 431.
    #[error("the request head is too long")]
    TooLong,
    /// A version other than 1.0 and 1.1: 505.
    #[error("unsupported HTTP version")]
    Version,
    /// A transfer coding other than `chunked`: 501.
    #[error("unsupported transfer coding")]
    Coding,
    /// The method CONNECT: 501.
    #[error("the method `CONNECT` is not supported")]
    Tunnel,
    /// An expectation other than `100-continue`: 417.
    #[error("the `Expect` field asks for something other than `100-continue`")]
    Expectation,
}

impl Malformed {
    /// Returns the status of the response to such a request.
    pub fn status(self) -> u16 {
        match self {
            Self::Bad(_) => 400,
            Self::TooManyFields | Self::TooLong => 431,
            Self::Version => 505,
            Self::Coding | Self::Tunnel => 501,
            Self::Expectation => 417,
        }
    }
}

/// A request head; borrows the connection's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Head<'b> {
    line: &'b RequestLine,
    fields: PlacedFields<'b>,
    peer: SocketAddr,
    // Read many times per request; a check for UTF-8 looks at every byte, so it is made once.
    method: &'b str,
    target: &'b str,
    path_and_query: &'b str,
    path_bytes: usize,
    host: &'b str,
    believed: Option<Believed<'b>>,
}

impl<'b> Head<'b> {
    /// Returns the head that [`parse`] found at the start of `bytes`.
    pub fn new(
        bytes: &'b [u8],
        line: &'b RequestLine,
        fields: &'b [FieldPlace],
        peer: SocketAddr,
    ) -> Self {
        let fields = PlacedFields { bytes, places: fields };
        let method = text(bytes, (line.method.0, line.method.1.into()));
        let target = text(bytes, line.target);
        let (authority, path_and_query) = parts(target);
        let question_mark = memchr::memchr(b'?', path_and_query.as_bytes());
        let path_bytes = question_mark.unwrap_or(path_and_query.len());
        let (host, believed) = ("", None);
        let head =
            Self { line, fields, peer, method, target, path_and_query, path_bytes, host, believed };
        let sent = || head.get("host").and_then(|host| std::str::from_utf8(host).ok());
        Self { host: authority.or_else(sent).unwrap_or(""), ..head }
    }

    /// Believes what the peer says of the client, if it is one of these proxies.
    pub fn believe(&mut self, trusted: &TrustedProxies) {
        if !trusted.is_empty() {
            self.believed = Believed::of(self.peer.ip(), self.fields, trusted);
        }
    }

    /// The method, as sent.
    pub fn method(&self) -> &'b str {
        self.method
    }

    /// The request target, as sent.
    pub fn target(&self) -> &'b str {
        self.target
    }

    /// Path and query: the target without scheme and authority.
    pub fn path_and_query(&self) -> &'b str {
        self.path_and_query
    }

    /// The path, percent-encoded as sent.
    pub fn path(&self) -> &'b str {
        &self.path_and_query[..self.path_bytes]
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&'b str> {
        self.path_and_query.get(self.path_bytes + 1..)
    }

    /// The host of the request, with its port if one was sent. An absolute target wins over the
    /// `Host` field. Empty if that is, or if an HTTP/1.0 request has none.
    pub fn host(&self) -> &'b str {
        self.host
    }

    /// True under HTTP/1.0.
    pub fn is_http_10(&self) -> bool {
        self.line.minor == 0
    }

    /// How the body is framed.
    pub fn body_length(&self) -> BodyLength {
        self.line.body
    }

    /// The address at the other end of the connection. What guards an operator's pages goes by it.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The client's address: what trusted proxies say, else that of the peer. An IPv4 address that
    /// came as IPv6 is an IPv4 one.
    pub fn client(&self) -> IpAddr {
        match &self.believed {
            Some(believed) => believed.client,
            None => self.peer.ip().to_canonical(),
        }
    }

    /// The addresses that the request came through, from the peer to [`Self::client`].
    pub fn chain(&self) -> impl Iterator<Item = IpAddr> + use<'b> {
        let before = self.believed.as_ref().map(|believed| believed.addresses(self.fields));
        std::iter::once(self.peer.ip().to_canonical()).chain(before.into_iter().flatten())
    }

    /// The scheme by which the client asked: what trusted proxies say, else `http`.
    pub fn scheme(&self) -> Scheme {
        self.believed.map(|believed| believed.scheme).unwrap_or_default()
    }

    /// The host that the client asked for, if trusted proxies say so. It may differ from
    /// [`Self::host`].
    pub fn forwarded_host(&self) -> Option<&'b str> {
        self.believed?.host
    }

    /// The request id of a trusted proxy, if it has sent a well-formed one; never 0.
    pub fn request_id(&self) -> Option<u128> {
        self.believed?.request_id
    }

    /// Whether a trusted proxy says by `Forwarded` for whom it asks.
    pub fn is_forwarded(&self) -> bool {
        self.believed.is_some_and(|believed| believed.headers == ClientHeaders::Forwarded)
    }

    /// The first value of the field `name` (lower case).
    pub fn get(&self, name: &str) -> Option<&'b [u8]> {
        self.all(name).next()
    }

    /// Every value of the field `name` (lower case), in the order sent.
    pub fn all<'n>(
        &self,
        name: &'n str,
    ) -> impl DoubleEndedIterator<Item = &'b [u8]> + use<'b, 'n> {
        self.fields.all(name)
    }

    /// Every field, name as sent, in the order sent.
    pub fn fields(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> + use<'b> {
        self.fields.each()
    }

    /// Whether a comma-separated field holds `token`, whatever its case.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.all(name).any(|value| {
            value
                .split(|b| *b == b',')
                .any(|t| t.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
        })
    }

    /// Whether the connection may carry another request after this one (RFC 9112 §9.3).
    ///
    /// An HTTP/1.0 request without a length may have a body that ends with the connection. Only
    /// GET and HEAD are known to have none.
    pub fn keeps_alive(&self) -> bool {
        if self.is_http_10() {
            let ends =
                matches!(self.method(), "GET" | "HEAD") || self.line.body != BodyLength::None;
            return ends && self.has_token("connection", "keep-alive");
        }
        !self.has_token("connection", "close")
    }

    /// The protocols of `Upgrade` that the client offers, as sent (RFC 9110 §7.8).
    ///
    /// There are none under HTTP/1.0, and none unless `Connection` holds `upgrade`.
    pub fn upgrades(&self) -> impl Iterator<Item = &'b [u8]> + use<'b> {
        let asked = !self.is_http_10() && self.has_token("connection", "upgrade");
        let lines = self.all("upgrade").filter(move |_| asked);
        let offers = lines.flat_map(|line| line.split(|b| *b == b',').map(<[u8]>::trim_ascii));
        offers.filter(|offer| !offer.is_empty())
    }

    /// Whether a `Connection` option names an end-to-end field of this request.
    ///
    /// A proxy removes such a field, so the upstream sees a changed request. Its response must not
    /// be shared with other requests.
    pub fn strips_fields(&self) -> bool {
        let options = self.all("connection").flat_map(|line| line.split(|b| *b == b','));
        options.map(<[u8]>::trim_ascii).any(|option| {
            let stays = hop_by_hop::is_of_the_connection(option);
            !stays && self.fields().any(|(name, _)| name.as_bytes().eq_ignore_ascii_case(option))
        })
    }
}

fn text(bytes: &[u8], (start, length): (u32, u32)) -> &str {
    let bytes = &bytes[start as usize..(start + length) as usize];
    std::str::from_utf8(bytes).unwrap_or("")
}

/// Splits a target into its authority, if it is in absolute form, and the path with the query.
fn parts(target: &str) -> (Option<&str>, &str) {
    if target.starts_with('/') {
        return (None, target);
    }
    let Some((_, rest)) = target.split_once("://") else { return (None, target) };
    match rest.find(['/', '?']) {
        Some(end) => (Some(&rest[..end]), &rest[end..]),
        None => (Some(rest), "/"),
    }
}

/// Returns the bytes of the empty lines before a request; a server skips them (RFC 9112 §2.2).
pub fn empty_lines(bytes: &[u8]) -> usize {
    bytes.chunks_exact(2).take_while(|line| *line == b"\r\n").count() * 2
}

/// Parses the head at the start of `bytes` and its fields into `fields`; `None` while it is
/// incomplete. A field that is left out still counts for the bound and the framing.
///
/// # Errors
/// When the head is ambiguous, malformed or not supported. The connection must answer with
/// [`Malformed::status`] and close.
pub fn parse(
    bytes: &[u8],
    underscores: Underscores,
    fields: &mut Vec<FieldPlace>,
) -> Result<Option<RequestLine>, Malformed> {
    if bytes.first() == Some(&b'\n') {
        return Err(BARE_LF);
    }
    let mut storage = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut storage) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::TooManyFields),
        Err(httparse::Error::Version) => return Err(Malformed::Version),
        Err(_) => return Err(Malformed::Bad("not an HTTP/1.1 request head")),
    };
    let base = bytes.as_ptr() as usize;
    let at = |part: &[u8]| (part.as_ptr() as usize - base) as u32;
    let method = request.method.unwrap_or("");
    let target = request.path.unwrap_or("");
    let minor = request.version.unwrap_or(1);
    let target_at = at(target.as_bytes()) as usize;
    let line_end = target_at + target.len() + " HTTP/1.1".len();
    if bytes[line_end] != b'\r' || bytes[length - 2] != b'\r' {
        return Err(BARE_LF);
    }
    fields.clear();
    for header in request.headers.iter() {
        let name = header.name.as_bytes();
        if !ends_in_cr(&bytes[at(header.value) as usize + header.value.len()..]) {
            return Err(BARE_LF);
        }
        if underscores == Underscores::Drop && name.contains(&b'_') {
            continue;
        }
        let length = u16::try_from(name.len()).map_err(|_| Malformed::TooManyFields)?;
        fields.push(FieldPlace {
            name: (at(name), length),
            value: (at(header.value), header.value.len() as u32),
        });
    }
    check_target(method, target)?;
    let names_host = !target.starts_with('/') && target != "*";
    let body = framing(request.headers, minor, names_host)?;
    let method_length = u16::try_from(method.len()).map_err(|_| Malformed::TooLong)?;
    let method = (at(method.as_bytes()), method_length);
    let target = (target_at as u32, target.len() as u32);
    Ok(Some(RequestLine { method, target, minor, body, length }))
}

/// A line ends in LF alone. The next server may read it as part of a longer line.
const BARE_LF: Malformed = Malformed::Bad("a line ends without a carriage return");

/// Whether the line of a value ends in CR LF; `rest` is what follows the value.
fn ends_in_cr(rest: &[u8]) -> bool {
    rest.iter().find(|b| !matches!(b, b' ' | b'\t')) == Some(&b'\r')
}

/// Allows a path, a URL, or `*` for OPTIONS (RFC 9112 §3.2); never a fragment or user information.
fn check_target(method: &str, target: &str) -> Result<(), Malformed> {
    if method == "CONNECT" {
        return Err(Malformed::Tunnel);
    }
    if memchr::memchr(b'#', target.as_bytes()).is_some() {
        return Err(Malformed::Bad("the request target holds a fragment"));
    }
    if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
        return Ok(());
    }
    let known =
        |scheme: &&str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let Some((_, rest)) = target.split_once("://").filter(|(scheme, _)| known(scheme)) else {
        return Err(Malformed::Bad("the request target is not a path"));
    };
    let authority = rest.split(['/', '?']).next().unwrap_or("");
    if has_no_host(authority.as_bytes()) || !host_is_valid(authority.as_bytes()) {
        return Err(Malformed::Bad("the request target names no valid host"));
    }
    if rest[authority.len()..].starts_with('?') {
        return Err(Malformed::Bad("the request target has a query, but no path"));
    }
    Ok(())
}

/// Decides how the body is framed, or refuses the head (RFC 9112 §6.3, and §3.2 for `Host`).
///
/// `names_host` says that the target is in absolute form.
fn framing(
    fields: &[httparse::Header<'_>],
    minor: u8,
    names_host: bool,
) -> Result<BodyLength, Malformed> {
    let (mut hosts, mut length, mut chunked) = (0, None, false);
    for field in fields {
        match field.name.len() {
            4 if field.name.eq_ignore_ascii_case("host") => {
                hosts += 1;
                if !host_is_valid(field.value) {
                    return Err(Malformed::Bad("the Host field holds no valid host"));
                }
                // An http URL without a host is invalid (RFC 9110 §4.2.1).
                if minor == 1 && !names_host && has_no_host(field.value) {
                    return Err(Malformed::Bad("the Host field is empty"));
                }
            }
            6 if field.name.eq_ignore_ascii_case("expect") && minor == 1 => {
                check_expectation(field.value)?;
            }
            14 if is_called(field.name, "content-length")? => {
                let before = length.replace(decimal(field.value)?);
                if before.is_some() {
                    return Err(Malformed::Bad("more than one Content-Length field"));
                }
            }
            17 if is_called(field.name, "transfer-encoding")? => {
                if minor == 0 {
                    return Err(Malformed::Bad("Transfer-Encoding under HTTP/1.0"));
                }
                if chunked || !field.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Malformed::Coding);
                }
                chunked = true;
            }
            _ => {}
        }
    }
    if hosts > 1 || (hosts == 0 && minor == 1) {
        return Err(Malformed::Bad("exactly one Host field is needed"));
    }
    match (chunked, length) {
        (true, Some(_)) => Err(Malformed::Bad("Content-Length beside Transfer-Encoding")),
        (true, None) => Ok(BodyLength::Chunked),
        (false, Some(0) | None) => Ok(BodyLength::None),
        (false, Some(bytes)) => Ok(BodyLength::Exact(bytes)),
    }
}

/// Whether a field is called `wanted`; both names have the same length.
///
/// A name with `_` for `-` is refused. CGI and its heirs (WSGI, PHP, Rack) give both spellings the
/// same variable, so one server would read it as `wanted` and another would not.
fn is_called(name: &str, wanted: &str) -> Result<bool, Malformed> {
    let passes_for = |(byte, wanted): (u8, u8)| {
        byte.eq_ignore_ascii_case(&wanted) || (byte == b'_' && wanted == b'-')
    };
    let passes = name.bytes().zip(wanted.bytes()).all(passes_for);
    match passes && name.contains('_') {
        true => Err(Malformed::Bad("a field name has `_` for the `-` of a framing field")),
        false => Ok(passes),
    }
}

/// Allows only `100-continue` (RFC 9110 §10.1.1).
fn check_expectation(value: &[u8]) -> Result<(), Malformed> {
    let mut expectations = value.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    match expectations.all(|e| e.is_empty() || e.eq_ignore_ascii_case(b"100-continue")) {
        true => Ok(()),
        false => Err(Malformed::Expectation),
    }
}

fn decimal(text: &[u8]) -> Result<u64, Malformed> {
    let wrong = Malformed::Bad("Content-Length is not a number");
    if text.is_empty() || text.len() > 18 || !text.iter().all(u8::is_ascii_digit) {
        return Err(wrong);
    }
    Ok(text.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

/// Whether it is empty but for a port.
fn has_no_host(authority: &[u8]) -> bool {
    matches!(authority.first(), None | Some(b':'))
}
