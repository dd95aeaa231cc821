//! Claims about which encoding a request gets, and which one is made for it.

use exchange::Decision;
use http1::accept::{Coding, Codings};

use super::{Encoding, Encodings, Lacking, POPULAR_USES, Variant, encoded_fields};

const GENERIC: Decision = Decision::Generic;

fn only(coding: Coding) -> Codings {
    Codings::default().with(coding)
}

fn variant(coding: Coding) -> Variant {
    Variant { coding, decision: GENERIC }
}

fn encoding(length: usize) -> Option<Encoding> {
    Some(Encoding { fields: "etag: W/\"1\"\r\n".into(), body: vec![b'x'; length].into() })
}

fn lacking(coding: Coding, is_awaited: bool) -> Option<Lacking> {
    Some(Lacking { coding, is_awaited })
}

#[test]
fn a_client_gets_the_smallest_made_so_far_that_it_prefers() {
    let encodings = Encodings::new(Codings::ALL, false);
    let smallest = |liked| encodings.smallest(liked, GENERIC).map(|made| made.body.len());
    assert_eq!(smallest(Codings::ALL), None);
    encodings.fill(variant(Coding::Gzip), encoding(30));
    assert_eq!([Codings::ALL, only(Coding::Zstd)].map(smallest), [Some(30), None]);
    encodings.fill(variant(Coding::Zstd), encoding(20));
    encodings.fill(variant(Coding::Br), None);
    let liked = [Codings::ALL, only(Coding::Gzip), only(Coding::Br), Codings::default()];
    assert_eq!(liked.map(smallest), [Some(20), Some(30), None, None]);
}

#[test]
fn a_body_that_names_the_decision_has_an_encoding_for_each() {
    let all = || {
        let each = |coding| Decision::ALL.map(|decision| Variant { coding, decision });
        Coding::ALL.into_iter().flat_map(each)
    };
    let spliced = Encodings::new(Codings::ALL, true);
    for (length, variant) in all().enumerate() {
        assert!(!spliced.is_settled(variant) && spliced.made(variant).is_none());
        spliced.fill(variant, encoding(length));
    }
    let lengths = all().map(|variant| spliced.made(variant).unwrap().body.len());
    assert!(lengths.eq(0..all().count()));
    let plain = Encodings::new(Codings::ALL, false);
    plain.fill(variant(Coding::Br), encoding(7));
    for variant in all() {
        assert_eq!(plain.made(variant).is_some(), variant.coding == Coding::Br);
    }
}

#[test]
fn the_quickest_is_made_first_while_the_request_waits() {
    let encodings = Encodings::new(Codings::ALL, false);
    let next = |liked| encodings.lacking(liked, GENERIC);
    let without_zstd = only(Coding::Br).with(Coding::Gzip);
    assert_eq!(next(Codings::ALL), lacking(Coding::Zstd, true));
    assert_eq!(next(without_zstd), lacking(Coding::Gzip, true));
    assert_eq!(next(only(Coding::Br)), lacking(Coding::Br, true));
    assert_eq!(next(Codings::default()), None);
    encodings.fill(variant(Coding::Br), encoding(1));
    // Brotli is the smallest, so who takes it lacks nothing.
    assert_eq!([Codings::ALL, without_zstd, only(Coding::Br)].map(next), [None; 3]);
    assert_eq!(next(only(Coding::Gzip)), lacking(Coding::Gzip, true));
}

#[test]
fn brotli_is_made_once_in_the_background_after_eight_uses_by_clients_that_accept_it() {
    let encodings = Encodings::new(Codings::ALL, false);
    let next = |liked| encodings.lacking(liked, GENERIC);
    encodings.fill(variant(Coding::Zstd), None);
    encodings.fill(variant(Coding::Gzip), encoding(9));
    for _ in 0..3 * POPULAR_USES {
        assert_eq!(next(only(Coding::Gzip)), None, "these clients have no use for it");
    }
    for _ in 0..8 {
        assert_eq!(next(Codings::ALL), None);
    }
    assert_eq!(next(Codings::ALL), lacking(Coding::Br, false));
    assert!(encodings.claim(variant(Coding::Br)));
    assert_eq!(next(Codings::ALL), None, "it is being made");
    encodings.release(variant(Coding::Br));
    assert_eq!(next(Codings::ALL), lacking(Coding::Br, false));
    encodings.fill(variant(Coding::Br), None);
    assert_eq!(next(Codings::ALL), None, "it saves too little");
}

