//! Says which version this is, and with `--verbose` what it was built of.
//!
//! Invariant: what is said is known since the build (`build.rs`), but for the allocator, which says
//! its version itself; the same sources say the same.
//! Never here: what a running server does, which `/status` has.

use anyhow::Result;

use crate::cli::VersionArgs;
use crate::{allocator, output};

/// The packages of others that are linked: a line `NAME VERSION` each.
const PACKAGES: &str = include_str!(concat!(env!("OUT_DIR"), "/packages.txt"));

/// `tidegate version`
pub(crate) fn command(args: &VersionArgs) -> Result<()> {
    let mut text = format!("tidegate {}\n", env!("CARGO_PKG_VERSION"));
    if args.verbose {
        let features = if cfg!(feature = "drivers") { "drivers" } else { "none" };
        let profile = if cfg!(debug_assertions) { "with debug assertions" } else { "optimised" };
        for (name, value) in [
            ("commit", option_env!("TIDEGATE_COMMIT").unwrap_or("unknown")),
            ("features", features),
            ("allocator", &allocator::name()),
            ("target", env!("TIDEGATE_TARGET")),
            ("compiler", env!("TIDEGATE_RUSTC")),
            ("build", profile),
        ] {
            text += &format!("{name:<10} {value}\n");
        }
        text += &format!("packages   {}\n", PACKAGES.lines().count());
        text.extend(PACKAGES.lines().map(|package| format!("  {package}\n")));
    }
    output::print(&text)
}
