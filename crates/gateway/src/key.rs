//! The cache key of a request.
//!
//! Invariant: it holds scheme, host, path and query, the target's arm, and the user when the answer
//! is the user's own; so nothing that changes the answer is left out, and the host never is
//! (CVE-2026-2836 in another proxy). Parts are separated by a line break, which none can hold.

use chassis::http::Head;

use crate::cache::KeyBytes;
use crate::plan::Route;
use crate::user::UserSource;

/// The key of a request's answer; `user` when it is to be the user's own.
pub fn of(route: &Route, head: &Head<'_>, arm: usize, user: Option<&[u8]>) -> KeyBytes {
    let mut key = KeyBytes::from_slice(b"http\n");
    key.extend(head.host().bytes().map(|b| b.to_ascii_lowercase()));
    key.push(b'\n');
    match user_field(route) {
        Some(name) if user.is_none() => {
            key.extend_from_slice(without_field(head.path_and_query(), name).as_bytes());
        }
        _ => key.extend_from_slice(head.path_and_query().as_bytes()),
    }
    if arm > 0 {
        key.push(b'\n');
        key.push(arm as u8);
    }
    if let Some(user) = user {
        key.extend_from_slice(b"\nuser=");
        // Ids may hold any byte: their length keeps them apart from what follows.
        key.extend_from_slice(&(user.len() as u32).to_le_bytes());
        key.extend_from_slice(user);
    }
    key
}

/// The query field that holds the user id, when the route takes it from there.
pub fn user_field(route: &Route) -> Option<&str> {
    match route.personalise.as_ref().map(|p| &p.user) {
        Some(UserSource::Query(name)) => Some(name),
        _ => None,
    }
}

/// A target without one of its query fields.
pub fn without_field(target: &str, name: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| exchange::query_value(pair.as_bytes(), name).is_none())
        .collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}
