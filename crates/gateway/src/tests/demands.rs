//! Claims about the directives of a request, and about targeted fields of a response.

use testkit::{Client, Origin, OriginReply, Reply};

use super::{Served, assert_hit, assert_miss, before, cache_status};

/// An origin that answers with the number of the request; its responses are half a minute old, and
/// fresh for a minute.
fn aged() -> Origin {
    Origin::start(|request| {
        OriginReply::ok(format!("{}", request.nth))
            .header("Cache-Control", "max-age=60")
            .header("Age", "30")
    })
}

fn demanding(served: &Served, directives: &str) -> Reply {
    served.get_with("/", &[("Cache-Control", directives)])
}

#[test]
fn a_request_gets_no_older_answer_than_it_asks_for() {
    let origin = aged();
    let served = before(&origin, "cache = {}");
    assert_miss(&served.get("/"));
    for (directives, is_hit) in [
        ("max-age=40", true),
        ("max-age=20", false),
        ("max-age=\"40\"", true),
        ("max-age=40, max-age=20", false),
        ("max-age=nonsense", false),
        ("min-fresh=10", true),
        ("min-fresh=40", false),
        ("no-cache", false),
        ("No-Cache", false),
        ("extension=\"no-cache, max-age=0\"", true),
        ("only-if-cached", true),
    ] {
        let reply = demanding(&served, directives);
        assert_eq!(cache_status(&reply).contains("; hit"), is_hit, "{directives}");
        assert!(is_hit || cache_status(&reply).contains("fwd=request"), "{directives}");
    }
}

#[test]
fn an_answer_fetched_on_demand_is_everybodys() {
    let origin = aged();
    let served = before(&origin, "cache = {}");
    served.get("/");
    assert_eq!(demanding(&served, "no-cache").text(), "1");
    let reply = served.get("/");
    assert_hit(&reply);
    assert_eq!(reply.text(), "1");
}

#[test]
fn an_answer_that_is_not_to_be_stored_is_not() {
    let origin = aged();
    let served = before(&origin, "cache = {}");
    assert_miss(&demanding(&served, "no-store"));
    assert_miss(&served.get("/"));
    assert_eq!(origin.count("/"), 2);
}

#[test]
fn a_stale_answer_is_given_to_those_who_accept_it_unless_the_origin_forbids() {
    let origin = Origin::start(|request| {
        let more = if request.path() == "/strict" { ", must-revalidate" } else { "" };
        OriginReply::ok("x")
            .header("Cache-Control", &format!("max-age=10{more}"))
            .header("Age", "30")
            .header("ETag", "\"a\"")
    });
    let served = before(&origin, "cache = {}");
    for (target, directives, is_hit) in [
        ("/", "max-stale=25", true),
        ("/", "max-stale=15", false),
        ("/", "max-stale", true),
        ("/strict", "max-stale", false),
    ] {
        served.get(target);
        let reply = served.get_with(target, &[("Cache-Control", directives)]);
        assert_eq!(cache_status(&reply).contains("; hit"), is_hit, "{target} {directives}");
    }
}

#[test]
fn who_wants_only_what_is_stored_never_reaches_the_origin() {
    let origin = aged();
    let served = before(&origin, "cache = {}");
    let reply = demanding(&served, "only-if-cached");
    assert_eq!((reply.status, origin.count("/")), (504, 0));
    assert_eq!(reply.header("retry-after"), None);
}

#[test]
fn a_route_with_a_lifetime_of_its_own_ignores_reloads_unless_it_says_otherwise() {
    let origin = aged();
    let served = before(&origin, "cache = { ttl = \"60s\" }");
    served.get("/");
    assert_hit(&demanding(&served, "no-cache"));
    assert_hit(&demanding(&served, "max-age=0"));
    let served = before(&origin, "cache = { ttl = \"60s\", client_directives = \"heed\" }");
    served.get("/");
    assert_miss(&demanding(&served, "no-cache"));
    let served = before(&origin, "cache = { client_directives = \"ignore\" }");
    served.get("/");
    assert_hit(&demanding(&served, "no-cache"));
}

#[test]
fn the_field_for_shared_caches_takes_the_place_of_the_others_when_it_can_be_read() {
    let cases: [(&str, &str, bool); 8] = [
        ("max-age=60", "no-store", true),
        ("max-age=0", "max-age=60", false),
        ("no-store", "max-age=60", false),
        ("private", "max-age=60", false),
        ("max-age=60;x=1, other", "max-age=0", true),
        ("max-age=\"60\"", "max-age=60", false),
        ("Max-Age=0", "max-age=60", true),
        ("", "max-age=60", true),
    ];
    for (targeted, usual, is_stored) in cases {
        let origin = Origin::start(move |_| {
            OriginReply::ok("x")
                .header("Cache-Control", usual)
                .header("CDN-Cache-Control", targeted)
                .header("Expires", "0")
        });
        let served = before(&origin, "cache = {}");
        served.get("/");
        served.get("/");
        assert_eq!(origin.count("/") == 1, is_stored, "{targeted:?} beside {usual:?}");
    }
}

#[test]
fn the_forerunner_of_that_field_counts_when_it_is_meant_for_this_cache() {
    for (surrogate, usual, is_stored) in [
        ("max-age=60", "no-store", true),
        ("MAX-AGE=60;tidegate", "no-store", true),
        ("no-store", "max-age=60", false),
        ("no-store;tidegate", "max-age=60", false),
        ("max-age=60;another", "no-store", false),
        ("content=\"ESI/1.0\"", "max-age=60", true),
    ] {
        let origin = Origin::start(move |_| {
            OriginReply::ok("x")
                .header("Cache-Control", usual)
                .header("Surrogate-Control", surrogate)
        });
        let served = before(&origin, "cache = {}");
        served.get("/");
        served.get("/");
        assert_eq!(origin.count("/") == 1, is_stored, "{surrogate:?} beside {usual:?}");
    }
}

#[test]
fn a_guess_is_a_tenth_of_the_age_and_can_be_switched_off() {
    let day = std::time::Duration::from_secs(86_400);
    let changed = httpdate::fmt_http_date(std::time::SystemTime::now() - day);
    let origin = Origin::start(move |_| OriginReply::ok("x").header("Last-Modified", &changed));
    let served = before(&origin, "cache = {}");
    served.get("/");
    let reply = served.get("/");
    assert_hit(&reply);
    let ttl = cache_status(&reply).rsplit_once("ttl=").unwrap().1.parse::<u64>().unwrap();
    assert!((8600..=8640).contains(&ttl), "{ttl}");
    let served = before(&origin, "cache = { heuristic = \"off\" }");
    served.get("/");
    assert!(!cache_status(&served.get("/")).contains("; hit"));
}

#[test]
fn a_date_without_a_later_change_is_enough_for_a_client_that_has_it() {
    let made = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    let (before_it, after_it) =
        (made - std::time::Duration::from_secs(9), made + std::time::Duration::from_secs(9));
    let date = httpdate::fmt_http_date(made);
    let origin = Origin::start(move |_| {
        OriginReply::ok("x").header("Cache-Control", "max-age=600").header("Date", &date)
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    let since = |time| {
        let call = Client::get(served.address, "/");
        call.header("If-Modified-Since", &httpdate::fmt_http_date(time)).send().status
    };
    assert_eq!((since(before_it), since(after_it)), (200, 304));
}
