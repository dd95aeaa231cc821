//! Claims about the fields of a response for one user.

use http1::FieldLines;

use super::keep;

fn kept(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut headers = FieldLines::default();
    lines.iter().for_each(|(name, value)| headers.append(name, value.as_bytes()));
    keep(&mut headers);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    headers.iter().map(|(name, value)| (text(name), text(value))).collect()
}

#[test]
fn shared_caches_are_told_to_leave_it_alone_and_the_clients_keeps_its_lifetime() {
    for (sent, left) in [
        ("public, max-age=60", "private, max-age=60"),
        ("max-age=60, s-maxage=600, must-revalidate", "private, max-age=60, must-revalidate"),
        ("no-store", "private, no-store"),
        ("Private=\"set-cookie, x\", Public", "private"),
        ("no-cache=\"a, public\", S-MaxAge = 5", "private, no-cache=\"a, public\""),
        ("a=\"\\\"\", public", "private, a=\"\\\"\""),
        ("", "private"),
    ] {
        let found = kept(&[("cache-control", sent), ("x", "y")]);
        let line = found.iter().find(|(name, _)| name == "cache-control");
        assert_eq!(line.map(|(_, value)| &**value), Some(left), "{sent}");
        assert_eq!(found.len(), 2);
    }
}

#[test]
fn fields_for_shared_caches_are_dropped() {
    let found = kept(&[
        ("cdn-cache-control", "max-age=60"),
        ("cloudflare-cdn-cache-control", "max-age=60"),
        ("surrogate-control", "max-age=60"),
        ("etag", "\"1\""),
    ]);
    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["etag", "cache-control"]);
}
