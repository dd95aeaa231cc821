//! Small pages of memory while moments matter.
//!
//! The allocator asks for huge pages, and the kernel clears one when it is first touched. On a
//! virtual machine that took 5 ms for 2 MB, in the middle of what a thread was about to send. Small
//! pages are cleared one by one, and do not show.
//! Constraint: programs that are started meanwhile inherit the choice (prctl(2),
//! `PR_SET_THP_DISABLE`), so it is not made where programs are measured.

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
