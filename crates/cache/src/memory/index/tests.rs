//! Claims about finding keys by area.

use super::{KeyIndex, Search, SharedKey};
use crate::area::Area;
use crate::fingerprint::fingerprint;
use crate::tags::Tags;

fn tags(names: &[&str]) -> Tags {
    Tags::from_fingerprints(names.iter().map(|name| fingerprint(name.as_bytes())).collect())
}

/// Returns an index with keys of several hosts, added in sorted order.
fn index() -> KeyIndex {
    let index = KeyIndex::new(2);
    for (hash, key, names) in [
        (0, "http\na\n/", &["root"][..]),
        (0, "http\na\n/news", &["news", "all"]),
        (0, "http\na\n/news\n\u{1}", &["news"]),
        (0, "http\na\n/news\nuser=\u{5}\0\0\0a\nb\nc", &[]),
        (0, "http\na\n/news/1", &["news", "1"]),
        (0, "http\na\n/news?page=2", &[]),
        (0, "http\na\n/newsletter", &[]),
        (0, "http\na.b\n/news", &["all"]),
        (0, "http\nb\n/news/1\nx=y", &["1"]),
        (1 << 32, "http\nc\n/news", &["all"]),
    ] {
        index.lock(hash).add(hash, &SharedKey::from(key.as_bytes()), &tags(names));
    }
    index
}

fn find(area: &Area) -> Vec<String> {
    let mut found = Vec::new();
    for shard in index().shards() {
        let mut search = Search::new(area);
        loop {
            // One at a time, so that each search is continued.
            let keys = shard.lock().find(&mut search, 1);
            let Some(key) = keys.first() else { break };
            let key = String::from_utf8_lossy(&key["http\n".len()..]).replace('\n', " ");
            found.push(key.split(' ').take(2).collect::<Vec<_>>().join(" "));
        }
    }
    found
}

fn resource(host: Option<&str>, target: &str) -> Vec<String> {
    find(&Area::resource(host, target))
}

fn prefix(host: Option<&str>, start: &str) -> Vec<String> {
    find(&Area::prefix(host, start))
}

#[test]
fn a_resource_is_found_with_all_that_stands_under_it_and_nothing_else() {
    assert_eq!(resource(Some("a"), "/news"), ["a /news"; 3]);
    assert_eq!(resource(Some("a"), "/news?page=2"), ["a /news?page=2"]);
    assert_eq!(resource(Some("b"), "/news/1"), ["b /news/1"]);
    for (host, target) in [("b", "/news"), ("a", "/new"), ("x", "/news"), ("", "/news")] {
        assert_eq!(resource(Some(host), target), [""; 0]);
    }
}

#[test]
fn without_a_host_every_host_is_searched() {
    let everywhere = ["a /news", "a /news", "a /news", "a.b /news", "c /news"];
    assert_eq!(resource(None, "/news"), everywhere);
    assert_eq!(resource(None, "/news/1"), ["a /news/1", "b /news/1"]);
    assert_eq!(resource(None, "/x"), [""; 0]);
    assert_eq!(prefix(None, "/").len(), 10);
    assert_eq!(prefix(None, "/news/"), ["a /news/1", "b /news/1"]);
}

#[test]
fn a_prefix_is_found_on_its_host() {
    assert_eq!(prefix(Some("a"), "/news").len(), 6);
    assert_eq!(prefix(Some("a"), "/news/"), ["a /news/1"]);
    assert_eq!(prefix(Some("a.b"), "/"), ["a.b /news"]);
    assert_eq!(prefix(Some("c"), "/"), ["c /news"]);
    assert_eq!(prefix(Some("d"), "/"), [""; 0]);
}

#[test]
fn a_tag_is_found_wherever_it_stands() {
    let by_tag = |tag: &str| find(&Area::tag(tag));
    assert_eq!(by_tag("news"), ["a /news", "a /news", "a /news/1"]);
    assert_eq!(by_tag("all"), ["a /news", "a.b /news", "c /news"]);
    assert_eq!(by_tag("1"), ["a /news/1", "b /news/1"]);
    assert_eq!(by_tag("none"), [""; 0]);
}

#[test]
fn what_is_noted_again_has_its_new_tags_and_what_is_forgotten_none() {
    let index = KeyIndex::new(2);
    let key = SharedKey::from(&b"http\na\n/"[..]);
    let mut shard = index.lock(0);
    shard.add(7, &key, &tags(&["old", "both"]));
    shard.add(7, &key, &tags(&["both", "new"]));
    let finds = |shard: &super::IndexShard, tag: &str| {
        shard.find(&mut Search::new(&Area::tag(tag)), 9).len()
    };
    assert_eq!(["old", "both", "new"].map(|tag| finds(&shard, tag)), [0, 1, 1]);
    shard.remove(7, &key);
    assert_eq!(["old", "both", "new"].map(|tag| finds(&shard, tag)), [0, 0, 0]);
    assert_eq!((shard.len(), shard.tags.len()), (0, 0));
}

#[test]
fn a_search_that_has_found_all_finds_nothing_more() {
    // The hashes of the second tag are above those of the first, or below them.
    for hashes in [[8, 9, 1, 2], [1, 2, 8, 9]] {
        let index = KeyIndex::new(2);
        let mut shard = index.lock(0);
        for (hash, name) in hashes.into_iter().zip(["a", "a", "b", "b"]) {
            let key = SharedKey::from(format!("http\nh\n/{hash}").as_bytes());
            shard.add(hash, &key, &tags(&[name]));
        }
        for area in [Area::tag("a"), Area::tag("b")] {
            let mut search = Search::new(&area);
            assert_eq!(shard.find(&mut search, 9).len(), 2, "{area:?}");
            assert_eq!(shard.find(&mut search, 9).len(), 0, "{area:?}");
        }
        for area in [Area::prefix(None, "/"), Area::prefix(Some("h"), "/")] {
            let mut search = Search::new(&area);
            assert_eq!(shard.find(&mut search, 9).len(), 4, "{area:?}");
            assert_eq!(shard.find(&mut search, 9).len(), 0, "{area:?}");
        }
        let one = Area::resource(None, "/8");
        let mut search = Search::new(&one);
        assert_eq!([9, 9].map(|count| shard.find(&mut search, count).len()), [1, 0]);
    }
}
