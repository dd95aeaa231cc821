//! Checks the key rules of a route, and makes its `KeyPlan`.
//!
//! Invariant: in a plan without errors, no cookie or header of the key names the user, and no
//! header of `RESERVED` is in the key. The reserved ones frame a request, state preconditions, or
//! have rules elsewhere. Names and values in rules have no byte that separates parts of a key
//! (`key`, `key::rules`). A user id in the query always becomes a rule, even without `key`. Never
//! here: applying the rules (`key::rules`), a route with `key` but no `cache`
//! (`plan::check::route`).

use exchange::Filter;
use http::header::HeaderName;

use super::section::Section;
use crate::config::{KeyConfig, SegmentConfig};
use crate::key::{
    Cookies, Identifiers, KeyPlan, KeySegment, NamePattern, QueryFields, Rules, SegmentSource,
};
use crate::plan::Personalise;
use crate::user::UserSource;

/// Headers that may not be part of a key. They frame the request, state preconditions, or are
/// handled by other rules.
const RESERVED: [&str; 22] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
];

/// Headers that are never forwarded as the client sent them.
const UNSENT: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the key plan of a route; `when` is its filter, `forward` its list of headers.
pub(super) fn plan(
    section: &mut Section<'_, '_>,
    (config, forward): (Option<KeyConfig>, Option<Vec<String>>),
    personalise: Option<&Personalise>,
    when: Option<&Filter>,
) -> KeyPlan {
    let identifiers = personalise.map(|plan| Identifiers::new(plan.user.first(), plan.sources()));
    KeyPlan {
        rules: rules(section, config, personalise),
        identifiers: identifiers.unwrap_or_default(),
        condition: when.map(|filter| filter.as_str().into()),
        forward: forward.map(|names| forwarded(section, &names)),
    }
}

/// Returns the headers that fetches for storing carry.
fn forwarded(section: &mut Section<'_, '_>, names: &[String]) -> Box<[NamePattern]> {
    let names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let is_name = |name: &str| {
        let name = name.strip_suffix('*').unwrap_or(name);
        name.parse::<HeaderName>().is_ok_and(|name| !UNSENT.contains(&name.as_str()))
    };
    for name in names.iter().filter(|name| !is_name(name)) {
        let reason = "is not a header that can be forwarded, nor the beginning of one with `*`";
        section.wrong("forward", format!("`{name}` {reason}"));
    }
    names.iter().filter_map(|name| NamePattern::parse(name)).collect()
}

/// Returns the rules of a route; `None` if its keys hold host, path and query as sent.
fn rules(
    section: &mut Section<'_, '_>,
    config: Option<KeyConfig>,
    personalise: Option<&Personalise>,
) -> Option<Box<Rules>> {
    let sources = personalise.map(Personalise::sources).into_iter().flatten();
    let user_fields: Vec<Box<str>> = sources.clone().filter_map(UserSource::query).collect();
    let Some(config) = config else {
        let rules = || Box::new(Rules { user_fields: user_fields.clone(), ..Rules::default() });
        return (!user_fields.is_empty()).then(rules);
    };
    let rules = Rules {
        sort: config.sort.unwrap_or(false),
        fields: fields(section, config.drop, config.keep),
        user_fields,
        cookies: cookies(section, config.cookies, config.strip_cookies),
        headers: headers(section, config.headers),
        segments: segments(section, config.segments),
    };
    for source in sources {
        let (kind, name) = match source {
            UserSource::Cookie(name) if rules.names_cookie(name) => ("cookie", name),
            UserSource::Header(name) if rules.determines(name) => ("header", name),
            _ => continue,
        };
        let reason = "names a user, so it may not be part of the key";
        section.wrong("key", format!("the {kind} `{name}` {reason}; leave it out of `key`"));
    }
    Some(Box::new(rules))
}

