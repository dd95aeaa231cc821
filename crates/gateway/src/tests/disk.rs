//! Claims about the second tier: what is found after a restart, what is not, and failing disks.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use stdx::Random;
use testkit::{Client, Origin, OriginReply, Reply, SmallDisk, TempDir};

use super::{Served, cache_status, eventually, route_to, serve};
use crate::purge_request::PurgeRequest;

/// A fixed host: keys hold the host, and each gateway has another port.
const HOST: (&str, &str) = ("Host", "news.test");

/// An origin that answers with the number of the request to a path and its field `lang`. Its
/// responses are fresh for a minute.
fn counting() -> Origin {
    Origin::start(|request| {
        let lang = request.header("lang").unwrap_or("").to_owned();
        let reply = OriginReply::ok(format!("{} of {} {lang}", request.nth, request.target));
        let reply = reply.header("Cache-Control", "max-age=60").header("Surrogate-Key", "all");
        if request.path() == "/vary" { reply.header("Vary", "Lang") } else { reply }
    })
}

/// An origin whose responses are stale when they arrive, and are confirmed when revalidated. They
/// may replace failures.
fn stale() -> Origin {
    Origin::start(|request| match request.header("if-none-match") {
        Some(_) if request.path() == "/fails" => OriginReply::status(503),
        Some(_) => OriginReply::status(304).header("Cache-Control", "max-age=60"),
        None => OriginReply::ok("body")
            .header("Cache-Control", "max-age=1, stale-if-error=600")
            .header("Age", "10")
            .header("ETag", "\"1\""),
    })
}

fn start_with(origin: &Origin, dir: &Path, route: &str) -> Served {
    serve(&format!("{}[cache]\ndisk = {{ dir = {dir:?} }}\n", route_to(&[origin], "", route)))
}

fn start(origin: &Origin, dir: &Path) -> Served {
    start_with(origin, dir, "cache = { disk = true }")
}

/// Ends a gateway and starts its successor.
fn restart(served: Served, origin: &Origin, dir: &Path) -> Served {
    drop(served);
    start(origin, dir)
}

fn get(served: &Served, target: &str) -> Reply {
    served.get_with(target, &[HOST])
}

fn is_from_disk(reply: &Reply) -> bool {
    let status = cache_status(reply);
    status.starts_with("tidegate; hit") && status.ends_with("; detail=disk")
}

#[track_caller]
fn assert_from_disk(reply: &Reply) {
    assert!(is_from_disk(reply), "{}", cache_status(reply));
}

#[track_caller]
fn assert_from(reply: &Reply, beginning: &str) {
    let status = cache_status(reply);
    assert!(status.starts_with(beginning) && !is_from_disk(reply), "{status}");
}

fn look_ups(served: &Served, result: &str) -> u64 {
    served.registry.sum("tidegate_disk_lookups_total", &[("result", result)])
}

fn reason(served: &Served) -> Option<String> {
    served.gateway.disk_status().unwrap().reason
}

#[test]
fn answers_outlive_a_restart_and_come_back_to_memory() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let served = start(&origin, dir.path());
    assert_from(&get(&served, "/a"), "tidegate; fwd=uri-miss; stored");
    assert_from(&get(&served, "/a"), "tidegate; hit");
    let served = restart(served, &origin, dir.path());
    let first = get(&served, "/a");
    assert_from_disk(&first);
    assert_eq!(first.text(), "0 of /a ");
    assert_from(&get(&served, "/a"), "tidegate; hit");
    let head = Client::call(served.address, "HEAD", "/a").header(HOST.0, HOST.1).send();
    assert_from(&head, "tidegate; hit");
    assert_eq!((origin.count("/a"), look_ups(&served, "hit")), (1, 1));
}

#[test]
fn variants_outlive_a_restart_each_for_its_own_requests() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let served = start(&origin, dir.path());
    let ask = |served: &Served, lang| served.get_with("/vary", &[HOST, ("Lang", lang)]);
    let before: Vec<Reply> = ["de", "en"].map(|lang| ask(&served, lang)).into();
    let served = restart(served, &origin, dir.path());
    for (lang, before) in ["de", "en"].iter().zip(&before) {
        let reply = ask(&served, lang);
        assert_from_disk(&reply);
        assert_eq!(reply.text(), before.text());
    }
    assert_from(&ask(&served, "fr"), "tidegate; fwd=");
    assert_eq!(origin.count("/vary"), 3);
}

