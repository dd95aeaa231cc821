//! Writes the page of the documentation to which alerts lead.
//!
//! Invariant: the heading of a kind is its name, so `docs/operating/alarms.md#NAME` leads there.

use std::fmt::Write as _;

use crate::AlarmKind;
use crate::kind::Advice;

const OPENING: &str = "\
# Alarms

`alarms` of `/status` says what is wrong now, and the metric `tidegate_alarms` counts it by `kind`.
[`packaging/prometheus/tidegate.rules.yaml`](../../packaging/prometheus/tidegate.rules.yaml) \
has an alert for each kind; it leads to the section here.
A critical one costs answers or records.
A server that is gone raises none: let Prometheus watch `up` as well.

`cargo xtask gen` writes this page, the rules and the [dashboard](grafana.md#the-dashboard) \
from `crates/alarms`.
";

/// Writes the page.
pub(crate) fn page() -> String {
    let mut page = OPENING.to_owned();
    for kind in AlarmKind::ALL {
        let Advice { name, is_grave, means, remedy, more } = kind.advice();
        let grave = if is_grave { "Critical.\n" } else { "" };
        let remedy = remedy.replace(". ", ".\n");
        let (file, _) = more.split_once('#').unwrap_or((more, ""));
        let title = file.trim_start_matches("../").trim_end_matches(".md").replace('-', " ");
        let _ = write!(
            page,
            "\n## {name}\n\n{grave}{means}\n\n{remedy}\nMore is in [{title}]({more}).\n"
        );
    }
    page
}
