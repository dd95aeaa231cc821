//! Claims about other spellings of a path, about headers and methods that mean something else to
//! others.

use testkit::{Client, Origin, OriginReply};

use super::{Served, assert_hit, assert_miss, cache_status, check, route_to, serve};

/// An origin that answers with the target, and decodes and folds it first as some servers do.
fn origin() -> Origin {
    Origin::start(|request| {
        let reply = OriginReply::ok(format!("{} of {}", request.nth, request.target));
        reply.header("Cache-Control", "max-age=60")
    })
}

/// A gateway whose route for `/ph/` does not store, before one for all paths that does.
fn served(origin: &Origin) -> Served {
    let stored = route_to(&[origin], "", "cache = { ttl = \"1h\" }");
    let (upstream, stored) = stored.split_once("[[route]]").unwrap();
    let private = "[[route]]\nname = \"private\"\npath = \"/ph/{*rest}\"\nto = \"upstream:o\"\n";
    serve(&format!("{upstream}{private}[[route]]{stored}"))
}

#[test]
fn an_escape_of_an_unreserved_character_leads_to_the_same_route() {
    let origin = origin();
    let served = served(&origin);
    for path in ["/ph/me", "/%70h/me", "/p%68/me", "/%70%68/me"] {
        for _ in 0..2 {
            let reply = served.get(path);
            assert_eq!(cache_status(&reply), "tidegate; fwd=bypass", "{path}");
        }
    }
    assert_eq!(origin.requests().len(), 8);
    assert_eq!(served.registry.sum("tidegate_ambiguous_paths_total", &[]), 0);
}

#[test]
fn a_path_that_another_route_may_be_meant_by_is_never_stored() {
    let origin = origin();
    let served = served(&origin);
    let paths = [
        "/PH/me",
        "/Ph/me",
        "/ph;a/me",
        "/ph;/me",
        "/ph%3Ba/me",
        "/ph%2fme",
        "/ph%2Fme",
        "/ph\\me",
        "/ph%5cme",
        "/ph%252fme",
        "//ph/me",
        "/;a/ph/me",
        "/x/..;/ph/me",
        "/ph/me%00",
        "/%2fph/me",
        "/%50h/me",
        "/./ph/me",
        "/ph%00.css",
        "/ph%2500.css",
        "/ph%3f.css",
        "/ph%23.css",
    ];
    for path in paths {
        for nth in 0..2 {
            let reply = served.get(path);
            let status = cache_status(&reply);
            // Some of them are read as the route for `/ph/` already.
            let bypasses = status.starts_with("tidegate; fwd=bypass");
            assert!(bypasses, "{path}: {status}");
            assert_eq!(reply.text(), format!("{nth} of {path}"));
        }
    }
    assert!(served.registry.sum("tidegate_ambiguous_paths_total", &[]) > 30);
}

#[test]
fn a_path_that_no_other_route_may_be_meant_by_is_stored() {
    let origin = origin();
    let served = served(&origin);
    for path in
        ["/a", "/A/B", "/a;v=1/b", "/a%2Fb", "/a//b", "/phx/me", "/x/ph", "/a%20b", "/100%25"]
    {
        assert_miss(&served.get(path));
        assert_hit(&served.get(path));
    }
}

#[test]
fn a_name_with_an_underscore_reaches_no_upstream() {
    let origin = origin();
    let served = served(&origin);
    let names = [
        "X_Forwarded_Host",
        "x_original_url",
        "X_HTTP_Method_Override",
        "If_None_Match",
        "Tidegate_Decision",
        "X_User",
        "_",
        "X-A_b",
        "Proxy",
        "proxy",
    ];
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (*name, "evil")).collect();
    for (number, target) in ["/ph/me", "/stored"].iter().enumerate() {
        assert_eq!(served.get_with(target, &fields).status, 200);
        let head = &origin.requests()[number];
        let evil = head.headers.0.iter().filter(|(_, value)| value == "evil");
        assert_eq!(evil.collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "{target}");
    }
}

