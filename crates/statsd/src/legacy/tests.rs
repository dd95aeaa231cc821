//! The files that both servers come with, and what is said of those that cannot be used.

mod values;

use std::time::Duration;

use super::{LegacyError, is_legacy, read};
use crate::flavour::Flavour;
use crate::plan::Idle;
use crate::plan::{BackendPlan, InputPlan, Plan};

fn statsd(text: &str) -> Plan {
    read(text, Flavour::Statsd).expect("the file can be used")
}

fn wrong(text: &str) -> LegacyError {
    read(text, Flavour::Statsd).expect_err("the file cannot be used")
}

/// The style of statsd's own example: commas first, names unquoted, comments.
#[test]
fn a_javascript_object_is_read_as_it_is() {
    let plan = statsd(
        "/* comment # with 'signs' */
        {
          graphitePort: 2003 // two
        , graphiteHost: \"graphite#1.example.com\"
        , port: 8126, mgmt_port: '8127'
        , flushInterval: 500
        , percentThreshold: [90, 99.9, -5]
        , graphite: { legacyNamespace: false, globalSuffix: 'web' }
        , servers: [ { server: './servers/tcp', port: 9125 }
                   , { server: './servers/udp', address_ipv6: true },]
        , backends: ['./backends/graphite', './backends/console'],
        };
        ",
    );
    assert_eq!(plan.interval, Duration::from_millis(500));
    assert_eq!(plan.percentiles, [90.0, 99.9, -5.0]);
    let InputPlan::Tcp(tcp) = &plan.inputs[0] else { panic!("{:?}", plan.inputs) };
    assert_eq!(tcp.port(), 9125);
    let InputPlan::Udp(udp) = &plan.inputs[1] else { panic!("{:?}", plan.inputs) };
    assert!(udp.is_ipv6() && udp.port() == 8125);
    let BackendPlan::Graphite(graphite) = &plan.backends[0] else { panic!("no graphite") };
    assert_eq!(graphite.to.as_deref(), Some("graphite#1.example.com:2003"));
    assert!(!graphite.is_legacy && graphite.suffix == "web");
    assert_eq!(plan.management.map(|m| m.address.port()), Some(8127));
    assert_eq!(plan.settings[0].0, "graphitePort");
}

#[test]
fn perls_relaxed_json_is_read_as_it_is() {
    let text = "{ # a comment, \"quoted\"
        \"port\": 40001, \"backends\": [ \"Console\", \"./backends/graphite\", ],
        \"deleteIdleStats\" : true, \"deleteGauges\" : false, \"percentThreshold\" : 95, }";
    let plan = read(text, Flavour::Perl).expect("the file can be used");
    assert_eq!(plan.percentiles, [90.0], "a single number is passed over");
    assert_eq!((plan.keep.counters, plan.keep.gauges), (Idle::Flushes(1), Idle::Kept));
    assert_eq!(plan.backends.len(), 2);
}

#[test]
fn an_empty_file_is_the_default_of_each() {
    let plan = statsd("{}");
    assert!(matches!(plan.backends[..], [BackendPlan::Graphite(_)]));
    assert_eq!(plan.interval, Duration::from_secs(10));
    assert_eq!(plan.keep.gauges, Idle::Kept);
    let plan = read("{}", Flavour::Perl).expect("the file can be used");
    assert!(matches!(plan.backends[..], [BackendPlan::Console { .. }]));
}

#[test]
fn what_a_file_says_without_effect_is_noted() {
    // The source's file: `host`, and a log of its own.
    let text = "{ \"host\": \"0.0.0.0\", \"port\": 8125, \"flushIntervall\": 1000, \"batch\": 1,
        \"log\": { \"backend\": \"syslog\", \"level\": \"LOG_INFO\", },
        \"calculatedTimerMetrics\": [\"maen\", \"upper_percent\"] }";
    let plan = read(text, Flavour::Perl).expect("the file can be used");
    assert_eq!(
        plan.notes,
        [
            "`host`: not a key of this file; write `address`",
            "`flushIntervall`: not a key of this file; did you mean `flushInterval`?",
            "`batch`: not a key of this file",
            "`log.backend`, `log.level`: not followed; the log goes to stderr, and TIDEGATE_LOG \
             filters it",
            "`calculatedTimerMetrics`: `maen` is no statistic; did you mean `mean`?",
        ]
    );
    let all = "{ port: 8125, graphite: {}, debug: true, deleteIdleStats: true, snapshot: '' }";
    assert_eq!(statsd(all).notes, [""; 0]);
}

#[test]
fn a_key_that_is_near_no_other_is_not_answered_by_a_guess() {
    assert_eq!(statsd("{ foo: 1 }").notes, ["`foo`: not a key of this file"]);
    assert_eq!(
        statsd("{ graphite: { legacyNameSpace: false, prefixSet: 's', x: 1 } }").notes,
        [
            "`graphite.legacyNameSpace`: not a key of this file; did you mean `legacyNamespace`?",
            "`graphite.x`: not a key of this file"
        ]
    );
    assert_eq!(
        statsd("{ prot: 1 }").notes,
        ["`prot`: not a key of this file; did you mean `port`?"]
    );
}

