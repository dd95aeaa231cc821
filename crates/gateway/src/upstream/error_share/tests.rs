//! Claims about the share of errors among the answers of an upstream.

use super::*;

fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count)
}

#[test]
fn half_of_ten_seconds_answers_being_errors_is_trouble_and_is_logged_once() {
    let (share, start) = (ErrorShare::default(), Instant::now());
    for _ in 0..9 {
        assert_eq!(share.note(500, start), None);
    }
    assert_eq!(share.trouble(start), None, "nine are few");
    assert_eq!(share.note(503, start), Some(Errors { errors: 10, answers: 10 }));
    (0..10).for_each(|_| assert_eq!(share.note(200, start), None));
    assert_eq!(share.trouble(start), Some(Errors { errors: 10, answers: 20 }));
    share.note(404, start);
    assert_eq!(share.trouble(start), None, "less than half");
    assert_eq!(share.note(500, start + seconds(1.0)), None, "the log has told of it");
    assert_eq!(share.trouble(start + seconds(1.0)), Some(Errors { errors: 11, answers: 22 }));
}

#[test]
fn errors_are_forgotten_after_ten_seconds_and_good_answers_before_them_count_not() {
    let (share, start) = (ErrorShare::default(), Instant::now());
    (0..1000).for_each(|_| assert_eq!(share.note(200, start), None));
    let end = (0..60).map(|n| start + seconds(f64::from(n) * 0.25)).inspect(|at| {
        share.note(502, *at);
    });
    let end = end.last().unwrap();
    let Errors { errors, answers } = share.trouble(end).unwrap();
    assert!((37..=41).contains(&errors) && errors == answers, "{errors} of {answers}");
    assert!(share.marks.lock().all.len() <= 11);
    assert_eq!(share.trouble(end + seconds(10.1)), None);
}
