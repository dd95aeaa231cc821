//! What becomes of tags that come twice, or say nothing.

use super::{merged, split};

#[test]
fn tags_of_one_name_are_one_tag_with_all_values() {
    let (key, tags) = merged("a.b;role=x;k=v;role=y;K=w", str::to_ascii_lowercase);
    let tags: Vec<(&str, &str)> = tags.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!((key, tags), ("a.b", vec![("role", "x,y"), ("k", "v,w")]));
}

#[test]
fn tags_without_name_or_value_are_left_out() {
    let (key, tags) = split("a;=v;k=;;t;x=1=2");
    assert_eq!(key, "a");
    assert_eq!(tags.collect::<Vec<_>>(), [("t", "true"), ("x", "1=2")]);
}
