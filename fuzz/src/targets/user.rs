//! User ids in cookies, headers and queries: an id is what the request says once, or nobody's.

use crate::reading::read_head;
use gateway::fuzzing::{Unusable, User, UserSource};
use http1::Head;

pub(super) const TOKENS: &[&str] = &[
    "cookie:userId",
    "header:x-user",
    "query:u",
    "path:1",
    "cookie: userId=ann\n",
    "; userId=",
    "\"ann\"",
    "x-user: ann\n",
    "userId = ann",
    "$Version=1; ",
];

const ID_BYTES_MAX: usize = 16;

/// The first line is the source; for a query, the rest is the query itself.
pub(super) fn run(input: &[u8]) {
    let (source, lines) = super::settings(input);
    let Some(source) = std::str::from_utf8(source).ok().and_then(UserSource::parse) else { return };
    let mut reversed: Vec<&[u8]> = lines.split(|b| *b == b'\n').collect();
    reversed.reverse();
    let (forward, backward) = (request(&source, lines), request(&source, &reversed.join(&b'\n')));
    read_head(&forward, |head| {
        let Ok(Some((head, _))) = head else { return };
        let found = source.find(&head, ID_BYTES_MAX);
        if let User::Id(id) = &found {
            assert!(!id.is_empty() && id.len() <= ID_BYTES_MAX, "an id of {} bytes", id.len());
        }
        check_cookie(&source, &head, &found);
        if matches!(source, UserSource::Query(_)) {
            return;
        }
        read_head(&backward, |head| {
            if let Ok(Some((head, _))) = head {
                assert_eq!(source.find(&head, ID_BYTES_MAX), found, "the order of lines counts");
            }
        });
    });
}

fn request(source: &UserSource, lines: &[u8]) -> Vec<u8> {
    match source {
        UserSource::Query(_) => [b"GET /?", lines, b" HTTP/1.1\r\nhost: a\r\n\r\n"].concat(),
        _ => super::request(lines),
    }
}

/// A slow reading: every pair of every line, by name.
fn check_cookie(source: &UserSource, head: &Head<'_>, found: &User<'_>) {
    let UserSource::Cookie(name) = source else { return };
    let mut ids = Vec::new();
    for line in head.all("cookie") {
        for pair in line.split(|b| *b == b';') {
            let Some(equals) = pair.iter().position(|b| *b == b'=') else { continue };
            if pair[..equals].trim_ascii() == name.as_bytes() {
                let value = pair[equals + 1..].trim_ascii();
                let bare = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\""));
                ids.push(bare.unwrap_or(value));
            }
        }
    }
    ids.retain(|id| !id.is_empty());
    ids.dedup();
    let expected = match &ids[..] {
        [] => User::Nobody,
        [id] if id.len() <= ID_BYTES_MAX => User::Id((*id).into()),
        [_] => User::Unacceptable(Unusable::LongId),
        _ => User::Unacceptable(Unusable::TwoIds),
    };
    // A name with `=` in it can be read in two ways; no browser sends one.
    assert!(name.contains('=') || *found == expected, "{found:?}, not {expected:?}");
}
