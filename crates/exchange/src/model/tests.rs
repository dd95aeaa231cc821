//! Ids keep whatever they hold; refusals tell what a client can do.

use super::*;

#[test]
fn ids_come_back_as_they_were_whatever_they_hold() {
    for ids in [
        &[][..],
        &["12", "7"],
        &[""],
        &["a\"b", "c\\", "line\nbreak", "null\0", ",", "[\"é\"]", "😀"],
    ] {
        let items: ItemIds<'_> = ids.iter().copied().collect();
        assert_eq!(items.iter().collect::<Vec<_>>(), ids);
        assert_eq!(items.is_empty(), ids.is_empty());
        let array = [b"[", &*items.0, b"]"].concat();
        let array: Vec<String> = serde_json::from_slice(&array).expect("a JSON array");
        assert_eq!(array, ids);
    }
}

#[test]
fn the_same_ids_are_equal_however_they_are_written() {
    let written: ItemIds<'_> = ["aé", "b"].into_iter().collect();
    assert_eq!(ItemIds::of_array(b" \"a\\u00e9\" ,\t\"\\u0062\" "), written);
    assert_ne!(ItemIds::of_array(b"\"a\""), written);
}

#[test]
fn an_owned_impression_says_what_the_borrowed_one_said() {
    let borrowed = Impression {
        model: "news".into(),
        version: "3".into(),
        propensity: 0.5,
        items: ItemIds::of_array(b"\"1\",\"2\""),
    };
    assert_eq!(borrowed.clone().into_owned(), borrowed);
}

#[test]
fn a_refusal_for_now_says_when_to_try_again() {
    assert_eq!(Refusal::new(429, "busy").retry_after_s, Some(1));
    assert_eq!(Refusal::new(503, "no model").retry_after_s, Some(1));
    assert_eq!(Refusal::new(400, "malformed").retry_after_s, None);
    let refusal = Refusal::of_method("GET, HEAD");
    assert_eq!((refusal.status, refusal.allowed_methods), (405, Some("GET, HEAD")));
    assert_eq!(refusal.to_string(), "method not allowed; use GET, HEAD");
}
