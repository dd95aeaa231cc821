//! Claims about what memory finds, purges and forgets, and about what it counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chassis::Inflight;
use exchange::Decision;
use http1::accept::{Coding, Codings};

use super::Memory;
use crate::area::Area;
use crate::encodings::{Encoding, Variant};
use crate::entry::{Entry, NewEntry};
use crate::fingerprint::fingerprint;
use crate::key::{EntryKey, FieldNames, KeyBytes};
use crate::purge::PurgeVerdict;
use crate::tags::Tags;
use crate::tests::{MINUTE, entry, response};

fn memory() -> Memory {
    Memory::new(100_000_000, 1_000_000, &Inflight::unbounded())
}

fn key(target: &str) -> Vec<u8> {
    format!("http\na\n{target}").into_bytes()
}

fn put(memory: &Memory, target: &str, entry: Arc<Entry>) -> PurgeVerdict {
    let (names, key) = (FieldNames::default(), key(target));
    memory.store(&EntryKey { base: &key, names: &names, key: &key }, entry)
}

fn tagged(tag: &str) -> Arc<Entry> {
    let tags = Tags::from_fingerprints(vec![fingerprint(tag.as_bytes())]);
    Entry::new(NewEntry { tags, ..response(&[], tag.to_owned()) }, MINUTE, Instant::now())
}

fn has(memory: &Memory, target: &str) -> bool {
    memory.get(&key(target)).is_some()
}

#[test]
fn an_answer_is_found_under_its_key_and_no_other() {
    let memory = memory();
    for number in 0..100 {
        assert_eq!(
            put(&memory, &format!("/{number}"), entry(format!("{number}"))),
            PurgeVerdict::Good
        );
    }
    for number in 0..100 {
        assert_eq!(memory.get(&key(&format!("/{number}"))).unwrap().body, format!("{number}"));
    }
    assert!(!has(&memory, "/100") && !has(&memory, "/"));
    // They are spread over the parts, so that few wait for the same lock.
    let used = memory.index.shards().filter(|shard| shard.lock().len() > 0).count();
    assert!(used > 8, "{used} of {} parts", memory.engine.shards());
    put(&memory, "/7", entry("new"));
    assert_eq!(memory.get(&key("/7")).unwrap().body, "new");
    assert_eq!((memory.entries(), memory.indexed()), (100, 100));
    memory.remove(&key("/7"));
    assert!(!has(&memory, "/7") && has(&memory, "/8"));
    assert_eq!((memory.entries(), memory.indexed()), (99, 99));
    assert!(memory.bytes() > 99 * 100);
    memory.clear();
    assert_eq!((memory.entries(), memory.indexed(), memory.bytes()), (0, 0, 0));
    assert!(!has(&memory, "/8"));
}

/// Appends what a client sends, as the gateway does.
fn speaking(language: &str) -> impl Fn(&str, &mut KeyBytes) {
    move |name, key| key.extend_from_slice(format!("={name}:{language}").as_bytes())
}

#[test]
fn of_an_answer_that_varies_each_client_finds_the_variant_of_its_fields() {
    let memory = memory();
    let (base, names) = (key("/v"), FieldNames::from(["accept".into(), "lang".into()]));
    for language in ["de", "fr"] {
        let mut variant = KeyBytes::from_slice(&base);
        crate::key::extend_by_variant(&mut variant, &names, speaking(language));
        let address = EntryKey { base: &base, names: &names, key: &variant };
        memory.store(&address, entry(language));
    }
    let now = Instant::now();
    for (language, found, reason) in
        [("de", Some("de"), "request"), ("fr", Some("fr"), "request"), ("it", None, "vary-miss")]
    {
        let mut wanted = KeyBytes::from_slice(&base);
        let look_up = memory.look_up(&mut wanted, speaking(language));
        assert_eq!(look_up.entry.as_ref().map(|entry| &*entry.body), found.map(str::as_bytes));
        assert_eq!((look_up.known, look_up.reason(now)), (true, reason));
        let extended = format!("http\na\n/v\naccept=accept:{language}\nlang=lang:{language}");
        assert_eq!(&*wanted, extended.as_bytes());
    }
    assert!(memory.get(&base).is_none(), "names are no answer");
    // Two variants and the names.
    assert_eq!((memory.entries(), memory.indexed()), (3, 3));
    assert_eq!(memory.purge(&[Area::resource(None, "/v")], false, |_| ()), 2);
    assert_eq!((memory.entries(), memory.indexed()), (0, 0));
}

