//! Claims about the readings of a path.

use super::{canonical, has_dot_segment, readings};

fn leads_out(path: &str) -> bool {
    readings(canonical(path).as_bytes())
        .is_none_or(|readings| readings.iter().any(|reading| has_dot_segment(reading)))
}

#[test]
fn a_path_with_a_dot_segment_in_any_spelling_leads_out() {
    for path in [
        "/a/../b",
        "/a/./b",
        "/..",
        "/.",
        "/a/%2e%2e/b",
        "/a/%2E./b",
        "/a/..%2fb",
        "/a%2f..%2Fb",
        "/a/..%5cb",
        "/a\\..\\b",
        "/a/..;/b",
        "/a/..;x=1/b",
        "/a/%2e%2e%3b/b",
        "/a/%252e%252e/b",
        "/a%252f..%252fb",
        "/a/%252e%252e%252fb",
        "/a/..%00x/b",
        "/a/%25252525252e./b",
    ] {
        assert!(leads_out(path), "{path}");
    }
    for path in [
        "/",
        "/a",
        "/a.b/c..d/...",
        "//a",
        "/a//b",
        "/group%2Fname",
        "/a%20b",
        "/a;v=1.0/b",
        "/%",
        "/a%2",
        "/100%25",
        "/a%3fb=..",
        "/.well-known/x",
        "/..a/b",
    ] {
        assert!(!leads_out(path), "{path}");
    }
}

#[test]
fn only_escapes_of_unreserved_characters_are_decoded_for_routes() {
    for (path, expected) in [
        ("/%70h/me", "/ph/me"),
        ("/%7Euser/%2D%5f%2e", "/~user/-_."),
        ("/a%2Fb%20c%3B", "/a%2Fb%20c%3B"),
        ("/%2570", "/%2570"),
        ("/%", "/%"),
        ("/%7", "/%7"),
        ("/%zz%41", "/%zzA"),
        ("/%C3%A9", "/%C3%A9"),
        ("/é%41", "/éA"),
    ] {
        assert_eq!(canonical(path), expected);
    }
}

#[test]
fn the_readings_of_a_path_are_those_of_known_servers() {
    let read = |path: &str| -> Vec<String> {
        let readings = readings(path.as_bytes()).unwrap();
        readings.into_iter().map(|reading| String::from_utf8(reading).unwrap()).collect()
    };
    assert_eq!(read("/plain/path"), ["/plain/path"]);
    assert_eq!(read("/ph;a/me"), ["/ph/me", "/ph;a/me"]);
    assert_eq!(read("/ph\\me"), ["/ph/me", "/ph\\me"]);
    assert_eq!(read("//a"), ["//a", "/a"]);
    assert_eq!(read("/a%2fb"), ["/a%2fb", "/a/b"]);
    assert_eq!(read("/a%00b"), ["/a", "/a\0b", "/a%00b"]);
    assert_eq!(read("/a%253fb"), ["/a", "/a%253fb", "/a%3fb", "/a?b"]);
}

#[test]
fn a_path_made_for_many_readings_is_given_up_on() {
    let path = "/%25252525253b%252525255c%2525252f%25252f%2525003b".repeat(4);
    assert!(readings(path.as_bytes()).is_none_or(|readings| readings.len() <= super::READINGS_MAX));
    let long = "/%25".repeat(20_000);
    assert!(readings(long.as_bytes()).is_some());
}
