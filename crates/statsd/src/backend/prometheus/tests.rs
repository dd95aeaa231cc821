//! Names in Prometheus' alphabet, and which format is asked for.

mod pages;

use super::names::of;
use super::text::{Format, bound};

#[test]
fn names_and_labels_are_put_into_the_alphabet() {
    for (name, wanted) in [
        ("a.b-c", ("a_b_c", "")),
        ("9lives", ("_9lives", "")),
        ("na:ïve", ("na__ve", "")),
        ("", ("_", "")),
        ("a;k=v;b=w", ("a", "b=\"w\",k=\"v\"")),
        ("a;9.k/l=v", ("a", "_9_k_l=\"v\"")),
        ("a;__name__=b", ("a", "_name__=\"b\"")),
        ("a;quantile=x;le=y", ("a", "tag_le=\"y\",tag_quantile=\"x\"")),
        ("a;k=\"q\\\n\u{fc}", ("a", "k=\"\\\"q\\\\\\n\u{fc}\"")),
        ("a;k.l=v;k-l=w;e=;=n", ("a", "k_l=\"v,w\"")),
    ] {
        let (family, labels) = of(name);
        assert_eq!((family.as_str(), labels.as_str()), wanted, "{name}");
    }
}

#[test]
fn openmetrics_is_for_those_who_like_it_no_less() {
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                      application/openmetrics-text;version=0.0.1;q=0.4,\
                      text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    assert_eq!(Format::wanted(prometheus), Format::Open);
    assert_eq!(Format::wanted("Application/OpenMetrics-Text"), Format::Open);
    for accept in [
        "",
        "*/*",
        "text/html",
        "application/openmetrics-text;q=0",
        "application/openmetrics-text;q=0.1, text/plain",
        "application/openmetrics-text;q=much",
    ] {
        assert_eq!(Format::wanted(accept), Format::Text, "{accept}");
    }
}

#[test]
fn bounds_are_written_one_way() {
    let bounds = [0.0, 0.999, 10.0, -2.5, 1e21, f64::INFINITY].map(bound);
    assert_eq!(bounds, ["0.0", "0.999", "10.0", "-2.5", "1e+21", "+Inf"]);
}
