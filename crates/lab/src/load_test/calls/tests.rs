//! Requests as written in files.

use std::path::Path;

use super::{CallDefaults, Calls, header};

fn read(defaults: CallDefaults, text: &str) -> Result<Vec<String>, String> {
    let mut calls = Calls::new(defaults);
    calls
        .parse(text, "targets.txt", Path::new("."))
        .map_err(|error| stdx::Chain(&error).to_string())?;
    let texts = calls.all().iter().map(|call| String::from_utf8(call.bytes.clone()).unwrap());
    Ok(texts.collect())
}

#[test]
fn a_line_is_a_url() {
    let calls =
        read(CallDefaults::default(), "http://127.0.0.1:81/a\n\n# b\nhttp://127.0.0.1:81/c");
    let expected =
        ["/a", "/c"].map(|path| format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n"));
    assert_eq!(calls.unwrap(), expected);
}

#[test]
fn reads_the_targets_of_vegeta() {
    let dir = testkit::TempDir::new().unwrap();
    std::fs::write(dir.path().join("body.json"), "{}").unwrap();
    std::fs::write(
        dir.path().join("targets.txt"),
        "GET http://127.0.0.1:81/a\nX-Account: 8675309\nPUT http://127.0.0.1:81/b\n\n\
         X-Confirm: yes\n@body.json\n\nDELETE http://127.0.0.1:81/c\n",
    )
    .unwrap();
    let mut calls = Calls::new(CallDefaults::default());
    calls.read(&dir.path().join("targets.txt")).unwrap();
    let text = |number: usize| String::from_utf8(calls.all()[number].bytes.clone()).unwrap();
    assert_eq!(text(0), "GET /a HTTP/1.1\r\nHost: 127.0.0.1:81\r\nX-Account: 8675309\r\n\r\n");
    assert!(text(1).starts_with("PUT /b HTTP/1.1\r\n"), "{}", text(1));
    assert!(text(1).ends_with("X-Confirm: yes\r\nContent-Length: 2\r\n\r\n{}"), "{}", text(1));
    assert_eq!(calls.all()[2].name, "DELETE http://127.0.0.1:81/c");
}

#[test]
fn reads_the_json_targets_of_vegeta() {
    let line =
        r#"{"method":"POST","url":"http://127.0.0.1/","body":"aGk=","header":{"X":["1","2"]}}"#;
    let calls = read(CallDefaults::default(), line).unwrap();
    let expected =
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: 1\r\nX: 2\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(calls, [expected]);
}

#[test]
fn defaults_hold_where_a_call_says_nothing() {
    let defaults = CallDefaults {
        headers: vec![header("Accept: a").unwrap(), header("Host: news.example").unwrap()],
        body: b"x".to_vec(),
        base: Some("http://127.0.0.1:81".to_owned()),
        ..CallDefaults::default()
    };
    let calls = read(defaults, "/a\nPATCH /b\nAccept: b").unwrap();
    assert_eq!(
        calls,
        [
            "POST /a HTTP/1.1\r\nHost: news.example\r\nAccept: a\r\nContent-Length: 1\r\n\r\nx",
            "PATCH /b HTTP/1.1\r\nHost: news.example\r\nAccept: b\r\nContent-Length: 1\r\n\r\nx",
        ]
    );
}

#[test]
fn a_bad_line_is_named_with_its_place() {
    for (text, reason) in [
        ("http://127.0.0.1/\nnonsense", "`nonsense` is no header"),
        ("X: 1\n", "no target above it"),
        ("\nh2://127.0.0.1/", "also over TLS"),
        ("GET http://127.0.0.1/\n@missing.json", "read `./missing.json`"),
        ("\n{\"method\": 1}", "no target: "),
        (r#"{"method":"GET","url":"http://127.0.0.1/","body":"!"}"#, "no base64"),
    ] {
        let error = read(CallDefaults::default(), text).unwrap_err();
        assert!(error.starts_with("read `targets.txt`, line "), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_header_cannot_smuggle_another() {
    assert!(header("A: b\r\nC: d").is_err());
    assert!(header("A b: c").is_err());
    assert_eq!(header("A:  b ").unwrap(), ("A".to_owned(), "b".to_owned()));
}
