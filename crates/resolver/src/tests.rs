//! Claims about names, made with a real name server on loopback.

use std::net::IpAddr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hickory_resolver::proto::rr::Name;
use testkit::{Answers, FIXTURE_TIMEOUT, NameServer};

use crate::known::{Family, Found, Known};
use crate::lookup::full_names;
use crate::route::{has_route, reachable};
use crate::{ADDRESSES_MAX, Followed, LookupResult, Options, Resolver, Times};

type Seen = (LookupResult, Vec<String>, Option<String>);

/// A name that is followed, with what was reported of it.
struct Following {
    reports: Receiver<Seen>,
    resolver: Resolver,
}

fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

fn follow(server: &NameServer, host: &str) -> Following {
    let options = Options { servers: vec![server.address()], times: Times::for_tests() };
    let (sender, reports) = channel();
    let report = move |report: &crate::Report<'_>| {
        let problem = report.problem.map(str::to_owned);
        // The test may have ended.
        let _ = sender.send((report.result, texts(report.addresses), problem));
    };
    let followed = Followed { host: host.to_owned(), report: Box::new(report) };
    Following { reports, resolver: Resolver::start(options, vec![followed]).unwrap() }
}

impl Following {
    /// Waits for a report like this one.
    #[track_caller]
    fn wait_for(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        loop {
            let seen = self.reports.recv_timeout(FIXTURE_TIMEOUT).expect("waited in vain");
            if wanted(&seen) {
                return seen;
            }
        }
    }
}

#[test]
fn every_address_of_both_kinds_is_reported_sorted_and_once() {
    let server = NameServer::start();
    server.set("api.test", 0, &["127.0.0.2", "::1", "127.0.0.1", "127.0.0.2"]);
    let following = follow(&server, "API.test");
    assert!(following.resolver.wait_for_first(FIXTURE_TIMEOUT));
    let expected = ["127.0.0.1", "127.0.0.2", "::1"].map(str::to_owned).to_vec();
    following.wait_for(|seen| *seen == (LookupResult::Found, expected.clone(), None));
}

#[test]
fn an_answer_that_is_cut_off_is_fetched_whole_by_tcp() {
    let server = NameServer::start();
    let all: Vec<String> = (1..200).map(|n| format!("127.0.1.{n}")).collect();
    server.set("big.test", 3600, &all.iter().map(String::as_str).collect::<Vec<_>>());
    server.answer(Answers::CutOff);
    let following = follow(&server, "big.test");
    let (_, addresses, problem) = following.wait_for(|seen| seen.0 == LookupResult::Found);
    assert_eq!((addresses.len(), problem), (199, None));
}

#[test]
fn whatever_a_name_server_does_the_last_good_addresses_stay() {
    let server = NameServer::start();
    server.set("api.test", 0, &["127.0.0.1", "127.0.0.2"]);
    let following = follow(&server, "api.test");
    let good = following.wait_for(|seen| seen.0 == LookupResult::Found).1;
    for (answers, result) in [
        (Answers::Servfail, LookupResult::Failed),
        (Answers::Silence, LookupResult::Failed),
        (Answers::Garbage, LookupResult::Failed),
        (Answers::OtherId, LookupResult::Failed),
        (Answers::Nxdomain, LookupResult::Unknown),
    ] {
        server.answer(answers);
        let seen = following.wait_for(|seen| seen.0 == result);
        assert_eq!((&seen.1, seen.2.is_some()), (&good, true), "{answers:?}");
        server.answer(Answers::Well);
        let seen = following.wait_for(|seen| seen.2.is_none());
        assert_eq!((seen.0, &seen.1), (LookupResult::Found, &good), "{answers:?}");
    }
    server.set("api.test", 0, &[]);
    let seen = following.wait_for(|seen| seen.0 == LookupResult::Unknown);
    assert_eq!(seen.1, good, "an empty answer");
}

#[test]
fn a_name_server_that_comes_back_is_asked_again() {
    let server = NameServer::start();
    let address = server.address();
    server.set("api.test", 0, &["127.0.0.1"]);
    let following = follow(&server, "api.test");
    following.wait_for(|seen| seen.0 == LookupResult::Found);
    drop(server);
    let seen = following.wait_for(|seen| seen.0 == LookupResult::Failed);
    assert_eq!(seen.1, ["127.0.0.1"]);
    let server = NameServer::start_on(address.port());
    server.set("api.test", 3600, &["127.0.0.9"]);
    following.wait_for(|seen| seen.0 == LookupResult::Found && seen.1 == ["127.0.0.9"]);
}

