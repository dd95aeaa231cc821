//! Claims about `field`.

use super::*;

#[test]
fn every_name_parses_and_shows_itself() {
    let names = PLAIN.iter().map(|(name, _)| *name).chain(PREFIXED);
    for name in names.filter(|name| !["header.host", "header.NAME"].contains(name)) {
        assert_eq!(name.parse::<FieldName>().unwrap().to_string(), name.to_owned());
    }
}

#[test]
fn header_names_ignore_case_and_share_the_recorded_fields() {
    assert_eq!("header.User-Agent".parse(), Ok(FieldName::UserAgent));
    assert_eq!("header.HOST".parse(), Ok(FieldName::Host));
    assert_eq!("header.X-Kind".parse(), Ok(FieldName::Header("x-kind".into())));
}

#[track_caller]
fn check(name: &str, expected: &str) {
    assert_eq!(name.parse::<FieldName>().unwrap_err().to_string(), expected);
}

#[test]
fn an_unknown_name_lists_near_ones() {
    check("methud", "no field `methud`; did you mean `method`?");
    check("user_agent", "no field `user_agent`; did you mean `header.user-agent`?");
    check("phase.fetsch", "no field `phase.fetsch`; did you mean `phase.fetch`?");
    check("fetch", "no field `fetch`; did you mean `phase.fetch`?");
    check("zebra", "no field `zebra`; `query.zebra` is a field of the query");
    check("zebra.x", "no field `zebra.x`");
    check("query.", "no field `query.`; did you mean `query`?");
}

#[test]
fn names_of_other_programs_are_answered_with_ours() {
    for (elsewhere, here) in ELSEWHERE {
        here.parse::<FieldName>().unwrap();
        let error = elsewhere.parse::<FieldName>().unwrap_err().to_string();
        assert!(error.ends_with(&format!("; did you mean `{here}`?")), "{error}");
    }
}
