//! Claims about `[[upstream]]` with `python`.

use std::path::Path;
use std::time::Duration;

use super::{Defaults, PoolConfig, RequestsMax, plan};
use crate::plan::{HttpServer, Kind, Plan};

fn checked(config: PoolConfig, defaults: Defaults) -> (Plan, Vec<String>) {
    let mut problems = Vec::new();
    let plan = plan(&config, Path::new("/srv/app"), defaults, &mut |key, reason| {
        problems.push(format!("{key}: {reason}"));
    });
    (plan, problems)
}

fn least() -> PoolConfig {
    PoolConfig {
        name: Some("app".to_owned()),
        python: Some("main:create_app()".to_owned()),
        ..PoolConfig::default()
    }
}

#[test]
fn a_name_and_an_app_are_enough() {
    let (plan, problems) = checked(least(), Defaults::default());
    assert_eq!(problems, [""; 0]);
    assert_eq!((plan.workers, plan.threads, plan.concurrency, plan.queue_max), (3, 1, 1, 1000));
    assert_eq!(
        (plan.kind, plan.server, plan.share_memory, plan.reload),
        (Kind::Auto, HttpServer::BuiltIn, true, true)
    );
    assert_eq!((plan.requests_max, plan.niceness), (None, 0));
    assert_eq!(plan.boot_timeout, Duration::from_secs(60));
    assert_eq!(plan.app_dir, Path::new("/srv/app"));
    assert_eq!(plan.dir, Path::new("/srv/app/data/workers/app"));
    assert_eq!(plan.interpreter, Path::new("python3"));
    assert_eq!(plan.canary.unwrap().path, "/");
}

#[test]
fn every_key_stands_in_the_manual() {
    let manual = include_str!("../../../../docs/WORKERS.md");
    let schema = schemars::schema_for!(PoolConfig).to_value();
    let keys = schema["properties"].as_object().unwrap().keys();
    let (_, options) = manual.split_once("## Options").unwrap();
    let missing: Vec<&String> =
        keys.filter(|key| *key != "name" && !options.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not in docs/WORKERS.md: {missing:?}");
}

#[test]
fn the_environment_stands_in_for_what_the_file_does_not_say() {
    let defaults = Defaults {
        workers: Some(7),
        timeout: Some(Duration::from_secs(90)),
        drain_timeout: Some(Duration::from_secs(5)),
    };
    let (plan, _) = checked(least(), defaults);
    assert_eq!((plan.workers, plan.timeout.as_secs(), plan.boot_timeout.as_secs()), (7, 90, 90));
    assert_eq!(plan.drain_timeout.as_secs(), 5);
    let config = PoolConfig { workers: Some(2), timeout: Some("5s".to_owned()), ..least() };
    let (plan, _) = checked(config, defaults);
    assert_eq!((plan.workers, plan.timeout.as_secs(), plan.boot_timeout.as_secs()), (2, 5, 90));
}

#[test]
fn threads_are_requests_at_once_and_true_is_fifty_requests() {
    let config = PoolConfig {
        threads: Some(8),
        requests_max: Some(RequestsMax::Usual(true)),
        interpreter: Some(".venv/bin/python".into()),
        ..least()
    };
    let (plan, problems) = checked(config, Defaults::default());
    assert_eq!(problems, [""; 0]);
    assert_eq!((plan.threads, plan.concurrency, plan.requests_max), (8, 8, Some(50)));
    assert_eq!(plan.interpreter, Path::new("/srv/app/.venv/bin/python"));
}

#[test]
fn every_problem_is_told_with_its_key() {
    let config = PoolConfig {
        name: Some("a/b".to_owned()),
        python: Some("main.app".to_owned()),
        preload: Some("models".to_owned()),
        workers: Some(0),
        requests_max: Some(RequestsMax::Number(0)),
        memory_bytes_max: Some("much".to_owned()),
        timeout: Some("0s".to_owned()),
        share_memory: Some("yes".to_owned()),
        niceness: Some(20),
        dir: Some(format!("/{}", "long/".repeat(30)).into()),
        canary: Some(super::CanaryConfig { path: Some("ping".to_owned()), status: None }),
        ..PoolConfig::default()
    };
    let (_, problems) = checked(config, Defaults::default());
    let keys: Vec<&str> = problems.iter().map(|p| p.split(':').next().unwrap()).collect();
    let expected = [
        "name",
        "python",
        "dir",
        "preload",
        "workers",
        "requests_max",
        "memory_bytes_max",
        "timeout",
        "share_memory",
        "canary.path",
        "niceness",
    ];
    assert_eq!(keys, expected, "{problems:#?}");
}
