//! The allocator of the whole process, and whether memory really comes from it.
//!
//! musl's malloc takes one lock for all threads, and collapses under load; mimalloc is the same
//! everywhere. A package can lose it without a word, and is then half as fast: uv's wheel was, for
//! weeks. So the program asks at its start.
//! `cache` (`memory/weight.rs`) and `testkit` (`counting.rs`) round sizes as mimalloc does.
//! The functions that are asked are of mimalloc.h, and the crate does not declare them by default.

#![expect(unsafe_code, reason = "only mimalloc knows its own memory, and it is asked in C")]

use std::ffi::{c_int, c_void};

use anyhow::{Result, ensure};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

// SAFETY: the signatures are those of mimalloc.h 3; both take anything, and write nothing.
unsafe extern "C" {
    safe fn mi_version() -> c_int;
    /// Looks the address up in a map, and never reads what is there.
    safe fn mi_is_in_heap_region(address: *const c_void) -> bool;
}

/// Fails where memory comes from another allocator than the one that is built in.
pub(crate) fn ensure_is_used() -> Result<()> {
    let some = std::hint::black_box(Box::new(0_u64));
    let is_used = mi_is_in_heap_region((&raw const *some).cast());
    ensure!(is_used, "memory does not come from mimalloc: this program was built wrongly");
    Ok(())
}

/// Its name and version, such as `mimalloc 3.3.2`, as it says itself.
pub(crate) fn name() -> String {
    let version = mi_version();
    let (major, minor, patch) = (version / 10_000, version / 100 % 100, version % 100);
    format!("mimalloc {major}.{minor}.{patch}")
}
