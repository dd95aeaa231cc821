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
