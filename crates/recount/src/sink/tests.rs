//! Claims about what a recount knows of a quarantine.

use std::collections::HashSet;

use super::quarantined;

#[test]
fn lines_in_quarantine_count_whatever_bytes_they_have() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("web-main.ndjson");
    let mut text = Vec::new();
    for (at, line) in
        [&b"plain"[..], b"\xff\xfe", "\u{fffd}\u{1f30a}".as_bytes(), b"\"\\"].iter().enumerate()
    {
        text.extend_from_slice(
            format!("{{\"batch\":1,\"file\":\"a\",\"offset\":{at},\"line\":\"").as_bytes(),
        );
        exchange::escape_json(line, &mut text);
        text.extend_from_slice(b"\"}\n");
    }
    std::fs::write(&file, &text).unwrap();
    assert_eq!(quarantined(&file), HashSet::from([0, 1, 2, 3]));
}
