//! Claims about reading what is to be purged.

use chassis::admin::Visit;
use gateway::PurgeRequest;

use super::wanted;

fn read(query: &str, body: &str) -> Result<PurgeRequest, String> {
    wanted(&Visit { path: "/purge", query, body: body.as_bytes() })
}

#[test]
fn query_form_and_json_say_the_same() {
    let same = PurgeRequest {
        urls: vec!["http://a/x?p=1&q=2".to_owned()],
        prefixes: vec!["/n/".to_owned()],
        tags: vec!["t1".to_owned(), "t+2".to_owned()],
        all: false,
        soft: true,
    };
    let form = "url=http://a/x?p=1%26q=2&prefix=%2Fn/&tag=t1&tag=t+2&soft";
    assert_eq!(read(form, ""), Ok(same.clone()));
    assert_eq!(read("", form), Ok(same.clone()));
    let json = r#" {"urls": ["http://a/x?p=1&q=2"], "prefix": "/n/", "tags": ["t1", "t+2"],
        "soft": true}"#;
    assert_eq!(read("", json), Ok(same.clone()));
    assert_eq!(read("tag=t1&soft=1", &json.replace("\"t1\", ", "")), Ok(same));
    assert!(read("all=true", "").unwrap().all && !read("all=0", "").unwrap().all);
}

#[test]
fn what_is_not_understood_is_refused() {
    let unescaped = read("url=http://a/x?p=1&q=2", "").unwrap_err();
    assert!(unescaped.contains("`q`") && unescaped.contains("%26"), "{unescaped}");
    for wrong in ["url=%zz", "url=%f", "tag=%ff", "soft=maybe", "hard"] {
        assert!(read(wrong, "").is_err(), "{wrong}");
        assert!(read("", wrong).is_err(), "{wrong}");
    }
    for wrong in ["{\"url\": 5}", "{\"colour\": \"x\"}", "{\"tags\": "] {
        assert!(read("", wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_body_of_the_wrong_shape_is_told_what_would_fit() {
    let why = read("", "{\"url\": 5}").unwrap_err();
    assert!(why.starts_with("read the body as JSON: `url`, `prefix` and `tag` take"), "{why}");
}
