//! Claims about lists of nginx.

use super::*;

#[test]
fn a_list_ends_where_its_values_do_and_nothing_else_is_one() {
    let length = |text: &str| length(text.as_bytes(), b" ", "upstream_response_time");
    assert_eq!(length("0.1 x"), Some(3));
    assert_eq!(length("0.1, 0.2 : - x"), Some(12));
    assert_eq!(length("- x"), Some(1));
    for text in ["0.1, x", "0.1,0.2 x", "a x", "0.1, ", ""] {
        assert_eq!(length(text), None, "{text}");
    }
}

#[test]
fn a_key_of_lists_is_a_list_and_its_choice_one_that_it_has() {
    let parse = |name: &str, choice: &str| {
        ListChoices::parse(&[(name.to_owned(), choice.to_owned())].into())
    };
    assert!(parse("upstream_response_time", "sum").is_ok());
    assert!(parse("upstream_addr", "sum").is_err());
    assert!(parse("request_time", "last").is_err());
    assert!(parse("upstream_addr", "first").is_err());
}

#[test]
fn the_last_value_the_sum_or_all_of_a_list_is_taken() {
    let taken = |text: &str, choice| {
        let taken = chosen(Cow::Borrowed(text.as_bytes()), choice);
        taken.map(|taken| String::from_utf8(taken.into_owned()).unwrap())
    };
    for (text, last, sum) in [
        ("0.1, 0.25", Some("0.25"), Some("0.35")),
        ("1 : 2, 3", Some("3"), Some("6")),
        ("1, 2 : 3", Some("3"), Some("6")),
        ("0.5, -", None, Some("0.5")),
        ("-, 0.5 : -, 7", Some("7"), Some("7.5")),
        ("-, -", None, None),
        ("0.9, 0.1", Some("0.1"), Some("1.0")),
        ("0.0000000019, 1", Some("1"), Some("1.000000001")),
        ("1.25, 10", Some("10"), Some("11.25")),
        ("12345678901, 1", Some("1"), Some("12345678902")),
        ("1.x, 2", Some("2"), None),
        ("x, 2", Some("2"), None),
    ] {
        assert_eq!(taken(text, ListChoice::Last).as_deref(), last, "{text}");
        assert_eq!(taken(text, ListChoice::Sum).as_deref(), sum, "{text}");
        assert_eq!(taken(text, ListChoice::All).as_deref(), Some(text));
    }
    for alone in ["0.25", "-", "unix:/a", "a,b"] {
        for choice in [ListChoice::Last, ListChoice::Sum, ListChoice::All] {
            assert_eq!(taken(alone, choice).as_deref(), Some(alone), "it is no list");
        }
    }
}

#[test]
fn values_are_numbers_or_addresses_and_what_follows_ends_the_list() {
    let time =
        |text: &str, next: &str| length(text.as_bytes(), next.as_bytes(), "upstream_response_time");
    for (text, next, end) in [
        ("0.1", "", Some(3)),
        ("0.1, 0.2", "", Some(8)),
        ("0.1, 0.2 x", "", None),
        ("0.1, 0.2\"x", "\"", Some(8)),
        ("0.1, 0.2", "\"", None),
        ("0.1 : 0.2 : end", " : end", Some(9)),
        ("1.2.3 x", " ", None),
        (". x", " ", None),
        ("1x x", " ", None),
        ("1. x", " ", Some(2)),
        (" x", " ", Some(0)),
        ("", "", Some(0)),
        (", 1", "", None),
        ("1, , 2 x", " ", None),
        ("12x3 x", "x", Some(2)),
    ] {
        assert_eq!(time(text, next), end, "{text:?} before {next:?}");
    }
    let address = |text: &str| length(text.as_bytes(), b" ", "upstream_addr");
    for (text, end) in [
        ("a:1, unix:/b : c x", Some(16)),
        ("- x", Some(1)),
        ("a:1,  x", None),
        ("a\"b x", None),
        ("a:1, b", None),
    ] {
        assert_eq!(address(text), end, "{text}");
    }
}

#[test]
fn sizes_and_times_are_added_up_by_default_and_of_the_others_the_last_counts() {
    let usual = ListChoices::default();
    for (name, choice) in [
        ("upstream_addr", Some(ListChoice::Last)),
        ("upstream_status", Some(ListChoice::Last)),
        ("upstream_response_time", Some(ListChoice::Sum)),
        ("upstream_bytes_sent", Some(ListChoice::Sum)),
        ("upstream_cache_status", None),
        ("request_time", None),
    ] {
        assert_eq!((usual.of(name), is_list(name)), (choice, choice.is_some()), "{name}");
    }
    let config = [("upstream_response_time".to_owned(), "last".to_owned())].into();
    let own = ListChoices::parse(&config).unwrap();
    assert_eq!(own.of("upstream_response_time"), Some(ListChoice::Last));
    assert_eq!(own.of("upstream_connect_time"), Some(ListChoice::Sum));
}
