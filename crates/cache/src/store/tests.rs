//! Claims about both tiers together: what is found, promoted, forgotten and purged.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use chassis::{Inflight, WorkPool};
use http1::accept::{Coding, Codings};
use metrics::Registry;
use parking_lot::Mutex;
use stdx::{Disk, FaultyDisk, ManualClock};
use testkit::FIXTURE_TIMEOUT;

use super::{Recall, Recalled, Store, key_on_disk};
use crate::area::Area;
use crate::disk::{DiskPlan, DiskTier, DiskTimes};
use crate::encoder::Encoder;
use crate::entry::{Entry, Lifetime, NewEntry};
use crate::key::{EntryKey, FieldNames, KeyBytes, extend_by_variant};
use crate::memory::Memory;
use crate::purge::PurgeVerdict;
use crate::tests::{MINUTE, entry, poll, response};

const SPACE: u64 = 7;

/// A store of both tiers, its metrics and its disk.
struct Fixture {
    store: Store,
    registry: Registry,
    disk: FaultyDisk,
}

fn fixture() -> Fixture {
    fixture_on(FaultyDisk::new(1), 10_000_000)
}

fn fixture_on(disk: FaultyDisk, memory_bytes: u64) -> Fixture {
    let registry = Registry::default();
    let budget = Inflight::unbounded();
    let memory = Arc::new(Memory::new(memory_bytes, 100_000, &budget));
    let encoder = Encoder::new(Arc::clone(&memory), WorkPool::start(1, 10).unwrap(), &registry);
    let plan =
        DiskPlan { dir: PathBuf::from("/cache"), bytes: 16_000_000, times: DiskTimes::for_tests() };
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let purges = Arc::clone(&memory.purges);
    let tier = DiskTier::start(plan, Arc::new(disk.clone()), clock, purges, &registry).unwrap();
    Fixture { store: Store { memory, disk: Some(tier), encoder }, registry, disk }
}

fn key(target: &str) -> Vec<u8> {
    format!("http\na\n{target}").into_bytes()
}

fn put(store: &Store, target: &str, entry: Arc<Entry>) -> PurgeVerdict {
    let (names, key) = (FieldNames::default(), key(target));
    store.store(&EntryKey { base: &key, names: &names, key: &key }, Some(SPACE), entry)
}

/// Waits until the disk has everything, and forgets what is in memory.
fn settle(store: &Store) {
    let until = Instant::now() + FIXTURE_TIMEOUT;
    while store.disk_status().unwrap().waiting > 0 {
        assert!(Instant::now() < until, "waited in vain for the disk");
        std::thread::yield_now();
    }
    store.clear_memory();
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn recall_of(key: &mut KeyBytes) -> Recall<'_> {
    let base_length = key.len();
    Recall { namespace: SPACE, key, base_length, shows_credentials: false, codings: None }
}

fn is_fresh(entry: &Entry, now: Instant) -> bool {
    entry.is_fresh(now)
}

fn told(recalled: Recalled) -> (&'static str, Option<Arc<Entry>>) {
    match recalled {
        Recalled::Usable(entry) => ("usable", Some(entry)),
        Recalled::Stale(entry) => ("stale", Some(entry)),
        Recalled::Missing => ("missing", None),
    }
}

/// Looks for a response that does not vary, as a request without credentials.
fn recall(store: &Store, target: &str) -> (&'static str, Option<Arc<Entry>>) {
    let mut key = KeyBytes::from_vec(key(target));
    told(run(store.recall(recall_of(&mut key), |_, _| (), is_fresh)))
}

fn look_ups(registry: &Registry, result: &str) -> u64 {
    registry.sum("tidegate_disk_lookups_total", &[("result", result)])
}

