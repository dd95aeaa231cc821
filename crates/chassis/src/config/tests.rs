//! Claims about reading configurations.

use serde::Deserialize;

use super::Document;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Inner {
    ttl: Option<u32>,
    stale: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Route {
    path: Option<String>,
    cache: Option<Inner>,
    list: Option<Vec<u32>>,
}

#[test]
fn every_error_of_a_document_is_reported_with_line_and_key() {
    let text = "bogus = 1\n\n[[route]]\npath = 7\ncache = { ttl = \"x\", stael = 3 }\n\
                list = [1, \"two\", 3]\ncolour = \"red\"\n\n[[route]]\npath = \"/\"\ncache = 5\n";
    let mut document = Document::parse(text);
    document.known(&[], &["route"]);
    let routes: Vec<Route> = document.sections("route");
    document.wrong("route[1].path", "is taken");
    assert_eq!(routes.len(), 2);
    assert_eq!(routes[0].list.as_deref(), Some(&[1, 3][..]), "what fits is kept");
    let found: Vec<String> = document.into_problems().iter().map(ToString::to_string).collect();
    let text = found.join("\n");
    for (line, key) in [
        (1, "bogus"),
        (4, "route[0].path"),
        (5, "route[0].cache.ttl"),
        (5, "route[0].cache.stael"),
        (6, "route[0].list[1]"),
        (7, "route[0].colour"),
        (10, "route[1].path"),
        (11, "route[1].cache"),
    ] {
        assert!(text.contains(&format!("line {line}: `{key}`")), "no {line} {key} in\n{text}");
    }
    assert_eq!(found.len(), 8, "{text}");
}

#[test]
fn a_slip_of_the_hand_is_named() {
    let mut document = Document::parse("roote = 1");
    document.known(&[], &["route", "model"]);
    let problems = document.into_problems();
    assert!(problems[0].message.contains("did you mean `route`"), "{problems:?}");
}

#[test]
fn syntax_errors_have_a_line() {
    let problems = Document::parse("a = 1\nb = = 2\n").into_problems();
    assert!(problems.iter().any(|p| p.line == 2), "{problems:?}");
}

/// The messages about `[table]` with these lines.
fn messages_of<T: serde::de::DeserializeOwned + Default>(lines: &str) -> Vec<String> {
    let text = format!("[table]\n{lines}");
    let mut document = Document::parse(&text);
    let _: T = document.section("table");
    document.into_problems().into_iter().map(|problem| problem.message).collect()
}

#[test]
fn a_value_of_the_wrong_kind_is_told_in_an_operators_words() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Kinds {
        count: Option<usize>,
        window: Option<u32>,
        share: Option<f64>,
        text: Option<String>,
        switch: Option<bool>,
        list: Option<Vec<String>>,
        table: Option<Inner>,
    }
    for (line, message) in [
        ("count = \"many\"", "found the text \"many\", expected a whole number"),
        ("count = 1.5", "found the number `1.5`, expected a whole number"),
        ("count = -4", "found the number `-4`, expected a whole number of 0 or more"),
        (
            "window = 99999999999",
            "found the number `99999999999`, expected a whole number from 0 to 4294967295",
        ),
        ("share = \"x\"", "found the text \"x\", expected a number"),
        ("text = 60", "found the number `60`, expected text in quotes"),
        ("text = true", "found `true`, expected text in quotes"),
        ("switch = \"yes\"", "found the text \"yes\", expected true or false"),
        ("list = \"a\"", "found the text \"a\", expected a list such as `[ … ]`"),
        ("table = 5", "found the number `5`, expected a table such as `{ … }`"),
        ("text = {}", "found a table, expected text in quotes"),
    ] {
        assert_eq!(messages_of::<Kinds>(line), [message], "{line}");
    }
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_or_all_that_there_are() {
    assert_eq!(messages_of::<Route>("pth = 1"), ["unknown key; did you mean `path`?"]);
    assert_eq!(messages_of::<Route>("colour = 1"), ["unknown key; there are path, cache, list"]);
    assert_eq!(messages_of::<Inner>("colour = 1"), ["unknown key; there are ttl, stale"]);
}

#[test]
fn a_bare_number_is_answered_by_the_form_that_its_key_takes() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Quantities {
        ttl: Option<String>,
        wait_timeout: Option<String>,
        rollout: Option<String>,
        bytes_min: Option<String>,
        name: Option<String>,
    }
    let Quantities { ttl, wait_timeout, rollout, bytes_min, name } = Quantities::default();
    assert_eq!([ttl, wait_timeout, rollout, bytes_min, name], [const { None }; 5]);
    for (line, message) in [
        ("ttl = 60", "found the number `60`, expected a length of time, such as \"60s\""),
        ("ttl = 0.5", "found the number `0.5`, expected a length of time, such as \"500ms\""),
        ("wait_timeout = 9", "found the number `9`, expected a length of time, such as \"9s\""),
        ("rollout = 5", "found the number `5`, expected a share, such as \"5%\""),
        ("rollout = 0.25", "found the number `0.25`, expected a share, such as \"25%\""),
        ("bytes_min = 9", "found the number `9`, expected a size, such as \"9B\" or \"64MB\""),
        ("name = 60", "found the number `60`, expected text in quotes"),
        ("ttl = -1", "found the number `-1`, expected text in quotes"),
        ("rollout = 500", "found the number `500`, expected text in quotes"),
    ] {
        assert_eq!(messages_of::<Quantities>(line), [message], "{line}");
    }
}

/// What is said of a document with the section `listen` and the key `node`.
fn said_of(text: &str) -> Vec<String> {
    let mut document = Document::parse(text);
    document.known(&["node"], &["listen", "route"]);
    let listen: Route = document.section("listen");
    if listen.list.is_none() {
        document.wrong("listen.list", "is missing");
    }
    document.into_problems().iter().map(ToString::to_string).collect()
}

