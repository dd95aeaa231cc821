//! Claims about `POST /purge` in the whole binary; what a purge covers is tested in the gateway's
//! crate.

use testkit::{Client, Origin, OriginReply, Reply};

use crate::running::{Running, json};

fn server(origin: &Origin) -> Running {
    let text = format!(
        "[[upstream]]\nname = \"backend\"\nservers = [\"{}\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:backend\"\ncache = {{}}\n",
        origin.address()
    );
    Running::start(&text, |_| {})
}

fn tagged() -> Origin {
    Origin::start(|request| {
        OriginReply::ok(format!("{}", request.nth))
            .header("Cache-Control", "max-age=60, stale-while-revalidate=60")
            .header("Surrogate-Key", "all news")
    })
}

fn post(server: &Running, target: &str, body: &str) -> Reply {
    Client::post(server.admin, target, body).send()
}

#[test]
fn an_operator_purges_with_curl_and_is_told_how_many_entries_that_were() {
    let origin = tagged();
    let server = server(&origin);
    let fill = || (0..5).for_each(|n| drop(server.get(&format!("/{n}?q"))));
    fill();
    for (target, body, purged) in [
        ("/purge?url=/0%3Fq", "", 1),
        ("/purge?prefix=/", "", 5),
        ("/purge", "tag=news&soft", 5),
        ("/purge", "{\"tags\": [\"news\", \"none\"], \"url\": \"/1?q\"}", 5),
        ("/purge?all", "", 5),
    ] {
        fill();
        let reply = post(&server, target, body);
        assert_eq!(
            (reply.status, &json(&reply)["purged"]),
            (200, &purged.into()),
            "{target} {body}"
        );
    }
    let metrics = Client::get(server.admin, "/metrics").send();
    assert!(metrics.text().contains("tidegate_purged_total 21"), "{}", metrics.text());
    server.server.wait_for_stderr("action=\"POST /purge\" what=\"url=/0?q\"");
}

#[test]
fn what_is_not_understood_purges_nothing_and_foreign_pages_are_refused() {
    let origin = tagged();
    let server = server(&origin);
    server.get("/x?p=1&q=2");
    for (target, body, status) in [
        ("/purge", "", 400),
        ("/purge?url=/x?p=1&q=2", "", 400),
        ("/purge?url=x", "", 400),
        ("/purge", "{\"url\": 5}", 400),
        ("/purge?all", "{", 400),
    ] {
        let reply = post(&server, target, body);
        assert_eq!(reply.status, status, "{target} {body}");
        assert!(json(&reply)["error"].is_string());
    }
    assert_eq!(Client::get(server.admin, "/purge?all").send().status, 405);
    let page = Client::post(server.admin, "/purge?all", "").header("origin", "http://evil.example");
    assert_eq!(page.send().status, 403);
    assert!(server.get("/x?p=1&q=2").header("cache-status").unwrap().contains("; hit"));
}