#[test]
fn what_memory_lost_comes_back_from_disk_under_its_key_and_namespace() {
    let Fixture { store, registry, .. } = fixture();
    assert_eq!(put(&store, "/a", entry("of a")), PurgeVerdict::Good);
    put(&store, "/b", entry("of b"));
    let (names, only_here) = (FieldNames::default(), key("/memory"));
    let address = EntryKey { base: &only_here, names: &names, key: &only_here };
    store.store(&address, None, entry("not for the disk"));
    assert_eq!((store.entries(), store.indexed()), (3, 3));
    assert!(store.bytes() > 300 && store.get(&only_here).is_some());
    settle(&store);
    assert_eq!((store.entries(), store.indexed(), store.bytes()), (0, 0, 0));
    assert!(store.get(&key("/a")).is_none());
    for (target, body) in [("/a", "of a"), ("/b", "of b")] {
        let (found, entry) = recall(&store, target);
        assert_eq!((found, &*entry.unwrap().body), ("usable", body.as_bytes()));
        assert_eq!(store.get(&key(target)).unwrap().body, body, "it is in memory again");
    }
    for target in ["/c", "/memory"] {
        assert_eq!(recall(&store, target).0, "missing");
    }
    let mut elsewhere = KeyBytes::from_vec(key("/a"));
    let elsewhere = Recall { namespace: 8, ..recall_of(&mut elsewhere) };
    assert_eq!(told(run(store.recall(elsewhere, |_, _| (), is_fresh))).0, "missing");
    let counted = ["hit", "stale", "miss"].map(|result| look_ups(&registry, result));
    assert_eq!((counted, store.disk_status().unwrap().entries), ([2, 0, 3], 2));
}

#[test]
fn from_disk_too_each_client_gets_the_variant_of_its_fields() {
    fn speaking(language: &str) -> impl Fn(&str, &mut KeyBytes) {
        move |name, key| key.extend_from_slice(format!("={name}:{language}").as_bytes())
    }
    let Fixture { store, .. } = fixture();
    let (base, names) = (key("/v"), FieldNames::from(["lang".into()]));
    for language in ["de", "fr"] {
        let mut variant = KeyBytes::from_slice(&base);
        extend_by_variant(&mut variant, &names, speaking(language));
        let address = EntryKey { base: &base, names: &names, key: &variant };
        store.store(&address, Some(SPACE), entry(language));
    }
    settle(&store);
    for (language, found) in [("de", "usable"), ("it", "missing"), ("fr", "usable")] {
        let mut wanted = KeyBytes::from_slice(&base);
        let recalled = run(store.recall(recall_of(&mut wanted), speaking(language), is_fresh));
        let (told, entry) = told(recalled);
        assert_eq!(told, found, "{language}");
        assert!(entry.is_none_or(|entry| entry.body == language));
        let mut again = KeyBytes::from_slice(&base);
        let look_up = store.look_up(&mut again, speaking(language));
        assert_eq!((look_up.entry.is_some(), look_up.known), (found == "usable", true));
        assert_eq!(again == wanted, found == "usable", "the key names the variant if it is found");
    }
    // A key with a variant in it is not extended once more.
    let mut twice = KeyBytes::from_slice(&base);
    extend_by_variant(&mut twice, &names, speaking("x"));
    let once = twice.clone();
    extend_by_variant(&mut twice, &names, speaking("x"));
    store.store(&EntryKey { base: &once, names: &names, key: &twice }, Some(SPACE), entry("y"));
    let mut wanted = once;
    let wanted = Recall { base_length: base.len(), ..recall_of(&mut wanted) };
    assert_eq!(told(run(store.recall(wanted, speaking("x"), is_fresh))).0, "missing");
}

#[test]
fn only_an_open_answer_from_disk_may_go_to_who_shows_credentials() {
    let Fixture { store, .. } = fixture();
    put(&store, "/closed", entry("x"));
    let open = Lifetime { open: true, ..MINUTE };
    let tagged = || response(&[("etag", "\"1\"")], "x");
    put(&store, "/open", Entry::new(tagged(), open, Instant::now()));
    settle(&store);
    for (target, shows_credentials, found) in [
        ("/closed", true, "missing"),
        ("/closed", false, "usable"),
        ("/open", true, "usable"),
        ("/open", false, "usable"),
    ] {
        let mut key = KeyBytes::from_vec(key(target));
        let recall = Recall { shows_credentials, ..recall_of(&mut key) };
        assert_eq!(told(run(store.recall(recall, |_, _| (), is_fresh))).0, found, "{target}");
        store.clear_memory();
    }
}