#[test]
fn methods_that_caches_and_debuggers_obey_are_answered_here() {
    let origin = origin();
    let served = served(&origin);
    for method in ["TRACE", "TRACK", "PURGE", "BAN", "get", "Post"] {
        for target in ["/ph/me", "/stored"] {
            let reply = Client::call(served.address, method, target).send();
            assert_eq!(reply.status, 405, "{method}");
            let allowed = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
            assert_eq!(reply.header("allow"), Some(allowed));
        }
    }
    assert!(origin.requests().is_empty());
    let named = serve(&route_to(&[&origin], "", "methods = [\"GET\", \"PURGE\"]"));
    assert_eq!(Client::call(named.address, "PURGE", "/x").send().status, 200);
}

/// Headers by which clients were seen to change what a server answers.
const OVERRIDES: [&str; 62] = [
    "Forwarded",
    "X-Forwarded",
    "X-Forwarded-Host",
    "X-Forwarded-Path",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Protocol",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Forwarded-Ssl",
    "X-Forwarded-Uri",
    "X-Forwarded-By",
    "X-Forward-For",
    "X-Host",
    "X-HTTP-Host-Override",
    "X-HTTP-Method",
    "X-HTTP-Method-Override",
    "X-HTTP-Path-Override",
    "X-Method-Override",
    "X-Original-Host",
    "X-Original-URL",
    "X-Original-URI",
    "X-Rewrite-URL",
    "X-Rewrite-Uri",
    "X-Url-Scheme",
    "X-Scheme",
    "X-Script-Name",
    "X-Arr-SSL",
    "X-Arr-Log-Id",
    "Fastly-SSL",
    "Fastly-Client-IP",
    "Front-End-Https",
    "X-Middleware-Subrequest",
    "X-Middleware-Prefetch",
    "X-Nextjs-Data",
    "Next-Router-State-Tree",
    "Next-Url",
    "RSC",
    "X-Invoke-Path",
    "X-Matched-Path",
    "X-Real-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "CF-Visitor",
    "CloudFront-Forwarded-Proto",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Remote-User",
    "Remote-User",
    "X-Auth-Request-User",
    "X-Authenticated-User",
    "X-User-Id",
    "X-WebAuth-User",
    "X-Amzn-Trace-Id",
    "X-Azure-FDID",
    "X-Envoy-Original-Path",
    "X-MS-Client-Principal",
    "WL-Proxy-SSL",
    "Surrogate-Capability",
    "X-Accel-Internal",
    "Translate",
    "Destination",
];

/// Returns the names that reached the origin with the value `evil`.
fn arrived(origin: &Origin) -> Vec<String> {
    let requests = origin.requests();
    let fields = requests.last().into_iter().flat_map(|request| request.headers.0.clone());
    fields.filter(|(_, value)| value == "evil").map(|(name, _)| name.to_lowercase()).collect()
}

#[test]
fn no_header_of_a_known_family_reaches_a_fetch_for_everyone() {
    let origin = origin();
    let served = served(&origin);
    let fields: Vec<(&str, &str)> = OVERRIDES.iter().map(|name| (*name, "evil")).collect();
    for (number, some) in fields.chunks(20).enumerate() {
        let some = [some, &[("X-App-Theme", "evil"), ("Accept-Language", "evil")]].concat();
        served.get_with(&format!("/stored/{number}"), &some);
        assert_eq!(arrived(&origin), ["x-app-theme", "accept-language"]);
    }
    served.get_with("/ph/me", &fields[..20]);
    let written = ["forwarded", "x-forwarded-host"];
    let left = arrived(&origin);
    assert_eq!(left.len(), 18, "a route that does not store sends on all but what is ours");
    assert!(!left.iter().any(|name| written.contains(&&**name)), "{left:?}");
}

#[test]
fn with_forward_only_the_headers_that_it_names_reach_a_fetch_for_everyone() {
    let origin = origin();
    let route = "cache = { ttl = \"1h\" }\nforward = [\"Accept-Language\", \"x-app-*\"]\n\
                 key = { headers = [\"X-Device\"] }";
    let served = serve(&route_to(&[&origin], "", route));
    let fields = [
        ("Accept-Language", "evil"),
        ("X-App-Theme", "evil"),
        ("X-Application", "evil"),
        ("X-Device", "evil"),
        ("X-Other", "evil"),
        ("User-Agent", "evil"),
        ("Cookie", "evil"),
        ("Authorization", "evil"),
    ];
    assert_miss(&served.get_with("/a", &fields));
    assert_eq!(arrived(&origin), ["accept-language", "x-app-theme", "x-device"]);
    // Credentials that are not sent do not keep requests apart.
    assert_hit(&served.get_with("/a", &[("X-Device", "evil"), ("Authorization", "other")]));
}

