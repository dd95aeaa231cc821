//! Names the engines whose drivers a build may leave out, and refuses their addresses there.
//!
//! Drivers take most of a build's time, and the demo needs none. So the feature `drivers` is on by
//! default, and `make run` builds without it. Parquet is left out with them
//! (`examples/no_parquet.rs`).
//! Invariant: every scheme that `open` has only with the feature stands in `ENGINES`. `open` and
//! `rows` ask it for schemes that they do not have; the check of a configuration calls `open`. What
//! is left out stands in docs/operating/sinks.md, too. Refuses: features for single drivers. Each
//! would double the builds that have to be checked.

/// Schemes of addresses, and the engine that each means.
const ENGINES: [(&str, &str); 6] = [
    ("kafka", "Kafka"),
    ("mongodb", "MongoDB"),
    ("mysql", "MySQL"),
    ("mariadb", "MariaDB"),
    ("postgres", "PostgreSQL"),
    ("postgresql", "PostgreSQL"),
];

/// This build leaves out a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this build leaves out the driver of {engine}; \
     hint: `cargo build --release` builds Tidegate with all drivers"
)]
pub struct DriverLeftOut {
    /// What the driver is for, as its users call it.
    pub(crate) engine: &'static str,
}

impl DriverLeftOut {
    /// Refuses an engine whose driver is left out, and no other; call it for a scheme that no
    /// engine of this build has.
    ///
    /// # Errors
    /// When a build with all drivers has the engine.
    pub(crate) fn check(scheme: &str) -> Result<(), Self> {
        match ENGINES.iter().find(|(known, _)| *known == scheme) {
            Some((_, engine)) => Err(Self { engine }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
