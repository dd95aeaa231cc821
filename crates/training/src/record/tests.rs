//! Claims about the order of records.

use super::{RecordContent, RecordKey};

fn key(user: u128, time_us: u64, content: RecordContent) -> RecordKey {
    RecordKey { ranking: 7, user, time_us, content }
}

#[test]
fn a_ranking_comes_first_and_then_the_latest_of_each_user() {
    let ordered = [
        RecordKey::of_ranking(7),
        key(0, 9, RecordContent::Impression),
        key(1, 9, RecordContent::Impression),
        key(1, 9, RecordContent::Feedback),
        key(1, 8, RecordContent::Impression),
        key(1, 8, RecordContent::Feedback),
        key(2, 9, RecordContent::Feedback),
        RecordKey::of_ranking(8),
    ];
    let bytes = ordered.map(RecordKey::to_bytes);
    assert!(bytes.is_sorted(), "{bytes:?}");
}

#[test]
fn a_key_is_read_as_it_was_written() {
    for key in [
        RecordKey { time_us: u64::MAX, ..RecordKey::of_ranking(u128::MAX) },
        key(3, 0, RecordContent::Impression),
        key(u128::MAX, 5, RecordContent::Feedback),
    ] {
        let record = [&key.to_bytes()[..], b"held"].concat();
        assert_eq!(RecordKey::split(&record), (key, &b"held"[..]));
    }
}

#[test]
fn a_group_is_a_ranking_and_a_user_and_never_the_ranking_itself() {
    let impression = key(0, 9, RecordContent::Impression);
    assert!(impression.is_of_group(&key(0, 1, RecordContent::Feedback)));
    assert!(!impression.is_of_group(&key(1, 9, RecordContent::Feedback)));
    assert!(!impression.is_of_group(&RecordKey::of_ranking(7)));
}
