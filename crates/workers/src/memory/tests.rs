//! Figures as the kernel writes them.

use super::*;

#[test]
fn sums_what_is_private_and_what_is_shared() {
    let text = "5581fd7ec000-7ffd rollup\nRss:  9000 kB\nPss:  4000 kB\nPss_Anon:  3000 kB\n\
                Shared_Clean:  100 kB\nShared_Dirty:  20 kB\nPrivate_Clean:  3 kB\n\
                Private_Dirty:  400 kB\nSwap:  0 kB\n";
    let expected = Memory { private: 403 * 1024, shared: 120 * 1024, pss: 4000 * 1024 };
    assert_eq!(parse(text), expected);
}

#[test]
#[cfg(target_os = "linux")]
fn this_process_has_memory_and_there_is_more() {
    let own = of(i32::try_from(std::process::id()).unwrap()).unwrap();
    assert!(own.private > 0 && own.pss >= own.private);
    assert!(available().unwrap() > 0);
    assert_eq!(of(i32::MAX), None);
}
