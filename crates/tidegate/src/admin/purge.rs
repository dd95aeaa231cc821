//! Serves `POST /purge`: reads what to purge from the query, from a form or from JSON.
//!
//! In query and form `url`, `prefix` and `tag` may be repeated, and `all` and `soft` stand alone or
//! with `true`, `1`, `on`, or their opposites. JSON takes booleans only for these two; `urls`,
//! `prefixes` and `tags` are other names there. What query and body name is added up. A body is
//! JSON if it begins with a brace.
//! Invariant: an unknown name, or anything that cannot be read, is 400 and purges nothing. So is an
//! unescaped `&` in a URL, unless one of these names follows it. A `+` stands for itself.
//! A new parameter goes into `read_form`, its error message, `PurgeBody` and
//! docs/operating/purge.md.
//! Never here: what parameters exclude each other, the matching and the purge itself, which are
//! `gateway`'s. The number of purged entries is logged here.

use chassis::admin::{Page, Visit};
use gateway::{PurgeRequest, Purged};
use serde::Deserialize;
use serde_json::json;

use super::refusal::refuse;
use crate::parts::Parts;

/// Purges; answers how many entries that were.
pub(super) fn purge(parts: &Parts, visit: &Visit<'_>) -> Page {
    let wanted = match wanted(visit) {
        Ok(wanted) => wanted,
        Err(reason) => return refuse(400, &reason),
    };
    match parts.gateway.purge(&wanted) {
        Ok(Purged { entries, is_durable }) => {
            tracing::info!(target: "audit", purged = entries, soft = wanted.soft, "purged");
            if !is_durable {
                tracing::warn!("a purge is not on disk yet; a crash before may undo it there");
            }
            let body = json!({ "purged": entries, "soft": wanted.soft, "durable": is_durable });
            Page::json(200, format!("{body}\n"))
        }
        Err(reason) => refuse(400, &reason),
    }
}

/// Reads query and body.
fn wanted(visit: &Visit<'_>) -> Result<PurgeRequest, String> {
    let mut wanted = PurgeRequest::default();
    read_form(visit.query, &mut wanted)?;
    let body = std::str::from_utf8(visit.body).map_err(|_| "the body is not UTF-8".to_owned())?;
    let body = body.trim();
    if body.starts_with('{') {
        let fields: PurgeBody = serde_json::from_str(body)
            .map_err(|error| format!("read the body as JSON: {error}"))?;
        wanted.urls.extend(fields.url.into_iter().flat_map(Texts::into_vec));
        wanted.prefixes.extend(fields.prefix.into_iter().flat_map(Texts::into_vec));
        wanted.tags.extend(fields.tag.into_iter().flat_map(Texts::into_vec));
        wanted.all |= fields.all;
        wanted.soft |= fields.soft;
    } else {
        read_form(body, &mut wanted)?;
    }
    Ok(wanted)
}

/// The body as JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PurgeBody {
    #[serde(alias = "urls")]
    url: Option<Texts>,
    #[serde(alias = "prefixes")]
    prefix: Option<Texts>,
    #[serde(alias = "tags")]
    tag: Option<Texts>,
    all: bool,
    soft: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`url`, `prefix` and `tag` take a text or a list of texts")]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

fn read_form(form: &str, wanted: &mut PurgeRequest) -> Result<(), String> {
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let value = unescaped(value)?;
        match name {
            "url" => wanted.urls.push(value),
            "prefix" => wanted.prefixes.push(value),
            "tag" => wanted.tags.push(value),
            "all" => wanted.all |= switch(name, &value)?,
            "soft" => wanted.soft |= switch(name, &value)?,
            _ => {
                return Err(format!(
                    "`{name}` is none of url, prefix, tag, all, soft; write `%26` for an `&` in a \
                     URL, or let `curl --data-urlencode` do it"
                ));
            }
        }
    }
    Ok(())
}

fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" | "1" | "on" => Ok(true),
        "false" | "0" | "off" => Ok(false),
        _ => Err(format!("`{name}` is true or false, not `{value}`")),
    }
}

/// Undoes percent escapes. A `+` stands for itself: neither URLs nor tags hold blanks, and who
/// writes one by hand means it.
fn unescaped(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` holds a malformed escape or is not UTF-8");
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        left = rest;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(wrong)?);
        left = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests;
