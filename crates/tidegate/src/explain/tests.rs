//! Claims about questions on their way to the admin listener.

use gateway::ExplainRequest;

use super::{form, read_form};

#[test]
fn a_question_arrives_as_it_was_asked() {
    let question = ExplainRequest {
        url: "http://a.test/x?q=1&r=%20".to_owned(),
        method: "POST".to_owned(),
        user: Some("ä&=+ \u{7f}".to_owned()),
        fields: vec![
            ("Accept".to_owned(), "text/html, */*".to_owned()),
            ("x".to_owned(), "a: b".to_owned()),
        ],
        client: Some("2001:db8::1".parse().unwrap()),
        falls_back: false,
    };
    assert_eq!(read_form(&form(&question)).unwrap(), question);
}

#[test]
fn a_question_without_a_url_or_with_an_unknown_or_doubled_part_is_refused() {
    for (query, reason) in [
        ("", "name what to explain"),
        ("user=1", "name what to explain"),
        ("url=/&colour=red", "no parameter `colour`"),
        ("url=/&from=here", "`here` is no address"),
        ("url=/&header=x", "`x` is no header"),
        ("url=%ff", "`url` is not UTF-8"),
        ("url=/a&url=/b", "`url` is given twice"),
        ("url=/a&user=1&user=1", "`user` is given twice"),
        ("url=/a&method=GET&method=", "`method` is given twice"),
        ("from=127.0.0.1&url=/a&from=127.0.0.2", "`from` is given twice"),
    ] {
        let error = read_form(query).unwrap_err();
        assert!(error.contains(reason), "{query}: {error}");
    }
}
