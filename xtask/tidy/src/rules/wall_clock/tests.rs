//! Files that look at the wall clock, listed and not.

use super::check;
use crate::ratchet::Ratchet;
use crate::source::Source;
use crate::tree::Text;

fn findings(listed: &str, text: &str, limits: &str) -> Vec<String> {
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let listed = Text::new("wall-clock.txt", listed);
    let found = check(&listed, &[Source::parse("a.rs", text)], &mut ratchet);
    found.into_iter().map(|f| format!("{}:{} {}", f.path, f.line, f.what)).collect()
}

const LOOKS: &str = "fn f() {}\nfn g() { stdx::unix_micros() }\n";

#[test]
fn only_a_listed_file_may_look() {
    assert_eq!(findings("", LOOKS, ""), ["a.rs:2 looks at the wall clock"]);
    assert_eq!(findings("# head\na.rs  the date of a line\n", LOOKS, ""), [""; 0]);
    assert_eq!(findings("", "fn f(now: Instant, last_unix_micros: u64) {}", ""), [""; 0]);
}

#[test]
fn tests_may_look() {
    let text = "#[cfg(test)]\nmod tests { fn f() { SystemTime::now(); } }\n";
    assert_eq!(findings("", text, ""), [""; 0]);
}

#[test]
fn a_row_says_its_date_and_goes_with_the_look() {
    assert_eq!(findings("a.rs\n", LOOKS, ""), ["wall-clock.txt:1 a path alone"]);
    let stale = ["wall-clock.txt:1 `a.rs` does not look at the wall clock"];
    assert_eq!(findings("a.rs the date\n", "fn f() {}\n", ""), stale);
}

#[test]
fn what_decides_by_it_may_only_become_less() {
    let row = "a.rs  decides: when to scan\n";
    let found = ["wall-clock.txt:1 1 files decide by the wall clock, limit 0"];
    assert_eq!(findings(row, LOOKS, ""), found);
    assert_eq!(findings(row, LOOKS, "clock decides 1"), [""; 0]);
}
