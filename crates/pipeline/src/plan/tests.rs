//! Claims about sections that make sense, what becomes of them, and about those that make none.

mod tables;

use super::*;
use crate::config::FieldConfig;

fn source(name: &str) -> SourceConfig {
    let files = vec![format!("{name}.log")];
    SourceConfig { name: Some(name.to_owned()), files, ..SourceConfig::default() }
}

fn sink(name: &str) -> SinkConfig {
    let url = Some("sqlite:x".to_owned());
    SinkConfig { name: Some(name.to_owned()), url, ..SinkConfig::default() }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn by(name: &str, by: &[&str]) -> RollupConfig {
    RollupConfig { name: Some(name.to_owned()), by: names(by), ..RollupConfig::default() }
}

fn raw(name: &str, fields: &[&str]) -> RollupConfig {
    RollupConfig { raw: Some(true), fields: names(fields), ..by(name, &[]) }
}

fn field(name: &str, from: &str) -> FieldConfig {
    FieldConfig { name: Some(name.into()), from: Some(from.into()), ..FieldConfig::default() }
}

/// One source, one sink and these rollups.
fn usual(rollups: Vec<RollupConfig>) -> Sections {
    let (sources, sinks) = (vec![source("web")], vec![sink("main")]);
    Sections { sources, sinks, rollups, ..Sections::default() }
}

/// The plan, and each problem with its key.
fn planned(sections: &Sections) -> (Plan, Vec<String>) {
    let mut problems = Vec::new();
    let mut wrong = |key: &str, reason: String| problems.push(format!("{key}: {reason}"));
    let plan = plan(sections, Path::new("/etc"), false, &mut wrong);
    (plan, problems)
}

/// Claims that there is one problem, which begins so.
fn refused(sections: &Sections, problem: &str) {
    let (_, problems) = planned(sections);
    assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problem}: {problems:?}");
}

fn rollup(sections: &Sections) -> Arc<Rollup> {
    let (plan, problems) = planned(sections);
    assert_eq!(problems, [""; 0]);
    Arc::clone(&plan.rollups[0].rollup)
}

#[test]
fn names_of_sources_and_sinks_are_words_of_at_most_64_bytes_and_each_is_there_once() {
    let (long, longer) = ("x".repeat(64), "x".repeat(65));
    for (name, is_one) in [
        ("web-1_A", true),
        (long.as_str(), true),
        (longer.as_str(), false),
        ("", false),
        ("a.b", false),
        ("a b", false),
        ("é", false),
    ] {
        let sections = Sections { sources: vec![source(name)], ..usual(Vec::new()) };
        assert_eq!(planned(&sections).1.is_empty(), is_one, "{name}");
        let sections = Sections { sinks: vec![sink(name)], ..usual(Vec::new()) };
        assert_eq!(planned(&sections).1.is_empty(), is_one, "{name}");
    }
    let two = Sections {
        sources: vec![source("a"), source("b")],
        sinks: vec![sink("a"), sink("b")],
        ..Sections::default()
    };
    assert_eq!(planned(&two).1, [""; 0]);
    let sources = vec![source("web"), source("web")];
    refused(&Sections { sources, ..usual(Vec::new()) }, "source[1].name: there is another source");
    let sinks = vec![sink("main"), sink("main")];
    refused(&Sections { sinks, ..usual(Vec::new()) }, "sink[1].name: there is another sink");
}

#[test]
fn a_source_needs_files_and_a_sink_a_place_and_times_are_above_zero() {
    let with = |change: fn(&mut SourceConfig, &mut SinkConfig)| {
        let (mut source, mut sink) = (source("web"), sink("main"));
        change(&mut source, &mut sink);
        Sections { sources: vec![source], sinks: vec![sink], ..Sections::default() }
    };
    refused(&with(|source, _| source.files.clear()), "source[0].files: name files");
    refused(&with(|source, _| source.files = names(&["a", "**"])), "source[0].files[1]: `**`");
    let zero = with(|source, _| source.idle_timeout = Some("0s".to_owned()));
    refused(&zero, "source[0].idle_timeout: ");
    refused(&with(|source, _| source.format = Some("x".to_owned())), "source[0].format: ");
    refused(&with(|_, sink| sink.url = None), "sink[0].url: say where rows go");
    refused(&with(|_, sink| sink.flush = Some("0s".to_owned())), "sink[0].flush: ");
    let (plan, problems) = planned(&with(|source, sink| {
        source.idle_timeout = Some("5m".to_owned());
        sink.flush = Some("7s".to_owned());
    }));
    assert_eq!(problems, [""; 0]);
    let (idle_timeout, flush) = (plan.sources[0].idle_timeout, plan.sinks[0].flush);
    assert_eq!((idle_timeout.as_secs(), flush.as_secs()), (300, 7));
    let (plan, _) = planned(&usual(Vec::new()));
    let (idle_timeout, flush) = (plan.sources[0].idle_timeout, plan.sinks[0].flush);
    assert_eq!((idle_timeout.as_secs(), flush.as_secs()), (30, 1), "by default");
}

