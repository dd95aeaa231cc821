//! What Python is told.

use std::collections::BTreeSet;
use std::path::Path;

use super::settings;
use crate::config::{Defaults, PoolConfig, plan};

#[test]
fn python_reads_just_the_settings_that_it_is_told() {
    let config = PoolConfig {
        name: Some("app".to_owned()),
        python: Some("main:app".to_owned()),
        ..PoolConfig::default()
    };
    let plan = plan(&config, Path::new("/srv"), Defaults::default(), &mut |key, reason| {
        panic!("{key}: {reason}");
    });
    let told: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&settings(&plan)).unwrap();
    let told: BTreeSet<&str> = told.keys().map(String::as_str).collect();
    let python = include_str!("../../../../../python/tidegate/workers/pool.py");
    let class = python.split_once("class Pool:").unwrap().1.split("    @").next().unwrap();
    let fields = class.lines().filter_map(|line| line.trim().split_once(": "));
    let read: BTreeSet<&str> = fields.map(|(name, _)| name).collect();
    assert_eq!(told, read);
}
