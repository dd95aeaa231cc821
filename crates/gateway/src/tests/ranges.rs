//! Claims about ranges of stored responses.

use testkit::{Origin, OriginReply};

use super::{assert_hit, before};

fn digits() -> Origin {
    Origin::start(|_| {
        OriginReply::ok("0123456789").header("Cache-Control", "max-age=60").header("ETag", "\"a\"")
    })
}

#[test]
fn a_part_is_cut_from_the_stored_body_also_on_the_first_request() {
    let origin = digits();
    let served = before(&origin, "cache = {}");
    for (range, expected) in [("bytes=2-4", "234"), ("bytes=7-", "789"), ("bytes=-1", "9")] {
        let reply = served.get_with("/", &[("Range", range)]);
        assert_eq!((reply.status, reply.text()), (206, expected));
        let place = format!("bytes {}-{}/10", &expected[..1], &expected[expected.len() - 1..]);
        assert_eq!(reply.header("content-range"), Some(&*place));
        assert_eq!(reply.header("content-length"), Some(&*expected.len().to_string()));
    }
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn a_part_that_does_not_exist_is_416_and_says_how_long_the_body_is() {
    let origin = digits();
    let served = before(&origin, "cache = {}");
    let reply = served.get_with("/", &[("Range", "bytes=10-")]);
    assert_eq!((reply.status, reply.text()), (416, ""));
    assert_eq!(reply.header("content-range"), Some("bytes */10"));
}

#[test]
fn parts_of_what_cannot_be_stored_are_asked_for_themselves() {
    let origin = Origin::start(|request| match request.header("range") {
        Some(_) => OriginReply::status(206).body("56").header("Content-Range", "bytes 5-6/10"),
        None => OriginReply::ok("0123456789").header("Cache-Control", "no-store"),
    });
    let served = before(&origin, "cache = {}");
    let first = served.get_with("/", &[("Range", "bytes=5-6")]);
    assert_eq!((first.status, first.text()), (200, "0123456789"));
    let second = served.get_with("/", &[("Range", "bytes=5-6")]);
    assert_eq!((second.status, second.text()), (206, "56"));
}

#[test]
fn several_parts_or_other_units_get_the_whole_body() {
    let origin = digits();
    let served = before(&origin, "cache = {}");
    for range in ["bytes=0-1,4-5", "items=0-1", "bytes=5-1", "bytes=x-1"] {
        let reply = served.get_with("/", &[("Range", range)]);
        assert_eq!((reply.status, reply.text()), (200, "0123456789"), "{range}");
    }
    let twice = served.get_with("/", &[("Range", "bytes=0-1"), ("Range", "bytes=2-3")]);
    assert_eq!(twice.status, 200);
}

#[test]
fn a_part_of_another_version_is_never_given() {
    let origin = digits();
    let served = before(&origin, "cache = {}");
    served.get("/");
    for (condition, status) in
        [("\"a\"", 206), ("\"b\"", 200), ("W/\"a\"", 200), ("Thu, 01 Jan 1970 00:00:00 GMT", 200)]
    {
        let reply = served.get_with("/", &[("Range", "bytes=0-0"), ("If-Range", condition)]);
        assert_hit(&reply);
        assert_eq!(reply.status, status, "{condition}");
    }
    let known = served.get_with("/", &[("Range", "bytes=0-0"), ("If-None-Match", "\"a\"")]);
    assert_eq!((known.status, known.text()), (304, ""));
}
