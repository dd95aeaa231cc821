//! Claims about what may be called a suite.

use super::run;

#[test]
fn a_directory_without_the_suite_is_refused_with_the_way_to_get_it() {
    for suite in ["/nonexistent", env!("CARGO_MANIFEST_DIR")] {
        let refused = run(suite, &["--report"]).unwrap_err().to_string();
        assert!(refused.contains(suite) && refused.contains("git clone"), "{refused}");
    }
}
