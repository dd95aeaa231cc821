//! Hides the secrets of a configuration, so that it can be shown.
//!
//! The text is read as TOML, and each secret is cut out at its place. So comments and layout stay,
//! and a secret is found in inline tables, dotted keys and strings of several lines too.
//! Invariant: the values of [`SECRETS`], all values below [`TABLES`], and the password before the
//! `@` of a URL are hidden. All else is shown, also comments and the query of a URL. A new key with
//! a secret, in the configuration of any crate, must be added here; nothing fails otherwise. So
//! must the new name of such a key. A text that is no TOML is not shown at all.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys whose value is a secret, wherever they are.
const SECRETS: [&str; 2] = ["admin_token", "user_key"];
/// Tables whose values may be credentials: header fields, and the environment of Python apps.
const TABLES: [&str; 2] = ["headers", "environment"];
/// What stands in place of a secret.
const HIDDEN: &str = "\"…\"";

/// Returns `text` without its secrets; `None` if it is no TOML.
pub(super) fn redacted(text: &str) -> Option<String> {
    let root = DeTable::parse(text).ok()?;
    let mut cuts = Vec::new();
    for (name, value) in root.get_ref() {
        find(name.get_ref(), value, false, &mut cuts);
    }
    cuts.sort_by_key(|(place, _)| place.start);
    let mut shown = text.to_owned();
    for (place, instead) in cuts.into_iter().rev() {
        shown.replace_range(place, &instead);
    }
    Some(shown)
}

fn find(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    is_within: bool,
    cuts: &mut Vec<(Range<usize>, String)>,
) {
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                find(key.get_ref(), value, is_within || TABLES.contains(&name), cuts);
            }
        }
        DeValue::Array(values) => {
            for value in values {
                find(name, value, is_within, cuts);
            }
        }
        _ if is_within || SECRETS.contains(&name) => {
            cuts.push((value.span(), HIDDEN.to_owned()));
        }
        DeValue::String(url) => {
            if let Some(shown) = without_password(url) {
                cuts.push((value.span(), toml::Value::from(shown).to_string()));
            }
        }
        _ => {}
    }
}

/// Returns `postgres://user:…@host/database`; `None` where there is no password.
fn without_password(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (login, place) = rest.rsplit_once('@')?;
    let (user, _) = login.split_once(':')?;
    Some(format!("{scheme}://{user}:…@{place}"))
}

#[cfg(test)]
mod tests;
