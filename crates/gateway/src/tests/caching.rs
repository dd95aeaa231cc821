//! Claims about what is stored, for how long, and for whom.

use testkit::{Client, Gate, Origin, OriginReply};

use super::{assert_hit, assert_miss, before, cache_status};

/// An origin that answers with the number of the request, and with the fields in the query. `;`
/// separates these.
fn echo() -> Origin {
    Origin::start(|request| {
        let reply = OriginReply::ok(format!("{}", request.nth));
        let fields = request.target.split_once('?').map_or("", |(_, fields)| fields);
        fields.split(';').filter_map(|field| field.split_once(':')).fold(
            reply,
            |reply, (name, value)| {
                reply.header(name, &value.replace("%20", " ").replace("%22", "\""))
            },
        )
    })
}

#[track_caller]
fn check(route: &str, fields: &str, is_stored: bool) {
    let origin = echo();
    let served = before(&origin, route);
    let target = format!("/?{fields}");
    assert_miss(&served.get(&target));
    let again = served.get(&target);
    assert_eq!(origin.count("/") == 1, is_stored, "{fields}: {}", cache_status(&again));
    if is_stored {
        assert_hit(&again);
    }
}

#[test]
fn the_origins_headers_say_what_is_stored() {
    let by_origin = "cache = {}";
    check(by_origin, "", false);
    check(by_origin, "Cache-Control:max-age=60", true);
    check(by_origin, "Cache-Control:MAX-AGE=%2260%22", true);
    check(by_origin, "Cache-Control:max-age=0", false);
    check(by_origin, "Cache-Control:max-age=60,s-maxage=0", false);
    check(by_origin, "Cache-Control:max-age=0,s-maxage=60", true);
    check(by_origin, "Cache-Control:max-age=60;Age:59", true);
    check(by_origin, "Cache-Control:max-age=60;Age:60", false);
    check(by_origin, "Expires:Thu,%2001%20Jan%202099%2000:00:00%20GMT", true);
    check(by_origin, "Expires:Thu,%2001%20Jan%201999%2000:00:00%20GMT", false);
    check(by_origin, "Expires:0", false);
    check(by_origin, "Cache-Control:max-age=60;Expires:0", true);
    check(by_origin, "Cache-Control:no-cache,max-age=60", false);
    check(by_origin, "ETag:%22a%22", false);
}

#[test]
fn what_is_somebodys_own_is_never_stored_whatever_the_route_says() {
    for route in ["cache = {}", "cache = { ttl = \"60s\" }"] {
        check(route, "Cache-Control:max-age=60,no-store", false);
        check(route, "Cache-Control:max-age=60,private", false);
        check(route, "Cache-Control:max-age=60,private=%22x%22", false);
        check(route, "Cache-Control:max-age=60;Vary:*", false);
    }
}

#[test]
fn a_cookie_is_stored_only_on_the_origins_own_word_and_as_the_route_allows() {
    let stated = "Cache-Control:max-age=60;Set-Cookie:a=b";
    check("cache = {}", stated, true);
    check("cache = { set_cookie = \"refuse\" }", stated, false);
    check("cache = { ttl = \"60s\" }", stated, false);
    check("cache = { ttl = \"60s\", set_cookie = \"strip\" }", stated, true);
    let guessed = "Last-Modified:Thu,%2001%20Jan%201999%2000:00:00%20GMT";
    check("cache = {}", guessed, true);
    check("cache = {}", &format!("{guessed};Set-Cookie:a=b"), false);
    let origin = echo();
    let served = before(&origin, "cache = { set_cookie = \"strip\" }");
    let first = served.get(&format!("/?{stated}"));
    assert_eq!((first.status, first.header("set-cookie")), (200, None));
}

#[test]
fn the_routes_ttl_counts_from_the_arrival_whatever_the_origin_says() {
    let by_route = "cache = { ttl = \"60s\" }";
    check(by_route, "", true);
    check(by_route, "Cache-Control:max-age=0", true);
    check(by_route, "Cache-Control:no-cache", true);
    check(by_route, "Expires:0", true);
    check(by_route, "Date:Thu,%2001%20Jan%201999%2000:00:00%20GMT", true);
    check(by_route, "Cache-Control:max-age=60;Age:100", true);
    check("", "Cache-Control:max-age=60", false);
}

