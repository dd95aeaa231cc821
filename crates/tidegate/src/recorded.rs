//! Decides what of a request's text is recorded: without secrets, and of a bounded length.
//!
//! Tokens in URLs would stay in the journal for weeks, and go into databases. So the values of the
//! fields that `[journal] redact` names are replaced, in the query and in the query of `Referer`.
//! With `user = "hash"` the id itself is replaced as well, wherever it is a whole value of a query
//! or a whole segment of a path. So it stands in no recorded field in clear. Of a request whose ids
//! are of no use, such as two different ones, path, query and `Referer` are replaced whole.
//! A few clients with long URLs could push everybody's lines out of the journal. So each text is
//! cut at a bound, and then ends in `…`.
//! Names are compared after decoding, in any case. Text that needs no change is borrowed, so that
//! most requests cost no allocation.
//! The defaults are in `NAMES`; docs/operating/security.md lists them and the bounds. Never here:
//! the hash of the id (`ports`), and what is printed for operators (`commands/redact.rs`).

use std::borrow::Cow;

use exchange::{ExchangeRef, decode_query as decoded, is_id_in_path};
use gateway::names_somebody_unknown;

/// Bytes of a host, as the DNS allows.
const HOST_BYTES_MAX: usize = 255;
/// Bytes of a path, a `Referer` or a `User-Agent`.
const TEXT_BYTES_MAX: usize = 2048;
/// Bytes of a query.
const QUERY_BYTES_MAX: usize = 4096;
/// The end of a text that was cut.
pub(crate) const CUT: &str = "…";

/// What stands in place of a secret.
pub(crate) const REDACTED: &[u8] = b"redacted";

/// Fields whose values are secrets, unless `[journal] redact` names others.
pub(crate) const NAMES: [&str; 20] = [
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "client_secret",
    "code",
    "id_token",
    "jwt",
    "key",
    "otp",
    "passwd",
    "password",
    "pwd",
    "refresh_token",
    "secret",
    "session",
    "sid",
    "sig",
    "signature",
    "token",
];

/// What is taken out.
#[derive(Debug, Clone)]
pub(crate) struct Redaction {
    /// Names of query fields, in lower case.
    names: Vec<Box<[u8]>>,
    /// Whether the user id is a secret.
    hides_user: bool,
}

/// The texts of an exchange as they are recorded.
pub(crate) struct RecordedTexts<'e> {
    host: Option<Cow<'e, [u8]>>,
    path: Cow<'e, [u8]>,
    query: Option<Cow<'e, [u8]>>,
    referer: Option<Cow<'e, [u8]>>,
    user_agent: Option<Cow<'e, [u8]>>,
}

impl Redaction {
    /// Returns what takes the values of these fields out.
    pub(crate) fn new(names: &[String], hides_user: bool) -> Self {
        let names = names.iter().map(|name| name.to_ascii_lowercase().into_bytes().into());
        Self { names: names.collect(), hides_user }
    }

    /// Returns the texts of an exchange without secrets, and cut where they are too long.
    pub(crate) fn texts<'e>(&self, exchange: &ExchangeRef<'e>) -> RecordedTexts<'e> {
        let user = exchange.user.filter(|_| self.hides_user);
        if self.hides_all(exchange) {
            return RecordedTexts {
                host: exchange.host.map(|host| cut(Cow::Borrowed(host), HOST_BYTES_MAX)),
                path: Cow::Owned([b"/", REDACTED].concat()),
                query: exchange.query.map(|_| Cow::Borrowed(REDACTED)),
                referer: exchange.referer.map(|_| Cow::Borrowed(REDACTED)),
                user_agent: exchange.user_agent.map(|_| Cow::Borrowed(REDACTED)),
            };
        }
        let plain = |text: &'e [u8], bytes_max| cut(Cow::Borrowed(text), bytes_max);
        let query = |query| cut(self.query(query, user), QUERY_BYTES_MAX);
        let url = |url| cut(self.url(url, user), TEXT_BYTES_MAX);
        RecordedTexts {
            host: exchange.host.map(|host| plain(host, HOST_BYTES_MAX)),
            path: cut(self.path(exchange.path, user), TEXT_BYTES_MAX),
            query: exchange.query.map(query),
            referer: exchange.referer.map(url),
            user_agent: exchange.user_agent.map(|agent| plain(agent, TEXT_BYTES_MAX)),
        }
    }

    /// Whether a request names somebody who is to be hidden, and it is not known by which text.
    pub(crate) fn hides_all(&self, exchange: &ExchangeRef<'_>) -> bool {
        self.hides_user && exchange.decision_detail.is_some_and(names_somebody_unknown)
    }

    fn path<'t>(&self, path: &'t [u8], user: Option<&[u8]>) -> Cow<'t, [u8]> {
        let Some(user) = user else { return Cow::Borrowed(path) };
        replaced(path, b'/', |segment| is_id_in_path(segment, user).then(|| REDACTED.to_vec()))
    }

    fn query<'t>(&self, query: &'t [u8], user: Option<&[u8]>) -> Cow<'t, [u8]> {
        replaced(query, b'&', |pair| {
            let equals = position(b'=', pair)?;
            let (name, value) = (&pair[..equals], &pair[equals + 1..]);
            let is_user = || user.is_some_and(|user| *decoded(value) == *user);
            let is_secret = !value.is_empty() && (self.names(name) || is_user());
            is_secret.then(|| [name, b"=", REDACTED].concat())
        })
    }

    fn url<'t>(&self, url: &'t [u8], user: Option<&[u8]>) -> Cow<'t, [u8]> {
        let (path, query) = match position(b'?', url) {
            Some(at) => (&url[..at], Some(&url[at + 1..])),
            None => (url, None),
        };
        let (path, query) = (self.path(path, user), query.map(|query| self.query(query, user)));
        match (&path, &query) {
            (Cow::Borrowed(_), None | Some(Cow::Borrowed(_))) => Cow::Borrowed(url),
            (path, None) => Cow::Owned(path.to_vec()),
            (path, Some(query)) => Cow::Owned([path, &b"?"[..], query].concat()),
        }
    }

    fn names(&self, name: &[u8]) -> bool {
        let name = decoded(name);
        self.names.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }
}

