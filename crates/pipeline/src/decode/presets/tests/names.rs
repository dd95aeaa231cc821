//! Claims that each name of a format is wherever formats by name are listed.

use schemars::schema_for;

use super::DOCUMENTED;
use crate::config::SourceConfig;
use crate::decode::presets::{NAMES, TEMPLATES};
use crate::decode::tests::named;
use crate::decode::{Format, LineFormat};
use crate::guess::tests::tried_inside_wrappers;

/// The page of docs that has a row for each name.
const PAGE: &str = include_str!("../../../../../../docs/operating/log-formats.md");
/// Formats that are proposed, but not as one of `CANDIDATES`.
const TRIED_LAST: [(&str, &str); 1] =
    [("syslog", "it reads the wrapper of other lines, so it is tried last and not inside one")];

#[test]
fn each_name_is_read_proposed_documented_and_has_a_row_in_the_docs() {
    let schema = schema_for!(SourceConfig).to_value();
    let reference = schema["properties"]["format"]["description"].as_str().unwrap();
    let rows = PAGE.split("### Formats by name").nth(1).unwrap().split("**Our names.**").next();
    let rows = rows.unwrap();
    let mut lacking = Vec::new();
    for name in NAMES {
        let is_exempt = TRIED_LAST.iter().any(|(exempt, _)| *exempt == name);
        let is_tried = tried_inside_wrappers().any(|tried| tried == name);
        for (place, is_there) in [
            ("`Format::parse`", Format::parse(&named(name)).is_ok()),
            ("`CANDIDATES` or `TRIED_LAST`, just one", is_tried != is_exempt),
            ("`DOCUMENTED`, once", DOCUMENTED.iter().filter(|(own, _)| *own == name).count() == 1),
            ("a row of log-formats.md", rows.contains(&format!("\n| `{name}` | "))),
            ("`format` in config.rs", reference.contains(&format!("`{name}`"))),
        ] {
            if !is_there {
                lacking.push(format!("`{name}` is not in {place}"));
            }
        }
    }
    assert_eq!(lacking, [""; 0]);
    assert_eq!(DOCUMENTED.len(), NAMES.len());
    for name in tried_inside_wrappers().chain(TEMPLATES.iter().map(|preset| preset.name)) {
        assert!(NAMES.contains(&name), "`{name}` is not in `NAMES`");
    }
    for preset in TEMPLATES {
        let lines = Format::parse(&named(preset.name)).unwrap().lines;
        assert!(matches!(lines, LineFormat::Template(_)), "{}", preset.name);
    }
}