#[test]
fn a_rollup_counts_the_sources_that_it_names_or_all_and_so_does_a_field() {
    let rollups = ["", "web"].map(|of| RollupConfig {
        source: names(&[of]).into_iter().filter(|name| !name.is_empty()).collect(),
        ..by(&format!("of{of}"), &["path"])
    });
    let fields = ["", "web"].map(|of| FieldConfig {
        source: names(&[of]).into_iter().filter(|name| !name.is_empty()).collect(),
        ..field(&format!("of{of}"), "path")
    });
    let (sources, rollups) = (vec![source("web"), source("api")], rollups.into());
    let sections = Sections { sources, fields: fields.into(), ..usual(rollups) };
    let (plan, problems) = planned(&sections);
    assert_eq!(problems, [""; 0]);
    for (source, rollups, fields) in
        [("web", [true, true], vec!["of", "ofweb"]), ("api", [true, false], vec!["of"])]
    {
        assert_eq!([0, 1].map(|at| plan.rollups[at].counts(source)), rollups, "{source}");
        let found = plan.fields_of(source);
        let found: Vec<&str> = found.iter().map(|rule| &*rule.field.name).collect();
        assert_eq!(found, fields, "{source}");
    }
    let unknown = RollupConfig { source: names(&["web", "x"]), ..by("t", &["path"]) };
    refused(&usual(vec![unknown]), "rollup[0].source: there is no source `x`");
    let mut nothing = usual(vec![by("t", &["path"])]);
    nothing.sources.clear();
    refused(&nothing, "rollup: there is nothing to count");
}

#[test]
fn a_rollup_goes_to_the_sink_that_it_names_or_to_the_only_one() {
    let to =
        |sink: Option<&str>| RollupConfig { sink: sink.map(str::to_owned), ..by("t", &["path"]) };
    assert_eq!(planned(&usual(vec![to(None)])).0.rollups[0].sink, "main");
    let with = |sinks: &[&str], rollup: RollupConfig| {
        let sinks = sinks.iter().map(|name| self::sink(name)).collect();
        Sections { sinks, ..usual(vec![rollup]) }
    };
    let (plan, problems) = planned(&with(&["a", "b"], to(Some("b"))));
    assert_eq!((plan.rollups[0].sink.as_str(), problems.len()), ("b", 0));
    refused(&with(&["a", "b"], to(Some("c"))), "rollup[0].sink: there is no sink `c`");
    refused(&with(&["a", "b"], to(None)), "rollup[0].sink: name the sink that it goes to");
    refused(&with(&[], to(None)), "rollup[0].sink: there is no sink to go to");
}

#[test]
fn no_two_rollups_have_a_table_in_common_and_names_are_those_of_tables() {
    let with_sketches =
        |name: &str| RollupConfig { unique: names(&["user"]), ..by(name, &["path"]) };
    let both = |one: RollupConfig, other: RollupConfig| usual(vec![one, other]);
    let fine = both(with_sketches("t"), with_sketches("u"));
    assert_eq!(planned(&fine).1, [""; 0]);
    let problem = "rollup[1].name: there is another rollup with a table";
    refused(&both(by("t", &["path"]), by("t", &["path"])), problem);
    refused(&both(with_sketches("t"), by("t_sketches", &["path"])), problem);
    refused(&both(by("t_sketches", &["path"]), with_sketches("t")), problem);
    for name in ["", "a-b", "a b", "a\"b"] {
        refused(&usual(vec![by(name, &["path"])]), "rollup[0].name: name the rollup");
    }
}