#[test]
fn errors_are_stored_only_when_the_origin_says_so() {
    let origin = Origin::start(|request| {
        let status = request.path()[1..].parse().unwrap();
        let reply = OriginReply::status(status).body("x");
        match request.target.contains('?') {
            true => reply.header("Cache-Control", "max-age=60"),
            false => reply,
        }
    });
    let served = before(&origin, "cache = { ttl = \"60s\" }");
    for (target, fetches) in
        [("/404", 1), ("/301", 1), ("/500", 2), ("/302", 2), ("/206?x", 2), ("/500?x", 1)]
    {
        let before = origin.requests().len();
        served.get(target);
        served.get(target);
        assert_eq!(origin.requests().len() - before, fetches, "{target}");
    }
}

#[test]
fn hits_carry_their_age_and_keep_the_fields_of_the_answer_but_not_of_its_connection() {
    let origin = Origin::start(|_| {
        OriginReply::ok("x")
            .header("Cache-Control", "max-age=60")
            .header("Age", "7")
            .header("Date", "Thu, 01 Jan 2099 00:00:00 GMT")
            .header("X-Two", "a")
            .header("X-Two", "b")
            .header("Connection", "X-Hop")
            .header("X-Hop", "1")
            .header("Keep-Alive", "timeout=5")
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    let hit = served.get("/");
    assert_hit(&hit);
    let age: u64 = hit.header("age").unwrap().parse().unwrap();
    assert!((7..60).contains(&age), "{age}");
    assert_eq!(hit.headers.all("age").count(), 1);
    assert_eq!(hit.headers.all("x-two").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(hit.headers.all("date").collect::<Vec<_>>(), ["Thu, 01 Jan 2099 00:00:00 GMT"]);
    assert_eq!(hit.header("content-length"), Some("1"));
    for gone in ["x-hop", "keep-alive", "connection", "transfer-encoding"] {
        assert_eq!(hit.header(gone), None, "{gone}");
    }
}

#[test]
fn answers_that_vary_are_told_apart_by_the_whole_value() {
    let origin = Origin::start(|request| {
        let values: Vec<&str> = request.headers.all("x-kind").collect();
        OriginReply::ok(values.join("|"))
            .header("Cache-Control", "max-age=60")
            .header("Vary", "X-Kind, Accept-Language")
    });
    let served = before(&origin, "cache = {}");
    let ask = |kinds: &[&str]| {
        let headers: Vec<(&str, &str)> = kinds.iter().map(|kind| ("X-Kind", *kind)).collect();
        served.get_with("/", &headers).text().to_owned()
    };
    for kinds in [&["a b"][..], &["ab"], &["a"], &["a", "b"], &[]] {
        assert_eq!(ask(kinds), kinds.join("|"));
    }
    let fetches = origin.count("/");
    assert_eq!(fetches, 5);
    for kinds in [&["a b"][..], &["ab"], &["a"], &["a", "b"], &[]] {
        assert_eq!(ask(kinds), kinds.join("|"));
    }
    assert_eq!(ask(&[" a b "]), "a b", "blanks around a value mean nothing");
    assert_eq!(origin.count("/"), fetches);
}

#[test]
fn a_cookie_that_the_origin_never_sees_does_not_make_its_answers_vary() {
    let origin = Origin::start(|_| {
        OriginReply::ok("x").header("Cache-Control", "max-age=60").header("Vary", "Cookie")
    });
    let served = before(&origin, "cache = {}\npersonalise = { user = \"cookie:u\" }");
    assert_miss(&served.get_with("/", &[("Cookie", "u=one")]));
    assert_hit(&served.get_with("/", &[("Cookie", "u=two")]));
    let plain = before(&origin, "cache = {}");
    assert_miss(&plain.get_with("/", &[("Cookie", "u=one")]));
    assert_miss(&plain.get_with("/", &[("Cookie", "u=two")]));
}

#[test]
fn host_path_and_query_are_all_of_the_key() {
    let origin = Origin::start(|request| {
        let host = request.header("host").unwrap().to_owned();
        OriginReply::ok(format!("{host} {}", request.target)).header("Cache-Control", "max-age=60")
    });
    let served = before(&origin, "cache = {}");
    for (host, target) in [("a", "/x"), ("b", "/x"), ("a", "/x?"), ("a", "/x?y"), ("a", "/X")] {
        let ask = || served.get_with(target, &[("Host", host)]);
        assert_eq!(ask().text(), format!("{host} {target}"));
        assert_eq!(ask().text(), format!("{host} {target}"));
    }
    assert_hit(&served.get_with("/x", &[("Host", "A")]));
    assert_eq!(origin.requests().len(), 5);
}

#[test]
fn head_is_answered_from_the_same_entry_as_get_and_never_spoils_it() {
    let origin = Origin::start(|_| OriginReply::ok("body").header("Cache-Control", "max-age=60"));
    let served = before(&origin, "cache = {}");
    let head = Client::call(served.address, "HEAD", "/").send();
    assert_miss(&head);
    assert_eq!((head.header("content-length"), head.text()), (Some("4"), ""));
    let get = served.get("/");
    assert_hit(&get);
    assert_eq!(get.text(), "body");
    assert_hit(&Client::call(served.address, "HEAD", "/").send());
    assert_eq!(origin.count("/"), 1);
    let past = before(&origin, "");
    let head = Client::call(past.address, "HEAD", "/past").send();
    assert_eq!((head.header("content-length"), head.text()), (Some("4"), ""));
    assert_eq!(origin.requests()[1].method, "HEAD", "past the cache the method stands");
}

#[test]
fn requests_with_a_body_or_another_method_go_past_the_cache() {
    let origin = Origin::start(|request| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        OriginReply::ok(format!("{} {body}", request.method)).header("Cache-Control", "max-age=60")
    });
    let served = before(&origin, "cache = { ttl = \"60s\" }");
    assert_eq!(Client::post(served.address, "/", "one").send().text(), "POST one");
    assert_eq!(Client::post(served.address, "/", "two").send().text(), "POST two");
    let with_body = Client::get(served.address, "/").body("three").send();
    assert_eq!(with_body.text(), "GET three");
    assert_eq!(cache_status(&with_body), "tidegate; fwd=bypass");
    assert_eq!(served.get("/").text(), "GET ");
    assert_hit(&served.get("/"));
}

#[test]
fn a_change_that_succeeds_makes_the_stored_answer_be_fetched_anew() {
    let origin = Origin::start(|request| match (&*request.method, request.path()) {
        ("POST", "/fails") => OriginReply::status(500),
        _ => OriginReply::ok(format!("{}", request.nth)).header("Cache-Control", "max-age=60"),
    });
    let served = before(&origin, "cache = {}");
    for target in ["/works", "/fails"] {
        served.get(target);
        assert_hit(&served.get(target));
        Client::post(served.address, target, "x").send();
    }
    assert_eq!(served.get("/works").text(), "2");
    assert_hit(&served.get("/fails"));
}

#[test]
fn a_change_reaches_every_variant_and_what_it_names_on_the_same_host() {
    let origin = Origin::start(|request| match &*request.method {
        "M-SEARCH" => OriginReply::ok("done")
            .header("Location", "../lists/all?x=1")
            .header("Content-Location", "//elsewhere.example/item"),
        _ => OriginReply::ok(format!("{}", request.nth))
            .header("Cache-Control", "max-age=60")
            .header("Vary", "Accept-Language"),
    });
    let served = before(&origin, "cache = {}");
    let elsewhere = [("Host", "elsewhere.example")];
    let get = || {
        [
            served.get_with("/items/1", &[("Accept-Language", "de")]),
            served.get_with("/items/1", &[("Accept-Language", "en")]),
            served.get("/lists/all?x=1"),
            served.get_with("/item", &elsewhere),
        ]
    };
    get();
    get().iter().for_each(assert_hit);
    Client::call(served.address, "M-SEARCH", "/items/1").send();
    let hits = get().map(|reply| cache_status(&reply).contains("; hit"));
    assert_eq!(hits, [false, false, false, true]);
}

#[test]
fn what_was_asked_for_before_a_change_is_not_stored_after_it() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        let reply =
            OriginReply::ok(format!("{}", request.nth)).header("Cache-Control", "max-age=60");
        if request.nth == 0 { reply.after(&own) } else { reply }
    });
    let served = before(&origin, "cache = {}");
    let asking = served.ask("/", &[]);
    origin.wait_for("/", 1);
    let host = served.address.to_string();
    Client::call(served.address, "DELETE", "/").header("Host", &host).send();
    gate.open();
    assert_eq!(asking.join().unwrap().text(), "0");
    assert_eq!(served.get("/").text(), "2");
}

