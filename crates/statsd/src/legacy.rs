//! Reads the configuration files of statsd (a JavaScript object) and Net::Statsd::Server (JSON) as
//! a plan.
//!
//! Both are read as JSON5 with `#` comments; a `;` at the end is passed over. JavaScript is not
//! run: where an expression stands for a value, the error says in which line. Keys that nobody
//! knows are passed over, as both do, and noted (`legacy/notes.rs`). `prometheus` and `snapshot`
//! are keys of ours.
//! The first error ends the reading; one of a value has no line. Host names of listeners are looked
//! up here. Relative paths stay as they are. Bound: 32 levels of nesting, beyond which the file is
//! refused.
//! All keys of the file are shown by `config` on the management port. So a new key that counts at a
//! start, or belongs to backends, also goes into `AT_START` or `OF_BACKENDS` (`reload.rs`). Names
//! that are never idle repeat those of `receive/intake.rs` and `flushing.rs`.
//! Never here: our own section (`config.rs`), numbers as JavaScript reads them (`number.rs`).

mod notes;
mod syntax;

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::flavour::Flavour;
use crate::plan::{
    BackendPlan, Closing, Graphite, Histogram, INTERVAL_MAX, Idle, InputPlan, Keep, KeyFlush,
    Management, Plan,
};

/// How deep objects and lists may be nested: statsd's own are three deep.
const DEPTH_MAX: usize = 32;

/// A file that cannot be used: where, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if *line > 0 { format!("line {line}: ") } else { String::new() })]
pub struct LegacyError {
    /// The line, from 1; 0 where there is none.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// Reads a file's text as a plan of this flavour; relative paths are left as they are.
///
/// # Errors
/// When the text is no object, or a value cannot be used.
pub fn read(text: &str, flavour: Flavour) -> Result<Plan, LegacyError> {
    let look_up = |host: &str| (host, 0).to_socket_addrs().ok()?.next().map(|found| found.ip());
    read_with(text, flavour, look_up)
}

/// As [`read`], with what finds the address of a host.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_with(
    text: &str,
    flavour: Flavour,
    look_up: fn(&str) -> Option<IpAddr>,
) -> Result<Plan, LegacyError> {
    let plain = without_hash_comments(text)?;
    let plain = plain.trim_end().trim_end_matches(';');
    let settings: Settings = json5::from_str(plain).map_err(|error| {
        let (line, reason) = syntax::not_read(plain, &error);
        LegacyError { line, reason }
    })?;
    let reader = Reader { settings, flavour, look_up };
    reader.plan().map_err(|reason| LegacyError { line: 0, reason })
}

/// Whether a text is one of these files, by its first sign behind comments: TOML begins with none
/// of theirs.
pub fn is_legacy(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| ["{", "//", "/*"].iter().any(|sign| line.starts_with(sign)))
}

