//! Cuts a name into its key and its tags, for backends that keep tags apart.
//!
//! A tag without `=` has the value `true`. Tags with an empty name or an empty value are left out.
//! Invariant: `merged` returns each tag once, in the order in which tags first come. The values of
//! tags with one name stand in it between `,`, because DogStatsD sends several, and no backend here
//! takes a tag's name twice.
//! Never here: how tags get into a name (`line/native.rs`, `line/statsd.rs`, `self_metrics.rs`),
//! and what a backend allows in one. `graphite.rs` cuts names itself, and `prometheus/series.rs`
//! does for help texts.

use std::borrow::Cow;

/// Cuts a name at its tags; the tags may have any order and come any number of times.
pub(super) fn split(name: &str) -> (&str, impl Iterator<Item = (&str, &str)>) {
    let mut parts = name.split(';');
    let key = parts.next().unwrap_or_default();
    let tags = parts.map(|tag| tag.split_once('=').unwrap_or((tag, "true")));
    (key, tags.filter(|(name, value)| !name.is_empty() && !value.is_empty()))
}

/// Cuts a name at its tags, each of which then has a name of its own, as `name_of` makes it.
pub(super) fn merged<'n, N: AsRef<str>>(
    name: &'n str,
    name_of: impl Fn(&'n str) -> N,
) -> (&'n str, Vec<(N, Cow<'n, str>)>) {
    let (key, tags) = split(name);
    let mut merged: Vec<(N, Cow<'n, str>)> = Vec::new();
    tags.for_each(|(tag, value)| add(&mut merged, name_of(tag), value));
    (key, merged)
}

/// Adds a value to a tag, which may be there already.
pub(super) fn add<'n, N: AsRef<str>>(tags: &mut Vec<(N, Cow<'n, str>)>, tag: N, value: &'n str) {
    match tags.iter_mut().find(|(known, _)| known.as_ref() == tag.as_ref()) {
        Some((_, values)) => {
            let values = values.to_mut();
            values.push(',');
            values.push_str(value);
        }
        None => tags.push((tag, Cow::Borrowed(value))),
    }
}

#[cfg(test)]
mod tests;