#[test]
fn gauges_live_for_so_many_flushes_as_the_file_says() {
    let plan = statsd("{ deleteGauges: true, gaugesMaxTTL: 3 }");
    assert_eq!(plan.keep.gauges, Idle::Flushes(3));
    assert_eq!(statsd("{ deleteGauges: true, gaugesMaxTTL: 1.5 }").keep.gauges, Idle::Flushes(1));
}

#[test]
fn an_expression_is_refused_with_its_line() {
    let error = wrong("{\n  port: 8125,\n  prefixStats: require('os').hostname(),\n}");
    assert_eq!(error.line, 3);
    assert!(error.reason.contains("require('os').hostname()"), "{error}");
    assert!(error.to_string().starts_with("line 3: "), "{error}");
    let error = wrong("{\n  flushInterval: 10 * 1000\n}");
    assert_eq!(error.line, 2);
    assert!(error.reason.contains("JavaScript is not run"), "{error}");
    for value in ["'a' + b", "1 / 2", "-x", "c ? 1 : 2", "[1 - x]", "true || y", "`x`", "!z"] {
        let error = wrong(&format!("{{ port: {value} }}"));
        assert!(error.reason.contains("JavaScript is not run"), "{value}: {error}");
    }
}

#[test]
fn a_sign_that_is_missing_is_named_with_what_stands_in_its_place() {
    for (text, said) in [
        ("{\n  mgmt_port: 18126\n  port: 18125,\n}", "line 3: expected `,` before `port: 18125`"),
        ("{\n  'a': 1\n  'b': 2 }", "line 3: expected `,` before `'b': 2 }`"),
        ("{ a: { b: true } c: 2 }", "line 1: expected `,` before `c: 2 }`"),
        ("{ backends: ['a'\n 'b'] }", "line 2: expected `,` before `'b'] }`"),
        ("{ backends: ['a' }", "line 1: expected `]` before `}`"),
        ("{ port: 1 ]", "line 1: expected `}` before `]`"),
        ("{ port 1 }", "line 1: expected `:` before `1 }`"),
        ("{ port: }", "line 1: expected a value before `}`"),
        ("{ port: 1\n,\n,\n}", "line 3: expected a key before `,`"),
        ("{}\n{}", "line 2: expected the end of the file before `{}`"),
        ("broken", "line 1: expected `{` before `broken`"),
        ("{ a: 1e }", "line 1: invalid float literal"),
        ("{ a: 'x\n' }", "line 1: the line ends within a string"),
    ] {
        assert_eq!(wrong(text).to_string(), said, "`{text}`");
    }
}

#[test]
fn a_file_of_these_is_known_by_its_first_sign_and_no_toml_is_taken_for_one() {
    for text in ["{}", "\n  {\n", "/* a\n * b */\n{}", "// a\n{}", "# a\n\n # b\n { }"] {
        assert!(is_legacy(text), "{text}");
    }
    for text in ["", "# { a comment }\n[statsd]\n", "[statsd]\n", "cores = { edge = 2 }\n"] {
        assert!(!is_legacy(text), "{text}");
    }
}

/// As a reload finds it that comes between two writes.
#[test]
fn a_file_that_ends_too_early_is_refused_at_its_end() {
    for (text, said) in [
        ("{\n  port: 8125,\n", "line 2: the file ends within an object or a list"),
        ("{\n  backends: ['a',", "line 2: the file ends within an object or a list"),
        ("{\n  a: 'x }", "line 2: the file ends within a string"),
        ("{\n\n /* x }", "line 3: the file ends within a comment"),
        ("// nothing yet", "it has no object, such as `{ port: 8125 }`"),
    ] {
        assert_eq!(wrong(text).to_string(), said, "`{text}`");
    }
}

#[test]
fn values_that_cannot_be_used_are_named() {
    for (text, part) in [
        ("{ port: 'x' }", "`port`"),
        ("{ port: 70000 }", "`port`"),
        ("{ flushInterval: 'soon' }", "`flushInterval`"),
        ("{ percentThreshold: ['a'] }", "`percentThreshold`"),
        ("{ backends: ['statsd-influxdb-backend'] }", "no backend `statsd-influxdb-backend`"),
        ("{ backends: ['./backends/repeater'] }", "`repeater`"),
        ("{ backends: ['prometheus', './backends/prometheus'] }", "twice"),
        ("{ backends: ['prometheus'], prometheus: { port: -1 } }", "`port`"),
        ("{ server: './servers/quic' }", "no server"),
        ("[]", "line 1: expected `{` before `[]`"),
        ("", "it has no object"),
    ] {
        let error = wrong(text).to_string();
        assert!(error.contains(part), "`{text}`: {error}");
    }
}

#[test]
fn a_page_for_prometheus_can_be_asked_for_beside_the_backends_of_the_references() {
    let listen = |text: &str| match &statsd(text).backends[1] {
        BackendPlan::Prometheus { listen } => listen.expect("it is served").to_string(),
        other => panic!("{other:?}"),
    };
    let backends = "backends: ['./backends/graphite', './backends/prometheus']";
    assert_eq!(listen(&format!("{{ {backends} }}")), "127.0.0.1:9102");
    let all = format!("{{ {backends}, prometheus: {{ address: '0.0.0.0', port: 9999 }} }}");
    assert_eq!(listen(&all), "0.0.0.0:9999");
}
