//! Keeps the threads of this process to small pages of memory while moments matter.
//!
//! The allocator asks for huge pages, and the kernel clears one when it is first touched. On a
//! virtual machine that took 5 ms for 2 MB, in the middle of what a thread was about to send. Small
//! pages are cleared one by one, and do not show.
//! Invariant: what was allowed before is allowed again when the guard is dropped. Where the system
//! refuses, nothing changes and nothing is said.
//! Programs that are started meanwhile inherit the choice (prctl(2), `PR_SET_THP_DISABLE`). So
//! `probe.rs` does not hold it where programs are measured, nor does `command.rs`.

use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};

/// No huge pages as long as this is held; where the system refuses, as before.
#[derive(Debug)]
pub(crate) struct SmallPages {
    was_allowed: bool,
}

impl SmallPages {
    pub(crate) fn hold() -> Self {
        let allowed = matches!(transparent_huge_pages_are_disabled(), Ok(false));
        Self { was_allowed: allowed && disable_transparent_huge_pages(true).is_ok() }
    }
}

impl Drop for SmallPages {
    fn drop(&mut self) {
        if self.was_allowed {
            // What could be forbidden can be allowed again.
            let _ = disable_transparent_huge_pages(false);
        }
    }
}
