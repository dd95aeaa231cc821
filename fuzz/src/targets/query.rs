//! Query values: decoded as the URL standard says (`application/x-www-form-urlencoded`), and a
//! target without a field holds it no more.

use exchange::query_value;
use gateway::fuzzing::without_field;

pub(super) const TOKENS: &[&str] =
    &["a=", "&a=1", "%61=", "+", "%2", "%zz", "%25", "&&", "b=2&a", "?"];

/// The first line is the name.
pub(super) fn run(input: &[u8]) {
    let (name, query) = super::settings(input);
    let Ok(name) = std::str::from_utf8(name) else { return };
    let found = query_value(query, name);
    let expected = query.split(|b| *b == b'&').find_map(|pair| {
        let equals = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
        let value = pair.get(equals + 1..).unwrap_or_default();
        (decoded(&pair[..equals]) == name.as_bytes()).then(|| decoded(value))
    });
    assert_eq!(found.as_deref(), expected.as_deref());
    let Ok(text) = std::str::from_utf8(query) else { return };
    let target = format!("/path?{text}");
    let without = without_field(&target, name);
    let left = without.split_once('?').map_or("", |(_, query)| query);
    assert!(
        left.split('&').all(|pair| left.is_empty() || query_value(pair.as_bytes(), name).is_none()),
        "`{name}` is still in `{without}`"
    );
    assert_eq!(without_field(&without, name), without, "a second time changes more");
}

fn decoded(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let digit = |at: usize| raw.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (raw[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        at += 1;
    }
    out
}