#[test]
fn a_herd_reads_the_disk_once() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let served = start(&origin, dir.path());
    get(&served, "/a");
    let served = restart(served, &origin, dir.path());
    let held = Arc::new(Mutex::new(()));
    let guard = held.lock();
    served.gateway.store.hold_readers(&held);
    let asking: Vec<_> = (0..20).map(|_| served.ask("/a", &[HOST])).collect();
    served.wait_for_waiters(19);
    drop(guard);
    let replies: Vec<Reply> = asking.into_iter().map(|asked| asked.join().unwrap()).collect();
    assert!(replies.iter().all(|reply| is_from_disk(reply) && reply.text() == "0 of /a "));
    assert_eq!((origin.count("/a"), look_ups(&served, "hit")), (1, 1));
}

#[test]
fn ages_count_on_over_a_restart() {
    let origin = Origin::start(|_| {
        OriginReply::ok("x").header("Cache-Control", "max-age=600").header("Age", "100")
    });
    let dir = TempDir::new().unwrap();
    let served = start(&origin, dir.path());
    get(&served, "/");
    let served = restart(served, &origin, dir.path());
    let reply = get(&served, "/");
    assert_from_disk(&reply);
    let age: u64 = reply.header("age").unwrap().parse().unwrap();
    assert!((100..600).contains(&age), "{age}");
}

#[test]
fn a_stale_answer_on_disk_is_confirmed_or_stands_in_for_a_failure() {
    let (origin, dir) = (stale(), TempDir::new().unwrap());
    let served = start(&origin, dir.path());
    get(&served, "/");
    get(&served, "/fails");
    let served = restart(served, &origin, dir.path());
    let confirmed = get(&served, "/");
    assert_eq!((confirmed.status, confirmed.text()), (200, "body"));
    let failed = get(&served, "/fails");
    assert_eq!((failed.status, failed.text()), (200, "body"));
    let asked: Vec<bool> =
        origin.requests().iter().map(|r| r.header("if-none-match").is_some()).collect();
    assert_eq!(asked, [false, false, true, true]);
    assert_eq!(look_ups(&served, "stale"), 2);
    assert_from(&get(&served, "/"), "tidegate; hit");
}

#[test]
fn purges_hold_over_restarts() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let purge = |served: &Served, url: &str, tag: &str, prefix: &str| {
        let one = |text: &str| text.split(' ').filter(|t| !t.is_empty()).map(Into::into).collect();
        let (urls, tags, prefixes) = (one(url), one(tag), one(prefix));
        let wanted = PurgeRequest { urls, tags, prefixes, ..PurgeRequest::default() };
        served.gateway.purge(&wanted).unwrap();
    };
    let mut served = start(&origin, dir.path());
    for target in ["/url", "/vary", "/p/refix", "/kept"] {
        get(&served, target);
    }
    purge(&served, "/url /vary", "", "/p/");
    served = restart(served, &origin, dir.path());
    served = restart(served, &origin, dir.path());
    for target in ["/url", "/vary", "/p/refix"] {
        assert_from(&get(&served, target), "tidegate; fwd=");
        assert_eq!(origin.count(target), 2, "{target}");
    }
    assert_from_disk(&get(&served, "/kept"));
    served = restart(served, &origin, dir.path());
    // Responses that were fetched after the purges are found.
    assert_from_disk(&get(&served, "/url"));
    assert_from_disk(&get(&served, "/p/refix"));
    served = restart(served, &origin, dir.path());
    purge(&served, "", "all", "");
    assert_from(&get(&served, "/kept"), "tidegate; fwd=");
    served = restart(served, &origin, dir.path());
    assert_from(&get(&served, "/url"), "tidegate; fwd=");
}

#[test]
fn what_a_request_changed_does_not_come_back() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let mut served = start(&origin, dir.path());
    get(&served, "/a");
    get(&served, "/vary");
    served = restart(served, &origin, dir.path());
    for target in ["/a", "/vary"] {
        Client::post(served.address, target, "x").header(HOST.0, HOST.1).send();
    }
    assert_from(&get(&served, "/a"), "tidegate; fwd=");
    served = restart(served, &origin, dir.path());
    assert_from(&get(&served, "/vary"), "tidegate; fwd=");
    assert_eq!(get(&served, "/a").text(), "2 of /a ");
}

