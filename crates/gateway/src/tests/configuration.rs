//! Claims about reading the gateway's sections: every error at once, each with its line and key.

use super::check;
use crate::plan::Coalesce;

const WRONG: &str = r#"[[upstream]]
name = "a"
servers = ["nowhere", "127.0.0.1:1"]
balance = "fair"
answer_timeout = "soon"
health = { path = "ping", window = 99 }
retry = { share = "120%" }

[[upstream]]
name = "a"

[[route]]
path = "no-slash"
to = "upstream:b"
colour = "red"

[[route]]
path = "/x"
when = "path ~"
cache = { ttl = "x", body_bytes_max = "much" }
personalise = { user = "userId", rollout = "0.5" }
coalesce = "strict"
record = "sample:2"

[[route]]
path = "/y"
to = [{ to = "model:newz", share = "60%" }, { to = "model:news", share = "60%" }]
cors = { credentials = true }
reply = "gif"

[[route]]
path = "/z"
collect = "only"
to = "model:news"
server_timing = "loud"
compress = { bytes_min = "little", encodings = ["lzma"] }

[cache]
bytes = 5

[limits]
pending_max = "many"
"#;

#[test]
fn a_dozen_errors_are_reported_at_once_each_with_line_and_key() {
    let (_, problems) = check(WRONG);
    let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let found = found.join("\n");
    for (line, key) in [
        (3, "upstream[0].servers"),
        (4, "upstream[0].balance"),
        (5, "upstream[0].answer_timeout"),
        (6, "upstream[0].health.path"),
        (6, "upstream[0].health.threshold"),
        (7, "upstream[0].retry.share"),
        (9, "upstream[1].servers"),
        (10, "upstream[1].name"),
        (13, "route[0].path"),
        (14, "route[0].to"),
        (15, "route[0].colour"),
        (17, "route[1].to"),
        (19, "route[1].when"),
        (20, "route[1].cache.ttl"),
        (20, "route[1].cache.body_bytes_max"),
        (21, "route[1].personalise.user"),
        (21, "route[1].personalise.rollout"),
        (22, "route[1].coalesce"),
        (23, "route[1].record"),
        (27, "route[2].to"),
        (28, "route[2].cors.credentials"),
        (29, "route[2].reply"),
        (34, "route[3].to"),
        (35, "route[3].server_timing"),
        (36, "route[3].compress.bytes_min"),
        (36, "route[3].compress.encodings"),
        (39, "cache.bytes"),
        (42, "limits.pending_max"),
    ] {
        assert!(found.contains(&format!("line {line}: `{key}`")), "no {line} {key} in\n{found}");
    }
    assert!(found.contains("did you mean `news`?"), "{found}");
}

#[test]
fn every_key_but_names_paths_and_targets_has_a_default() {
    let (plan, problems) = check(
        "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n\
         [[route]]\npath = \"/{*rest}\"\nto = \"upstream:a\"\n",
    );
    assert!(problems.is_empty(), "{problems:?}");
    let route = &plan.routes[0];
    assert_eq!(route.coalesce, Coalesce::On);
    assert!(route.cache.is_none() && route.personalise.is_none() && route.collect.is_none());
    assert_eq!((route.lease.as_secs(), route.wait.as_secs()), (15, 20));
    assert!(plan.upstreams[0].retry.is_none() && plan.upstreams[0].health.is_none());
    assert_eq!((plan.limits.pending_max, plan.limits.user_bytes_max), (4096, 100));
}

#[test]
fn the_last_target_takes_what_the_others_leave() {
    let (plan, problems) = check(
        "[[route]]\npath = \"/\"\n\
         to = [{ to = \"model:news\", share = \"33.3%\" }, { to = \"models\" }]\n",
    );
    assert!(problems.is_empty(), "{problems:?}");
    let ends: Vec<u32> = plan.routes[0].arms.iter().map(|arm| arm.share_end).collect();
    assert_eq!(ends, [333_000, 1_000_000]);
}

