//! Claims about what an operator is shown of a pipeline.

use super::*;

#[test]
fn seconds_behind_count_from_the_first_line_that_is_not_committed_else_from_the_last_read() {
    for (behind, last_line_us, seconds) in [
        (None, 4_000_000, 0.0),
        (Some((0, 2_000_000)), 4_000_000, 0.0),
        (Some((5, 2_000_000)), 4_000_000, 3.0),
        (Some((5, 0)), 4_000_000, 1.0),
        (Some((1, 0)), 0, 0.0),
        (Some((5, 9_000_000)), 4_000_000, 0.0),
    ] {
        let status = Status::default();
        status.last_line_us.store(last_line_us, Ordering::Relaxed);
        if let Some((bytes, since_us)) = behind {
            status.behind(bytes, since_us);
        }
        let report = status.report(5_000_000);
        assert_eq!(report.bytes_behind, behind.map(|(bytes, _)| bytes));
        assert_eq!(report.seconds_behind.to_string(), seconds.to_string(), "{behind:?}");
    }
}

#[test]
fn losses_add_up_and_only_one_that_could_not_be_noted_has_its_time_shown() {
    let status = Status::default();
    let add = |bytes, is_noted| {
        status.lost.lock().add(bytes, is_noted);
        let LossReport { lost_bytes, losses, unmeasured_losses, lost_s_ago } =
            status.report(0).lost;
        (lost_bytes, losses, unmeasured_losses, lost_s_ago.is_some())
    };
    assert_eq!(add(Some(5), true), (5, 1, 0, false));
    assert_eq!(add(None, true), (5, 2, 1, false));
    assert_eq!(add(Some(2), false), (7, 3, 1, true));
    assert_eq!(add(None, true), (7, 4, 2, true));
}

#[test]
fn of_many_files_that_are_not_counted_the_first_are_named_and_all_are_counted() {
    let status = Status::default();
    let files = (0..25).map(|n| (format!("{n:02}.log"), "why".to_owned()));
    status.notices.lock().unreadable = files.clone().take(21).collect();
    status.notices.lock().copies = files.collect();
    let report = status.report(0);
    assert_eq!((report.unreadable_files, report.unreadable.len()), (21, 20));
    assert_eq!((report.copied_files, report.copies.len()), (25, 20));
    assert_eq!(report.copies.keys().next_back().unwrap(), "19.log");
}
