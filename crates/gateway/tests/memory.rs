//! Memory of stored responses: what the allocator gives out, beside what the cache counts.
//!
//! Claim: the two differ by at most a tenth, so `[cache] bytes` bounds memory. This holds for tiny
//! responses, variants, tags and encodings too, and with the ghosts of evicted keys.
#![expect(clippy::unwrap_used, reason = "a test can do nothing else about an error")]

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chassis::config::Document;
use chassis::{Drain, Limits, WorkPool, bind};
use gateway::{Edge, Gateway, ModelNames, Parts, Plan, Role, Sections};
use metrics::Registry;
use testkit::{Client, CountingAllocator, Origin, OriginReply, allocated_bytes};
use tokio::task::LocalSet;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn gateway(origin: &Origin, cache_bytes: &str) -> Arc<Gateway> {
    let text = format!(
        "[cache]\nbytes = \"{cache_bytes}\"\n[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\n\
         cache = {{ body_bytes_max = \"50KB\" }}\n",
        origin.address()
    );
    let mut document = Document::parse(&text);
    let sections = Sections {
        upstreams: document.sections_by("upstream", "python", false),
        routes: document.sections("route"),
        cache: document.section("cache"),
        ..Sections::default()
    };
    let plan = Plan::check(sections, ModelNames::default(), &mut document);
    assert_eq!(document.into_problems(), []);
    let work = WorkPool::start(1, 16).unwrap();
    let parts = Parts { profiles: None, compute: None, workers: HashMap::new(), work, tap: None };
    Gateway::new(plan, parts, &Registry::default())
}

/// Fetches this number of responses of a kind, each twice. Returns the bytes that forgetting them
/// frees, and those that the cache counted.
fn fill(kind: &str, cache_bytes: &str, asked: usize) -> (usize, usize) {
    let origin = Origin::start(|request| {
        let reply = OriginReply::ok("x".repeat(4096)).header("Cache-Control", "max-age=600");
        match request.path().split('/').nth(1) {
            Some("tiny") => OriginReply::ok("x").header("Cache-Control", "max-age=600"),
            Some("varies") => reply.header("Vary", "Accept-Language"),
            Some("tagged") => reply
                .header("Surrogate-Key", "all some few one other")
                .header("ETag", "\"0123456789\"")
                .header("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT"),
            Some("encoded") => {
                let items: Vec<String> =
                    (0..300).map(|n| format!("{{\"id\":{}}}", n * n)).collect();
                OriginReply::ok(items.join(","))
                    .header("Cache-Control", "max-age=600")
                    .header("Content-Type", "application/json")
            }
            _ => reply,
        }
    });
    let gateway = gateway(&origin, cache_bytes);
    let edge_gateway = Arc::clone(&gateway);
    let listener = bind("127.0.0.1:0".parse().unwrap(), 1).unwrap().remove(0);
    let address = listener.address().unwrap();
    let drain = Drain::default();
    let draining = drain.draining();
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async move {
            let role = Rc::new(Role(Edge::new(edge_gateway, None, 7)));
            listener.serve(role, Limits::default(), draining).await.unwrap();
        });
    });
    let mut client = Client::connect(address).unwrap();
    let mut ask = |n: usize| {
        for _ in 0..2 {
            let target = format!("/{kind}/{n}");
            let call = client.request("GET", &target).header("Accept-Encoding", "gzip");
            assert_eq!(call.header("Accept-Language", "de").send().status, 200);
        }
    };
    (0..asked).for_each(&mut ask);
    let (full, counted) = (allocated_bytes(), gateway.store.bytes() as usize);
    gateway.store.clear_memory();
    let taken = full - allocated_bytes();
    drop(client);
    drain.begin(Duration::from_secs(20));
    serving.join().unwrap();
    (taken, counted)
}

#[test]
fn what_is_counted_for_stored_answers_is_what_they_take() {
    for (kind, cache_bytes, asked) in [
        ("tiny", "1GB", 2000),
        ("plain", "1GB", 500),
        ("varies", "1GB", 500),
        ("tagged", "1GB", 500),
        ("encoded", "1GB", 500),
        // Three times what fits, so that there are as many ghosts as entries.
        ("tiny", "500KB", 2400),
        ("plain", "1MB", 600),
    ] {
        let (taken, counted) = fill(kind, cache_bytes, asked);
        let percent = taken * 100 / counted;
        let what = format!("{kind} in {cache_bytes}: {taken} bytes taken, {counted} counted");
        assert!((90..=110).contains(&percent), "{what}");
    }
}
