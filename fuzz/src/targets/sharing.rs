//! Sharing: two requests with one key have the upstream asked the same, whatever the clients wrote.
//!
//! That is what keeps one client from choosing what another gets, and one user's answer from
//! another. What may differ is what is no part of an answer: addresses, ids, decisions. What a
//! route lets through unkeyed may differ too, as SECURITY.md says. So each kind of route has its
//! own list of lines that must be the same.

use std::sync::OnceLock;

use chassis::config::Document;
use gateway::fuzzing::{SharedFetch, is_override, shared_fetch};
use gateway::{ModelNames, Plan, Profile, Profiles, Sections};

use crate::reading::read_head;

pub(super) const TOKENS: &[&str] = &[
    "/only/a",
    "/any/a",
    "/own/a",
    "/all/a",
    "?user=",
    "&x=1",
    "host: b\n",
    "cookie: ",
    "userId=",
    "\"alice\"",
    "alice",
    "bob",
    "; ",
    "session=1",
    "lang=de",
    "authorization: x\n",
    "connection: ",
    "x-forwarded-host: evil\n",
    "x-original-url: /x\n",
    "x_forwarded_host: evil\n",
    "x-http-method-override: DELETE\n",
    "x-user: alice\n",
    "accept: a/b\n",
    "via: 1.1 x\n",
    "range: bytes=0-1\n",
    "if-none-match: *\n",
    "%61",
    "\t",
];

/// A route that forwards no header, and one that forwards any. Then one with an answer for each
/// user, and one with an answer for all of whom nothing is known.
const ROUTES: &str = r#"
[[upstream]]
name = "o"
servers = ["127.0.0.1:1"]

[[route]]
path = "/only/{*rest}"
to = "upstream:o"
cache = { ttl = "1m" }
forward = []

[[route]]
path = "/any/{*rest}"
to = "upstream:o"
cache = { ttl = "1m" }
key = { cookies = ["lang"], headers = ["accept"] }

[[route]]
path = "/own/{*rest}"
to = "upstream:o"
cache = { ttl = "1m", per_user = true }
key = { cookies = ["lang"] }
personalise = { user = "cookie:userId", identifies = ["query:user", "header:x-user"] }

[[route]]
path = "/all/{*rest}"
to = "upstream:o"
cache = { ttl = "1m" }
personalise = { user = "query:user" }
"#;

/// Lines that are no part of an answer. An origin must name `Accept-Encoding` in `Vary`, and a test
/// of its own holds that.
const FREE: [&str; 4] = ["x-forwarded-for", "x-request-id", "tidegate-decision", "accept-encoding"];

/// Everybody but those whose id begins with `b` has a profile.
#[derive(Debug)]
struct Users;

impl Profiles for Users {
    fn look_up(&self, user: &[u8]) -> Profile {
        if user.starts_with(b"b") { Profile::Absent } else { Profile::Present }
    }
}

/// An empty line parts two requests, each a target and fields.
pub(super) fn run(input: &[u8]) {
    let cut = input.windows(2).position(|window| window == b"\n\n").unwrap_or(input.len());
    let (one, other) = (&input[..cut], input.get(cut + 2..).unwrap_or_default());
    let (Some(one), Some(other)) = (fetch(one), fetch(other)) else { return };
    if one.key != other.key {
        return;
    }
    assert_eq!(one.route, other.route, "two routes share a key");
    let (one, other) = (lines(&one), lines(&other));
    assert_eq!(one, other, "what one client wrote changes what another gets");
}

fn fetch(input: &[u8]) -> Option<SharedFetch> {
    let (target, lines) = super::settings(input);
    let mut head = [b"GET ", target, b" HTTP/1.1\r\n"].concat();
    if !lines.to_ascii_lowercase().starts_with(b"host:") {
        head.extend_from_slice(b"host: a\r\n");
    }
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        head.extend_from_slice(line);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    read_head(&head, |head| {
        let (head, _) = head.ok()??;
        shared_fetch(plan(), &Users, &head)
    })
}

fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| {
        let mut document = Document::parse(ROUTES);
        let sections = Sections {
            upstreams: document.sections_by("upstream", "python", false),
            routes: document.sections("route"),
            ..Sections::default()
        };
        let plan = Plan::check(sections, ModelNames::default(), &mut document);
        let problems = document.into_problems();
        assert!(problems.is_empty(), "{problems:?}");
        plan
    })
}

/// The lines that must be the same for all who share the answer, in the order of their names.
fn lines(fetch: &SharedFetch) -> Vec<String> {
    let text = String::from_utf8_lossy(&fetch.sent).into_owned();
    let mut lines = text.split("\r\n").map(str::to_owned);
    let first = lines.next();
    let name = |line: &str| line.split(':').next().unwrap_or("").to_ascii_lowercase();
    let is_bound = |line: &String| {
        let name = name(line);
        let is_kept = match fetch.route {
            0 => true,
            1 => matches!(&*name, "host" | "cookie" | "accept") || is_override(name.as_bytes()),
            _ => {
                matches!(&*name, "host" | "cookie" | "authorization" | "x-user")
                    || is_override(name.as_bytes())
            }
        };
        is_kept && !FREE.contains(&&*name)
    };
    let mut lines: Vec<String> = lines.filter(is_bound).collect();
    lines.sort_by_key(|line| name(line));
    first.into_iter().chain(lines).collect()
}
