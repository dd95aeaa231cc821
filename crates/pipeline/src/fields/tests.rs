//! What is said of sections that make no sense.

use super::check;
use crate::config::FieldConfig;

fn problems(configs: &[FieldConfig]) -> Vec<String> {
    let mut rules = Vec::new();
    let mut problems = Vec::new();
    for (at, config) in configs.iter().enumerate() {
        check(config, at, vec!["web"], &mut rules, &mut |key, reason| {
            problems.push(format!("{key}: {reason}"));
        });
    }
    problems
}

fn config(name: &str, from: &str) -> FieldConfig {
    FieldConfig { name: Some(name.into()), from: Some(from.into()), ..FieldConfig::default() }
}

#[test]
fn a_field_may_build_on_one_before_it_and_not_on_one_after() {
    assert_eq!(problems(&[config("item", "query.item"), config("kind", "item")]), [""; 0]);
    let wrong = problems(&[config("kind", "item"), config("item", "query.item")]);
    assert_eq!(wrong.len(), 1);
    let way_out =
        "define it by a `[[field]]`, or write its kind: `query.item` is a field of the query";
    assert_eq!(wrong[0], format!("field[0].from: no field `item`; {way_out}"));
}

#[test]
fn every_error_names_its_key() {
    let odd = FieldConfig {
        source: vec!["other".into()],
        pattern: Some("(".into()),
        kind: Some("date".into()),
        filter: Some("path =".into()),
        ..config("path", "path")
    };
    let keys: Vec<String> =
        problems(&[odd]).iter().map(|p| p.split(':').next().unwrap().to_owned()).collect();
    let all = ["name", "source", "type", "match", "where"].map(|key| format!("field[0].{key}"));
    assert_eq!(keys, all);
    assert_eq!(problems(&[config("minute", "path")]).len(), 1);
    assert_eq!(problems(&[config("a b", "path")]).len(), 1);
}