#[test]
fn what_may_not_be_shared_or_is_a_users_own_stays_off_the_disk() {
    let origin = Origin::start(|request| {
        let own = request.header("tidegate-decision") == Some("personalised");
        let reply = OriginReply::ok(if own { "own" } else { "all" });
        match request.path() {
            "/private" => reply.header("Cache-Control", "private, max-age=60"),
            "/cookie" => reply.header("Cache-Control", "max-age=60").header("Set-Cookie", "a=1"),
            "/open" => reply.header("Cache-Control", "public, max-age=60"),
            _ => reply.header("Cache-Control", "max-age=60"),
        }
    });
    let dir = TempDir::new().unwrap();
    let route = "cache = { disk = true, per_user = true }\npersonalise = { user = \"cookie:u\" }";
    let served = start_with(&origin, dir.path(), route);
    let own = served.get_with("/own", &[HOST, ("Cookie", "u=p1")]);
    assert_eq!(own.text(), "own");
    for target in ["/private", "/cookie"] {
        get(&served, target);
    }
    drop(served);
    let served = start(&origin, dir.path());
    assert_eq!(served.gateway.disk_status().unwrap().entries, 0);
    get(&served, "/");
    get(&served, "/open");
    let served = restart(served, &origin, dir.path());
    let user = [HOST, ("Authorization", "Basic x")];
    assert_from(&served.get_with("/", &user), "tidegate; fwd=");
    assert_from_disk(&served.get_with("/open", &user));
}

#[test]
fn requests_demand_of_the_disk_what_they_demand_of_memory() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let served = start(&origin, dir.path());
    get(&served, "/a");
    get(&served, "/b");
    let served = restart(served, &origin, dir.path());
    let demand = |target, what| served.get_with(target, &[HOST, ("Cache-Control", what)]);
    assert_from(&demand("/a", "no-cache"), "tidegate; fwd=");
    assert_from_disk(&demand("/b", "only-if-cached"));
    assert_eq!(demand("/c", "only-if-cached").status, 504);
    assert_eq!((origin.count("/a"), origin.count("/b"), origin.count("/c")), (2, 1, 0));
}

#[test]
fn a_route_that_was_changed_finds_nothing_of_its_old_self() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let served = start(&origin, dir.path());
    get(&served, "/a");
    drop(served);
    let served = start_with(&origin, dir.path(), "cache = { disk = true, ttl = \"5m\" }");
    assert_from(&get(&served, "/a"), "tidegate; fwd=");
}

#[test]
fn a_route_without_it_never_asks_the_disk() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let served = start_with(&origin, dir.path(), "cache = {}");
    get(&served, "/a");
    assert_eq!(served.registry.sum("tidegate_disk_lookups_total", &[]), 0);
    drop(served);
    let served = start_with(&origin, dir.path(), "cache = {}");
    assert_from(&get(&served, "/a"), "tidegate; fwd=");
    assert_eq!(served.gateway.disk_status().unwrap().entries, 0);
}

#[test]
fn a_folder_that_cannot_be_used_costs_no_request() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let taken = dir.path().join("file");
    std::fs::write(&taken, "x").unwrap();
    let named = start(&origin, &taken);
    assert!(reason(&named).unwrap().ends_with("file`: not a directory"), "{:?}", reason(&named));
    let served = start(&origin, &taken.join("cache"));
    assert_from(&get(&served, "/a"), "tidegate; fwd=uri-miss; stored");
    assert_from(&get(&served, "/a"), "tidegate; hit");
    assert!(reason(&served).unwrap().starts_with("use the directory"), "{:?}", reason(&served));
    assert!(served.registry.sum("tidegate_disk_errors_total", &[]) > 0);
    assert_eq!(served.registry.sum("tidegate_disk_dropped_total", &[("reason", "behind")]), 1);
}

#[test]
fn two_gateways_never_share_a_folder() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let first = start(&origin, dir.path());
    get(&first, "/a");
    let second = start(&origin, dir.path());
    assert!(reason(&second).unwrap().starts_with("another process"), "{:?}", reason(&second));
    assert_from(&get(&second, "/b"), "tidegate; fwd=");
    // A purge that it got meanwhile holds when it takes over.
    let wanted = PurgeRequest { urls: vec!["/purged".into()], ..PurgeRequest::default() };
    get(&first, "/purged");
    second.gateway.purge(&wanted).unwrap();
    drop(first);
    eventually("the directory", || reason(&second).is_none());
    assert_from_disk(&get(&second, "/a"));
    assert_from(&get(&second, "/purged"), "tidegate; fwd=");
}