/// Returns the problems of a route with this line.
fn said_of(line: &str) -> Vec<String> {
    let (_, problems) = check(&format!(
        "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:a\"\n{line}\n"
    ));
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_missing_path_is_reported_once() {
    let (_, problems) = check("[[route]]\nto = \"model:news\"\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].message, "`path` is missing");
}

#[test]
fn a_server_that_does_not_resolve_is_reported_once() {
    let (_, problems) = check("[[upstream]]\nname = \"a\"\nservers = [\"nowhere\"]\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn a_route_on_disk_without_a_disk_is_told_where_to_name_one() {
    let said = said_of("cache = { disk = true }");
    assert_eq!(
        said,
        ["line 7: `route[0].cache.disk`: there is no cache on disk; \
          add `disk = { dir = \"data/cache\" }` to [cache]"]
    );
    assert!(said_of("cache = { disk = true }\n[cache]\ndisk = {}").is_empty());
}

#[test]
fn what_is_wrong_inside_rules_for_encoding_is_told_with_its_key() {
    let said = said_of("compress = { encodings = [\"deflate\"], level = 9, bytes_min = 5 }");
    assert_eq!(
        said,
        [
            "line 7: `route[0].compress.bytes_min`: found the number `5`, \
             expected a size, such as \"5B\" or \"64MB\"",
            "line 7: `route[0].compress.level`: unknown key; there are types, bytes_min, encodings",
            "line 7: `route[0].compress.encodings`: `deflate` is none of zstd, br, gzip",
        ]
    );
    let said = said_of("compress = true");
    assert_eq!(
        said,
        ["line 7: `route[0].compress`: found `true`, \
          expected \"on\", \"off\" or a table such as `{ encodings = [\"gzip\"] }`"]
    );
}

#[test]
fn what_is_wrong_inside_a_list_of_targets_is_told_with_its_key() {
    let route = |to: &str| {
        let (_, problems) = check(&format!("[[route]]\npath = \"/\"\nto = {to}\n"));
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let said = route("[{ to = \"model:news\", shre = \"80%\" }, { to = \"models\", share = 5 }]");
    assert!(said.contains("`route[0].to[0].shre`: unknown key; did you mean `share`?"), "{said}");
    assert!(said.contains("`route[0].to[1].share`: found the number `5`"), "{said}");
    let said = route("7");
    assert!(said.contains("expected text such as \"upstream:NAME\", or a list"), "{said}");
}

#[test]
fn an_upstreams_time_for_an_answer_is_not_cut_short_by_what_routes_have_by_default() {
    let text = "[[upstream]]\nname = \"slow\"\nservers = [\"127.0.0.1:1\"]\n\
                answer_timeout = \"60s\"\n[[upstream]]\nname = \"usual\"\n\
                servers = [\"127.0.0.1:1\"]\n[[route]]\npath = \"/a\"\nto = \"upstream:slow\"\n\
                [[route]]\npath = \"/b\"\nto = \"upstream:usual\"\n[[route]]\npath = \"/c\"\n\
                to = \"upstream:slow\"\nlease = \"3s\"\nwait_timeout = \"7s\"\n\
                [[route]]\npath = \"/d\"\nto = \"models\"\n";
    let (plan, problems) = check(text);
    assert!(problems.is_empty(), "{problems:?}");
    let times = plan.routes.iter().map(|route| (route.lease.as_secs(), route.wait.as_secs()));
    assert_eq!(times.collect::<Vec<_>>(), [(90, 120), (15, 20), (3, 7), (90, 120)]);
}

#[test]
fn a_model_that_cannot_rank_is_not_said_to_be_missing() {
    let (_, problems) = check("[[route]]\npath = \"/\"\nto = \"model:words\"\n");
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["line 3: `route[0].to`: the model `words` has no `items`, so it cannot rank; \
          `to = \"models\"` serves its API"]
    );
}

#[test]
fn a_server_without_a_port_is_told_what_is_missing() {
    for (server, message) in [
        ("localhost", "`localhost` has no port; write HOST:PORT, such as `localhost:9000`"),
        ("::1", "`::1` has no port; write HOST:PORT, such as `[::1]:9000`"),
        ("127.0.0.1", "`127.0.0.1` has no port; write HOST:PORT, such as `127.0.0.1:9000`"),
    ] {
        let text = format!("[[upstream]]\nname = \"a\"\nservers = [\"{server}\"]\n");
        let (_, problems) = check(&text);
        assert_eq!(problems[0].message, message);
    }
}

#[test]
fn a_path_of_the_wrong_kind_is_not_said_to_be_missing_too() {
    let (_, problems) = check("[[route]]\npath = 7\nto = \"model:news\"\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn a_heading_without_its_bracket_is_the_only_error() {
    let (_, problems) = check(
        "[limits\npending_max = 9\n[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n\
         [[route]]\npath = \"/\"\nto = \"upstream:a\"\n",
    );
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["line 1: unclosed table, expected `]`"]);
}

#[test]
fn routes_to_upstreams_that_could_not_be_read_are_not_wrong() {
    let (_, problems) = check("upstream = 5\n[[route]]\npath = \"/\"\nto = \"upstream:a\"\n");
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["line 1: `upstream`: write `[[upstream]]`: there may be several"]);
}

#[test]
fn settings_that_can_never_do_what_they_say_are_errors() {
    for (keys, reason) in [
        ("cache = { per_user = true }", "needs `personalise`, which says where the user id is"),
        ("host = \"~^api\"", "`~^api` is neither a host without port, nor `*.` and the end of one"),
        ("host = \"a:80\"", "`a:80` is neither a host without port, nor `*.` and the end of one"),
        ("methods = [\"GET\", \"trace\"]", "`TRACE` is never passed on; leave it out"),
        ("methods = []", "is empty; name at least one, or leave it out for all"),
        ("host = \"a.b.\"", "`a.b.` ends in a dot, which hosts of requests are compared without"),
    ] {
        let (_, problems) = check(&format!(
            "[[upstream]]\nname = \"o\"\nservers = [\"127.0.0.1:1\"]\n\
             [[route]]\npath = \"/\"\nto = \"upstream:o\"\n{keys}\n"
        ));
        assert_eq!(problems.len(), 1, "{keys}: {problems:?}");
        assert_eq!(problems[0].message, reason);
    }
    for host in ["a.example", "A.Example", "*.example.com", "[::1]", "127.0.0.1", "a_b"] {
        let (_, problems) =
            check(&format!("[[route]]\npath = \"/\"\nto = \"model:news\"\nhost = \"{host}\"\n"));
        assert!(problems.is_empty(), "{host}: {problems:?}");
    }
}

#[test]
fn a_path_that_no_request_has_is_an_error_with_its_line() {
    for (path, reason) in [
        ("/a?b=c", "`/a?b=c` holds `?`, which is in no path; `when` compares fields of the query"),
        ("/a#b", "`/a#b` holds `#`, which is in no path"),
        ("/a b", "`/a b` holds a blank, which is in no path; write %20"),
        ("/a/../b", "`/a/../b` has a segment `.` or `..`, which clients resolve"),
        ("/./{id}", "`/./{id}` has a segment `.` or `..`, which clients resolve"),
        ("/%7Euser", "`/%7Euser` is compared as `/~user`; write that"),
    ] {
        let (_, problems) = check(&format!("[[route]]\npath = \"{path}\"\nto = \"model:news\"\n"));
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, [format!("line 2: `route[0].path`: {reason}")]);
    }
    for path in ["/", "/a/", "/a.b/..c/{id}.{format:json}", "/%20", "//a", "/{*rest}"] {
        let (_, problems) = check(&format!("[[route]]\npath = \"{path}\"\nto = \"model:news\"\n"));
        assert!(problems.is_empty(), "{path}: {problems:?}");
    }
}

#[test]
fn a_name_that_another_route_has_and_a_port_where_nothing_listens_are_errors() {
    let route = |more: &str| format!("[[route]]\npath = \"/a\"\nto = \"model:news\"\n{more}");
    let (_, problems) = check(&(route("name = \"n\"\n") + &route("name = \"n\"\n")));
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["line 8: `route[1].name`: two routes are called `n`"]);
    let (_, problems) = check(&(route("host = \"a\"\n") + &route("host = \"b\"\n")));
    assert!(problems.is_empty(), "one path is no name: {problems:?}");
    let (_, problems) = check("[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:0\"]\n");
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let expected = "line 3: `upstream[0].servers`: `127.0.0.1:0` has port 0, where nothing listens";
    assert_eq!(said, [expected]);
}