#[test]
fn one_mistake_is_one_error() {
    assert_eq!(
        said_of("[listen]\nlist = \"a\"\n"),
        ["line 2: `listen.list`: found the text \"a\", expected a list such as `[ … ]`"]
    );
    assert_eq!(said_of("listen = 5\n").len(), 1);
    let said = said_of("[listen]\nlist = []\n[route\npath = \"/\"\nto = 1\n");
    assert_eq!(said, ["line 3: unclosed table, expected `]`"]);
    let said = said_of("[listen]\nlist = = []\n");
    assert_eq!(said.len(), 1, "{said:?}");
    let said = said_of("node = { a = 1\n\n[listen]\nlist = []\n[route]\nto = { b = 2 }\n");
    assert_eq!(said, ["line 1: the `{` is not closed; write the missing `}`, then check again"]);
}

#[test]
fn what_is_there_twice_is_named() {
    let said = said_of("[listen]\nlist = []\nlist = [1]\n");
    assert_eq!(said, ["line 3: the key `list` is there twice"]);
    let said = said_of("[listen]\nlist = []\n[route]\n[listen]\n");
    assert_eq!(said, ["line 4: the section `listen` is there twice"]);
}

#[test]
fn a_value_without_quotes_is_shown_with_them() {
    let said = said_of("node = web-1\n[listen]\nlist = []\n");
    assert_eq!(said, ["line 1: write text in quotes: \"web-1\""]);
    assert_eq!(said_of("node =\n[listen]\nlist = []\n"), ["line 1: the value is missing"]);
    for value in [
        "127.0.0.1",
        "127.0.0.1:8080",
        "10.0.0.0/8",
        "[::1]:80",
        "::1",
        "2001:db8::1",
        "2001:db8::/32",
        "10s",
        "1h30m",
        "8MB",
        "50%",
        "+5s",
    ] {
        for (text, line) in [
            (format!("node = {value} # here\n[listen]\nlist = []\n"), 1),
            (format!("node = \"x\"\n[listen]\nlist = [\n  1,\n  {value},\n]\n"), 5),
        ] {
            // In a list this is a list in the list.
            if line == 1 || !value.starts_with('[') {
                let said = said_of(&text);
                let expected = format!("line {line}: write text in quotes: \"{value}\"");
                assert_eq!(said, [expected], "{text}");
            }
        }
    }
    // What is meant as a number is one.
    let said = said_of("node = 1__0\n[listen]\nlist = []\n");
    assert_eq!(said, ["line 1: `_` may only go between digits"]);
}

#[test]
fn a_key_at_the_top_is_not_called_a_section() {
    let rest = "[listen]\nlist = []\n";
    assert_eq!(
        said_of(&format!("colour = 1\n{rest}")),
        ["line 1: `colour`: unknown key; there are the sections listen, route; keys: node"]
    );
    assert_eq!(
        said_of(&format!("{rest}[colour]\n")),
        ["line 3: `colour`: unknown section; there are the sections listen, route; keys: node"]
    );
    let said = said_of(&format!("nod = 1\n{rest}"));
    assert_eq!(said, ["line 1: `nod`: unknown key; did you mean `node`?"]);
}

#[test]
fn a_key_of_gunicorn_is_answered_by_the_one_that_does_the_same() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Pool {
        requests_max: Option<u32>,
    }
    assert!(Pool::default().requests_max.is_none());
    let said = messages_of::<Pool>("max_requests = 50");
    assert_eq!(said, ["unknown key; did you mean `requests_max`?"]);
    assert_eq!(messages_of::<Pool>("backlog = 50"), ["unknown key; there is only requests_max"]);
}

#[test]
fn an_error_below_a_heading_of_its_own_hides_no_other() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        ttl: Option<String>,
    }
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Outer {
        path: Option<String>,
        cache: Option<Inner>,
        backend: Vec<Inner>,
    }
    let text = "[[route]]\npath = 7\n[route.cache]\nttl = 8\nstael = \"1s\"\n\
                [[route.backend]]\nttl = 9\n[[route.backend]]\ntoo = 1\n[[route]]\ncache.ttl = 5\n";
    let mut document = Document::parse(text);
    let read: Vec<Outer> = document.sections("route");
    assert!(read[0].path.is_none() && read[0].backend.len() == 2 && read[0].cache.is_some());
    let keys: Vec<(usize, String)> =
        document.into_problems().into_iter().map(|problem| (problem.line, problem.key)).collect();
    let expected = [
        (2, "route[0].path"),
        (4, "route[0].cache.ttl"),
        (5, "route[0].cache.stael"),
        (7, "route[0].backend[0].ttl"),
        (9, "route[0].backend[1].too"),
        (11, "route[1].cache.ttl"),
    ];
    assert_eq!(keys, expected.map(|(line, key)| (line, key.to_owned())));
}

#[test]
fn a_text_without_its_end_is_told_once_and_what_follows_from_it_is_not() {
    for line in [
        "cache = { ttl = \"10s }",
        "path = \"/x",
        "list = [1, \"b]",
        "path = '/x",
        "cache = { ttl = \"10s, stale = \"5m\" }",
    ] {
        let text = format!("[[route]]\n{line}\n\n[[route]]\npath = \"/y\"\nlist = [7]\n");
        let mut document = Document::parse(&text);
        document.known(&[], &["route"]);
        let _: Vec<Route> = document.sections("route");
        let problems = document.into_problems();
        assert_eq!(problems.len(), 1, "{line}: {problems:?}");
        assert_eq!(problems[0].line, 2);
        assert!(problems[0].message.starts_with("a text does not end on its line"), "{problems:?}");
    }
}
