//! The whole text of a flush, in each flavour.

use std::time::Duration;

use serde_json::json;

use super::{Console, shown};
use crate::backend::delivery::Render as _;
use crate::flavour::Flavour;
use crate::flush::{Flush, FlushedTimer};
use crate::line::Notice;
use crate::samples::Samples;
use crate::status::BackendStatus;

fn flush() -> Flush {
    let statistics = [("mean", 0.5), ("histogram.bin_10", 1.0), ("histogram.bin_inf", 2.0)];
    Flush {
        unix_s: 1_700_000_000,
        interval: Duration::from_secs(4),
        counters: vec![("c".into(), 10.0)],
        timers: vec![FlushedTimer {
            name: "t".into(),
            samples: Samples::of(vec![1.0, 2.5], Vec::new(), None),
            statistics: statistics.iter().map(|(name, number)| ((*name).into(), *number)).collect(),
        }],
        gauges: vec![("g".into(), -1.5)],
        percentiles: vec![90.0, 99.9],
        ..Flush::default()
    }
}

#[test]
fn a_flush_has_the_members_that_statsd_prints() {
    let wanted = json!({
        "counters": { "c": 10 },
        "timers": { "t": [1, 2.5] },
        "gauges": { "g": -1.5 },
        "timer_data": { "t": { "mean": 0.5, "histogram": { "bin_10": 1, "bin_inf": 2 } } },
        "counter_rates": { "c": 2.5 },
        "sets": {},
        "pctThreshold": [90, 99.9],
    });
    assert_eq!(shown(&flush()), wanted);
    let notices = vec![Notice::Check(Default::default()), Notice::Event(Default::default())];
    let check = json!({
        "type": "check", "name": "", "status": 0, "unix_s": null, "host": "", "tags": "",
        "message": "",
    });
    let event = json!({
        "type": "event", "title": "", "text": "", "unix_s": null, "host": "",
        "aggregation_key": "", "priority": "", "source": "", "alert": "", "tags": "",
    });
    assert_eq!(shown(&Flush { notices, ..flush() })["notices"], json!([check, event]));
}

#[test]
fn only_perl_without_prettyprint_prints_in_one_line() {
    let text = |is_pretty, flavour| {
        let mut text = Vec::new();
        let mut each = |part: &[u8]| {
            text.extend_from_slice(part);
            Ok(())
        };
        let console = Console::new(is_pretty, flavour);
        console.parts(&flush(), &BackendStatus::started(), &mut each).expect("it is taken");
        String::from_utf8(text).expect("text")
    };
    let date = "Tue, 14 Nov 2023 22:13:20 GMT\n";
    let pretty = serde_json::to_string_pretty(&shown(&flush())).expect("JSON") + "\n";
    let line = shown(&flush()).to_string() + "\n";
    for (is_pretty, flavour, wanted) in [
        (false, Flavour::Native, format!("Flushing stats at  {date}{pretty}")),
        (true, Flavour::Statsd, format!("Flushing stats at  {date}{pretty}")),
        (false, Flavour::Statsd, format!("Flushing stats at  {date}{pretty}")),
        (true, Flavour::Perl, format!("Flushing stats at {date}{pretty}")),
        (false, Flavour::Perl, format!("Flushing stats at {date}{line}")),
    ] {
        assert_eq!(text(is_pretty, flavour), wanted, "{is_pretty}, {flavour:?}");
    }
}
