//! The namespace of a route on disk.

use super::namespace;
use crate::config::{CacheConfig, RouteConfig, ToConfig};

fn news() -> RouteConfig {
    let ttl = Some("60s".to_owned());
    RouteConfig {
        path: Some("/news".to_owned()),
        to: Some(ToConfig::One("upstream:backend".to_owned())),
        cache: Some(CacheConfig { ttl, disk: Some(true), ..CacheConfig::default() }),
        ..RouteConfig::default()
    }
}

/// The number is on the disks of those who run an earlier version.
#[test]
fn a_key_that_no_configuration_sets_leaves_what_is_on_disk() {
    assert_eq!(namespace(&news()), 6_177_418_011_964_375_708);
}

#[test]
fn another_value_is_another_namespace() {
    let mut other = news();
    other.lease = Some("1s".to_owned());
    assert_ne!(namespace(&other), namespace(&news()));
    let mut other = news();
    other.cache.as_mut().expect("it has one").ttl = Some("61s".to_owned());
    assert_ne!(namespace(&other), namespace(&news()));
}
