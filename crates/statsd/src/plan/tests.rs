//! The rules that belong to settings.

use super::{BackendPlan, Graphite, INTERVAL_MAX, Idle, Keep, Web};

#[test]
fn a_name_goes_with_the_so_many_th_flush_after_its_last_sample() {
    let keeps =
        |flushes: u32| (0..5).map(|idle| Idle::Flushes(flushes).keeps(idle)).collect::<Vec<_>>();
    assert_eq!(keeps(1), [false; 5]);
    assert_eq!(keeps(2), [true, false, false, false, false]);
    assert_eq!(keeps(4), [true, true, true, false, false]);
    assert!(Idle::Kept.keeps(u32::MAX));
}

#[test]
fn names_with_a_part_that_is_always_kept_are() {
    let idle = Idle::Flushes(1);
    let always = vec!["statsd.".to_owned(), "lag".to_owned()];
    let keep = Keep { counters: idle, timers: idle, gauges: idle, sets: idle, always };
    let names = ["statsd.a", "my.statsd.a", "a.lag.b", "statsd", "a"];
    assert_eq!(names.map(|name| keep.keeps_always(name)), [true, true, true, false, false]);
}

#[test]
fn only_what_has_times_is_worth_sending_later() {
    let web = || Web { url: String::new(), headers: Vec::new() };
    for backend in [
        BackendPlan::Graphite(Graphite::default()),
        BackendPlan::Influx(web()),
        BackendPlan::Otlp(web()),
    ] {
        assert!(backend.may_come_later(), "{backend:?}");
    }
    for backend in [
        BackendPlan::Console { is_pretty: true },
        BackendPlan::File("f".into()),
        BackendPlan::Repeater { to: Vec::new(), is_tcp: false },
        BackendPlan::Prometheus { listen: None },
    ] {
        assert!(!backend.may_come_later(), "{backend:?}");
    }
    assert_eq!(INTERVAL_MAX.as_secs(), 366 * 24 * 60 * 60);
}

#[test]
fn what_a_file_says_without_effect_is_logged_note_by_note() {
    let text = "{ host: 'a', prot: 1 }";
    let plan = crate::legacy::read(text, crate::flavour::Flavour::Statsd).expect("it is read");
    let lines = crate::tests::logged(|| plan.say_notes());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("the configuration: `host`: "), "{lines:?}");
}
