//! Rendering of templates, their holes and their mixes.

use super::{Mix, Request, Requests, counter};

fn text(requests: &mut impl Requests) -> String {
    let mut out = Vec::new();
    requests.next(&mut out);
    String::from_utf8(out).expect("requests of these tests are text")
}

#[test]
fn renders_head_body_and_length() {
    let mut template = Request::post_json("/rank", "{}").host("a").template();
    let whole = "POST /rank HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
        Content-Length: 2\r\n\r\n{}";
    assert_eq!(text(&mut template), whole);
    assert_eq!(
        text(&mut Request::get("/").template()),
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    );
}

#[test]
fn fills_a_hole_with_leading_zeros_and_comes_round() {
    let mut template =
        Request::get("/").header("Cookie", "userId=u_____").template().hole("_____", counter(9, 2));
    assert!(text(&mut template).contains("userId=u00009\r\n"));
    assert!(text(&mut template).contains("userId=u00010\r\n"));
    assert!(text(&mut template).contains("userId=u00009\r\n"));
}

#[test]
fn interleaves_templates_by_weight() {
    let mut mix =
        Mix::new([(2, Request::get("/a").template()), (1, Request::get("/b").template())]);
    let order: String = (0..6).map(|_| text(&mut mix).as_bytes()[5] as char).collect();
    assert_eq!(order, "abaaba");
}

#[test]
fn knows_that_a_head_request_has_no_body() {
    let ask = Request::new("HEAD", "/").template().next(&mut Vec::new());
    assert!(ask.head);
}
