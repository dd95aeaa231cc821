//! Keys: two requests with one key ask for the same resource on the same host.
//!
//! They also have the same values of whatever the route tells apart. A purge by a request's own URL
//! meets its key.

use std::sync::OnceLock;

use crate::reading::read_head;
use cache::Area;
use cache::key::Resource;
use chassis::config::Document;
use gateway::fuzzing::{Identity, areas, forwarded, key};
use gateway::{ModelNames, Plan, PurgeRequest, Sections};
use http1::Head;

pub(super) const TOKENS: &[&str] = &[
    "/?a=1&b=2",
    "?id=",
    "&utm_x=1",
    "host: b\n",
    "cookie: lang=de\n",
    "x-device: tv\n",
    "cookie: plan=paid\n",
    "http://a.test:80/",
    "%2e%2e/",
    "/../",
    "&&",
    "?",
    "HOST",
    "a.test.",
];

const ANYBODY: Identity<'static> = Identity { arm: 0, is_upstream: true, user: None };

const RULES: [&str; 4] = [
    "",
    "key = { sort = true, drop = [\"utm_*\"] }",
    "key = { keep = [\"id\"], cookies = [\"lang\"] }",
    "key = { headers = [\"X-Device\"], \
     segments = [{ from = \"cookie:plan\", values = [\"free\", \"paid\"] }] }",
];

/// The first line is the route's rules, by number; an empty line parts two requests, each a target
/// and fields.
pub(super) fn run(input: &[u8]) {
    let (settings, rest) = super::settings(input);
    let rules = super::number(settings, 0) as usize % RULES.len();
    let cut = rest.windows(2).position(|window| window == b"\n\n").unwrap_or(rest.len());
    let (one, other) = (&rest[..cut], rest.get(cut + 2..).unwrap_or_default());
    read_head(&request(one), |one| {
        let Ok(Some((one, _))) = one else { return };
        check_purge(rules, &one);
        read_head(&request(other), |other| {
            if let Ok(Some((other, _))) = other {
                compare(rules, &one, &other);
            }
        });
    });
}

fn compare(rules: usize, one: &Head<'_>, other: &Head<'_>) {
    let keys = &plan(rules).routes[0].key;
    if key(keys, one, ANYBODY) != key(keys, other, ANYBODY) {
        return;
    }
    let host = |head: &Head<'_>| {
        let host = head.host().to_ascii_lowercase();
        let host = host.strip_suffix(":80").unwrap_or(&host).to_owned();
        host.strip_suffix('.').unwrap_or(&host).to_owned()
    };
    assert_eq!(host(one), host(other), "one key for two hosts");
    let asked = |head: &Head<'_>| forwarded(keys, head.path_and_query(), false);
    assert_eq!(asked(one), asked(other), "one key, but the upstream is asked for two things");
    if rules == 0 {
        assert_eq!(one.path_and_query(), other.path_and_query(), "one key for two resources");
    }
    if rules == 3 {
        let device = |head: &Head<'_>| -> Vec<Vec<u8>> {
            let lines = head.all("x-device").flat_map(|line| line.split(|b| *b == b','));
            lines.map(|part| part.trim_ascii().to_vec()).filter(|part| !part.is_empty()).collect()
        };
        assert_eq!(device(one), device(other), "one key for two values of a header that counts");
    }
}

/// What a purge of the request's own URL covers must hold its key's resource.
fn check_purge(rules: usize, head: &Head<'_>) {
    let plan = plan(rules);
    let key = key(&plan.routes[0].key, head, ANYBODY);
    let resource = Resource::of_key(&key);
    let target = head.path_and_query();
    if head.host().is_empty() || target == "*" {
        return;
    }
    let urls = vec![format!("http://{}{target}", head.host())];
    let request = PurgeRequest { urls, ..PurgeRequest::default() };
    let Ok(areas) = areas(&request, plan) else { return };
    let met = areas.iter().any(|area| match area {
        Area::Resource(Some(host), target) => {
            host.as_bytes() == resource.host && target.as_bytes() == resource.target
        }
        _ => false,
    });
    assert!(met, "a purge of its own URL leaves it: {areas:?}");
}

fn request(part: &[u8]) -> Vec<u8> {
    let (target, lines) = super::settings(part);
    let has_host = lines.split(|b| *b == b'\n').any(|line| line.starts_with(b"host:"));
    let mut head = [b"GET ", target, b" HTTP/1.1\r\n"].concat();
    if !has_host {
        head.extend_from_slice(b"host: a\r\n");
    }
    for line in lines.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        head.extend_from_slice(line);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn plan(rules: usize) -> &'static Plan {
    static PLANS: [OnceLock<Plan>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    PLANS[rules].get_or_init(|| {
        let text = format!(
            "[[upstream]]\nname = \"o\"\nservers = [\"127.0.0.1:1\"]\n\
             [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\ncache = {{}}\n{}\n",
            RULES[rules]
        );
        let mut document = Document::parse(&text);
        let sections = Sections {
            upstreams: document.sections_by("upstream", "python", false),
            routes: document.sections("route"),
            cache: document.section("cache"),
            limits: document.section("limits"),
            ..Sections::default()
        };
        let plan = Plan::check(sections, ModelNames::default(), &mut document);
        let problems = document.into_problems();
        assert!(problems.is_empty(), "{problems:?}");
        plan
    })
}
