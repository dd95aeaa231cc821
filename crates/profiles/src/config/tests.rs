//! Defaults, and every error at once.

use super::*;

fn check(config: &Config) -> (Plan, Vec<String>) {
    let mut problems = Vec::new();
    let plan = plan(config, Path::new("/etc/tidegate"), &mut |key, message| {
        problems.push(format!("{key}: {message}"));
    });
    (plan, problems)
}

#[test]
fn file_alone_is_a_whole_configuration() {
    let (plan, problems) = check(&Config { file: Some("data/p.db".into()), ..Config::default() });
    assert_eq!(problems, [""; 0]);
    assert_eq!(plan.file, Path::new("/etc/tidegate/data/p.db"));
    assert_eq!((plan.every, plan.items_min, plan.id_bytes_max), (None, 5, 100));
    assert_eq!((plan.half_life.as_secs(), plan.window.as_secs()), (604_800, 2_592_000));
    assert_eq!((plan.rows_min, plan.shrink_max), (0, 0.5));
    assert_eq!((plan.event.as_str(), plan.item), (EVENT, FieldName::QueryValue("item".into())));
}

#[test]
fn every_error_is_reported_with_its_key() {
    let text = |text: &str| Some(text.to_owned());
    let (_, problems) = check(&Config {
        file: None,
        every: text("0"),
        items_min: Some(0),
        half_life: text("soon"),
        window: text("-1d"),
        event: text("path =="),
        item: text("quarry.item"),
        shrink_max: text("half"),
        id_bytes_max: Some(5_000),
        ..Config::default()
    });
    let keys: Vec<&str> = problems.iter().map(|it| it.split(':').next().unwrap()).collect();
    let expected = [
        "file",
        "items_min",
        "id_bytes_max",
        "every",
        "half_life",
        "window",
        "event",
        "item",
        "shrink_max",
    ];
    assert_eq!(keys, expected.map(|key| format!("profiles.{key}")), "{problems:#?}");
}

/// What is wrong with a section that has a file and what `change` adds.
fn problems_of(change: impl FnOnce(&mut Config)) -> Vec<String> {
    let mut config = Config { file: Some("p.db".into()), ..Config::default() };
    change(&mut config);
    check(&config).1
}

#[test]
fn what_a_query_makes_useless_is_reported_and_what_needs_one_is_too() {
    let query = |config: &mut Config| config.query = Some("SELECT".into());
    assert_eq!(problems_of(query), [""; 0]);
    let beside = ["profiles.query: stands beside `event` or `item`, which are for the journal"];
    let with_event = problems_of(|config| {
        query(config);
        config.event = Some("status < 400".into());
    });
    assert_eq!(with_event, beside);
    let with_item = problems_of(|config| {
        query(config);
        config.item = Some("path".into());
    });
    assert_eq!(with_item, beside);
    let with_sink = |config: &mut Config| config.sink = Some("warehouse".into());
    let without_query = ["profiles.sink: is named, but there is no `query` to run in it"];
    assert_eq!(problems_of(with_sink), without_query);
    assert_eq!(problems_of(|config| (query(config), with_sink(config)).1), [""; 0]);
}

#[test]
fn bounds_of_numbers_are_allowed_and_what_lies_beyond_is_not() {
    for (share, expected) in [("0%", 0.0), ("12.5 %", 0.125), ("100%", 1.0)] {
        let config = Config {
            file: Some("p.db".into()),
            shrink_max: Some(share.into()),
            ..Config::default()
        };
        let (plan, problems) = check(&config);
        assert_eq!((plan.shrink_max, problems.len()), (expected, 0), "{share}");
    }
    for share in ["-1%", "101%", "50", "NaN%", ""] {
        let problems = problems_of(|config| config.shrink_max = Some(share.into()));
        assert_eq!(
            problems,
            [format!("profiles.shrink_max: `{share}` is no share; write 0% to 100%")]
        );
    }
    for (bytes, wrong) in [(0, true), (1, false), (1_000, false), (1_001, true)] {
        let problems = problems_of(|config| config.id_bytes_max = Some(bytes));
        assert_eq!(!problems.is_empty(), wrong, "{bytes}: {problems:?}");
    }
    assert_eq!(problems_of(|config| config.file = Some(String::new())).len(), 1);
}

#[test]
fn what_is_configured_reaches_builds_and_look_ups() {
    let (plan, problems) = check(&Config {
        file: Some("p.db".into()),
        items_min: Some(3),
        half_life: Some("2d".into()),
        window: Some("9d".into()),
        rows_min: Some(70),
        shrink_max: Some("20%".into()),
        id_bytes_max: Some(640),
        ..Config::default()
    });
    assert_eq!(problems, [""; 0]);
    let user_key = UserKey::hash("salt");
    let file = plan.file_options(user_key.clone());
    assert_eq!((file.id_bytes_max, file.rows_min, file.shrink_max), (640, 70, 0.2));
    assert_eq!(file.user_key, user_key);
    let build = plan.build_options(user_key.clone());
    assert_eq!((build.items_min, build.id_bytes_max, build.user_key), (3, 640, user_key));
    assert_eq!((build.half_life, build.window), (plan.half_life, plan.window));
    assert_eq!((plan.half_life.as_secs(), plan.window.as_secs()), (172_800, 777_600));
    assert!(build.keyed, "a journal records users by their keys");
}
