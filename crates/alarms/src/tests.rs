//! The files are those of the lists, and lead where they say.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{AlarmKind, FILES};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(root().join(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

#[test]
fn the_files_are_those_of_the_lists() {
    for (path, write) in FILES {
        assert!(read(path) == write(), "`{path}` is old: run `cargo xtask gen`");
    }
}

#[test]
fn every_kind_has_a_name_of_its_own_an_alert_and_a_section() {
    let (page, rules) = (read(FILES[0].0), read(FILES[1].0));
    let mut names: Vec<_> = AlarmKind::ALL.iter().map(|kind| kind.name()).collect();
    for name in &names {
        assert!(page.contains(&format!("\n## {name}\n")), "{name}");
        assert_eq!(rules.matches(&format!("{{kind=\"{name}\"}}")).count(), 1, "{name}");
        assert!(rules.contains(&format!("docs: docs/operating/alarms.md#{name}\n")), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), AlarmKind::ALL.len());
}

#[test]
fn every_section_leads_to_a_heading_that_is_there() {
    for kind in AlarmKind::ALL {
        let more = kind.advice().more;
        let (file, heading) = more.split_once('#').unwrap_or((more, ""));
        let page = read(Path::new("docs/operating").join(file));
        let titles = page.lines().filter_map(|line| line.strip_prefix('#'));
        let anchor = |title: &str| {
            let words = title.trim_matches(['#', ' ']).to_lowercase().replace(' ', "-");
            words.replace(|c: char| !(c.is_alphanumeric() || c == '-'), "")
        };
        assert!(heading.is_empty() || titles.map(anchor).any(|it| it == heading), "{more}");
    }
}

#[test]
fn prometheus_takes_the_rules_and_raises_an_alert_as_they_say() {
    let promtool = |words: [&str; 3]| {
        let run = Command::new("promtool").args(words).current_dir(root()).output();
        let run = run.expect("`promtool` is missing: run `cargo xtask setup --test`");
        let (out, err) = (run.stdout.as_slice(), run.stderr.as_slice());
        let said = String::from_utf8_lossy(&[out, err].concat()).into_owned();
        assert!(run.status.success(), "{said}");
        said
    };
    let said = promtool(["check", "rules", FILES[1].0]);
    assert!(said.contains(&format!("{} rules found", AlarmKind::ALL.len())), "{said}");
    promtool(["test", "rules", "packaging/prometheus/tidegate.rules.test.yaml"]);
}
