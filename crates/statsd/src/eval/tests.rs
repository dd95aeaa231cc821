//! What lines and tables are said to be.

use serde_json::{Value, json};

use super::{EvalRequest, answer, lines};
use crate::flavour::Flavour;
use crate::legacy;
use crate::plan::Plan;

fn plan(flavour: Flavour) -> Plan {
    legacy::read("{}", flavour).unwrap()
}

fn native() -> Plan {
    let config = Default::default();
    crate::config::plan(&config, std::path::Path::new("."), &mut |key, reason| {
        panic!("{key}: {reason}")
    })
}

fn ask(plan: &Plan, request: Value) -> Result<Value, String> {
    answer(plan, serde_json::from_value::<EvalRequest>(request).unwrap())
}

#[test]
fn a_line_means_its_samples_and_their_flush() {
    let told = lines(&plan(Flavour::Statsd), b"a:1|ms|@0.1\nb c:2|c\nno\n");
    let sample = json!({ "type": "timer", "key": "a", "value": 1, "stands_for": 10 });
    assert_eq!(told["lines"][0], json!({ "line": "a:1|ms|@0.1", "samples": [sample] }));
    assert_eq!(told["lines"][2], json!({ "line": "no", "samples": [], "bad": ["no_type"] }));
    assert_eq!(told["flush"]["timer_data"]["a"]["count"], 10);
    assert_eq!(told["flush"]["counter_rates"], json!({ "b_c": 0.2 }));
    assert_eq!(told["graphite"]["stats.timers.a.count_ps"], 1);
    assert_eq!(told["graphite"]["stats_counts.b_c"], 2);
    assert!(!told["graphite"].to_string().contains("statsd"), "its own figures are in it");
}

#[test]
fn the_flavour_decides_what_a_line_means() {
    let of = |plan: &Plan| lines(plan, b"k:0|c\ng:1|g\ng:+5|g\r\n_sc|x|1\n")["lines"].clone();
    let (own, perl) = (of(&native()), of(&plan(Flavour::Perl)));
    assert_eq!(own[0]["samples"][0]["value"], 0);
    assert_eq!(perl[0]["samples"][0]["value"], 1);
    assert_eq!(lines(&native(), b"k:2|c")["graphite"]["stats.counters.k.count"], 2);
    assert_eq!(own[2]["samples"][0]["change"], "add");
    assert_eq!(perl[2]["samples"][0]["change"], "set");
    assert_eq!(own[3]["samples"][0]["type"], "check");
    assert_eq!(perl[3]["bad"], json!(["no_type"]));
}

#[test]
fn later_lines_change_what_earlier_ones_left() {
    let told = lines(&plan(Flavour::Statsd), b"g:10|g\ng:-3|g\ns:a|s\ns:b|s\ns:a|s");
    assert_eq!(told["flush"]["gauges"], json!({ "g": 7 }));
    assert_eq!(told["flush"]["sets"], json!({ "s": ["a", "b"] }));
    assert_eq!(told["graphite"]["stats.sets.s.count"], 2);
}

#[test]
fn tables_are_flushed_with_the_settings_that_come_along() {
    let told = ask(
        &plan(Flavour::Statsd),
        json!({ "flush": {
            "interval_s": 0.1,
            "percentiles": [],
            "statistics": ["count", "count_ps", "histogram"],
            "histograms": [{ "part": "", "bins": [150, "inf"] }],
            "counters": { "c": 2 },
            "timers": { "t": { "values": [300, 100, 200], "count": 50 } },
        } }),
    )
    .unwrap();
    assert_eq!(told["flush"]["counter_rates"]["c"], 20);
    let bins = json!({ "bin_150": 1, "bin_inf": 2 });
    let data = json!({ "count": 50, "count_ps": 500, "histogram": bins });
    assert_eq!(told["flush"]["timer_data"]["t"], data);
}

#[test]
fn settings_out_of_range_are_refused_in_words() {
    for (request, word) in [
        (json!({ "interval_s": 0 }), "`interval_s`"),
        (json!({ "interval_s": -1 }), "`interval_s`"),
        (json!({ "histograms": [{ "bins": [2, 1] }] }), "`histograms`"),
    ] {
        let reason = ask(&native(), json!({ "flush": request })).unwrap_err();
        assert!(reason.starts_with(word), "{reason}");
    }
}

