//! The value that each key of the references' files gives the plan, and its default.

use std::path::Path;
use std::time::Duration;

use super::{statsd, wrong};
use crate::flavour::Flavour;
use crate::legacy::{DEPTH_MAX, read};
use crate::plan::{BackendPlan, Closing, Graphite, Histogram, Idle, InputPlan, KeyFlush, Plan};

fn perl(text: &str) -> Plan {
    read(text, Flavour::Perl).expect("the file can be used")
}

fn graphite(text: &str) -> Graphite {
    match statsd(text).backends.remove(0) {
        BackendPlan::Graphite(graphite) => graphite,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_default_is_that_of_the_reference() {
    for (plan, is_perl) in [(statsd("{}"), false), (perl("{}"), true)] {
        assert_eq!(plan.inputs, [InputPlan::Udp("0.0.0.0:8125".parse().expect("an address"))]);
        let management = plan.management.as_ref().expect("there is one");
        assert_eq!(management.address.to_string(), "0.0.0.0:8126");
        assert_eq!((plan.percentiles.clone(), plan.self_prefix.as_str()), (vec![90.0], "statsd"));
        assert!(plan.cleans_keys && plan.is_healthy && !plan.shows_lines);
        assert_eq!(plan.follows_file, !is_perl);
        assert!(plan.snapshot.is_none() && plan.spool.is_none() && plan.key_flush.is_none());
        let keep = &plan.keep;
        let kinds = [keep.counters, keep.timers, keep.gauges, keep.sets];
        assert_eq!(kinds, [Idle::Kept; 4]);
        assert_eq!(keep.always.len(), if is_perl { 0 } else { 4 });
    }
    assert_eq!(graphite("{}"), Graphite { closing: Closing::Learned, ..Graphite::default() });
    let names = ["packets_received", "metrics_received", "bad_lines_seen", "own.timestamp_lag"];
    assert_eq!(statsd("{ prefixStats: 'own' }").keep.always, names);
}

#[test]
fn every_key_changes_what_it_names() {
    let plan = statsd(
        "{ prefixStats: 'own', keyNameSanitize: false, dumpMessages: true, snapshot: 'kept',
           healthStatus: 'down', automaticConfigReload: false, address: '127.0.0.1', port: '9',
           mgmt_address: '::1', mgmt_port: 10, calculatedTimerMetrics: ['mean', 'upper_percent'],
           deleteIdleStats: true, deleteTimers: false, flushInterval: '2500' }",
    );
    assert_eq!(
        (plan.self_prefix.as_str(), plan.cleans_keys, plan.shows_lines),
        ("own", false, true)
    );
    assert!(!plan.is_healthy && !plan.follows_file);
    assert_eq!(plan.snapshot.as_deref(), Some(Path::new("kept")));
    assert_eq!(plan.inputs, [InputPlan::Udp("127.0.0.1:9".parse().expect("an address"))]);
    assert_eq!(plan.management.map(|port| port.address.to_string()), Some("[::1]:10".to_owned()));
    assert_eq!(plan.statistics, ["mean", "upper_percent"]);
    let keep = [plan.keep.counters, plan.keep.timers, plan.keep.gauges, plan.keep.sets];
    assert_eq!(keep, [Idle::Flushes(1), Idle::Kept, Idle::Flushes(1), Idle::Flushes(1)]);
    assert_eq!(plan.interval, Duration::from_millis(2500));
    assert!(statsd("{ healthStatus: 'up' }").is_healthy);
    assert_eq!(statsd("{ prefixStats: 7 }").self_prefix, "7");
    assert_eq!(statsd("{ prefixStats: '' }").self_prefix, "");
}

#[test]
fn what_only_statsd_has_is_passed_over_in_perl() {
    let plan = perl(
        "{ calculatedTimerMetrics: ['mean'], histogram: [{ metric: '', bins: [1] }],
           keyNameSanitize: false, automaticConfigReload: true, percentThreshold: 75,
           deleteGauges: true, gaugesMaxTTL: 5, port: 40001 }",
    );
    assert_eq!((plan.statistics.len(), plan.histograms.len()), (0, 0));
    assert!(plan.cleans_keys && !plan.follows_file);
    assert_eq!((plan.percentiles, plan.keep.gauges), (vec![90.0], Idle::Flushes(1)));
    assert_eq!(perl("{ percentThreshold: [75, '99'] }").percentiles, [75.0, 99.0]);
    let error = read("{ prefixStats: '' }", Flavour::Perl).expect_err("it needs a name");
    assert!(error.reason.starts_with("`prefixStats` is empty"), "{error}");
}

