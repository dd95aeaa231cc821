//! A global allocator that counts allocations by thread, for claims about how many something costs.
//!
//! A test binary makes it its own: `#[global_allocator] static A: CountingAllocator = …;`.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Returns how often this thread has allocated or grown an allocation so far; 0 for ever unless
/// the allocator is in use.
pub fn allocated() -> usize {
    COUNT.get()
}

// SAFETY: every call is passed on unchanged to the system allocator; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's obligations are those of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from the system allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: `pointer` came from the system allocator with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
