//! Claims about times by a format.

use super::*;

fn read(format: &str, text: &str) -> Option<u64> {
    TimeFormat::compile(format, None).unwrap().read(text.as_bytes())
}

#[test]
fn one_moment_is_read_from_each_way_to_write_it() {
    for (format, text) in [
        ("%Y-%m-%d %H:%M:%S.%f", "2026-11-21 03:54:12.5"),
        ("%F %T.%L", "2026-11-21 03:54:12.500"),
        ("%d/%b/%Y:%T.%f %z", "21/Nov/2026:04:54:12.500000 +0100"),
        ("%A, %e %B %y %I:%M:%S.%f %p %Z", "Saturday, 21 November 26 03:54:12.5 AM GMT"),
        ("%Y %j %T.%f", "2026 325 03:54:12.5"),
        ("%s.%f", "1795233252.5"),
        ("epoch", "1795233252.5"),
        ("epoch_ms", "1795233252500"),
        ("epoch_us", "1795233252500000"),
        ("epoch_ns", "1795233252500000000"),
        ("rfc3339", "2026-11-21T03:54:12.5Z"),
    ] {
        assert_eq!(read(format, text), Some(1_795_233_252_500_000), "{format}");
    }
}

#[test]
fn what_does_not_exist_or_goes_on_is_no_time() {
    for (format, text) in [
        ("%F %T", "2025-02-29 03:54:12"),
        ("%F %T", "2026-11-21 24:00:00"),
        ("%F %T", "2026-11-21 03:54:12 "),
        ("%F %T%z", "2026-11-21 03:54:12+2500"),
        ("%Y %j %T", "2025 366 00:00:00"),
        ("%Y %j %T", "2025 000 00:00:00"),
        ("%F %I:%M %p", "2026-11-21 13:00 PM"),
        ("epoch_ms", "x"),
    ] {
        assert_eq!(read(format, text), None, "{text}");
    }
    for format in ["%F", "%T", "%q", "nothing", "%"] {
        assert!(TimeFormat::compile(format, None).is_err(), "{format}");
    }
    assert!(TimeFormat::compile("%F %T", Some("+25:00")).is_err());
}

#[test]
fn a_time_without_a_year_is_the_latest_that_is_not_ahead() {
    let now = stdx::unix_micros();
    let micros = read("%b %e %H:%M:%S", "Jan  1 00:00:00").unwrap();
    let (day, year) = (86_400_000_000, 366 * 86_400_000_000);
    assert!(micros <= now + day && micros + year >= now);
}

#[test]
fn a_time_without_a_year_lies_at_most_a_day_ahead() {
    let now = (stdx::unix_micros() / 1_000_000).cast_signed();
    let hour = 3_600;
    for (ahead, is_itself) in
        [(-300 * 24 * hour, true), (-hour, true), (0, true), (23 * hour, true), (49 * hour, false)]
    {
        let seconds = now + ahead;
        let CivilDate { month, day, .. } = civil_from_days(seconds.div_euclid(DAY_SECONDS));
        let clock = seconds.rem_euclid(DAY_SECONDS);
        let (minute, second) = (clock / 60 % 60, clock % 60);
        let text = format!("{month:02}-{day:02} {:02}:{minute:02}:{second:02}", clock / hour);
        let micros = read("%m-%d %T", &text).unwrap();
        let found = (micros / 1_000_000).cast_signed();
        assert!(found == seconds || !is_itself && found < now, "{text}: {found} of {seconds}");
        assert_eq!(found == seconds, is_itself, "{text}");
    }
}
