//! Reads and checks the section `[audit]`: where actions are recorded.
//!
//! Invariant: without the section, actions are recorded with the defaults. `of_text` reads this
//! section alone. So commands can record, and a trail can be read, whatever is wrong elsewhere in
//! the file.

use std::path::{Path, PathBuf};

use audit::{OnFull, Options};
use chassis::config::{Document, Problem};
use schemars::JsonSchema;
use serde::Deserialize;

/// The trail of operators' actions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditConfig {
    /// Directory of the trail; default `data/audit`. Nothing in it is ever deleted by Tidegate.
    pub dir: Option<String>,
    /// What becomes of an action that cannot be recorded, as on a full disk. `serve` (default) does
    /// it and raises an alarm, `refuse` answers 503.
    pub on_full: Option<String>,
    /// Socket of syslog that gets each entry, too, as `auth.info`; default `/dev/log`, and `off`
    /// for none.
    pub syslog: Option<String>,
}

/// Reads the section of a configuration's text alone.
///
/// # Errors
/// What is wrong with the section.
pub(super) fn of_text(text: &str, root: &Path) -> Result<Options, Vec<Problem>> {
    let mut document = Document::parse(text);
    let root = super::root::of(root, &mut document);
    let options = check(&root, &mut document);
    let problems = document.into_problems();
    if problems.is_empty() { Ok(options) } else { Err(problems) }
}

/// Reads the section; relative paths start at `root`.
pub(super) fn check(root: &Path, document: &mut Document<'_>) -> Options {
    let AuditConfig { dir, on_full, syslog } = document.section("audit");
    let mut options = Options::new(root.join(dir.as_deref().unwrap_or("data/audit")));
    options.on_full = match on_full.as_deref() {
        None | Some("serve") => OnFull::Serve,
        Some("refuse") => OnFull::Refuse,
        Some(other) => {
            document.wrong("audit.on_full", format!("`{other}` is none of serve, refuse"));
            OnFull::Serve
        }
    };
    match syslog.as_deref() {
        None => {}
        Some("off") => options.syslog = None,
        Some(path) if path.starts_with('/') => options.syslog = Some(PathBuf::from(path)),
        Some(other) => {
            let reason = format!("`{other}` is no absolute path of a socket, and not `off`");
            document.wrong("audit.syslog", reason);
        }
    }
    options
}
