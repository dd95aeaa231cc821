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