fn fields(
    section: &mut Section<'_, '_>,
    drop: Option<Vec<String>>,
    keep: Option<Vec<String>>,
) -> QueryFields {
    match (drop, keep) {
        (Some(_), Some(_)) => {
            section.wrong("key.keep", "write either `keep` or `drop`, not both");
            QueryFields::All
        }
        (Some(drop), None) => QueryFields::Drop(patterns(section, "key.drop", &drop)),
        (None, Some(keep)) => QueryFields::Keep(patterns(section, "key.keep", &keep)),
        (None, None) => QueryFields::All,
    }
}

fn cookies(
    section: &mut Section<'_, '_>,
    named: Option<Vec<String>>,
    strip: Option<Vec<String>>,
) -> Cookies {
    match (named, strip) {
        (Some(_), Some(_)) => {
            let reason = "leave it out: with `cookies`, no other cookie is forwarded";
            section.wrong("key.strip_cookies", reason);
            Cookies::All
        }
        (Some(names), None) => {
            for name in &names {
                if NamePattern::parse(name).is_none_or(|_| name.contains('*')) {
                    section.wrong("key.cookies", format!("`{name}` is not a name of a cookie"));
                }
            }
            Cookies::Named(names.into_iter().map(Into::into).collect())
        }
        (None, Some(strip)) => Cookies::Strip(patterns(section, "key.strip_cookies", &strip)),
        (None, None) => Cookies::All,
    }
}

fn patterns(section: &mut Section<'_, '_>, key: &str, texts: &[String]) -> Vec<NamePattern> {
    let mut patterns = Vec::new();
    for text in texts {
        match NamePattern::parse(text) {
            Some(pattern) => patterns.push(pattern),
            None => section.wrong(key, format!("`{text}` is neither a name nor a prefix with `*`")),
        }
    }
    patterns
}

fn headers(section: &mut Section<'_, '_>, names: Option<Vec<String>>) -> Vec<HeaderName> {
    let names = names.unwrap_or_default();
    let found = names.iter().filter_map(|name| header(section, "key.headers", name));
    found.collect()
}

fn header(section: &mut Section<'_, '_>, key: &str, name: &str) -> Option<HeaderName> {
    let found = name.parse::<HeaderName>().ok();
    if found.is_none() {
        section.wrong(key, format!("`{name}` is not a name of a header"));
    }
    let reserved = found.as_ref().is_some_and(|name| RESERVED.contains(&name.as_str()));
    if reserved {
        section.wrong(key, format!("`{name}` may not be part of a key; leave it out"));
    }
    found.filter(|_| !reserved)
}

fn segments(section: &mut Section<'_, '_>, configs: Option<Vec<SegmentConfig>>) -> Vec<KeySegment> {
    let configs = configs.unwrap_or_default();
    configs.into_iter().filter_map(|config| segment(section, config)).collect()
}

fn segment(section: &mut Section<'_, '_>, config: SegmentConfig) -> Option<KeySegment> {
    let from = config.from.unwrap_or_default();
    let source = match from.split_once(':') {
        Some(("cookie", name)) if NamePattern::parse(name).is_some() => {
            Some(SegmentSource::Cookie(name.into()))
        }
        Some(("header", name)) => {
            header(section, "key.segments.from", name).map(SegmentSource::Header)
        }
        _ => {
            let reason = format!("`{from}` is neither `cookie:NAME` nor `header:NAME`");
            section.wrong("key.segments.from", reason);
            None
        }
    };
    let values: Vec<Box<str>> =
        config.values.unwrap_or_default().into_iter().map(Into::into).collect();
    let default = config.default.map(Box::from).or_else(|| values.first().cloned());
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(is_value_byte);
    let all_plain = values.iter().chain(&default).all(|value| is_plain(value));
    if values.is_empty() || !all_plain {
        let reason = "list the values to distinguish, in visible characters without `;,\"\\`";
        section.wrong("key.segments.values", reason);
    }
    Some(KeySegment { source: source?, values, default: default? })
}

/// Whether a byte means the same in a cookie and in a header.
fn is_value_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b";,\"\\".contains(&byte)
}
