//! Claims about the command line. They also have cargo build the program, which CI runs.

use std::process::Command;

#[test]
fn a_sink_that_is_no_engine_is_refused_with_the_engines() {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_soak"));
    let refused = soak.args(["events", "--sink", "stone"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("stone") && said.contains("sqlite"), "{said}");
}
