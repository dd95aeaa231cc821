//! The kinds of alarm that a server raises, and what watches it from outside.
//!
//! One list has every kind, with what it means and what to do (`kind.rs`); another has the panels
//! (`panels.rs`). From them `cargo xtask gen` writes [`FILES`]: a page of the documentation, alert
//! rules for Prometheus, a dashboard for Grafana. The program exports each kind as
//! `tidegate_alarms{kind="…"}`.
//! Invariant: each kind has an alert and a section of the page, because both are made of the list.
//! A test compares the files; `crates/tidegate/tests/it/watched.rs` asks a running server for every
//! metric that they name.
//! Refuses: to judge whether an alarm is on, which its part knows.

mod dashboard;
mod kind;
mod page;
mod panels;
mod rules;

pub use kind::AlarmKind;

/// A file that is made of the lists: its path in the repository, and what writes it.
pub type Generated = (&'static str, fn() -> String);

/// All of them. The chart has copies, for Helm follows links with a warning each time.
pub const FILES: [Generated; 5] = [
    ("docs/operating/alarms.md", page::page),
    ("packaging/prometheus/tidegate.rules.yaml", rules::rules),
    ("packaging/grafana/tidegate.json", dashboard::dashboard),
    ("packaging/helm/tidegate/files/tidegate.rules.yaml", rules::rules),
    ("packaging/helm/tidegate/files/tidegate.json", dashboard::dashboard),
];

#[cfg(test)]
mod tests;