#[test]
fn a_single_percentile_may_be_a_number_or_text_in_statsd() {
    for (text, wanted) in
        [("75", 75.0), ("'75.5'", 75.5), ("0", 90.0), ("''", 90.0), ("null", 90.0)]
    {
        assert_eq!(statsd(&format!("{{ percentThreshold: {text} }}")).percentiles, [wanted]);
    }
    assert_eq!(statsd("{ percentThreshold: [] }").percentiles, [0.0; 0]);
    assert!(wrong("{ percentThreshold: true }").reason.starts_with("`percentThreshold`"));
}

#[test]
fn an_interval_is_of_milliseconds_up_to_a_year() {
    let year = Duration::from_secs(366 * 86_400);
    for (text, wanted) in [("1", Duration::from_millis(1)), ("31622400000", year)] {
        assert_eq!(statsd(&format!("{{ flushInterval: {text} }}")).interval, wanted);
    }
    for text in ["31622400001", "1e300", "-5", "0.0000001"] {
        let error = wrong(&format!("{{ flushInterval: {text} }}"));
        assert!(error.reason.starts_with("`flushInterval`"), "{text}: {error}");
    }
    // As JavaScript sees it, 0 is not there.
    assert_eq!(statsd("{ flushInterval: 0 }").interval, Duration::from_secs(10));
}

#[test]
fn gauges_live_for_whole_numbers_of_flushes_above_1() {
    for (ttl, flushes) in [("0", 1), ("1", 1), ("2", 2), ("2.5", 1), ("'4'", 4), ("60", 60)] {
        let plan = statsd(&format!("{{ deleteGauges: true, gaugesMaxTTL: {ttl} }}"));
        assert_eq!(plan.keep.gauges, Idle::Flushes(flushes), "{ttl}");
    }
    assert!(wrong("{ gaugesMaxTTL: -1 }").reason.starts_with("`gaugesMaxTTL` is -1"));
}

#[test]
fn servers_listen_where_each_says() {
    let udp = |text: &str| InputPlan::Udp(text.parse().expect("an address"));
    let unix = |mode| InputPlan::Unix("/run/s".into(), mode);
    for (text, input) in [
        ("server: './servers/udp', address: '127.0.0.1', port: 0", udp("127.0.0.1:0")),
        ("server: 'udp', port: 65535", udp("0.0.0.0:65535")),
        ("address_ipv6: true", udp("[::]:8125")),
        ("address_ipv6: true, address: '127.0.0.1'", udp("127.0.0.1:8125")),
        ("address_ipv6: false", udp("0.0.0.0:8125")),
        (
            "server: './servers/tcp', address: '::1', port: 7",
            InputPlan::Tcp("[::1]:7".parse().expect("an address")),
        ),
        ("server: './servers/tcp', socket: '/run/s'", unix(None)),
        ("server: './servers/tcp', socket: '/run/s', socket_mod: 438", unix(Some(0o666))),
        ("server: './servers/tcp', socket: '/run/s', socket_mod: '0770'", unix(Some(0o770))),
        ("server: './servers/tcp', socket: '/run/s', socket_mod: 'rwx'", unix(None)),
        ("server: './servers/tcp', socket: '/run/s', socket_mod: true", unix(None)),
    ] {
        assert_eq!(statsd(&format!("{{ {text} }}")).inputs, std::slice::from_ref(&input), "{text}");
        assert_eq!(statsd(&format!("{{ servers: [{{ {text} }}] }}")).inputs, [input], "{text}");
    }
    for text in ["port: 65536", "port: 1.5", "port: -1", "port: true"] {
        assert!(wrong(&format!("{{ {text} }}")).reason.contains("write a port"), "{text}");
    }
    assert!(wrong("{ servers: ['udp'] }").reason.starts_with("`servers`: "));
    let error = wrong("{ address: 'no such host' }");
    assert_eq!(error.reason, "`address`: nobody knows the address of `no such host`");
}

