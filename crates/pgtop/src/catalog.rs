//! Names the views that are read from catalogs and statistics, and says how each is asked and
//! shown.
//!
//! `catalog/spec.rs` says what a view is; `catalog/engine.rs`, `catalog/progress.rs`,
//! `catalog/relations.rs` and `catalog/writes.rs` have them.
//! Invariant: a column that a statement selects has the same name in every version, so that
//! recordings of any server are shown by one table.

mod engine;
mod progress;
mod relations;
mod spec;
mod writes;

pub(crate) use spec::{CatalogView, Quantity, Shown};

/// All of them.
pub(crate) static ALL: [&CatalogView; 8] = [
    &engine::STATEMENTS,
    &engine::INPUT_OUTPUT,
    &engine::REPLICATION,
    &engine::PROGRESS,
    &relations::DATABASES,
    &relations::TABLES,
    &relations::INDEXES,
    &writes::WRITES,
];

/// Returns a view by its name.
pub(crate) fn view(name: &str) -> Option<&'static CatalogView> {
    ALL.into_iter().find(|view| view.name == name)
}
