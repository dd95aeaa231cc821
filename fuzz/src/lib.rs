//! Fuzz targets: each reads bytes as a stranger sends them and asserts what must hold of every
//! input, not only that nothing panics.
//!
//! Two engines run the same targets: libFuzzer, guided by coverage (`cargo xtask fuzz`), and a
//! seeded one without instruments (`tests/targets.rs`), so that every `make test` runs them all.

pub mod corpus;
pub mod random;
mod reading;
mod targets;

pub use targets::{TARGETS, Target};

/// Returns the target of that name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
