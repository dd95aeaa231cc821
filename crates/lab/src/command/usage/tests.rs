//! What a child has used.

#[test]
fn a_child_is_waited_for_once_with_what_it_has_used() {
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3";
    let mut child = std::process::Command::new("sh").args(["-c", busy]).spawn().unwrap();
    let (status, usage) = super::wait_with_usage(&mut child).unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(usage.user + usage.system > std::time::Duration::ZERO);
    assert!(usage.peak_bytes > 100_000, "{usage:?}");
    assert!(super::wait_with_usage(&mut child).is_err());
}
