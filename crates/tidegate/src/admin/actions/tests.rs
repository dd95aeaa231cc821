//! Claims about how actions are named, shown and worded.

use chassis::admin::Page;

use super::{body_of, form, named, outcome};

#[test]
fn actions_have_names_also_where_nobody_gave_them_one() {
    for (method, path, name, object) in [
        ("POST", "/purge", "purge", None),
        ("POST", "/rollout", "rollout set", None),
        ("DELETE", "/rollout", "rollout clear", None),
        ("POST", "/workers/recycle", "workers recycle", None),
        ("POST", "/v2/repository/models/news/load", "model load", Some("news")),
        ("PUT", "/new/thing", "put new thing", None),
    ] {
        assert_eq!(named(method, path), (name.to_owned(), object));
    }
}

#[test]
fn queries_forms_and_json_are_shown_as_pairs_without_secrets() {
    let shown = |text: &str| form(text).collect::<Vec<_>>();
    assert_eq!(shown("url=%2Fx%3Fa%3D1%26token%3Dt&soft"), ["url=/x?a=1&token=***", "soft"]);
    assert_eq!(shown("token=a b&url=http://u:p@h/%zz"), ["token=***", "url=http://***@h/%zz"]);
    let json = r#"{"route":"news","killed":true,"hold_out":null,"api_key":"k","to":[1,2]}"#;
    assert_eq!(
        body_of(json.as_bytes(), json),
        ["api_key=***", "killed=true", "route=news", "to=[1,2]"]
    );
    assert_eq!(body_of(b"url=/x", "url=/x"), ["url=/x"]);
}

#[test]
fn the_page_of_an_action_is_its_result() {
    let page = |status, body: &str| Page::json(status, body);
    for (name, page, text) in [
        ("purge", page(200, r#"{"purged":3,"soft":false}"#), "done, 3 entries"),
        ("purge", page(200, r#"{"purged":1}"#), "done, 1 entry"),
        ("purge", page(400, r#"{"error":"name one"}"#), "failed, 400: name one"),
        ("workers reload", page(200, r#"{"state":"reloading"}"#), "begun, reloading"),
        ("model load", page(200, ""), "done"),
        ("model load", page(500, "no JSON"), "failed, 500"),
    ] {
        assert_eq!(outcome(name, &page), text);
    }
}
