//! Claims about relative references.

use super::without_dots;

#[test]
fn dots_are_resolved_as_in_the_rfc() {
    for (target, expected) in [
        ("/a/b/c/./../../g", "/a/g"),
        ("/mid/content=5/../6", "/mid/6"),
        ("/../../g", "/g"),
        ("/b/c/.", "/b/c/"),
        ("/b/c/..", "/b/"),
        ("/b/c/g?y=./../x", "/b/c/g?y=./../x"),
    ] {
        assert_eq!(without_dots(target), expected, "{target}");
    }
}
