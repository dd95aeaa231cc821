//! Allocations of a cached hit: those of reading, answering and writing.
//!
//! A counting allocator counts them in the thread that serves, from one recorded exchange to the
//! next. Claim: a hit makes none, and a hit of an entry that varies at most two.
#![expect(clippy::unwrap_used, reason = "a test can do nothing else about an error")]

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chassis::config::Document;
use chassis::{Drain, Limits, WorkPool, bind};
use exchange::{CacheResult, ExchangeRef};
use gateway::{
    Durable, Edge, Gateway, ModelNames, Parts, Plan, Profile, Profiles, Recorder, Role, Sections,
};
use metrics::Registry;
use testkit::{Client, CountingAllocator, Origin, OriginReply, allocated};
use tokio::task::LocalSet;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Notes the count at the end of each hit.
struct Ends(Arc<Mutex<Vec<usize>>>);

impl Recorder for Ends {
    fn record(&self, exchange: &ExchangeRef<'_>, _: bool) -> bool {
        if exchange.cache == CacheResult::Hit {
            // The vector has room for all, so this allocates nothing.
            self.0.lock().expect("no test panics while it holds the lock").push(allocated());
        }
        true
    }

    fn record_durably(&self, _: &ExchangeRef<'_>, _: bool) -> Durable {
        unreachable!("no route collects")
    }
}

struct Nobody;

impl Profiles for Nobody {
    fn look_up(&self, _: &[u8]) -> Profile {
        Profile::Absent
    }
}

/// Returns the allocations of each of many hits on one connection, after some that warm it up.
fn allocations(origin: &Origin, target: &str, headers: &[(&str, &str)]) -> Vec<usize> {
    const HITS: usize = 500;
    let text = format!(
        "[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n[[route]]\npath = \"/{{*rest}}\"\n\
         to = \"upstream:o\"\ncache = {{}}\npersonalise = {{ user = \"cookie:userId\" }}\n",
        origin.address()
    );
    let mut document = Document::parse(&text);
    let sections = Sections {
        upstreams: document.sections_by("upstream", "python", false),
        routes: document.sections("route"),
        ..Sections::default()
    };
    let plan = Plan::check(sections, ModelNames::default(), &mut document);
    assert_eq!(document.into_problems(), []);
    let work = WorkPool::start(1, 1).unwrap();
    let profiles = Some(Arc::new(Nobody) as Arc<dyn Profiles>);
    let parts = Parts { profiles, compute: None, workers: HashMap::new(), work, tap: None };
    let gateway = Gateway::new(plan, parts, &Registry::default());
    let ends = Arc::new(Mutex::new(Vec::with_capacity(2 * HITS)));
    let recorder = Ends(Arc::clone(&ends));
    let listener = bind("127.0.0.1:0".parse().unwrap(), 1).unwrap().remove(0);
    let address = listener.address().unwrap();
    let drain = Drain::default();
    let draining = drain.draining();
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async move {
            let role = Rc::new(Role(Edge::new(gateway, Some(Box::new(recorder)), 7)));
            listener.serve(role, Limits::default(), draining).await.unwrap();
        });
    });
    let mut client = Client::connect(address).unwrap();
    for _ in 0..HITS {
        let call = client.request("GET", target);
        let call = headers.iter().fold(call, |call, (name, value)| call.header(name, value));
        assert!(matches!(call.send().status, 200 | 304));
    }
    drop(client);
    drain.begin(Duration::from_secs(20));
    serving.join().unwrap();
    let ends = ends.lock().unwrap();
    assert_eq!(ends.len(), HITS - 1, "all but the first were hits");
    assert!(ends[0] > 0, "the miss before them was counted");
    ends.windows(2).map(|pair| pair[1] - pair[0]).skip(50).collect()
}

#[test]
fn a_hit_costs_no_allocation_and_an_odd_one_at_most_two() {
    let origin = Origin::start(|request| {
        let body = if request.path() == "/large" { 100_000 } else { 4096 };
        let reply = OriginReply::ok("x".repeat(body))
            .header("Cache-Control", "max-age=600")
            .header("Content-Type", "application/json")
            .header("ETag", "\"v1\"");
        if request.path() == "/varies" { reply.header("Vary", "Accept-Language") } else { reply }
    });
    let user = [("Cookie", "a=b; userId=1234567890"), ("User-Agent", "test")];
    let unchanged = [("If-None-Match", "\"v1\"")];
    let language = [("Accept-Language", "en, de")];
    let codings = [("Accept-Encoding", "gzip, deflate, br, zstd")];
    let unchanged_encoded = [codings[0], ("If-None-Match", "W/\"v1~tg-zstd\"")];
    for (target, headers, usual) in [
        ("/plain", &[][..], 0),
        ("/user?query=1", &user[..], 0),
        ("/large", &[], 0),
        ("/unchanged", &unchanged, 0),
        ("/varies", &language, 2),
        ("/encoded", &codings, 0),
        ("/encoded-unchanged", &unchanged_encoded, 0),
    ] {
        let counts = allocations(&origin, target, headers);
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        assert!(sorted[sorted.len() / 2] <= usual, "{target}: {:?}", &counts[..20]);
        // Once a second the sweep runs and the date is rendered.
        assert!(sorted[sorted.len() * 9 / 10] <= 2, "{target}: {:?}", &counts[..20]);
    }
}