impl RecordedTexts<'_> {
    /// Puts the texts in place of those of the exchange.
    pub(crate) fn put<'e>(&'e self, exchange: &mut ExchangeRef<'e>) {
        exchange.host = self.host.as_deref();
        exchange.path = &self.path;
        exchange.query = self.query.as_deref();
        exchange.referer = self.referer.as_deref();
        exchange.user_agent = self.user_agent.as_deref();
    }
}

/// Cuts a text at a bound, with a mark at its end.
fn cut(text: Cow<'_, [u8]>, bytes_max: usize) -> Cow<'_, [u8]> {
    match text.len() > bytes_max {
        true => Cow::Owned([&text[..bytes_max], CUT.as_bytes()].concat()),
        false => text,
    }
}

fn position(byte: u8, text: &[u8]) -> Option<usize> {
    text.iter().position(|other| *other == byte)
}

/// Replaces the parts between separators for which `replace` returns something else.
fn replaced(
    text: &[u8],
    separator: u8,
    replace: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let mut start = 0;
    for part in text.split(|byte| *byte == separator) {
        let end = start + part.len();
        match (replace(part), &mut out) {
            (Some(other), out) => {
                out.get_or_insert_with(|| text[..start].to_vec()).extend_from_slice(&other);
            }
            (None, Some(out)) => out.extend_from_slice(part),
            (None, None) => {}
        }
        if let Some(out) = out.as_mut().filter(|_| end < text.len()) {
            out.push(separator);
        }
        start = end + 1;
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use exchange::ExchangeRef;

    use super::{NAMES, REDACTED, Redaction, cut};

    fn redaction(hides_user: bool) -> Redaction {
        Redaction::new(&NAMES.map(str::to_owned), hides_user)
    }

    #[test]
    fn values_of_secret_fields_are_replaced_and_nothing_else() {
        let redaction = redaction(false);
        for (query, expected) in [
            ("q=a&token=t&page=2", "q=a&token=redacted&page=2"),
            ("Access_Token=t", "Access_Token=redacted"),
            ("%74oken=t&x=1", "%74oken=redacted&x=1"),
            ("token=a&token=b", "token=redacted&token=redacted"),
            ("token=&token", "token=&token"),
            ("tokens=3&monkey=m&q=token", "tokens=3&monkey=m&q=token"),
            ("&&sig=a&", "&&sig=redacted&"),
            ("", ""),
        ] {
            let found = redaction.query(query.as_bytes(), None);
            assert_eq!(String::from_utf8_lossy(&found), expected, "{query}");
        }
        assert!(matches!(redaction.query(b"q=a&page=2", None), Cow::Borrowed(_)));
    }

    #[test]
    fn the_query_of_a_referer_is_redacted_too() {
        let redaction = redaction(false);
        for (url, expected) in [
            ("https://a.example/x?token=t&y=1", "https://a.example/x?token=redacted&y=1"),
            ("https://a.example/x", "https://a.example/x"),
            ("?key=k", "?key=redacted"),
        ] {
            let found = redaction.url(url.as_bytes(), None);
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
    }

    #[test]
    fn what_tells_somebody_unknown_is_not_recorded() {
        let exchange = ExchangeRef {
            path: b"/u/alice",
            query: Some(b"u=bob"),
            referer: Some(b"/?u=alice"),
            decision_detail: Some("two-ids"),
            ..ExchangeRef::default()
        };
        let texts = redaction(true);
        let texts = texts.texts(&exchange);
        assert_eq!((&*texts.path, texts.query.as_deref()), (&b"/redacted"[..], Some(REDACTED)));
        assert_eq!(texts.referer.as_deref(), Some(REDACTED));
        let plain = redaction(false);
        assert_eq!(&*plain.texts(&exchange).path, b"/u/alice");
        let other = ExchangeRef { decision_detail: Some("profiles"), ..exchange };
        assert_eq!(&*redaction(true).texts(&other).path, b"/u/alice");
    }

    #[test]
    fn a_text_is_cut_behind_its_bound_and_says_so() {
        assert!(matches!(cut(Cow::Borrowed(b"abc"), 3), Cow::Borrowed(b"abc")));
        assert_eq!(&*cut(Cow::Borrowed(b"abcd"), 3), "abc…".as_bytes());
    }

    #[test]
    fn an_id_that_is_hashed_stands_nowhere_in_clear() {
        let redaction = redaction(true);
        let user = Some(&b"al ice"[..]);
        for (url, expected) in [
            ("/u/al%20ice/x?uid=al+ice&p=1", "/u/redacted/x?uid=redacted&p=1"),
            ("/u/alice?uid=al%20ice2", "/u/alice?uid=al%20ice2"),
            ("/al%20ice", "/redacted"),
            ("/u/al%20ice.json", "/u/redacted"),
        ] {
            assert_eq!(String::from_utf8_lossy(&redaction.url(url.as_bytes(), user)), expected);
        }
        let path = redaction.path(b"/u/me+x@h", Some(b"me+x@h"));
        assert_eq!(&*path, b"/u/redacted");
    }
}