#[test]
fn a_name_server_that_ignores_one_kind_of_addresses_costs_nothing_but_that_kind() {
    let server = NameServer::start();
    server.set("api.test", 0, &["127.0.0.1", "::1"]);
    server.answer(Answers::OnlyA);
    let following = follow(&server, "api.test");
    let seen = following.wait_for(|seen| seen.0 == LookupResult::Found);
    assert_eq!((&seen.1, seen.2), (&vec!["127.0.0.1".to_owned()], None));
    server.answer(Answers::Well);
    following.wait_for(|seen| seen.1 == ["127.0.0.1", "::1"]);
    server.set("api.test", 0, &["127.0.0.3", "::1"]);
    server.answer(Answers::OnlyA);
    let seen = following.wait_for(|seen| seen.1[0] == "127.0.0.3");
    assert_eq!(seen.1, ["127.0.0.3", "::1"], "what was known of the other kind stays");
    following.wait_for(|seen| seen.0 == LookupResult::Failed && seen.2.is_some());
}

#[test]
fn localhost_is_this_machine_and_no_name_server_is_asked() {
    let server = NameServer::start();
    let following = follow(&server, "localhost");
    let (result, addresses, _) = following.wait_for(|_| true);
    assert_eq!(result, LookupResult::Found);
    assert!(addresses.contains(&"127.0.0.1".to_owned()), "{addresses:?}");
    assert_eq!(server.count("localhost"), 0);
}

#[test]
fn a_name_that_has_never_been_found_has_no_address_until_it_is() {
    let server = NameServer::start();
    let following = follow(&server, "late.test");
    let seen = following.wait_for(|seen| seen.0 == LookupResult::Unknown);
    assert!(seen.1.is_empty());
    server.set("late.test", 3600, &["127.0.0.1"]);
    following.wait_for(|seen| seen.0 == LookupResult::Found);
}

fn found(addresses: &[&str], ttl: u64) -> Found {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    Found(Family::Addresses(addresses, Duration::from_secs(ttl)), Family::Empty)
}

#[test]
fn a_ttl_is_obeyed_between_one_second_and_five_minutes() {
    let mut known = Known::new(Times::default(), 1);
    for (ttl, expected) in [(0, 1), (1, 1), (30, 30), (300, 300), (86_400, 300)] {
        let due = known.take(found(&["10.0.0.1"], ttl), &|_| {});
        assert_eq!(due, Duration::from_secs(expected), "{ttl}");
    }
}

#[test]
fn retries_wait_from_one_to_thirty_seconds_until_one_succeeds() {
    let mut known = Known::new(Times::default(), 1);
    let failed = || Found(Family::Failed("x".into()), Family::Empty);
    let waits: Vec<Duration> = (0..10).map(|_| known.take(failed(), &|_| {})).collect();
    for (wait, whole) in waits.iter().zip([1, 2, 4, 8, 16, 30, 30, 30]) {
        let whole = Duration::from_secs(whole);
        assert!((whole / 2..=whole).contains(wait), "{waits:?}");
    }
    known.take(found(&["10.0.0.1"], 60), &|_| {});
    assert!(known.take(failed(), &|_| {}) <= Duration::from_secs(1));
}

#[test]
fn addresses_beyond_the_bound_are_left_out_and_reported() {
    let mut known = Known::new(Times::default(), 1);
    let all: Vec<String> =
        (0..=ADDRESSES_MAX).map(|n| format!("10.0.{}.{}", n / 200, n % 200)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    known.take(found(&all, 60), &|report| {
        assert_eq!((report.result, report.addresses.len()), (LookupResult::Found, ADDRESSES_MAX));
        assert!(report.problem.unwrap().contains("257 addresses"));
    });
}

#[test]
fn an_address_of_no_machine_is_no_answer() {
    let mut known = Known::new(Times::default(), 1);
    known.take(found(&["10.0.0.1"], 60), &|_| {});
    for nowhere in ["0.0.0.0", "255.255.255.255", "224.0.0.1"] {
        known.take(found(&[nowhere], 60), &|report| {
            assert_eq!(report.result, LookupResult::Unknown, "{nowhere}");
            assert_eq!(texts(report.addresses), ["10.0.0.1"]);
        });
    }
}

#[test]
fn addresses_without_a_route_are_left_out_unless_there_are_no_others() {
    let v4 = || found(&["10.0.0.1", "10.0.0.2"], 60).0;
    let v6 = || found(&["2001:db8::1"], 60).0;
    assert_eq!(reachable(Found(v4(), v6()), |ip| ip.is_ipv4()), Found(v4(), Family::Empty));
    assert_eq!(reachable(Found(v4(), v6()), |_| false), Found(v4(), v6()));
    assert!(has_route([127, 0, 0, 2].into()));
}

#[test]
fn the_search_list_is_used_as_resolv_conf_says() {
    let search = ["a.test.", "b.test."].map(|name| Name::from_ascii(name).unwrap());
    for (name, dots_min, expected) in [
        ("api", 1, "api.a.test. api.b.test. api."),
        ("api", 0, "api. api.a.test. api.b.test."),
        ("api.x", 1, "api.x. api.x.a.test. api.x.b.test."),
        ("api.x", 5, "api.x.a.test. api.x.b.test. api.x."),
        ("api.x.", 5, "api.x."),
    ] {
        let names = full_names(&Name::from_ascii(name).unwrap(), &search, dots_min);
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        assert_eq!(names.join(" "), expected, "{name} {dots_min}");
    }
}
