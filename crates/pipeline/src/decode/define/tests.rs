//! What defined fields take from lines, and which lines they refuse.

use std::sync::Arc;

use exchange::{DefinedField, DefinedKind, FieldName, Filter};

use super::FieldRule;
use crate::decode::Decoder;
use crate::decode::tests::format;

fn rule(name: &str, from: &str, pattern: &str, kind: DefinedKind) -> FieldRule {
    FieldRule {
        field: Arc::new(DefinedField { name: name.into(), kind }),
        sources: Vec::new(),
        from: from.parse().unwrap(),
        pattern: (!pattern.is_empty()).then(|| regex::bytes::Regex::new(pattern).unwrap()),
        filter: None,
        required: true,
    }
}

fn seen(rules: Vec<FieldRule>, targets: &[&str]) -> Vec<String> {
    use exchange::Fields;
    let names: Vec<_> =
        rules.iter().map(|rule| FieldName::Defined((*rule.field).clone())).collect();
    let line = |target: &&str| {
        format!("1.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"GET {target} HTTP/1.1\" 200 1\n")
    };
    let text: String = targets.iter().map(line).collect();
    let mut all = Vec::new();
    Decoder::new(&format("common"), rules.into()).each(text.as_bytes(), |_, _, outcome| {
        let value = |name| outcome.as_ref().ok()?.field(name).map(|value| value.to_string());
        all.push(match &outcome {
            Ok(_) => {
                names.iter().map(|n| value(n).unwrap_or("-".into())).collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.to_string(),
        });
    });
    all
}

#[test]
fn the_first_group_is_the_value_and_a_line_without_is_refused() {
    let rules = vec![rule("item", "path", "^/items/([0-9]+)$", DefinedKind::Integer)];
    let all = seen(rules, &["/items/42", "/items/", "/items/99999999999999999999"]);
    let refused = ["field `item` does not match", "field `item` is no whole number"];
    assert_eq!(all, ["42", refused[0], refused[1]]);
}

#[test]
fn a_query_field_is_decoded_before_it_is_matched() {
    let rules = vec![rule("name", "query.n", "^[a-z ]+$", DefinedKind::Text)];
    let all = seen(rules, &["/?n=a%20b+c", "/?n=%41", "/"]);
    assert_eq!(all, ["a b c", "field `name` does not match", "field `name` is missing"]);
}

#[test]
fn a_field_that_is_not_required_or_not_meant_for_a_line_is_absent() {
    let mut price = rule("price", "query.p", "", DefinedKind::Real);
    price.required = false;
    let mut item = rule("item", "query.i", "", DefinedKind::Integer);
    item.filter = Some(Filter::parse("path == '/play'").unwrap());
    let rules = vec![price, item];
    let all = seen(rules, &["/?p=1.5", "/?p=x&i=y", "/play?i=-3", "/play?p=1"]);
    assert_eq!(all, ["1.5 -", "- -", "- -3", "field `item` is missing"]);
}

#[test]
fn a_field_builds_on_those_before_it() {
    let kind = DefinedField { name: "kind".into(), kind: DefinedKind::Text };
    let mut second = rule("letter", "path", "^.", DefinedKind::Text);
    second.from = FieldName::Defined(kind);
    let rules = vec![rule("kind", "path", "/([^/]*)$", DefinedKind::Text), second];
    assert_eq!(seen(rules, &["/a/xyz"]), ["xyz x"]);
}