#[test]
fn nothing_is_left_to_do_once_every_coding_offered_is_settled() {
    let encodings = Encodings::new(only(Coding::Br).with(Coding::Gzip), true);
    let other = Decision::Fallback;
    assert!(!encodings.is_complete(GENERIC));
    encodings.fill(variant(Coding::Br), encoding(1));
    assert!(!encodings.is_complete(GENERIC));
    encodings.fill(variant(Coding::Gzip), None);
    assert_eq!([GENERIC, other].map(|decision| encodings.is_complete(decision)), [true, false]);
}

#[test]
fn one_at_a_time_makes_an_encoding_and_the_end_wakes_who_waits() {
    let encodings = Encodings::new(Codings::ALL, false);
    let [one, other] = [Coding::Gzip, Coding::Br].map(variant);
    assert!(!encodings.is_claimed(one) && encodings.claim(one));
    assert!(encodings.is_claimed(one) && !encodings.claim(one) && !encodings.is_claimed(other));
    let mut ended = Box::pin(encodings.ended.notified());
    assert!(!ended.as_mut().enable());
    encodings.release(one);
    assert!(ended.as_mut().enable(), "woken");
    assert!(!encodings.is_claimed(one) && encodings.claim(one));
}

#[test]
fn its_bytes_are_those_of_the_encodings_that_were_kept() {
    let encodings = Encodings::new(Codings::ALL, false);
    let empty = encodings.counted_bytes();
    assert!(empty >= size_of::<Encodings>() as u64);
    assert!(Encodings::new(Codings::ALL, true).counted_bytes() > empty);
    encodings.fill(variant(Coding::Gzip), encoding(1000));
    encodings.fill(variant(Coding::Gzip), encoding(5000));
    encodings.fill(variant(Coding::Zstd), None);
    assert_eq!(encodings.made(variant(Coding::Gzip)).unwrap().body.len(), 1000);
    assert_eq!(encodings.counted_bytes(), empty, "the cache has not counted yet");
    encodings.count_bytes();
    let fields = encoding(0).unwrap().fields.len() as u64;
    assert_eq!(encodings.counted_bytes() - empty, 1000 + fields + 128);
    let key = |text: &str| crate::key::SharedKey::from(text.as_bytes());
    assert_eq!(encodings.cache_key(), None);
    encodings.note_cache_key(&key("a"));
    assert_eq!(encodings.cache_key(), Some(&key("a")));
}

#[test]
fn what_was_made_for_the_same_body_is_taken_over_with_new_fields() {
    for spliced in [false, true] {
        let [from, to] = [(); 2].map(|()| Encodings::new(Codings::ALL, spliced));
        let decision = if spliced { Decision::Fallback } else { GENERIC };
        let of = |coding| Variant { coding, decision };
        from.fill(of(Coding::Zstd), encoding(10));
        from.fill(of(Coding::Br), encoding(20));
        from.fill(of(Coding::Gzip), None);
        to.inherit(b"x: 1\r\n", &from);
        for (coding, length) in [(Coding::Zstd, 10), (Coding::Br, 20)] {
            let made = to.made(of(coding)).unwrap();
            let fields = format!("x: 1\r\ncontent-encoding: {}\r\n", coding.name());
            assert_eq!((&*made.fields, made.body.len()), (fields.as_bytes(), length));
        }
        assert!(to.is_complete(decision) && to.made(of(Coding::Gzip)).is_none());
        let empty = Encodings::new(Codings::ALL, spliced).counted_bytes();
        assert!(to.counted_bytes() > empty, "they are counted at once");
        // Bodies with and without a decision in them have nothing in common.
        let other = Encodings::new(Codings::ALL, !spliced);
        other.inherit(b"", &from);
        assert!(!Coding::ALL.into_iter().any(|coding| other.is_settled(of(coding))));
    }
}

#[test]
fn fields_of_an_encoded_body_name_its_coding_and_tag_and_offer_no_ranges() {
    let fields = b"Date: now\r\nAccept-Ranges: bytes\r\nETag:  \"1\" \r\n\
                   content-encoding: identity\r\nx: 1\r\n";
    let encoded = b"Date: now\r\netag: W/\"1~tg-br\"\r\nx: 1\r\ncontent-encoding: br\r\n";
    assert_eq!(encoded_fields(fields, Coding::Br), encoded[..]);
    // A tag without quotes cannot be marked, so it goes.
    assert_eq!(encoded_fields(b"etag: bare\r\n", Coding::Zstd), "content-encoding: zstd\r\n");
}
