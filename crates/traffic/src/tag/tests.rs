//! Claims about `tag`.

use super::{Tag, TagSet};

#[test]
fn every_tag_is_found_by_its_name() {
    for tag in Tag::all() {
        assert_eq!(Tag::find(tag.name().as_bytes()), Some(tag), "{}", tag.name());
    }
}

#[test]
fn other_bytes_are_no_tag() {
    for name in ["", "R", "reqURL", "ReqURLs", "\u{0}\u{1}", "ReqMethodReqMethodReqMethod"] {
        assert_eq!(Tag::find(name.as_bytes()), None, "{name:?}");
    }
}

#[test]
fn tags_of_3_0_are_read_as_those_of_4_0() {
    assert_eq!(Tag::named("TxHeader").modern(), Tag::RESP_HEADER);
    assert_eq!(Tag::named("ReqURL").modern(), Tag::REQ_URL);
}

#[test]
fn a_set_has_what_was_put_in() {
    let set: TagSet = [Tag::BEGIN, Tag::named("Fetch_body")].into_iter().collect();
    assert_eq!(set.iter().collect::<Vec<_>>(), [Tag::BEGIN, Tag::named("Fetch_body")]);
    assert!(!set.contains(Tag::END));
}