#[test]
fn the_cache_says_why_it_does_not_answer() {
    let memory = memory();
    let now = Instant::now();
    put(&memory, "/closed", Entry::new(response(&[], ""), MINUTE, now));
    let open = crate::entry::Lifetime { open: true, ..MINUTE };
    put(&memory, "/open", Entry::new(response(&[], ""), open, now));
    let late = now + Duration::from_secs(60);
    for (target, credentials, at, found, reason) in [
        ("/none", false, now, false, "uri-miss"),
        ("/none", true, now, false, "uri-miss"),
        ("/closed", false, now, true, "request"),
        ("/closed", false, late, true, "stale"),
        ("/closed", true, now, false, "request"),
        ("/closed", true, late, false, "request"),
        ("/open", true, now, true, "request"),
        ("/open", true, late, true, "stale"),
    ] {
        let mut key = KeyBytes::from_vec(key(target));
        let look_up = memory.look_up(&mut key, |_, _| ()).allowed(credentials);
        let told = (look_up.entry.is_some(), look_up.reason(at));
        assert_eq!(told, (found, reason), "{target}, credentials: {credentials}");
        assert_eq!(look_up.known, target != "/none");
    }
}

#[test]
fn a_purge_takes_what_it_covers_from_every_part_and_counts_it() {
    // Several times what is purged under one lock.
    const COUNT: usize = 500;
    for soft in [false, true] {
        let memory = memory();
        for number in 0..COUNT {
            put(&memory, &format!("/p/{number}"), tagged("t"));
        }
        put(&memory, "/other", tagged("u"));
        let mut queued = Vec::new();
        let areas = [Area::resource(Some("a"), "/p/7"), Area::tag("u"), Area::tag("none")];
        assert_eq!(memory.purge(&areas, soft, |number| queued.push(number)), 2);
        // What was covered before counts no more.
        assert_eq!(memory.purge(&[Area::prefix(Some("a"), "/p/")], soft, |_| ()), COUNT - 1);
        assert_eq!(memory.purge(&[Area::tag("t")], soft, |_| ()), 0);
        assert_eq!(queued, [3]);
        let left = if soft { COUNT + 1 } else { 0 };
        assert_eq!((memory.entries(), memory.indexed()), (left, left));
        let found = memory.get(&key("/p/9"));
        assert_eq!(found.is_some(), soft);
        assert!(found.is_none_or(|entry| !entry.is_fresh(Instant::now())));
    }
}

#[test]
fn what_was_fetched_before_a_purge_is_stored_as_stale_or_not_at_all() {
    let memory = memory();
    let early = entry("early");
    memory.purge(&[Area::resource(None, "/hard")], false, |_| ());
    memory.purge(&[Area::resource(None, "/soft")], true, |_| ());
    assert_eq!(put(&memory, "/hard", Arc::clone(&early)), PurgeVerdict::Gone);
    assert!(!has(&memory, "/hard"));
    assert_eq!(put(&memory, "/soft", Arc::clone(&early)), PurgeVerdict::Stale);
    assert!(!memory.get(&key("/soft")).unwrap().is_fresh(Instant::now()));
    assert_eq!(put(&memory, "/other", Arc::clone(&early)), PurgeVerdict::Good);
    let late = Entry { stamp: memory.purges.stamp(), ..(*early).clone() };
    assert_eq!(put(&memory, "/hard", Arc::new(late)), PurgeVerdict::Good);
    assert!(memory.get(&key("/hard")).unwrap().is_fresh(Instant::now()));
}

#[test]
fn what_memory_holds_is_not_in_doubt_when_old_purges_are_forgotten() {
    let memory = memory();
    let kept = entry("kept");
    put(&memory, "/kept", Arc::clone(&kept));
    let others: Vec<Area> =
        (0..1030).map(|number| Area::prefix(Some("b"), &format!("/{number}"))).collect();
    memory.purge(&others, false, |_| ());
    // One that is on its way is in doubt, as is one that was replaced.
    assert_eq!(memory.verdict(&key("/kept"), &entry("other")), PurgeVerdict::Gone);
    assert_eq!(memory.verdict(&key("/away"), &kept), PurgeVerdict::Gone);
    assert_eq!(memory.verdict(&key("/kept"), &kept), PurgeVerdict::Good);
    memory.purges.record(&[Area::resource(None, "/kept")], true, |_| ());
    assert_eq!(memory.verdict(&key("/kept"), &kept), PurgeVerdict::Stale);
}

