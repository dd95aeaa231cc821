//! Claims about reading `Accept-Encoding`.

use super::{Accepted, Coding, Codings, USUAL};

fn accepted(field: &str) -> Accepted {
    Accepted::read(field.split('|').map(str::as_bytes))
}

#[track_caller]
fn check(field: &str, best: &str, class: &str) {
    let accepted = accepted(field);
    let liked = accepted.best(Codings::ALL);
    let names: Vec<&str> =
        Coding::ALL.into_iter().filter(|coding| liked.has(*coding)).map(Coding::name).collect();
    assert_eq!(names.join(" "), best, "best of `{field}`");
    assert_eq!(accepted.class(), class, "class of `{field}`");
}

#[test]
fn weights_say_what_is_liked_best_and_what_is_refused() {
    check("", "", "identity");
    check("identity", "", "identity");
    check("gzip, deflate, br, zstd", "zstd br gzip", "zstd, br, gzip");
    check("gzip, deflate, br", "br gzip", "br, gzip");
    check("gzip, deflate", "gzip", "gzip");
    check("GZip;Q=1.0 , BR ; q=0.5", "gzip", "br, gzip");
    check("x-gzip", "gzip", "gzip");
    check("br", "br", "identity");
    check("zstd, gzip", "zstd gzip", "gzip");
    check("gzip;q=0.1, br;q=0.11, zstd;q=0.111", "zstd", "zstd, br, gzip");
    check("gzip;q=0", "", "identity");
    check("gzip;q=0.000, br", "br", "identity");
    check("br|gzip", "br gzip", "br, gzip");
    check("compress, deflate, exi, pack200-gzip", "", "identity");
}

#[test]
fn the_bytes_as_they_are_win_only_when_they_are_liked_better_by_name() {
    check("identity;q=0.5, gzip;q=0.4", "", "identity");
    check("identity;q=0.5, gzip;q=0.5", "gzip", "gzip");
    check("identity, gzip;q=0.9", "", "identity");
    check("identity;q=0.5, gzip;q=0.4, br", "br", "identity");
    check("identity;q=0, gzip;q=0.001", "gzip", "gzip");
    check("identity;q=0", "", "identity");
    check("identity;q=0, *;q=0", "", "identity");
}

#[test]
fn a_star_stands_for_gzip_unless_gzip_is_named() {
    check("*", "gzip", "gzip");
    check("*;q=0", "", "identity");
    check("br, *;q=0.1", "br", "br, gzip");
    check("br;q=0.5, *", "gzip", "br, gzip");
    check("gzip;q=0, *", "", "identity");
    check("gzip, *;q=0", "gzip", "gzip");
    check("identity;q=0, *", "gzip", "gzip");
}

#[test]
fn what_is_malformed_is_refused_and_spoils_nothing_else() {
    for weight in
        ["q", "q=", "q=2", "q=-1", "q=.5", "q=0.1234", "q=1x", "q=1.001", "q=0.x", "r=1", "", "1"]
    {
        check(&format!("br;{weight}, gzip"), "gzip", "gzip");
    }
    check(",,gzip,, ,br;q=0.8,", "gzip", "br, gzip");
    check("gzip br", "", "identity");
    check("\u{fffd}, gzip", "gzip", "gzip");
}

#[test]
fn only_what_is_offered_is_chosen() {
    let all = accepted("gzip;q=0.5, br, zstd");
    let gzip = Codings::default().with(Coding::Gzip);
    assert_eq!(all.best(gzip), gzip);
    assert_eq!(accepted("br").best(gzip), Codings::default());
    assert!(all.best(Codings::default()).is_empty());
}

#[test]
fn a_hundred_thousand_spellings_are_four_classes() {
    let mut classes = std::collections::BTreeSet::new();
    let weights = ["", ";q=0", ";q=0.5", ";q=1.0", "; q=0.7"];
    let names = ["gzip", "br", "zstd", "identity", "*", "deflate"];
    let mut seed = 7u64;
    for _ in 0..100_000 {
        let mut field = String::new();
        for name in names {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if (seed >> 40) & 1 == 1 {
                field.push_str(name);
                field.push_str(weights[(seed >> 33) as usize % weights.len()]);
                field.push_str(if (seed >> 50) & 1 == 1 { ", " } else { "," });
            }
        }
        let accepted = accepted(&field);
        // A client accepts every coding that an origin may answer to its class.
        for coding in Coding::ALL {
            let named = accepted.class().split(", ").any(|name| name == coding.name());
            assert!(!named || accepted.takes(coding), "{field}");
        }
        classes.insert(accepted.class());
    }
    assert_eq!(classes.len(), 4, "{classes:?}");
}

#[test]
fn what_is_known_by_heart_is_what_would_be_read() {
    for (text, weights) in USUAL {
        assert_eq!(Accepted { weights, identity: 0 }, Accepted::read([text].into_iter()));
    }
}