#[test]
fn what_may_not_be_used_as_it_is_comes_back_to_be_revalidated() {
    let Fixture { store, registry, .. } = fixture();
    put(&store, "/a", entry("x"));
    settle(&store);
    let mut key = KeyBytes::from_vec(key("/a"));
    let recalled = run(store.recall(recall_of(&mut key), |_, _| (), |_, _| false));
    assert_eq!(told(recalled).0, "stale");
    assert_eq!(["hit", "stale", "miss"].map(|result| look_ups(&registry, result)), [0, 1, 0]);
}

#[test]
fn an_answer_from_disk_may_be_encoded_if_it_could_before_and_its_route_still_offers_it() {
    let Fixture { store, .. } = fixture();
    let gzip = Codings::default().with(Coding::Gzip);
    let tagged = || response(&[("etag", "\"1\"")], "x");
    for (target, codings) in [("/encoded", Some(Codings::ALL)), ("/plain", None)] {
        let new = NewEntry { codings, ..tagged() };
        put(&store, target, Entry::new(new, MINUTE, Instant::now()));
    }
    settle(&store);
    for (target, codings, offered) in [
        ("/encoded", Some(gzip), Some(gzip)),
        ("/encoded", None, None),
        ("/plain", Some(gzip), None),
    ] {
        let mut key = KeyBytes::from_vec(key(target));
        let recall = Recall { codings, ..recall_of(&mut key) };
        let entry = told(run(store.recall(recall, |_, _| (), is_fresh))).1.unwrap();
        assert_eq!(entry.encodings.as_ref().map(|encodings| encodings.offered), offered);
        store.clear_memory();
    }
}

#[test]
fn what_is_forgotten_is_forgotten_in_both_tiers() {
    let Fixture { store, .. } = fixture();
    put(&store, "/a", entry("a"));
    put(&store, "/b", entry("b"));
    store.forget(Some(SPACE), &key("/a"));
    assert!(store.get(&key("/a")).is_none() && store.get(&key("/b")).is_some());
    settle(&store);
    assert_eq!(["/a", "/b"].map(|target| recall(&store, target).0), ["missing", "usable"]);
    // What is in memory alone is forgotten there.
    store.forget(None, &key("/b"));
    assert!(store.get(&key("/b")).is_none());
    assert_eq!(recall(&store, "/b").0, "usable");
}

#[test]
fn a_purge_covers_both_tiers_at_once_and_what_is_on_its_way() {
    for (soft, found) in [(false, "missing"), (true, "stale")] {
        let Fixture { store, disk, .. } = fixture();
        let early = entry("early");
        assert_eq!(store.stamp(), 0);
        for target in ["/a", "/b", "/c"] {
            put(&store, target, Arc::clone(&early));
        }
        settle(&store);
        put(&store, "/memory", Arc::clone(&early));
        put(&store, "/memory/too", Arc::clone(&early));
        // Two that are in memory, and one that is only on disk.
        let areas = [Area::prefix(None, "/memory"), Area::resource(None, "/a")];
        assert_eq!(store.purge(&areas, soft), 2);
        assert_eq!(store.stamp(), 2);
        for target in ["/a", "/memory"] {
            assert_eq!(recall(&store, target).0, found, "{target}, soft: {soft}");
        }
        assert_eq!(recall(&store, "/b").0, "usable");
        let covered = if soft { PurgeVerdict::Stale } else { PurgeVerdict::Gone };
        assert_eq!(store.verdict(&key("/memory"), &early), covered);
        assert_eq!(put(&store, "/memory", early), covered);
        assert!(store.flush_purges());
        drop(store);
        let Fixture { store, .. } = fixture_on(disk.kill(), 10_000_000);
        assert_eq!(["/a", "/c"].map(|target| recall(&store, target).0), [found, "usable"]);
    }
}

