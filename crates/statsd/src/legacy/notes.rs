//! Says what a file of the replaced servers asks for and does not get.
//!
//! The originals pass over what they do not know, and so does the reader. A key that was meant to
//! do something is noted, and whoever starts the server logs the notes. The keys of both
//! references' documentation are known here, with those of ours.
//! Invariant: no note for a key that has its effect. Never here: errors (`legacy.rs`).

use chassis::config::nearest;
use serde_json::Value;

use crate::config::no_statistic;

/// Keys that have their effect, or none that anybody would miss.
const KNOWN: [&str; 41] = [
    "address",
    "address_ipv6",
    "automaticConfigReload",
    "backends",
    "calculatedTimerMetrics",
    "console",
    "debug",
    "debugInterval",
    "deleteCounters",
    "deleteGauges",
    "deleteIdleStats",
    "deleteSets",
    "deleteTimers",
    "dumpMessages",
    "file",
    "flushInterval",
    "flush_counts",
    "gaugesMaxTTL",
    "graphite",
    "graphiteHost",
    "graphitePicklePort",
    "graphitePort",
    "graphiteProtocol",
    "healthStatus",
    "histogram",
    "keyFlush",
    "keyNameSanitize",
    "log",
    "mgmt_address",
    "mgmt_port",
    "percentThreshold",
    "port",
    "prefixStats",
    "prometheus",
    "repeater",
    "repeaterProtocol",
    "server",
    "servers",
    "snapshot",
    "socket",
    "socket_mod",
];
/// Keys within `graphite`.
const GRAPHITE: [&str; 7] = [
    "globalPrefix",
    "globalSuffix",
    "legacyNamespace",
    "prefixCounter",
    "prefixGauge",
    "prefixSet",
    "prefixTimer",
];
/// A key of the process's name, which is the program's own here.
const TITLE: &str = "title";

/// What of these settings has no effect, a line for each.
pub(super) fn of(settings: &[(String, Value)]) -> Vec<String> {
    settings.iter().flat_map(|(key, value)| notes(key, value)).collect()
}

fn notes(key: &str, value: &Value) -> Vec<String> {
    match key {
        "log" => {
            let parts = value.as_object().into_iter().flatten();
            let parts = parts.map(|(part, _)| format!("`log.{part}`")).collect::<Vec<_>>();
            let named = if parts.is_empty() { "`log`".to_owned() } else { parts.join(", ") };
            vec![format!(
                "{named}: not followed; the log goes to stderr, and TIDEGATE_LOG filters it"
            )]
        }
        "calculatedTimerMetrics" => {
            let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            let wrong = names.filter_map(no_statistic);
            wrong.map(|reason| format!("`calculatedTimerMetrics`: {reason}")).collect()
        }
        "graphite" => {
            let parts = value.as_object().into_iter().flatten().map(|(part, _)| part.as_str());
            let unknown = parts.filter(|part| !GRAPHITE.contains(part));
            unknown.map(|part| no_key(&format!("graphite.{part}"), part, &GRAPHITE)).collect()
        }
        // What whoever writes it means is called otherwise in both.
        "host" => vec!["`host`: not a key of this file; write `address`".to_owned()],
        TITLE => vec![format!("`{TITLE}`: not followed; the process keeps its name")],
        known if KNOWN.contains(&known) => Vec::new(),
        other => vec![no_key(other, other, &KNOWN)],
    }
}

fn no_key(shown: &str, key: &str, known: &[&str]) -> String {
    let near = nearest(key, known).map(|near| format!("; did you mean `{near}`?"));
    format!("`{shown}`: not a key of this file{}", near.unwrap_or_default())
}
