//! A global allocator that counts, for claims about what something costs: allocations by thread,
//! and the bytes that the process has allocated.
//!
//! A test binary makes it its own: `#[global_allocator] static A: CountingAllocator = …;`.
//! Invariant: counting allocates nothing. Refuses: to change what the system's allocator does.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

/// Wraps below zero and back: what one thread frees another may have allocated.
static BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Returns how often this thread has allocated or grown an allocation so far; 0 for ever unless
/// the allocator is in use.
pub fn allocated() -> usize {
    ALLOCATIONS.get()
}

/// Returns the bytes that the process has allocated and not freed; 0 for ever unless the allocator
/// is in use.
///
/// Each allocation is rounded up as mimalloc does, which the product uses. That is to 16 bytes, and
/// above 64 to four sizes for each power of two.
pub fn allocated_bytes() -> usize {
    BYTES.load(Ordering::Relaxed)
}

fn rounded(size: usize) -> usize {
    size.next_multiple_of((size.next_power_of_two() / 8).max(16))
}

// SAFETY: every call is passed on unchanged to the system allocator; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BYTES.fetch_add(rounded(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's obligations are those of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(rounded(layout.size()), Ordering::Relaxed);
        // SAFETY: `pointer` came from the system allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BYTES.fetch_add(rounded(size), Ordering::Relaxed);
        BYTES.fetch_sub(rounded(layout.size()), Ordering::Relaxed);
        // SAFETY: `pointer` came from the system allocator with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