#[test]
fn damaged_files_bring_no_wrong_answer_and_no_failure() {
    let origin = counting();
    let sound = TempDir::new().unwrap();
    let served = start(&origin, sound.path());
    for number in 0..40 {
        get(&served, &format!("/{number}?{}", "x".repeat(number * 50)));
    }
    drop(served);
    let names = std::fs::read_dir(sound.path()).unwrap().map(|file| file.unwrap().file_name());
    let names: Vec<_> = names.collect();
    assert!(names.len() >= 2);
    let mut random = Random::new(5);
    for round in 0..12 {
        let dir = TempDir::new().unwrap();
        for name in &names {
            let bytes = std::fs::read(sound.path().join(name)).unwrap();
            std::fs::write(dir.path().join(name), damaged(bytes, round, &mut random)).unwrap();
        }
        let served = start(&origin, dir.path());
        for number in 0..40 {
            let target = format!("/{number}?{}", "x".repeat(number * 50));
            let reply = get(&served, &target);
            let expected = format!(" of {target} ");
            assert!(reply.status == 200 && reply.text().ends_with(&expected), "{round} {target}");
        }
    }
}

/// Returns the bytes cut, overwritten, mixed up or emptied, depending on the round.
fn damaged(mut bytes: Vec<u8>, round: usize, random: &mut Random) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let end = bytes.len() as u64 - 1;
    match round % 4 {
        0 => bytes.truncate(random.up_to(end) as usize),
        1 => {
            for _ in 0..50 {
                bytes[random.up_to(end) as usize] ^= random.bits() as u8 | 1;
            }
        }
        2 => {
            let page = |random: &mut Random| random.up_to(end) as usize / 4096 * 4096;
            for _ in 0..20 {
                let (from, to) = (page(random), page(random));
                let length = 4096.min(bytes.len() - from.max(to));
                bytes.copy_within(from..from + length, to);
            }
        }
        _ => bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8),
    }
    bytes
}

#[test]
fn a_full_disk_costs_no_request_and_is_told() {
    let origin = Origin::start(|request| {
        let body = format!("{} {}", request.target, "x".repeat(200_000));
        OriginReply::ok(body).header("Cache-Control", "max-age=60")
    });
    let dir = TempDir::new().unwrap();
    let Some(_disk) = SmallDisk::mount(dir.path(), 2).unwrap() else { return };
    let served = start(&origin, dir.path());
    let mut number = 0;
    eventually("the alarm", || {
        number += 1;
        let target = format!("/{number}");
        let reply = get(&served, &target);
        assert!(reply.status == 200 && reply.text().starts_with(&format!("{target} ")));
        reason(&served).is_some()
    });
    assert_from(&get(&served, "/1"), "tidegate; hit");
}

#[test]
fn what_others_change_takes_no_entry_from_disk() {
    let (origin, dir) = (counting(), TempDir::new().unwrap());
    let start = || {
        let kept = "host = \"news.test\"\ncache = { disk = true }";
        let quiet = "[[route]]\npath = \"/{*rest}\"\nto = \"upstream:o\"\n";
        let disk = format!("[cache]\ndisk = {{ dir = {:?} }}\n", dir.path());
        serve(&format!("{}{quiet}{disk}", route_to(&[&origin], "", kept)))
    };
    let served = start();
    let post = |host: &str, target: &str| {
        let reply = Client::post(served.address, target, "x").header("Host", host).send();
        assert_eq!(reply.status, 200);
    };
    let kept = |number: usize| format!("/kept/{number}");
    for number in 0..100 {
        get(&served, &kept(number));
    }
    let stamp = served.gateway.store.stamp();
    for number in 0..1000 {
        post("quiet.test", &kept(number));
    }
    assert_eq!(served.gateway.store.stamp(), stamp, "a route that does not store marks nothing");
    for number in 0..1000 {
        post("news.test", &format!("/changed/{number}"));
    }
    post("news.test", &kept(7));
    drop(served);
    let served = start();
    let lost: Vec<usize> =
        (0..100).filter(|number| !is_from_disk(&get(&served, &kept(*number)))).collect();
    assert_eq!(lost, [7]);
}