#[test]
fn what_forward_leaves_out_is_no_reason_to_vary() {
    let origin = Origin::start(|request| {
        let reply = OriginReply::ok(format!("{}", request.nth));
        reply.header("Cache-Control", "max-age=60").header("Vary", "X-Other, Accept-Language")
    });
    let route = "cache = {}\nforward = [\"accept-language\"]";
    let served = serve(&route_to(&[&origin], "", route));
    assert_miss(&served.get_with("/", &[("X-Other", "a"), ("Accept-Language", "de")]));
    assert_hit(&served.get_with("/", &[("X-Other", "b"), ("Accept-Language", "de")]));
    assert_miss(&served.get_with("/", &[("X-Other", "a"), ("Accept-Language", "en")]));
}

#[test]
fn a_forward_that_cannot_be_kept_is_refused() {
    for (route, reason) in [
        ("forward = [\"accept\"]", "only a route with `cache` has it; others send all headers on"),
        (
            "cache = {}\nforward = [\"host\"]",
            "`host` is not a header that can be forwarded, nor the beginning of one with `*`",
        ),
        (
            "cache = {}\nforward = [\"a b\"]",
            "`a b` is not a header that can be forwarded, nor the beginning of one with `*`",
        ),
    ] {
        let (_, problems) = check(&route_to(&[&origin()], "", route));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].message, reason);
    }
}

