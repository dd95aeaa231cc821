//! Claims about routes that no request comes to.

use chassis::config::Document;

use crate::pattern::{Match, Pattern};
use crate::plan::{ModelNames, Plan, Sections};

/// The pairs of hidden and hiding routes of a configuration, each route being its lines.
fn hidden(routes: &[&str]) -> Vec<(usize, usize)> {
    let text: String =
        routes.iter().map(|lines| format!("[[route]]\nto = \"models\"\n{lines}\n")).collect();
    let mut document = Document::parse(&text);
    let sections = Sections {
        routes: document.sections("route"),
        cache: document.section("cache"),
        limits: document.section("limits"),
        ..Sections::default()
    };
    let plan = Plan::check(sections, ModelNames::default(), &mut document);
    assert!(document.into_problems().is_empty(), "{text}");
    plan.hidden_routes()
}

#[test]
fn a_route_behind_one_that_takes_all_is_hidden() {
    let all = "path = \"/{*rest}\"";
    assert_eq!(hidden(&[all, "path = \"/a\"", "path = \"/b/{id}\""]), [(1, 0), (2, 0)]);
    assert_eq!(hidden(&["path = \"/a\"", all]), []);
    assert_eq!(hidden(&["path = \"/a/{*rest}\"", "path = \"/a\"", "path = \"/b\""]), [(1, 0)]);
    assert_eq!(hidden(&["path = \"/a/{id}\"", "path = \"/a/b\"", "path = \"/a/b/c\""]), [(1, 0)]);
}

#[test]
fn the_same_route_twice_is_hidden_once() {
    let same = "path = \"/a/{id:x|y}\"\nhost = \"a.example\"\nmethods = [\"GET\"]";
    assert_eq!(hidden(&[same, same]), [(1, 0)]);
}

#[test]
fn a_route_that_some_request_reaches_is_not_hidden() {
    let own = "path = \"/a\"";
    for earlier in [
        "path = \"/a\"\nwhen = 'query.x == \"1\"'",
        "path = \"/a\"\nhost = \"a.example\"",
        "path = \"/a\"\nmethods = [\"GET\"]",
        "path = \"/a/{*rest}\"\nif_healthy = true\nmethods = [\"POST\"]",
        "path = \"/a/{id}\"",
    ] {
        assert_eq!(hidden(&[earlier, own]), [], "{earlier}");
    }
    let empty_segment = "path = \"/\"";
    assert_eq!(hidden(&["path = \"/{id}\"", empty_segment]), [], "a capture is not empty");
}

#[test]
fn a_route_whose_values_an_earlier_one_forbids_is_hidden() {
    for (earlier, own) in [
        ("/{x:b|c}", "/a"),
        ("/list.{format:json}", "/list.{format:csv}"),
        ("/list.{format:json}", "/list.csv"),
        ("/list.{format:json}", "/list"),
        ("/{name}.{format:json}", "/list.csv"),
        ("/{name}.{format:json}", "/{id}.{format:csv}"),
        ("/a-{x:1|2}", "/a-b{y}"),
    ] {
        let routes = [earlier, own].map(|path| format!("path = \"{path}\""));
        assert_eq!(hidden(&[&routes[0], &routes[1]]), [(1, 0)], "{earlier} {own}");
        let (earlier, own) = (Pattern::parse(earlier).unwrap(), own.replace(['{', '}'], ""));
        assert_ne!(earlier.matches(&own), Match::No, "{own}");
    }
    for (earlier, own) in [
        ("/list.{format:json}", "/list.tar.gz"),
        ("/list.{format:json}", "/lists"),
        ("/{name}.{format:json}", "/{id}"),
        ("/{name}.{format:json}", "/.csv"),
        ("/a-{x:1|2}", "/a-"),
        ("/a", "/{x:a}"),
    ] {
        let routes = [earlier, own].map(|path| format!("path = \"{path}\""));
        assert_eq!(hidden(&[&routes[0], &routes[1]]), [], "{earlier} {own}");
    }
}
