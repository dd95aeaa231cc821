//! Files as hyperfine writes them.

use super::super::{BenchResult, TimeUnit};
use super::{Markup, to_csv, to_json, to_markup};

fn benched(command: &str, mean: f64) -> BenchResult {
    BenchResult {
        command: command.into(),
        title: command.into(),
        mean,
        stddev: Some(0.1 * mean),
        median: mean,
        user: 3.0,
        system: 4.0,
        min: 5.0,
        max: 6.5,
        times: vec![mean],
        memory_usage_byte: vec![1024],
        exit_codes: vec![Some(0)],
        parameters: [("foo".to_owned(), "one, two".to_owned())].into(),
        trials: Vec::new(),
        peak_floor_bytes: 0,
        warnings: Vec::new(),
    }
}

#[test]
fn json_has_the_fields_of_hyperfine() {
    let text = to_json(&[&benched("a", 1.0)]).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let result = value["results"][0].as_object().unwrap();
    let names: Vec<&str> = result.keys().map(String::as_str).collect();
    let mut expected = [
        "command",
        "mean",
        "stddev",
        "median",
        "user",
        "system",
        "min",
        "max",
        "times",
        "memory_usage_byte",
        "exit_codes",
        "parameters",
    ];
    expected.sort_unstable();
    let mut names = names;
    names.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn csv_quotes_what_has_commas() {
    let text = to_csv(&[&benched("a,b", 1.0)]);
    assert_eq!(
        text,
        "command,mean,stddev,median,user,system,min,max,parameter_foo\n\
         \"a,b\",1,0.1,1,3,4,5,6.5,\"one, two\"\n"
    );
}

#[test]
fn tables_are_relative_to_the_reference() {
    let (one, other) = (benched("a", 1.0), benched("b | c", 2.0));
    let table = |markup| to_markup(&[&one, &other], &one, markup, Some(TimeUnit::Second));
    assert_eq!(
        table(Markup::Markdown),
        "| Command | Mean [s] | Min [s] | Max [s] | Relative |\n|:---|---:|---:|---:|---:|\n\
         | `a` | 1.000 ± 0.100 | 5.000 | 6.500 | 1.00 |\n\
         | `b \\| c` | 2.000 ± 0.200 | 5.000 | 6.500 | 2.00 ± 0.28 |\n"
    );
    assert!(table(Markup::Asciidoc).ends_with("|===\n"));
    assert!(table(Markup::Org).contains("|--+--+--+--+--|"));
}