#[test]
fn bins_are_read_as_statsd_reads_them() {
    let plan = statsd(
        "{ histogram: [{ metric: 'a', bins: [1, '2.5', 'inf'] }, { metric: '', bins: [] }] }",
    );
    let first = Histogram { part: "a".to_owned(), bins: vec![Some(1.0), Some(2.5), None] };
    assert_eq!(plan.histograms, [first, Histogram { part: String::new(), bins: Vec::new() }]);
    for text in ["[{ bins: [1] }]", "[{ metric: 'a' }]", "[{ metric: 'a', bins: ['x'] }]", "[1]"] {
        let error = wrong(&format!("{{ histogram: {text} }}"));
        assert!(error.reason.starts_with("`histogram`: write"), "{text}: {error}");
    }
}

#[test]
fn keys_that_come_most_often_are_written_where_an_interval_is_given() {
    let keys = |text: &str| statsd(&format!("{{ keyFlush: {text} }}")).key_flush;
    let wanted = |ms, percent, log: Option<&str>| {
        let interval = Duration::from_millis(ms);
        Some(KeyFlush { interval, percent, log: log.map(Into::into) })
    };
    assert_eq!(keys("{ interval: 10000 }"), wanted(10_000, 100.0, None));
    let all = "{ interval: '500', percent: 25, log: '/var/keys.log' }";
    assert_eq!(keys(all), wanted(500, 25.0, Some("/var/keys.log")));
    assert_eq!(keys("{ interval: 1, percent: 0, log: '' }"), wanted(1, 100.0, None));
    assert_eq!(keys("{ interval: 1, percent: null }"), wanted(1, 100.0, None));
    assert_eq!(keys("{ interval: 1e300 }"), wanted(366 * 86_400_000, 100.0, None));
    for none in ["{}", "{ interval: 0 }", "{ interval: -5 }", "{ percent: 10 }", "null"] {
        assert_eq!(keys(none), None, "{none}");
    }
    let error = wrong("{ keyFlush: { interval: true } }");
    assert_eq!(error.reason, "`keyFlush.interval` is true: write a number");
}

#[test]
fn graphite_is_told_where_and_how_names_begin() {
    let plan = graphite(
        "{ graphiteHost: 'g', graphite: { legacyNamespace: false, globalPrefix: 'all',
           prefixCounter: 'c', prefixTimer: 't', prefixGauge: 'g', prefixSet: 5,
           globalSuffix: 'web' }, flush_counts: false }",
    );
    let wanted = Graphite {
        to: Some("g:2003".to_owned()),
        is_legacy: false,
        global_prefix: "all".to_owned(),
        counters: "c".to_owned(),
        timers: "t".to_owned(),
        gauges: "g".to_owned(),
        sets: "5".to_owned(),
        suffix: "web".to_owned(),
        sends_counts: false,
        closing: Closing::Learned,
        ..Graphite::default()
    };
    assert_eq!(plan, wanted);
    let nothing = graphite("{ graphite: { prefixCounter: null, globalPrefix: '' } }");
    assert_eq!((nothing.counters.as_str(), nothing.global_prefix.as_str()), ("counters", ""));
    for (text, to, is_pickle) in [
        ("graphiteHost: 'g', graphitePort: 9", Some("g:9"), false),
        ("graphiteHost: 'g', graphiteProtocol: 'pickle'", Some("g:2004"), true),
        (
            "graphiteHost: 'g', graphiteProtocol: 'pickle', graphitePicklePort: 8, graphitePort: 9",
            Some("g:8"),
            true,
        ),
        ("graphiteHost: 'g', graphiteProtocol: 'text'", Some("g:2003"), false),
        ("graphiteHost: ''", None, false),
    ] {
        let plan = graphite(&format!("{{ {text} }}"));
        assert_eq!((plan.to.as_deref(), plan.is_pickle), (to, is_pickle), "{text}");
    }
}