#[test]
fn a_deletion_says_what_goes_and_what_is_left() {
    let request = json!({ "names": ["a.b", "a.c", "d"], "patterns": ["a.*", "e"] });
    let told = ask(&plan(Flavour::Statsd), json!({ "delete": request })).unwrap();
    let answer = "deleted: a.b\ndeleted: a.c\nmetric e not found\nEND\n\n";
    let wanted = json!({ "answer": answer, "deleted": ["a.b", "a.c"], "left": ["d"] });
    assert_eq!(told, wanted);
}

#[test]
fn every_kind_of_sample_is_reported_as_it_is_counted() {
    let lines = |text: &[u8]| lines(&native(), text)["lines"].clone();
    let of = |text: &str| lines(text.as_bytes())[0]["samples"].clone();
    assert_eq!(of("a:2|c|@0.5"), json!([{ "type": "counter", "key": "a", "value": 4 }]));
    assert_eq!(of("a:2|g"), json!([{ "type": "gauge", "key": "a", "change": "set", "value": 2 }]));
    assert_eq!(
        of("a:-2|g"),
        json!([{ "type": "gauge", "key": "a", "change": "add", "value": -2 }])
    );
    assert_eq!(of("a:m|s"), json!([{ "type": "set", "key": "a", "member": "m" }]));
    assert_eq!(of("_e{1,1}:a|b")[0]["title"], "a");
    assert_eq!(
        lines(b"\n\na:1|c\n\n").as_array().map(Vec::len),
        Some(1),
        "empty lines say nothing"
    );
    let told = super::lines(&native(), b"c:1|c\nt:4|ms\ng:5|g\ns:m|s\n_sc|x|1");
    assert_eq!(told["flavour"], "native");
    assert_eq!(told["flush"]["counters"], json!({ "c": 1 }));
    assert_eq!(told["flush"]["timers"], json!({ "t": [4] }));
    assert_eq!(told["flush"]["gauges"], json!({ "g": 5 }));
    assert_eq!(told["flush"]["sets"], json!({ "s": ["m"] }));
    assert_eq!(told["flush"]["notices"][0]["name"], "x");
    assert_eq!(told["flush"]["pctThreshold"], json!([90]));
    let odd = super::lines(&plan(Flavour::Statsd), b"a:+2|g");
    assert_eq!(odd["lines"][0]["samples"][0]["change"], "add_unless_zero");
}

#[test]
fn names_are_those_of_the_plan() {
    let names = |text: &str| {
        let plan = legacy::read(text, Flavour::Statsd).expect("the file can be used");
        lines(&plan, b"a b:1|c")["graphite"].clone()
    };
    assert_eq!(names("{}"), json!({ "stats.a_b": 0.1, "stats_counts.a_b": 1 }));
    assert_eq!(
        names("{ keyNameSanitize: false, flushInterval: 500 }"),
        json!({ "stats.a b": 2, "stats_counts.a b": 1 })
    );
    let modern =
        "{ graphite: { legacyNamespace: false, globalPrefix: 'all' }, flush_counts: false }";
    assert_eq!(names(modern), json!({ "all.counters.a_b.rate": 0.1 }));
    assert_eq!(names("{ backends: [] }"), names("{}"), "as the flavour has them");
}

#[test]
fn a_count_weighs_each_value_alike_and_one_that_cannot_be_ends_nothing() {
    let told = |values: Value| {
        let request = json!({ "flush": { "percentiles": [90], "timers": { "t": values } } });
        let told = ask(&native(), request).expect("it is answered");
        told["flush"]["timer_data"]["t"].clone()
    };
    let weighed = told(json!({ "values": [1, 4], "count": 6 }));
    assert_eq!(
        (&weighed["count"], &weighed["sum"], &weighed["mean"]),
        (&json!(6), &json!(15), &json!(2.5))
    );
    let plain = told(json!({ "values": [1, 4] }));
    assert_eq!((&plain["count"], &plain["sum"]), (&json!(2), &json!(5)));
    assert_eq!(told(json!({}))["count"], 0);
    for count in [-2.0, 0.0, -1e308] {
        for values in [json!([1]), json!([1, 2, 3])] {
            let told = told(json!({ "values": values, "count": count }));
            assert_eq!(told["lower"], 1, "{count}");
        }
    }
}

#[test]
fn perl_deletes_what_is_named_and_knows_no_folders() {
    let request = json!({ "names": ["a.b", "a.c"], "patterns": ["a.*", "a.c"] });
    let told = ask(&plan(Flavour::Perl), json!({ "delete": request })).unwrap();
    let answer = "deleted: a.*\ndeleted: a.c\n\nEND\n\n";
    let wanted = json!({ "answer": answer, "deleted": ["a.*", "a.c"], "left": ["a.b"] });
    assert_eq!(told, wanted);
}
