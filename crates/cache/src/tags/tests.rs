//! Claims about reading tags.

use super::{Tags, fingerprint};
use http1::FieldLines;

fn tags(fields: &[(&str, &str)]) -> Tags {
    let mut headers: FieldLines = fields.iter().copied().collect();
    let found = Tags::of(&headers);
    Tags::strip(&mut headers);
    assert!(headers.is_empty(), "{headers:?}");
    found
}

fn of(names: &[&str]) -> Tags {
    Tags::from_fingerprints(names.iter().map(|name| fingerprint(name.as_bytes())).collect())
}

#[test]
fn both_fields_fill_one_set_each_with_its_own_separator() {
    assert_eq!(tags(&[("surrogate-key", "a b/1  c")]), of(&["a", "b/1", "c"]));
    assert_eq!(tags(&[("cache-tag", "a, b c ,,d")]), of(&["a", "b c", "d"]));
    let both = [("surrogate-key", "a b"), ("surrogate-key", "c"), ("cache-tag", "b,d")];
    assert_eq!(tags(&both), of(&["a", "b", "c", "d"]));
    assert_eq!(tags(&[]), Tags::default());
    assert!(tags(&[("cache-tag", " , ")]).is_empty());
}

#[test]
fn case_counts() {
    assert_ne!(tags(&[("cache-tag", "News")]), tags(&[("cache-tag", "news")]));
}