/// Keys with their values, in the order in which they are written.
#[derive(Debug, Default)]
struct Settings(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Settings;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object such as `{ port: 8125 }`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
                let mut pairs: Vec<(String, Value)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    pairs.retain(|(earlier, _)| *earlier != key);
                    pairs.push((key, value));
                }
                Ok(Settings(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

struct Reader {
    settings: Settings,
    flavour: Flavour,
    look_up: fn(&str) -> Option<IpAddr>,
}

impl Reader {
    fn plan(&self) -> Result<Plan, String> {
        let is_perl = self.flavour == Flavour::Perl;
        let interval = self.number("flushInterval", 10_000.0)? / 1e3;
        let interval = Duration::try_from_secs_f64(interval).unwrap_or(Duration::MAX);
        if interval.is_zero() || interval > INTERVAL_MAX {
            return Err("`flushInterval`: write milliseconds, from 1 to a year of them".to_owned());
        }
        let self_prefix = self.text("prefixStats").unwrap_or("statsd".to_owned());
        if self_prefix.is_empty() && is_perl {
            return Err("`prefixStats` is empty: write a name, such as \"statsd\"".to_owned());
        }
        Ok(Plan {
            flavour: self.flavour,
            inputs: self.inputs()?,
            receivers: 1,
            receive_buffer_bytes: crate::plan::RECEIVE_BUFFER_BYTES,
            takes_trains: false,
            management: Some(Management {
                address: self.address("mgmt_address", "mgmt_port", 8126, &self.settings.0)?,
                allow: Vec::new(),
            }),
            interval,
            percentiles: self.percentiles()?,
            statistics: if is_perl { Vec::new() } else { self.texts("calculatedTimerMetrics") },
            histograms: if is_perl { Vec::new() } else { self.histograms()? },
            keep: self.keep(&self_prefix)?,
            self_prefix,
            process_prefix: None,
            cleans_keys: is_perl || self.is("keyNameSanitize", true),
            shows_lines: self.is("dumpMessages", false),
            key_flush: self.key_flush()?,
            is_healthy: self.text("healthStatus").is_none_or(|status| status == "up"),
            backends: self.backends()?,
            names_bytes_max: crate::plan::NAMES_BYTES_MAX,
            prefix_bytes_max: Vec::new(),
            timer_values_max: usize::MAX,
            values_max: crate::plan::VALUES_MAX,
            spool: None,
            snapshot: self.text("snapshot").filter(|path| !path.is_empty()).map(PathBuf::from),
            follows_file: !is_perl && self.is("automaticConfigReload", true),
            notes: notes::of(&self.settings.0),
            settings: self.settings.0.clone(),
        })
    }

    fn inputs(&self) -> Result<Vec<InputPlan>, String> {
        let Some(Value::Array(servers)) = self.get("servers") else {
            return self.server(&self.settings.0);
        };
        let mut inputs = Vec::new();
        for server in servers {
            let Value::Object(server) = server else {
                return Err(
                    "`servers`: each is an object such as { server: \"./servers/udp\" }".into()
                );
            };
            let pairs: Vec<(String, Value)> = server.clone().into_iter().collect();
            inputs.extend(self.server(&pairs)?);
        }
        Ok(inputs)
    }

    fn server(&self, pairs: &[(String, Value)]) -> Result<Vec<InputPlan>, String> {
        let text = |key| find(pairs, key).and_then(Value::as_str);
        let kind = text("server").unwrap_or("./servers/udp");
        match kind.trim_start_matches("./servers/") {
            "udp" => {
                let is_v6 = find(pairs, "address_ipv6").is_some_and(is_true);
                let address = self.address("address", "port", 8125, pairs)?;
                let any = SocketAddr::new("::".parse().expect("an address"), address.port());
                let is_default = text("address").is_none();
                Ok(vec![InputPlan::Udp(if is_v6 && is_default { any } else { address })])
            }
            "tcp" => match text("socket") {
                Some(path) => {
                    let mode = find(pairs, "socket_mod").and_then(mode);
                    Ok(vec![InputPlan::Unix(PathBuf::from(path), mode)])
                }
                None => Ok(vec![InputPlan::Tcp(self.address("address", "port", 8125, pairs)?)]),
            },
            _ => Err(format!(
                "`server`: no server `{kind}`; there are \"./servers/udp\" and \
                \"./servers/tcp\""
            )),
        }
    }

    fn address(
        &self,
        key: &str,
        port_key: &str,
        port: u16,
        pairs: &[(String, Value)],
    ) -> Result<SocketAddr, String> {
        let port = match find(pairs, port_key) {
            Some(value) => as_number(value)
                .filter(|port| port.fract() == 0.0 && (0.0..65_536.0).contains(port))
                .ok_or(format!("`{port_key}` is {value}: write a port, such as {port}"))?
                as u16,
            None => port,
        };
        let host = find(pairs, key).and_then(Value::as_str).unwrap_or("0.0.0.0");
        let found = (self.look_up)(host).map(|found| SocketAddr::new(found, port));
        found.ok_or_else(|| format!("`{key}`: nobody knows the address of `{host}`"))
    }

    fn percentiles(&self) -> Result<Vec<f64>, String> {
        let wrong = || "`percentThreshold`: write a number or a list of them".to_owned();
        match self.get("percentThreshold") {
            Some(Value::Array(list)) => {
                list.iter().map(|value| as_number(value).ok_or_else(wrong)).collect()
            }
            // The Perl port passes a single number over.
            Some(value) if self.flavour == Flavour::Statsd && is_true(value) => {
                Ok(vec![as_number(value).ok_or_else(wrong)?])
            }
            _ => Ok(vec![90.0]),
        }
    }

    fn histograms(&self) -> Result<Vec<Histogram>, String> {
        let Some(Value::Array(list)) = self.get("histogram") else { return Ok(Vec::new()) };
        let wrong = || "`histogram`: write [{ metric: 'name', bins: [10, 100, 'inf'] }]".to_owned();
        let one = |value: &Value| {
            let part = value.get("metric")?.as_str()?.to_owned();
            let bins = value.get("bins")?.as_array()?.iter().map(|bin| match bin.as_str() {
                Some("inf") => Some(None),
                _ => as_number(bin).map(Some),
            });
            Some(Histogram { part, bins: bins.collect::<Option<_>>()? })
        };
        list.iter().map(|value| one(value).ok_or_else(wrong)).collect()
    }

    fn keep(&self, self_prefix: &str) -> Result<Keep, String> {
        let all = self.is("deleteIdleStats", false);
        let idle = |key, flushes| {
            if self.is(key, all) { Idle::Flushes(flushes) } else { Idle::Kept }
        };
        let ttl = self.number("gaugesMaxTTL", 1.0)?;
        let ttl = if ttl.fract() == 0.0 && ttl > 1.0 { ttl as u32 } else { 1 };
        let ttl = if self.flavour == Flavour::Perl { 1 } else { ttl };
        let always = match self.flavour {
            Flavour::Perl => Vec::new(),
            _ => ["packets_received", "metrics_received", "bad_lines_seen"]
                .map(str::to_owned)
                .into_iter()
                .chain([format!("{self_prefix}.timestamp_lag")])
                .collect(),
        };
        Ok(Keep {
            counters: idle("deleteCounters", 1),
            timers: idle("deleteTimers", 1),
            gauges: idle("deleteGauges", ttl),
            sets: idle("deleteSets", 1),
            always,
        })
    }

    fn key_flush(&self) -> Result<Option<KeyFlush>, String> {
        let Some(settings) = self.get("keyFlush") else { return Ok(None) };
        let number = |key, default| match settings.get(key) {
            Some(value) if is_true(value) => {
                as_number(value).ok_or(format!("`keyFlush.{key}` is {value}: write a number"))
            }
            _ => Ok(default),
        };
        let interval = number("interval", 0.0)?.max(0.0) / 1e3;
        let interval = Duration::try_from_secs_f64(interval).unwrap_or(INTERVAL_MAX);
        let interval = interval.min(INTERVAL_MAX);
        let log = settings.get("log").and_then(Value::as_str).filter(|log| !log.is_empty());
        let percent = number("percent", 100.0)?;
        let key_flush = KeyFlush { interval, percent, log: log.map(PathBuf::from) };
        Ok((!interval.is_zero()).then_some(key_flush))
    }

    fn backends(&self) -> Result<Vec<BackendPlan>, String> {
        let default = if self.flavour == Flavour::Perl { "Console" } else { "./backends/graphite" };
        let names = match self.get("backends") {
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| name.as_str().ok_or("`backends`: write a list of names".to_owned()))
                .collect::<Result<Vec<_>, _>>()?,
            _ => vec![default],
        };
        let named = names.into_iter().map(|name| self.backend(name));
        let backends: Vec<_> =
            named.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let pages = backends.iter().filter(|b| matches!(b, BackendPlan::Prometheus { .. })).count();
        if pages > 1 {
            return Err("`backends`: `prometheus` is there twice".to_owned());
        }
        Ok(backends)
    }

    fn backend(&self, name: &str) -> Result<Option<BackendPlan>, String> {
        let short = name.trim_start_matches("./backends/").to_ascii_lowercase();
        Ok(Some(match short.trim_end_matches(".js") {
            "graphite" => BackendPlan::Graphite(self.graphite()?),
            "console" => {
                let console = self.get("console").and_then(|console| console.get("prettyprint"));
                BackendPlan::Console { is_pretty: console.is_some_and(is_true) }
            }
            "file" => {
                let file = self.get("file").and_then(|file| file.get("name"));
                match file.and_then(Value::as_str) {
                    Some(path) => BackendPlan::File(Path::new(path).to_owned()),
                    None => return Ok(None),
                }
            }
            "repeater" => self.repeater()?,
            // Ours: neither reference has it.
            "prometheus" => BackendPlan::Prometheus { listen: Some(self.prometheus()?) },
            _ => {
                return Err(format!(
                    "`backends`: no backend `{name}`; there are graphite, console, file, repeater \
                     and prometheus here, and influx and otlp in a TOML file"
                ));
            }
        }))
    }

    /// `prometheus: { address: '127.0.0.1', port: 9102 }`.
    fn prometheus(&self) -> Result<SocketAddr, String> {
        let settings = self.get("prometheus").and_then(Value::as_object);
        let pairs = settings.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone()));
        let mut pairs: Vec<(String, Value)> = pairs.collect();
        // Without an address only its own machine is answered.
        pairs.push(("address".to_owned(), "127.0.0.1".into()));
        self.address("address", "port", 9102, &pairs)
    }

    fn graphite(&self) -> Result<Graphite, String> {
        let empty = Value::Null;
        let graphite = self.get("graphite").unwrap_or(&empty);
        let defaults = Graphite::default();
        let part = |key: &str, default: String| match graphite.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(value) if !value.is_null() => value.to_string(),
            _ => default,
        };
        let is_pickle = self.text("graphiteProtocol").is_some_and(|name| name == "pickle");
        let (port_key, port) =
            if is_pickle { ("graphitePicklePort", 2004.0) } else { ("graphitePort", 2003.0) };
        let port = self.number(port_key, port)?;
        let host = self.text("graphiteHost").filter(|host| !host.is_empty());
        let suffix = graphite.get("globalSuffix").and_then(Value::as_str).unwrap_or_default();
        Ok(Graphite {
            to: host.map(|host| format!("{host}:{port}")),
            is_pickle,
            is_legacy: graphite.get("legacyNamespace").is_none_or(is_true),
            global_prefix: part("globalPrefix", defaults.global_prefix),
            counters: part("prefixCounter", defaults.counters),
            timers: part("prefixTimer", defaults.timers),
            gauges: part("prefixGauge", defaults.gauges),
            sets: part("prefixSet", defaults.sets),
            suffix: suffix.to_owned(),
            sends_counts: self.is("flush_counts", true),
            closing: Closing::Learned,
        })
    }

    fn repeater(&self) -> Result<BackendPlan, String> {
        let Some(Value::Array(list)) = self.get("repeater") else {
            return Err("`repeater` is missing: write [{ host: '10.0.0.1', port: 8125 }]".into());
        };
        let one = |value: &Value| {
            let host = value.get("host")?.as_str()?;
            let port = as_number(value.get("port")?)?;
            let is_v6 = host.contains(':');
            Some(if is_v6 { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
        };
        let to = list.iter().map(one).collect::<Option<Vec<_>>>();
        let to = to.ok_or("`repeater`: write [{ host: '10.0.0.1', port: 8125 }]")?;
        let is_tcp = self.text("repeaterProtocol").is_some_and(|protocol| protocol == "tcp");
        Ok(BackendPlan::Repeater { to, is_tcp })
    }

    fn get(&self, key: &str) -> Option<&Value> {
        find(&self.settings.0, key)
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let list = self.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn number(&self, key: &str, default: f64) -> Result<f64, String> {
        match self.get(key) {
            Some(value) if is_true(value) => {
                let number = as_number(value).filter(|number| *number >= 0.0);
                number.ok_or(format!("`{key}` is {value}: write a number, such as {default}"))
            }
            _ => Ok(default),
        }
    }

    fn is(&self, key: &str, default: bool) -> bool {
        self.get(key).map_or(default, is_true)
    }
}

/// As JavaScript and Perl see it.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// A number, or text that is one.
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => crate::number::javascript(text.as_bytes()),
        _ => None,
    }
}

/// A file's mode, as a number or as octal text.
fn mode(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|mode| u32::try_from(mode).ok()),
        Value::String(text) => u32::from_str_radix(text, 8).ok(),
        _ => None,
    }
}

fn find<'p>(pairs: &'p [(String, Value)], key: &str) -> Option<&'p Value> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// The text with `#` comments, which JSON5 does not know, blanked out.
///
/// # Errors
/// When objects and lists are nested so deep that reading them takes more than the stack.
fn without_hash_comments(text: &str) -> Result<String, LegacyError> {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let line = || memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        match rest[0] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            let line = 1 + memchr::memchr_iter(b'\n', &bytes[..at]).count();
            return Err(LegacyError { line, reason: "it is nested too deep".to_owned() });
        }
        at += match rest {
            [quote @ (b'"' | b'\''), text @ ..] => 1 + string_length(text, *quote),
            [b'/', b'/', ..] => line(),
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2),
            [b'#', ..] => {
                let length = line();
                bytes[at..at + length].fill(b' ');
                length
            }
            _ => 1,
        };
    }
    Ok(String::from_utf8(bytes).expect("only whole lines were blanked out"))
}

/// Up to and with the quote that ends a string.
fn string_length(text: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

#[cfg(test)]
mod tests;
