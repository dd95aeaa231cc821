//! Claims about collection routes, the GIF for beacons, and cross-origin access.

use std::sync::atomic::Ordering;

use exchange::Decision;
use testkit::{Client, Origin, OriginReply};

use super::{before, route_to, serve};

const ONLY: &str = "[[route]]\npath = \"/1/feedback/read\"\ncollect = \"only\"\n";

#[test]
fn an_event_is_recorded_durably_before_it_is_answered_with_204() {
    let served = serve(ONLY);
    for method in ["POST", "GET"] {
        let call = Client::call(served.address, method, "/1/feedback/read?item=12");
        let reply = call.send();
        assert_eq!((reply.status, reply.header("cache-control")), (204, Some("no-store")));
    }
    let with_body = Client::post(served.address, "/1/feedback/read", "x".repeat(50_000)).send();
    assert_eq!(with_body.status, 204);
    let records = served.journal.records.lock().unwrap().clone();
    assert_eq!(records.len(), 3, "each once, and before its answer");
    assert!(records.iter().all(|record| record.durably && record.status == 204));
    let refused = Client::call(served.address, "DELETE", "/1/feedback/read").send();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, POST")));
}

#[test]
fn what_cannot_be_recorded_is_refused_with_503() {
    let origin = Origin::start(|_| OriginReply::ok("done"));
    let also = before(&origin, "collect = \"also\"");
    let only = serve(ONLY);
    for served in [&also, &only] {
        served.journal.full.store(true, Ordering::SeqCst);
        let reply = Client::post(served.address, "/1/feedback/read", "x").send();
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
        assert_eq!(served.gateway.metrics.unrecorded.get(), 1);
        served.journal.full.store(false, Ordering::SeqCst);
        let reply = Client::post(served.address, "/1/feedback/read", "x").send();
        assert!(matches!(reply.status, 200 | 204));
    }
}

#[test]
fn an_event_may_be_forwarded_too_and_its_answer_passed_on() {
    let origin = Origin::start(|request| match request.path() {
        "/down" => OriginReply::ok("").close_before_head(),
        _ => OriginReply::status(201).body("done").header("X-From", "origin"),
    });
    let served = before(&origin, "collect = \"also\"");
    let reply = Client::post(served.address, "/read?item=1", "body").send();
    assert_eq!((reply.status, reply.text()), (201, "done"));
    assert_eq!(reply.header("x-from"), Some("origin"));
    let seen = &origin.requests()[0];
    assert_eq!((&*seen.target, &*seen.body), ("/read?item=1", &b"body"[..]));
    assert_eq!(Client::post(served.address, "/down", "body").send().status, 502);
    let records = served.journal.wait_for(2);
    assert_eq!((records[0].status, records[0].durably), (201, true));
    assert_eq!((records[1].status, records[1].path.as_str()), (502, "/down"));
}

#[test]
fn a_beacon_may_be_answered_with_a_picture_of_one_pixel() {
    let served = serve(&ONLY.replace("\"only\"", "\"only\"\nreply = \"gif\""));
    let reply = served.get("/1/feedback/read?item=1");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("image/gif")));
    assert!(reply.body.starts_with(b"GIF89a\x01\0\x01\0") && reply.body.ends_with(b";"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

#[test]
fn a_preflight_is_answered_here_and_simple_requests_are_permitted_to_named_origins() {
    let origin = Origin::start(|_| OriginReply::ok("x").header("Cache-Control", "max-age=60"));
    let cors = "cache = {}\nmethods = [\"GET\", \"POST\"]\ncors = { origins = [\"https://a.example\"], \
                headers = [\"X-Own\"], credentials = true, max_age = \"5m\" }";
    let served = before(&origin, cors);
    let ask = |method: &str, from: &str, more: bool| {
        let call = Client::call(served.address, method, "/").header("Origin", from);
        match more {
            true => call.header("Access-Control-Request-Method", "POST").send(),
            false => call.send(),
        }
    };
    let preflight = ask("OPTIONS", "https://a.example", true);
    assert_eq!((preflight.status, origin.requests().len()), (204, 0));
    for (name, value) in [
        ("access-control-allow-origin", "https://a.example"),
        ("access-control-allow-methods", "GET, POST, HEAD"),
        ("access-control-allow-headers", "X-Own"),
        ("access-control-allow-credentials", "true"),
        ("access-control-max-age", "300"),
        ("vary", "origin"),
    ] {
        assert_eq!(preflight.header(name), Some(value), "{name}");
    }
    let foreign = ask("OPTIONS", "https://b.example", true);
    assert_eq!(foreign.header("access-control-allow-origin"), None);
    for from in ["https://a.example", "https://b.example", "https://a.example"] {
        let reply = ask("GET", from, false);
        let allowed = reply.header("access-control-allow-origin");
        assert_eq!(allowed, (from == "https://a.example").then_some(from));
        assert_eq!(reply.header("vary"), Some("origin"));
    }
    assert_eq!(origin.count("/"), 1, "the stored answer serves every origin");
    assert_eq!(ask("OPTIONS", "https://a.example", false).status, 405, "no preflight");
    let refused = ask("DELETE", "https://a.example", false);
    assert_eq!(refused.status, 405);
}

#[test]
fn any_origin_may_read_what_the_route_opens_to_all() {
    let origin = Origin::start(|_| {
        OriginReply::ok("x").header("Access-Control-Allow-Origin", "https://inner.example")
    });
    let served = before(&origin, "cors = { origins = [\"*\"] }");
    let reply = served.get_with("/", &[("Origin", "https://x.example")]);
    let permissions: Vec<&str> = reply.headers.all("access-control-allow-origin").collect();
    assert_eq!(permissions, ["*"], "the origin's own permission gives way");
    assert_eq!(reply.header("vary"), None);
    let plain = before(&origin, "").get_with("/", &[("Origin", "https://x.example")]);
    assert_eq!(plain.header("access-control-allow-origin"), Some("https://inner.example"));
}

#[test]
fn server_timing_is_sent_when_asked_for() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let debug = before(&origin, "");
    assert_eq!(debug.get("/").header("server-timing"), None);
    let asked = debug.get_with("/", &[("Tidegate-Debug", "1")]);
    let timing = asked.header("server-timing").unwrap();
    assert!(timing.contains("fetch;dur=") && timing.contains("total;dur="), "{timing}");
    let on = before(&origin, "server_timing = \"on\"");
    assert!(on.get("/").header("server-timing").is_some());
    let off = before(&origin, "server_timing = \"off\"");
    assert_eq!(off.get_with("/", &[("Tidegate-Debug", "1")]).header("server-timing"), None);
}

#[test]
fn routes_record_all_or_nothing_as_they_say() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let text = route_to(&[&origin], "", "record = \"off\"");
    let text =
        text.replacen("[[route]]", "[[route]]\npath = \"/on\"\nto = \"upstream:o\"\n[[route]]", 1);
    let served = serve(&text);
    served.get("/off");
    served.get("/on");
    let records = served.journal.wait_for(1);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].path.as_str(), records[0].upstream.as_deref()), ("/on", Some("o")));
    assert_eq!(records[0].decision, Decision::Generic);
}