#[test]
fn bodies_longer_than_the_bound_are_passed_on_whole_and_not_stored() {
    let body = "x".repeat(300_000);
    let own = body.clone();
    let origin = Origin::start(move |request| {
        let reply = OriginReply::ok(own.clone()).header("Cache-Control", "max-age=60");
        if request.path() == "/chunked" { reply.chunked(50_000) } else { reply }
    });
    let served = before(&origin, "cache = { body_bytes_max = \"100KB\" }");
    for target in ["/", "/chunked"] {
        let first = "tidegate; fwd=uri-miss; detail=unstored-length";
        for status in [first, "tidegate; fwd=miss; detail=hit-for-miss"] {
            let reply = served.get(target);
            assert_eq!((reply.text() == body, cache_status(&reply)), (true, status), "{target}");
        }
        assert_eq!(origin.count(target), 2);
    }
}

#[test]
fn the_byte_budget_holds() {
    let origin = Origin::start(|_| {
        OriginReply::ok("x".repeat(10_000)).header("Cache-Control", "max-age=60")
    });
    let text = super::route_to(&[&origin], "", "cache = {}") + "[cache]\nbytes = \"200KB\"\n";
    let served = super::serve(&text);
    for n in 0..100 {
        served.get(&format!("/{n}"));
    }
    assert!(served.gateway.store.bytes() <= 200_000, "{}", served.gateway.store.bytes());
    assert!(served.gateway.store.entries() > 5, "{}", served.gateway.store.entries());
}