#[test]
fn an_encoding_counts_as_soon_as_it_is_made_if_its_entry_is_still_there() {
    let memory = memory();
    let encodable = || {
        let new = NewEntry { codings: Some(Codings::ALL), ..response(&[], "body") };
        Entry::new(new, MINUTE, Instant::now())
    };
    let [one, two] = [(); 2].map(|()| encodable());
    put(&memory, "/a", Arc::clone(&one));
    let before = memory.bytes();
    let make = |entry: &Arc<Entry>, coding, length: usize| {
        let encodings = entry.encodings.as_ref().unwrap();
        let variant = Variant { coding, decision: Decision::default() };
        encodings.fill(variant, Some(Encoding { fields: "".into(), body: vec![1; length].into() }));
        memory.recount(encodings);
    };
    make(&one, Coding::Gzip, 1000);
    assert_eq!(memory.bytes() - before, 1000 + 128);
    assert_eq!(memory.entries(), 1);
    // It takes no other entry's place, and one that is not stored counts nothing.
    put(&memory, "/a", Arc::clone(&two));
    make(&one, Coding::Br, 5000);
    assert_eq!((memory.bytes(), memory.entries()), (before, 1));
    make(&encodable(), Coding::Br, 5000);
    assert_eq!((memory.bytes(), memory.entries()), (before, 1));
    assert!(Arc::ptr_eq(&memory.get(&key("/a")).unwrap(), &two));
    memory.remove(&key("/a"));
    make(&two, Coding::Br, 5000);
    assert_eq!((memory.bytes(), memory.entries()), (0, 0));
}

#[test]
fn what_leaves_while_a_reply_needs_it_is_charged_however_it_leaves() {
    type Leave = (&'static str, fn(&Memory));
    let leaves: [Leave; 5] = [
        ("removed", |memory| memory.remove(&key("/long"))),
        ("purged", |memory| assert_eq!(memory.purge(&[Area::tag("t")], false, |_| ()), 1)),
        ("replaced", |memory| _ = put(memory, "/long", entry("short"))),
        ("evicted", |memory| {
            (0..300)
                .for_each(|number| _ = put(memory, &format!("/{number}"), entry(vec![0; 9000])));
        }),
        ("refused", |memory| _ = put(memory, "/long", entry(vec![0; 3_000_000]))),
    ];
    for (how, leave) in leaves {
        let budget = Inflight::unbounded();
        let memory = Memory::new(1_500_000, 1000, &budget);
        let tags = Tags::from_fingerprints(vec![fingerprint(b"t")]);
        let new = NewEntry { tags, ..response(&[], vec![0; 100_000]) };
        put(&memory, "/long", Entry::new(new, MINUTE, Instant::now()));
        // Made stale, the entry has the same body still.
        assert_eq!(memory.purge(&[Area::tag("t")], true, |_| ()), 1);
        let reply = memory.get(&key("/long")).unwrap().body.clone();
        assert_eq!(budget.bytes(), 0);
        leave(&memory);
        assert_eq!(budget.bytes(), 100_000, "{how}");
        assert!(memory.get(&key("/long")).is_none_or(|entry| entry.body == "short"));
        drop(reply);
        assert_eq!(budget.bytes(), 0, "{how}");
    }
}

#[test]
fn it_keeps_to_its_bytes_and_its_index_to_what_is_there() {
    let memory = Memory::new(1_500_000, 1000, &Inflight::unbounded());
    // In a small budget one body may still take most of it.
    put(&memory, "/half", entry(vec![0; 800_000]));
    assert!(has(&memory, "/half"));
    for number in 0..1000 {
        put(&memory, &format!("/{number}"), entry(vec![0; 5000]));
    }
    assert!((1_400_000..=1_500_000).contains(&memory.bytes()), "{}", memory.bytes());
    assert_eq!(memory.entries(), memory.indexed());
    let left = (0..1000).filter(|number| has(&memory, &format!("/{number}"))).count();
    assert!(left > 200 && left < 300, "{left}");
    assert_eq!(memory.purge(&[Area::prefix(None, "/")], false, |_| ()), left);
    assert_eq!((memory.entries(), memory.indexed(), memory.bytes()), (0, 0, 0));
}
