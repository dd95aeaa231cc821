//! Keeps caches between here and the client from sharing a response for one user.
//!
//! An origin may say `public` of a response to a request with a user id, because its page is the
//! same for everybody without one. A CDN in front would then give one user's page to all.
//! Invariant: what leaves has `private` and no directive for shared caches (RFC 9111 §5.2.2.7,
//! §5.2.2.10), in no field that they read (RFC 9213). Lifetimes for the client's own cache stay.
//! `personalise.cache_control = "origin"` leaves the fields to the origin (`deliver`). Never here:
//! whether this cache stores it (`freshness`).

use http1::FieldLines;

use crate::freshness::each_directive;

/// Directives that make a shared cache store a response, or only speak to one.
const SHARED: [&[u8]; 4] = [b"public", b"s-maxage", b"proxy-revalidate", b"must-understand"];

/// Makes the fields of a response those of a response for one user.
pub(super) fn keep(headers: &mut FieldLines) {
    let mut line = b"private".to_vec();
    for sent in headers.all("cache-control") {
        each_directive(sent, |name, value| {
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            if !name.is_empty() && !is(b"private") && !SHARED.iter().any(|shared| is(shared)) {
                line.extend_from_slice(b", ");
                line.extend_from_slice(name);
                if let Some(value) = value {
                    line.push(b'=');
                    line.extend_from_slice(value);
                }
            }
        });
    }
    headers.retain(|name| !(name.ends_with(b"cdn-cache-control") || name == b"surrogate-control"));
    headers.insert("cache-control", &line);
}

#[cfg(test)]
mod tests;