#[test]
fn an_answer_that_is_not_stored_says_why() {
    let origin = Origin::start(|request| {
        let ok = OriginReply::ok("x");
        match request.path() {
            "/private" => ok.header("Cache-Control", "private"),
            "/cookie" => ok.header("Set-Cookie", "a=b").header("Cache-Control", "no-cache"),
            "/vary" => ok.header("Vary", "*"),
            "/never" => ok.header("Cache-Control", "max-age=0"),
            "/event" => ok.header("Content-Type", "text/event-stream"),
            _ => ok,
        }
    });
    let (served, kept) =
        (before(&origin, "cache = {}"), before(&origin, "cache = { ttl = \"60s\" }"));
    let detail_of = |served: &super::Served, path: &str, fields: &[(&str, &str)]| {
        let reply = served.get_with(path, fields);
        let status = cache_status(&reply);
        status.strip_prefix("tidegate; fwd=uri-miss; detail=unstored-").map(str::to_owned)
    };
    let detail = |path| detail_of(&served, path, &[]);
    assert_eq!(detail("/private").as_deref(), Some("private"));
    assert_eq!(detail("/cookie").as_deref(), Some("set-cookie"));
    assert_eq!(detail("/vary").as_deref(), Some("vary"));
    assert_eq!(detail("/never").as_deref(), Some("no-use"));
    assert_eq!(detail("/event").as_deref(), Some("stream"));
    assert_eq!(detail("/").as_deref(), Some("no-lifetime"));
    let cookie = [("Cookie", "a=b")];
    assert_eq!(detail_of(&served, "/mine", &cookie).as_deref(), Some("no-lifetime"));
    assert_eq!(detail_of(&kept, "/mine", &cookie).as_deref(), Some("cookie"));
}
