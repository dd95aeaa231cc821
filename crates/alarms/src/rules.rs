//! Writes the alert rules for Prometheus: one for each kind of alarm.
//!
//! An alert waits for a minute where answers or records are at stake, else for ten: most alarms end
//! by themselves. All text is quoted as JSON is, which is YAML, too.

use std::fmt::Write as _;

use serde_json::json;

use crate::AlarmKind;
use crate::kind::Advice;

const OPENING: &str = "\
# Written by `cargo xtask gen` from crates/alarms: change it there.
groups:
  - name: tidegate
    rules:
";

/// Writes the rules.
pub(crate) fn rules() -> String {
    let mut rules = OPENING.to_owned();
    for kind in AlarmKind::ALL {
        let Advice { name, is_grave, means, remedy, .. } = kind.advice();
        let (time, severity) = if is_grave { ("1m", "critical") } else { ("10m", "warning") };
        let _ = write!(
            rules,
            "      - alert: Tidegate{}
        expr: tidegate_alarms{{kind=\"{name}\"}} > 0
        for: {time}
        labels:
          severity: {severity}
        annotations:
          summary: {}
          description: {}
          docs: docs/operating/alarms.md#{name}
",
            in_one_word(name),
            json!(format!("{{{{ $labels.instance }}}}: {means}")),
            json!(remedy),
        );
    }
    rules
}

/// `journal-unread` is `JournalUnread`.
fn in_one_word(name: &str) -> String {
    let words = name.split('-').filter_map(|word| {
        let (first, rest) = word.split_at_checked(1)?;
        Some(first.to_uppercase() + rest)
    });
    words.collect()
}
