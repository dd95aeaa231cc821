//! Claims about performance data, as plug-ins print them.

use super::{Perfdata, read};

#[track_caller]
fn check(text: &str, times: &[(&str, f64)], numbers: &[(&str, f64)]) {
    let owned = |pairs: &[(&str, f64)]| {
        pairs.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    };
    assert_eq!(read(text), Perfdata { times: owned(times), numbers: owned(numbers) });
}

#[test]
fn the_lines_of_real_plugins_are_read() {
    check("time=0.006314s;;;0.000000 size=333B;;;0", &[("time", 6.314)], &[("size", 333.0)]);
    check(
        "rta=0.064ms;100.000;500.000;0; pl=0%;20;60;; rtmax=0.1ms;;;; ",
        &[("rta", 0.064), ("rtmax", 0.1)],
        &[("pl", 0.0)],
    );
    check("load1=0.010;5.000;10.000;0;", &[], &[("load1", 0.01)]);
    check("/=2643MB;5948;5958;0;5968", &[], &[("/", 2643.0 * 1024.0 * 1024.0)]);
}

#[test]
fn labels_may_be_quoted_and_have_their_quotation_marks_doubled() {
    check("'it''s = a label'=3us 'b'=4c", &[("it's = a label", 0.003)], &[("b", 4.0)]);
}

#[test]
fn commas_are_decimal_points_of_some_places() {
    check("time=0,5s", &[("time", 500.0)], &[]);
}

#[test]
fn what_is_no_number_is_left_out_and_the_rest_read() {
    check("a=U b=;1;2 c=-3s d=nan e=1;x;y f=2", &[], &[("e", 1.0), ("f", 2.0)]);
    check("", &[], &[]);
    check("no data here", &[], &[]);
    check("'open=1", &[], &[]);
    check("=1", &[], &[]);
}