#[test]
fn backends_are_known_by_their_names_in_every_form() {
    let backends = |text: &str| statsd(&format!("{{ {text} }}")).backends;
    let console = |is_pretty| BackendPlan::Console { is_pretty };
    assert_eq!(backends("backends: ['console']"), [console(false)]);
    for name in ["./backends/console", "./backends/console.js", "Console"] {
        let text = format!("backends: ['{name}'], console: {{ prettyprint: true }}");
        assert_eq!(backends(&text), [console(true)], "{name}");
    }
    assert_eq!(backends("backends: ['console'], console: { prettyprint: 0 }"), [console(false)]);
    let file = BackendPlan::File("/out".into());
    assert_eq!(backends("backends: ['file'], file: { name: '/out' }"), [file]);
    assert_eq!(backends("backends: ['file', 'console']"), [console(false)], "without a name");
    assert_eq!(backends("backends: []"), []);
    let to = "repeater: [{ host: '10.0.0.1', port: 1 }, { host: '::1', port: '2' }]";
    for (protocol, is_tcp) in
        [("", false), (", repeaterProtocol: 'tcp'", true), (", repeaterProtocol: 'udp4'", false)]
    {
        let wanted = vec!["10.0.0.1:1".to_owned(), "[::1]:2".to_owned()];
        let found = backends(&format!("backends: ['repeater'], {to}{protocol}"));
        assert_eq!(found, [BackendPlan::Repeater { to: wanted, is_tcp }]);
    }
    for text in ["repeater: [{ host: 'a' }]", "repeater: [{ port: 1 }]", "repeater: 'a:1'"] {
        let error = wrong(&format!("{{ backends: ['repeater'], {text} }}"));
        assert!(error.reason.starts_with("`repeater`"), "{text}: {error}");
    }
    assert!(wrong("{ backends: [1] }").reason.starts_with("`backends`: write a list"));
}

#[test]
fn of_a_key_that_stands_twice_the_last_one_counts() {
    let plan = statsd("{ port: 1, flushInterval: 7, port: 2 }");
    assert_eq!(plan.inputs, [InputPlan::Udp("0.0.0.0:2".parse().expect("an address"))]);
    let keys: Vec<&str> = plan.settings.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["flushInterval", "port"]);
}

#[test]
fn comments_are_passed_over_and_what_looks_like_one_in_a_text_is_not() {
    let prefix = |text: &str| statsd(text).self_prefix;
    for (text, wanted) in [
        ("{ prefixStats: 'a#b' }", "a#b"),
        ("{ prefixStats: \"a # 'b'\" } # {", "a # 'b'"),
        ("{ prefixStats: 'a\\'#b' }", "a'#b"),
        ("{ prefixStats: 'a\\\\' # b\n }", "a\\"),
        ("# {\n{ // { #\n prefixStats: 'a' /* # } ' */ }", "a"),
        ("{ prefixStats: 'a' } #", "a"),
        ("{ prefixStats: '//' }", "//"),
        ("{ prefixStats: '/*' } // */", "/*"),
        ("{ prefixStats: 'a' };\n\n", "a"),
        ("{ /**/ prefixStats: 'a' }", "a"),
        ("{ /***/ prefixStats: 'b' /* # */, # x\n port: 1 }", "b"),
    ] {
        assert_eq!(prefix(text), wanted, "{text}");
    }
}

#[test]
fn nesting_has_a_bound_and_the_line_beyond_it_is_named() {
    let nested = |depth: usize| {
        let inner = depth - 1;
        format!("{{\n\n unknown: {}{} }}", "[".repeat(inner), "]".repeat(inner))
    };
    assert_eq!(statsd(&nested(DEPTH_MAX)).notes.len(), 1);
    let error = wrong(&nested(DEPTH_MAX + 1));
    assert_eq!(error.to_string(), "line 3: it is nested too deep");
    // What is closed does not count, nor what stands in a text or a comment.
    let many = "[], ".repeat(100);
    let deep = "[".repeat(100);
    let text = format!("{{ unknown: [{many}], other: '{deep}', /* {deep} */ // {deep}\n }}");
    assert_eq!(statsd(&text).notes.len(), 2);
}

#[test]
fn a_place_is_found_whatever_ends_lines() {
    for (text, said) in [
        ("{\r\n port: 1\r\n x: 2 }", "line 3: expected `,` before `x: 2 }`"),
        ("{\u{2028} port: 1 x: 2 }", "line 1: expected `,` before `x: 2 }`"),
        (
            "{\r port: 1,\n x: y }",
            "line 2: `y }`: JavaScript is not run here; write the value itself",
        ),
        ("{ a: 1, (b) }", "line 1: `(b) }`: JavaScript is not run here; write the value itself"),
        (
            "{ a: 'ü', f(x): 1 }",
            "line 1: `(x): 1 }`: JavaScript is not run here; write the value itself",
        ),
        ("{ a: 1,, }", "line 1: expected a key before `, }`"),
        ("{ a: [1 2] }", "line 1: expected `,` before `2] }`"),
        ("{ a: ; }", "line 1: expected a value before `; }`"),
        (
            "{ a: / 1 }",
            "line 1: `/` begins no comment, and JavaScript is not run here; write the value itself",
        ),
    ] {
        assert_eq!(wrong(text).to_string(), said, "{text:?}");
    }
}
