//! Tests of the module `filter`.

use super::*;
use crate::frame::SessionClient;

fn session(user: &str, state: &str, since_us: i64) -> PgSession {
    PgSession {
        client: SessionClient { user: user.to_owned(), ..SessionClient::default() },
        state: state.to_owned(),
        state_change_us: Some(since_us),
        query: "SELECT 1 FROM shelf".to_owned(),
        ..PgSession::default()
    }
}

#[test]
fn a_word_is_the_whole_field_and_slashes_make_a_regular_expression() {
    let selects = |text: &str| {
        let user = FieldMatch::parse(text).unwrap();
        let filter = SessionFilter { user, ..SessionFilter::default() };
        filter.selects(&session("reader", "active", 0), 1)
    };
    assert!(selects("") && selects("reader") && selects("/^read/") && selects("/ead"));
    assert!(!selects("read") && !selects("/^ead/"));
    assert!(FieldMatch::parse("/(/").is_err());
}

#[test]
fn age_idleness_and_text_choose_too() {
    let mut filter = SessionFilter { age_s: Some(2.0), ..SessionFilter::default() };
    assert!(filter.selects(&session("a", "idle", 1_000_000), 3_000_000));
    assert!(!filter.selects(&session("a", "idle", 1_000_001), 3_000_000));
    filter.shows_idle = false;
    assert!(!filter.selects(&session("a", "idle", 0), 3_000_000));
    filter.text = FieldMatch::parse("shelf").unwrap();
    assert!(filter.selects(&session("a", "idle in transaction", 0), 3_000_000));
    assert_eq!(filter.shown(), "text=shelf age>=2s no idle");
}
