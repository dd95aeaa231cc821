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