#[test]
fn a_purge_is_durable_where_there_is_no_disk_and_not_while_the_disk_is_out_of_use() {
    let memory_alone = |mut fixture: Fixture| {
        fixture.store.disk = None;
        fixture.store
    };
    let store = memory_alone(fixture());
    put(&store, "/a", entry("a"));
    assert_eq!(store.purge(&[Area::prefix(None, "/")], false), 1);
    assert!(store.flush_purges() && store.disk_status().is_none());
    assert_eq!(recall(&store, "/a").0, "missing");
    let disk = FaultyDisk::new(1);
    let _lock = disk.lock(&PathBuf::from("/cache/lock")).unwrap();
    let Fixture { store, .. } = fixture_on(disk, 10_000_000);
    store.purge(&[Area::prefix(None, "/")], false);
    assert!(!store.flush_purges());
    assert!(store.disk_status().unwrap().reason.is_some());
}

#[test]
fn an_answer_that_changes_while_it_is_read_from_disk_is_not_brought_back() {
    type Change = (&'static str, fn(&Store));
    let changes: [Change; 3] = [
        ("forgotten", |store| store.forget(Some(SPACE), &key("/a"))),
        ("replaced", |store| _ = put(store, "/a", entry("new"))),
        ("left alone", |_| ()),
    ];
    for (how, change) in changes {
        let Fixture { store, .. } = fixture();
        put(&store, "/a", entry("old"));
        settle(&store);
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock();
        store.hold_readers(&gate);
        let mut wanted = KeyBytes::from_vec(key("/a"));
        let found = run(async {
            let future = store.recall(recall_of(&mut wanted), |_, _| (), is_fresh);
            let mut future: Pin<Box<dyn Future<Output = Recalled> + '_>> = Box::pin(future);
            for _ in 0..20 {
                assert!(matches!(poll(&mut future), Poll::Pending), "readers wait at the gate");
                std::thread::yield_now();
            }
            change(&store);
            drop(held);
            future.await
        });
        let expected = if how == "left alone" { "usable" } else { "missing" };
        assert_eq!(told(found).0, expected, "{how}");
        let in_memory = store.get(&key("/a"));
        assert!(in_memory.is_none_or(|entry| entry.body != "old") || how == "left alone");
    }
}

#[test]
fn a_body_too_large_for_memory_is_used_from_disk_unless_a_purge_covers_it() {
    let Fixture { store, .. } = fixture_on(FaultyDisk::new(1), 50_000);
    put(&store, "/large", entry("x".repeat(90_000)));
    settle(&store);
    for _ in 0..2 {
        assert_eq!(recall(&store, "/large").0, "usable");
        assert!(store.get(&key("/large")).is_none());
    }
    store.memory.purges.record(&[Area::resource(None, "/large")], true, |_| ());
    assert_eq!(recall(&store, "/large").0, "missing");
}

#[test]
fn encodings_are_made_through_the_store() {
    let Fixture { store, .. } = fixture();
    let new = NewEntry { codings: Some(Codings::ALL), ..response(&[], "x".repeat(1000)) };
    let entry = Entry::new(new, MINUTE, Instant::now());
    run(store.prepare(&entry, Default::default(), |_| Codings::ALL));
    assert!(entry.encodings.as_ref().unwrap().smallest(Codings::ALL, Default::default()).is_some());
}

#[test]
fn on_disk_the_keys_of_a_resource_stand_together() {
    let [one, two, other] = [("/a", 1), ("/a", 2), ("/b", 1)]
        .map(|(target, namespace)| key_on_disk(namespace, &key(target)));
    assert!(one != two && one.starts_with(&key("/a")) && two.starts_with(&key("/a")));
    assert!(one < other && two < other);
}
