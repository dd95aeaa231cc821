//! Claims about the route of a request, and the refusal if there is none.

use testkit::{Client, Origin, OriginReply};

use super::{check, decision, serve};

/// Returns two origins that answer with their names.
fn origins() -> (Origin, Origin) {
    (Origin::start(|_| OriginReply::ok("a")), Origin::start(|_| OriginReply::ok("b")))
}

fn upstreams(a: &Origin, b: &Origin) -> String {
    format!(
        "[[upstream]]\nname = \"a\"\nservers = [\"{}\"]\n\
         [[upstream]]\nname = \"b\"\nservers = [\"{}\"]\n",
        a.address(),
        b.address()
    )
}

#[test]
fn a_format_that_is_not_allowed_is_404_and_none_given_is_the_default() {
    let (a, b) = origins();
    let served = serve(&format!(
        "{}[[route]]\npath = \"/1/recommendations.{{format:json}}\"\nto = \"upstream:a\"\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:b\"\n",
        upstreams(&a, &b)
    ));
    assert_eq!(served.get("/1/recommendations.json").text(), "a");
    assert_eq!(served.get("/1/recommendations?x=1").text(), "a");
    let refused = served.get("/1/recommendations.xml");
    assert_eq!(refused.status, 404);
    assert!(refused.text().starts_with("{\"error\":"), "{}", refused.text());
    assert_eq!(served.get("/1/other.xml").text(), "b");
    assert_eq!(a.requests().len(), 2, "nothing that is refused reaches an origin");
}

#[test]
fn a_wrong_method_is_405_with_allow_unless_another_route_takes_it() {
    let (a, b) = origins();
    let served = serve(&format!(
        "{}[[route]]\npath = \"/x\"\nmethods = [\"get\", \"HEAD\"]\nto = \"upstream:a\"\n\
         [[route]]\npath = \"/x\"\nmethods = [\"PUT\"]\nto = \"upstream:b\"\n\
         [[route]]\npath = \"/rank\"\nto = \"model:news\"\n",
        upstreams(&a, &b)
    ));
    assert_eq!(served.get("/x").text(), "a");
    assert_eq!(Client::call(served.address, "PUT", "/x").body("1").send().text(), "b");
    let refused = Client::post(served.address, "/x", "1").send();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, PUT")));
    let refused = Client::call(served.address, "DELETE", "/rank").send();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(served.get("/y").status, 404);
}

#[test]
fn hosts_are_matched_without_port_and_case_and_by_subdomain() {
    let (a, b) = origins();
    let served = serve(&format!(
        "{}[[route]]\nhost = \"api.example.com\"\npath = \"/{{*rest}}\"\nto = \"upstream:a\"\n\
         [[route]]\nhost = \"*.example.com\"\npath = \"/{{*rest}}\"\nto = \"upstream:b\"\n",
        upstreams(&a, &b)
    ));
    for (host, expected) in [
        ("api.example.com", "a"),
        ("API.Example.COM:8080", "a"),
        ("www.example.com", "b"),
        ("a.b.example.com:1", "b"),
    ] {
        assert_eq!(served.get_with("/", &[("Host", host)]).text(), expected, "{host}");
    }
    for host in ["example.com", "badexample.com", "api.example.com.evil", "[::1]:80"] {
        assert_eq!(served.get_with("/", &[("Host", host)]).status, 404, "{host}");
    }
}

#[test]
fn a_filter_and_the_health_of_the_upstream_pass_a_request_on_to_the_next_route() {
    let (a, b) = origins();
    let sick = "health = { path = \"/ping\", interval = \"60s\", initial = 0, threshold = 2 }";
    let text = upstreams(&a, &b).replacen("\n[[", &format!("\n{sick}\n[["), 1);
    let served = serve(&format!(
        "{text}[[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:a\"\nif_healthy = true\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"model:news\"\n\
         when = 'header.user-agent ~ \"McHammer\"'\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:b\"\n",
    ));
    assert_eq!(served.get("/").text(), "b", "one good probe of two is not healthy");
    let agent = [("User-Agent", "Mozilla (McHammer)")];
    assert!(served.get_with("/", &agent).text().starts_with("generic"));
    let upstream = served.gateway.upstreams[0].clone();
    upstream.note(&upstream.servers()[0], true);
    upstream.note(&upstream.servers()[0], true);
    assert_eq!(served.get_with("/", &agent).text(), "a");
}

#[test]
fn targets_share_clients_and_each_user_keeps_to_one() {
    let (a, b) = origins();
    let served = serve(&format!(
        "{}[[route]]\npath = \"/{{*rest}}\"\ncache = {{ ttl = \"60s\" }}\n\
         personalise = {{ user = \"cookie:u\", rollout = \"0%\" }}\n\
         to = [{{ to = \"upstream:a\", share = \"50%\" }}, {{ to = \"upstream:b\" }}]\n",
        upstreams(&a, &b)
    ));
    let mut seen = std::collections::HashSet::new();
    for user in 0..20 {
        let cookie = format!("u={user}");
        let first = served.get_with("/", &[("Cookie", &cookie)]);
        assert_eq!(decision(&first), "no-profile");
        let again = served.get_with("/", &[("Cookie", &cookie)]);
        assert_eq!(first.text(), again.text(), "user {user}");
        seen.insert(first.text().to_owned());
    }
    assert_eq!(seen.len(), 2, "both targets have users");
    assert_eq!((a.count("/"), b.count("/")), (1, 1), "each target has its own entry");
}

#[test]
fn what_no_route_takes_is_404_in_json() {
    let (plan, problems) = check("");
    assert!(problems.is_empty() && plan.routes.is_empty());
    let served = serve("");
    let reply = served.get("/\"quoted\"");
    assert_eq!((reply.status, reply.text()), (404, "{\"error\":\"no such resource\"}\n"));
    assert_eq!(reply.header("cache-status"), Some("tidegate; detail=no-route"));
}

#[test]
fn http_1_0_clients_are_served_though_they_name_no_host() {
    let (a, b) = origins();
    let route = "[[route]]\npath = \"/{*rest}\"\nto = \"upstream:a\"\ncache = { ttl = \"60s\" }\n";
    let served = serve(&(upstreams(&a, &b) + route));
    for _ in 0..2 {
        let mut client = Client::connect(served.address).unwrap();
        client.write_raw(b"GET /old HTTP/1.0\r\n\r\n").unwrap();
        let reply = String::from_utf8(client.read_to_close().unwrap()).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200 ") && reply.ends_with("\r\n\r\na"), "{reply}");
    }
    assert_eq!(a.count("/old"), 1);
}
