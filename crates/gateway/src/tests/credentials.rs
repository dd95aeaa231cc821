//! Claims about credentials: when the upstream sees them, and who gets the response to them.

use testkit::{Gate, Origin, OriginReply};

use super::{assert_hit, assert_miss, before};

#[test]
fn a_shared_fetch_carries_no_cookie_and_no_authorization() {
    let origin = Origin::start(|_| OriginReply::ok("x").header("Cache-Control", "max-age=60"));
    let served = before(&origin, "cache = {}\npersonalise = { user = \"cookie:u\" }");
    let shown = [("Cookie", "u=nobody; session=secret"), ("Authorization", "Bearer secret")];
    assert_miss(&served.get_with("/", &shown));
    assert_hit(&served.get_with("/", &shown));
    let seen = &origin.requests()[0];
    assert_eq!((seen.header("cookie"), seen.header("authorization")), (None, None));
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
    served.get_with("/own", &[("Cookie", "u=p1"), ("Authorization", "Bearer own")]);
    let own = &origin.requests()[1];
    assert_eq!(own.header("cookie"), Some("u=p1"));
    assert_eq!(own.header("authorization"), Some("Bearer own"));
}

#[test]
fn who_shows_credentials_is_answered_alone_unless_the_answer_is_public() {
    let origin = Origin::start(|request| {
        let who = request.header("authorization").unwrap_or("-");
        let control = &request.path()[1..];
        OriginReply::ok(who).header("Cache-Control", &format!("max-age=60{control}"))
    });
    let served = before(&origin, "cache = {}");
    let ask = |target: &str, who: &str| {
        served.get_with(target, &[("Authorization", who)]).text().to_owned()
    };
    assert_eq!(served.get("/").text(), "-");
    assert_eq!(ask("/", "one"), "one", "everybody's answer is not for one who shows credentials");
    assert_eq!(ask("/", "two"), "two");
    assert_eq!(served.get("/").text(), "-", "and what is made for one is not stored");
    for open in ["/,public", "/,s-maxage=60", "/,must-revalidate"] {
        assert_eq!(ask(open, "one"), "one");
        assert_eq!(ask(open, "two"), "one", "{open}");
        assert_eq!(served.get(open).text(), "one", "{open}");
    }
}

#[test]
fn who_shows_credentials_waits_on_no_flight_and_leads_none() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        let reply = OriginReply::ok(request.header("authorization").unwrap_or("-"))
            .header("Cache-Control", "max-age=60");
        if request.nth < 2 { reply.after(&own) } else { reply }
    });
    let served = before(&origin, "cache = {}");
    let leader = served.ask("/", &[("Host", "a")]);
    origin.wait_for("/", 1);
    let one = served.ask("/", &[("Host", "a"), ("Authorization", "one")]);
    gate.wait_for(2);
    assert_eq!(served.get_with("/", &[("Host", "a"), ("Authorization", "two")]).text(), "two");
    gate.open();
    assert_eq!(leader.join().unwrap().text(), "-");
    assert_eq!(one.join().unwrap().text(), "one");
}

#[test]
fn a_model_does_not_care_who_shows_credentials() {
    let served = super::serve(
        "[[route]]\npath = \"/rank\"\nto = \"model:news\"\ncache = { ttl = \"60s\" }\n",
    );
    served.get("/rank");
    assert_hit(&served.get_with("/rank", &[("Authorization", "one")]));
}

#[test]
fn fields_of_the_clients_connection_stay_there() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let served = before(&origin, "");
    served.get_with(
        "/",
        &[
            ("Connection", "X-Hop, keep-alive"),
            ("X-Hop", "1"),
            ("Keep-Alive", "5"),
            ("Proxy-Authorization", "secret"),
            ("TE", "trailers"),
            ("Upgrade", "websocket"),
            ("X-Forwarded-For", "10.0.0.1"),
            ("X-Request-Id", "made up"),
            ("Tidegate-Decision", "personalised"),
            ("X-Kept", "kept"),
        ],
    );
    let seen = &origin.requests()[0];
    for gone in ["x-hop", "keep-alive", "proxy-authorization", "te", "upgrade", "connection"] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(seen.header("tidegate-decision"), Some("generic"));
    assert_eq!(seen.headers.all("x-request-id").count(), 1);
    assert_ne!(seen.header("x-request-id"), Some("made up"));
    assert_eq!(seen.header("x-kept"), Some("kept"));
}