#[test]
fn a_request_that_comes_back_is_refused_and_one_through_other_servers_is_not() {
    let origin = origin();
    let served = served(&origin);
    let through = [("Via", "1.0 other (a cache)"), ("CDN-Loop", "other; v=1, tidegate-0")];
    assert_eq!(served.get_with("/ph/me", &through).status, 200);
    let sent = origin.requests().pop().unwrap();
    let [via, cdn_loop] = ["via", "cdn-loop"].map(|name| sent.header(name).unwrap().to_owned());
    assert!(via.starts_with("1.0 other (a cache), 1.1 tidegate-"), "{via}");
    assert!(cdn_loop.starts_with("other; v=1, tidegate-0, tidegate-"), "{cdn_loop}");
    for field in [("Via", &*via), ("CDN-Loop", &*cdn_loop)] {
        for target in ["/ph/me", "/stored"] {
            let reply = served.get_with(target, &[field]);
            assert_eq!(reply.status, 508, "{field:?}");
            assert!(reply.text().contains("an upstream leads back to this server"));
        }
    }
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn a_filter_over_the_path_sees_every_reading_of_it() {
    let origin = origin();
    for (when, guarded) in [
        ("path ~ \"^/account\"", true),
        ("path in [\"/account\", \"/me\"]", true),
        ("not (path ~ \"[.](css|js)$\")", false),
    ] {
        let all = route_to(&[&origin], "", "cache = { ttl = \"1h\" }");
        let (upstream, all) = all.split_once("[[route]]").unwrap();
        let private = format!(
            "[[route]]\nname = \"private\"\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\n\
             when = '{when}'\n"
        );
        let served = serve(&format!("{upstream}{private}[[route]]{all}"));
        let paths: &[&str] = match guarded {
            true => {
                &["/account", "/%61ccount", "//account", "/ACCOUNT", "/account;x", "/account%00"]
            }
            false => &["/account", "/account;.css", "/account%00.css", "/account%3b.css"],
        };
        for path in paths {
            let status = served.get(path);
            let status = cache_status(&status);
            assert!(status.starts_with("tidegate; fwd=bypass"), "{when} {path}: {status}");
        }
    }
    let all = route_to(&[&origin], "", "cache = { ttl = \"1h\" }");
    let (upstream, all) = all.split_once("[[route]]").unwrap();
    let admin = "[[route]]\nname = \"adm\"\npath = \"/{*rest}\"\nto = \"upstream:o\"\n\
                 when = 'host == \"adm.test\"'\n";
    let served = serve(&format!("{upstream}{admin}[[route]]{all}"));
    for host in ["adm.test", "ADM.test", "adm.test.", "adm.test:80"] {
        let reply = served.get_with("/x", &[("Host", host)]);
        assert_eq!(cache_status(&reply), "tidegate; fwd=bypass", "{host}");
    }
}

#[test]
fn what_a_client_says_of_servers_before_it_reaches_no_fetch_for_everyone() {
    let origin = origin();
    for forward in ["", "\nforward = [\"accept\"]"] {
        let served = serve(&route_to(&[&origin], "", &format!("cache = {{}}{forward}")));
        served.get_with("/", &[("Via", "1.1 evil"), ("CDN-Loop", "evil")]);
        let sent = origin.requests().pop().unwrap();
        for name in ["via", "cdn-loop"] {
            assert!(!sent.header(name).unwrap().contains("evil"), "{name}");
        }
    }
}

#[test]
fn an_answer_that_varies_by_what_the_gateway_writes_is_not_shared() {
    for name in ["Forwarded", "X-Forwarded-For", "X-Request-Id", "Tidegate-Decision"] {
        let origin = Origin::start(move |request| {
            let reply = OriginReply::ok(format!("{}", request.nth)).header("Vary", name);
            reply.header("Cache-Control", "max-age=60")
        });
        let served = serve(&route_to(&[&origin], "", "cache = {}"));
        for nth in ["0", "1"] {
            assert_eq!(served.get("/").text(), nth, "{name}");
        }
    }
    let origin = Origin::start(|request| {
        let reply = OriginReply::ok(format!("{}", request.nth)).header("Vary", "Host");
        reply.header("Cache-Control", "max-age=60")
    });
    for forward in ["", "\nforward = []"] {
        let served = serve(&route_to(&[&origin], "", &format!("cache = {{}}{forward}")));
        assert_miss(&served.get("/"));
        assert_hit(&served.get("/"));
    }
}

#[test]
fn a_client_that_fetches_anew_takes_a_fresh_entry_from_nobody() {
    let origin = Origin::start(|request| match request.header("cookie") {
        Some(_) => OriginReply::ok("own").header("Cache-Control", "private"),
        None => OriginReply::ok("all").header("Cache-Control", "max-age=60"),
    });
    let served = serve(&route_to(&[&origin], "", "cache = {}"));
    served.get("/");
    let forced = served.get_with("/", &[("Cookie", "a=b"), ("Cache-Control", "no-cache")]);
    assert_eq!(forced.text(), "own");
    let reply = served.get("/");
    assert_hit(&reply);
    assert_eq!(reply.text(), "all");
}

#[test]
fn an_answer_marked_private_with_a_typing_error_is_not_shared() {
    for control in [
        "max-age=60, private; foo",
        "max-age=60, no-store;",
        "max-age=60, private:1",
        "max-age=60, \"private\"",
    ] {
        let origin = Origin::start(move |request| {
            OriginReply::ok(format!("{}", request.nth)).header("Cache-Control", control)
        });
        let served = serve(&route_to(&[&origin], "", "cache = {}"));
        for nth in ["0", "1"] {
            assert_eq!(served.get("/").text(), nth, "{control}");
        }
    }
}

#[test]
fn a_slash_at_the_end_hides_no_route_that_personalises() {
    let origin = origin();
    let stored = route_to(&[&origin], "", "cache = { ttl = \"1h\" }");
    let (upstream, stored) = stored.split_once("[[route]]").unwrap();
    let route = |path: &str, more: &str| {
        format!("[[route]]\nname = \"{path}\"\npath = \"{path}\"\nto = \"upstream:o\"\n{more}")
    };
    let personalise = "personalise = { user = \"cookie:sid\" }\n";
    let private = [route("/feed.json", personalise), route("/list/", personalise)].concat();
    let served = serve(&format!("{upstream}{private}{}[[route]]{stored}", route("/plain", "")));
    for path in ["/feed.json/", "/list", "/FEED.json/"] {
        for _ in 0..2 {
            let status = cache_status(&served.get(path)).to_owned();
            assert!(status.starts_with("tidegate; fwd=bypass"), "{path}: {status}");
        }
    }
    assert_miss(&served.get("/plain/"));
    assert_hit(&served.get("/plain/"));
}
