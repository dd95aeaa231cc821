//! Claims about the resource that a key names, and about the variants of a response.

use super::{KeyBytes, Resource, append_selecting, extend_by_variant};

#[test]
fn a_key_names_its_resource_whatever_follows() {
    for rest in ["", "\n\x01", "\nuser=\x01\0\0\0\n", "\n\n", "\n;a=b\naccept=x"] {
        let key = format!("http\na.example:81\n/x?y{rest}");
        let resource = Resource::of_key(key.as_bytes());
        assert_eq!(resource, Resource { host: b"a.example:81", target: b"/x?y" }, "{rest:?}");
    }
    assert_eq!(Resource::of_key(b"http\n\n/"), Resource { host: b"", target: b"/" });
}

/// Returns what the lines of a field append to a key that holds something already.
fn selecting(name: &str, lines: &[&str]) -> String {
    let mut key = KeyBytes::from_slice(b"key, key");
    append_selecting(name, lines.iter().map(|line| line.as_bytes()), &mut key);
    String::from_utf8(key.strip_prefix(b"key, key").unwrap().to_vec()).unwrap()
}

#[test]
fn lines_that_mean_the_same_list_select_the_same_variant_and_others_do_not() {
    for (lines, value) in [
        (&[][..], ""),
        (&[""], "="),
        (&["a"], "=a"),
        (&["a,b"], "=a,b"),
        (&[" a ,\tb  "], "=a,b"),
        (&["a", "b"], "=a,b"),
        (&["b, a"], "=b,a"),
        (&["a b"], "=a b"),
        (&["A"], "=A"),
        (&["a,,b"], "=a,,b"),
    ] {
        assert_eq!(selecting("accept", lines), value, "{lines:?}");
    }
}

#[test]
fn languages_select_by_what_is_wanted_whatever_their_order_and_case() {
    for lines in
        [&["de-AT, en;q=0.5, fr"][..], &["fr,EN;q=0.5 , De-at"], &["fr", "de-at, en;q=0.5"]]
    {
        assert_eq!(selecting("accept-language", lines), "=de-at,en;q=0.5,fr");
    }
    for (lines, value) in
        [(&[][..], ""), (&[""], "="), (&["de"], "=de"), (&["a, bb, ccc", "b"], "=a,b,bb,ccc")]
    {
        assert_eq!(selecting("accept-language", lines), value);
    }
}

#[test]
fn codings_select_by_their_class() {
    let class = |value: &str| selecting("accept-encoding", &[value]);
    assert_eq!(class("gzip, br"), class("br ,gzip"));
    assert_eq!(class("gzip;q=0"), class("identity"));
    let classes = ["", "gzip", "br", "gzip, br"].map(class);
    assert!(!classes[1].contains('='), "{classes:?}");
    assert_ne!(classes[0], classes[1]);
    assert_ne!(class("gzip, deflate, br, zstd"), classes[1]);
}

#[test]
fn a_key_is_extended_by_each_name_and_its_value_in_turn() {
    let mut key = KeyBytes::from_slice(b"http\na\n/");
    let names = ["accept".into(), "x-empty".into(), "x-none".into()];
    extend_by_variant(&mut key, &names, |name, key| {
        let lines = match name {
            "accept" => &[&b"a/b"[..]][..],
            "x-empty" => &[&b""[..]],
            _ => &[],
        };
        append_selecting(name, lines.iter().copied(), key);
    });
    assert_eq!(&*key, b"http\na\n/\naccept=a/b\nx-empty=\nx-none");
}
