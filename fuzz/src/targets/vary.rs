//! Variants: two requests that get the same key have the same values of the fields that the answer
//! varies by (RFC 9111 §4.1).

use crate::reading::read_head;
use cache::key::{KeyBytes, append_selecting, extend_by_variant};
use http1::Head;
use http1::accept::Accepted;

pub(super) const TOKENS: &[&str] = &[
    "accept-language",
    "accept-encoding",
    "cookie",
    "accept-language: de, en;q=0.5\n",
    "accept-encoding: gzip\n",
    "cookie: a=b\n",
    "\n\n",
    "x: ",
    ": ",
    ", ",
    "DE",
    "de",
];

/// The first line names the fields; an empty line parts the two requests.
pub(super) fn run(input: &[u8]) {
    let (names, lines) = super::settings(input);
    let cut = lines.windows(2).position(|window| window == b"\n\n").unwrap_or(lines.len());
    let (one, other) = (&lines[..cut], lines.get(cut + 2..).unwrap_or_default());
    let mut names: Vec<Box<str>> = names
        .split(|b| *b == b',')
        .filter_map(|name| http::HeaderName::from_bytes(name.trim_ascii()).ok())
        .map(|name| name.as_str().into())
        .collect();
    names.sort();
    names.dedup();
    let (one, other) = (super::request(one), super::request(other));
    read_head(&one, |one| {
        let Ok(Some((one, _))) = one else { return };
        read_head(&other, |other| {
            let Ok(Some((other, _))) = other else { return };
            compare(&names, &one, &other);
        });
    });
}

fn compare(names: &[Box<str>], one: &Head<'_>, other: &Head<'_>) {
    let same_key = key(names, one) == key(names, other);
    let values = |head: &Head<'_>| -> Vec<Option<Vec<Vec<u8>>>> {
        names.iter().map(|name| members(name, head)).collect()
    };
    let (ours, theirs) = (values(one), values(other));
    assert!(!same_key || ours == theirs, "one key for two variants: {ours:?} and {theirs:?}");
    let sent = |head: &Head<'_>| -> Vec<Vec<Vec<u8>>> {
        names.iter().map(|name| head.all(name).map(<[u8]>::to_vec).collect()).collect()
    };
    assert!(same_key || sent(one) != sent(other), "two keys for one variant");
}

fn key(names: &[Box<str>], head: &Head<'_>) -> KeyBytes {
    let mut key = KeyBytes::from_slice(b"base");
    extend_by_variant(&mut key, names, |name, key| append_selecting(name, head.all(name), key));
    key
}

/// The members of a field as they count: `None` when it is absent.
fn members(name: &str, head: &Head<'_>) -> Option<Vec<Vec<u8>>> {
    if name == "accept-encoding" {
        // Told apart by what can be given, and sent on like that: the target `accept` holds that.
        return Some(vec![Accepted::read(head.all(name)).class().into()]);
    }
    head.get(name)?;
    let lines = head.all(name).flat_map(|line| line.split(|b| *b == b','));
    let members = lines.map(<[u8]>::trim_ascii).filter(|member| !member.is_empty());
    let mut members: Vec<Vec<u8>> = members.map(<[u8]>::to_vec).collect();
    if name == "accept-language" {
        members.iter_mut().for_each(|member| member.make_ascii_lowercase());
        members.sort();
    }
    Some(members)
}
