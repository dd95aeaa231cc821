//! Values of parameters.

use super::{list, scan, substituted};

fn parameters(pairs: &[(&str, &str)]) -> super::ParameterValues {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_value_is_not_replaced_again() {
    let values = parameters(&[("foo", "{bar} baz"), ("bar", "quux")]);
    assert_eq!(substituted("echo {foo} {bar} {other} {", &values), "echo {bar} baz quux {other} {");
}

#[test]
fn a_list_is_cut_at_commas_that_are_not_escaped() {
    assert_eq!(list("gcc,clang"), ["gcc", "clang"]);
    assert_eq!(list(r"hello\, world!,\\,\n"), ["hello, world!", r"\", r"\n"]);
    assert_eq!(list(""), [""]);
}

#[test]
fn a_scan_goes_to_its_end_in_exact_decimals() {
    assert_eq!(scan("1", "7", Some("3")).unwrap(), ["1", "4", "7"]);
    assert_eq!(scan("-1", "1", None).unwrap(), ["-1", "0", "1"]);
    assert_eq!(scan("0.3", "0.7", Some("0.2")).unwrap(), ["0.3", "0.5", "0.7"]);
    assert_eq!(scan("0", "1", Some("0.33")).unwrap(), ["0.00", "0.33", "0.66", "0.99"]);
    assert_eq!(scan("0", "1", Some("0.1")).unwrap().len(), 11);
}

#[test]
fn refuses_scans_that_lead_nowhere() {
    for (from, to, step) in [
        ("a", "1", None),
        ("2", "1", None),
        ("0", "1", Some("0")),
        ("0.5", "1", None),
        ("0", "1e9", None),
    ] {
        assert!(scan(from, to, step).is_err(), "{from} {to} {step:?}");
    }
}
