//! The whole answer to each command.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{answer, flatten};
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::flush::{Flush, FlushedTimer};
use crate::legacy;
use crate::line::LineReader;
use crate::members::Members;
use crate::names::name_bytes;
use crate::plan::Plan;
use crate::samples::Samples;
use crate::server::StatsdServer;
use crate::state::ServerState;
use crate::table::TableWriter;

fn native(more: &Value) -> Plan {
    let mut members = json!({
        "listen": ["udp:127.0.0.1:0"], "management": "off", "snapshot": "off", "flush": "1h",
        "receivers": 2,
    });
    let members = members.as_object_mut().expect("it is one");
    members.extend(more.as_object().expect("it is one").clone());
    let config: Config = serde_json::from_value(members.clone().into()).expect("the shape fits");
    config::plan(&config, Path::new("/nowhere"), &mut |key, reason| panic!("{key}: {reason}"))
}

fn of(flavour: Flavour, more: &str) -> Plan {
    let text = format!("{{ address: '127.0.0.1', port: 0, server: './servers/tcp', {more} }}");
    let plan = legacy::read(&text, flavour).expect("the file can be used");
    Plan { management: None, ..plan }
}

fn server(plan: Plan) -> StatsdServer {
    StatsdServer::start(plan, None).expect("it starts")
}

fn receive(state: &ServerState, receiver: usize, lines: &str) {
    let mut table = state.tally.tables[receiver].lock();
    let mut writer = TableWriter::new(&mut table, &state.tally.gauges);
    LineReader::new(Flavour::Native).read(lines.as_bytes(), &mut writer);
}

fn ask(state: &ServerState, command: &str) -> String {
    answer(state, command).expect("it goes on")
}

#[test]
fn dumps_show_what_all_receivers_have_as_json_with_spaces() {
    let plan = Plan { timer_values_max: 3, ..native(&json!({ "prefix": "own" })) };
    let server = server(plan);
    let state = server.state();
    receive(state, 0, "a:1|c\nb:0.5|c\nt:1:2|ms\ns:x|s\ns:y|s\ng:2.5|g\nmany:1:2:3:4|ms");
    receive(state, 1, "a:2|c\nt:3|ms\ns:x|s\nh:-1|g");
    let counters = "{\"a\": 3, \"b\": 0.5, \"own.bad_lines_seen\": 0, \
                    \"own.metrics_received\": 0, \"own.packets_received\": 0}\nEND\n\n";
    assert_eq!(ask(state, "counters"), counters);
    let many = "{\"count\": 4, \"lower\": 1, \"sum\": 10, \"upper\": 4}";
    let timers = format!("{{\"many\": [{many}], \"t\": [1, 2, 3]}}\nEND\n\n");
    assert_eq!(ask(state, "timers"), timers);
    assert_eq!(ask(state, "gauges"), "{\"g\": 2.5, \"h\": -1}\nEND\n\n");
    assert_eq!(ask(state, "sets"), "{\"s\": [\"x\", \"y\"]}\nEND\n\n");
    server.end();
}

#[test]
fn a_set_that_became_a_sketch_is_dumped_as_its_number() {
    let server = server(native(&json!({ "names_bytes_max": "1B" })));
    receive(server.state(), 0, "s:x|s\ns:y|s\ns:x|s");
    assert_eq!(ask(server.state(), "sets"), "{\"statsd.overflow\": 2}\nEND\n\n");
    server.end();
}

#[test]
fn deletions_take_names_and_folders_of_every_receiver() {
    let server = server(native(&json!({})));
    let state = server.state();
    for receiver in 0..2 {
        receive(state, receiver, "f.a:1|c\nf.b:1|c\nfa:1|c\nt:1|ms\ns:1|s\ng:1|g\ng.x:1|g");
    }
    let deleted = "deleted: f.a\ndeleted: f.b\nmetric none not found\ndeleted: fa\nEND\n\n";
    assert_eq!(ask(state, "delcounters f.* none fa"), deleted);
    assert!(!ask(state, "counters").contains('f'));
    assert_eq!(ask(state, "deltimers t t"), "deleted: t\nmetric t not found\nEND\n\n");
    assert_eq!(ask(state, "timers"), "{}\nEND\n\n");
    assert_eq!(ask(state, "delsets s*"), "metric s* not found\nEND\n\n");
    assert_eq!(ask(state, "delsets s"), "deleted: s\nEND\n\n");
    assert_eq!(ask(state, "sets"), "{}\nEND\n\n");
    assert_eq!(ask(state, "delgauges g.*"), "deleted: g.x\nEND\n\n");
    assert_eq!(ask(state, "gauges"), "{\"g\": 1}\nEND\n\n");
    assert_eq!(ask(state, "delgauges"), "END\n\n");
    server.end();
}

#[test]
fn perl_deletes_names_alone_and_says_so_whether_they_were_there() {
    let server = server(of(Flavour::Perl, "backends: []"));
    let state = server.state();
    receive(state, 0, "f.a:1|c\nf.b:1|c\ng:1|g");
    let said = "deleted: f.*\ndeleted: f.b\n\nEND\n\n";
    assert_eq!(ask(state, "delcounters f.* f.b"), said);
    assert!(ask(state, "counters").contains("\"f.a\": 1"));
    assert!(!ask(state, "counters").contains("f.b"));
    assert_eq!(ask(state, "delgauges g"), "deleted: g\n\nEND\n\n");
    server.end();
}

#[test]
fn health_is_what_was_said_last() {
    for plan in [native(&json!({})), of(Flavour::Statsd, "backends: [], healthStatus: 'down'")] {
        let (is_native, server) = (plan.flavour == Flavour::Native, server(plan));
        let state = server.state();
        let first = if is_native { "health: up\n" } else { "health: down\n" };
        assert_eq!(ask(state, "health"), first);
        assert_eq!(ask(state, "health Down"), "health: down\n");
        assert_eq!(ask(state, "health sideways"), "health: down\n");
        assert_eq!(ask(state, "health UP"), "health: up\n");
        assert!(state.is_healthy());
        server.end();
    }
}

#[test]
fn settings_are_shown_as_they_were_written_one_level_deep() {
    let text = "backends: ['./backends/console'], console: { prettyprint: true, x: [1] }, \
                prefixStats: 'own', flush_counts: false";
    let server = server(Plan { backends: Vec::new(), ..of(Flavour::Statsd, text) });
    let shown = ask(server.state(), "config");
    let wanted = "\naddress: 127.0.0.1\nport: 0\nserver: ./servers/tcp\n\
                  backends > 0: ./backends/console\n\
                  console > prettyprint: true\nconsole > x: [1]\nprefixStats: own\n\
                  flush_counts: false\n";
    assert_eq!(shown, wanted);
    server.end();
}

#[test]
fn an_unknown_command_is_an_error_and_only_quit_ends_the_connection() {
    let server = server(native(&json!({})));
    for command in ["", "  ", "nonsense", "STATS", "quit now"] {
        let wanted = (!command.starts_with("quit")).then(|| "ERROR\n".to_owned());
        assert_eq!(answer(server.state(), command), wanted, "`{command}`");
    }
    server.end();
}

fn flush() -> Flush {
    let mut members = Members::default();
    let budget = crate::budget::Budget::new("statsd", 1 << 20, &[]);
    members.add(b"x", b"s", &budget, true);
    Flush {
        interval: std::time::Duration::from_secs(4),
        counters: vec![("web.hits".into(), 2.0), ("app.hits".into(), 1.0)],
        timers: vec![FlushedTimer {
            name: "web.took".into(),
            samples: Samples::default(),
            statistics: vec![("mean".into(), 1.0 / 3.0), ("upper_90".into(), 1e7)],
        }],
        gauges: vec![("web.depth".into(), -0.5)],
        sets: vec![("web.users".into(), members)],
        ..Flush::default()
    }
}

#[test]
fn the_last_flush_is_shown_a_line_for_each_name_or_those_with_a_part() {
    let server = server(native(&json!({})));
    let state = server.state();
    let none = "none: nothing was flushed, or too many names to be kept\nEND\n\n";
    assert_eq!(ask(state, "last"), none);
    state.keep_flush(&Arc::new(flush()));
    let web = "web.depth  gauge -0.5\nweb.hits  counter sum=2 rate=0.5\n\
               web.took  timer mean=0.333333 upper_90=10000000\nweb.users  set count=1\n";
    let app = "app.hits  counter sum=1 rate=0.25\n";
    assert_eq!(ask(state, "last"), format!("{app}{web}END\n\n"));
    assert_eq!(ask(state, "last web."), format!("{web}END\n\n"));
    assert_eq!(ask(state, "last nothing"), "END\n\n");
    let counters = |count: usize| (0..count).map(|at| (format!("n{at}").into(), 1.0)).collect();
    state.keep_flush(&Arc::new(Flush { counters: counters(10_000), ..Flush::default() }));
    assert_eq!(ask(state, "last").lines().count(), 10_002);
    state.keep_flush(&Arc::new(Flush { counters: counters(10_001), ..Flush::default() }));
    assert_eq!(ask(state, "last"), none);
    server.end();
}

#[test]
fn top_shows_what_came_most_often_and_what_takes_most() {
    let server = server(native(&json!({ "prefix": "own" })));
    let state = server.state();
    receive(state, 0, "a:1|c\na:1|c\na:1|c\nt:1:2|ms\ng:1|g");
    receive(state, 1, "a:1|c\ns:member|s");
    let row = |samples: u64, bytes: usize, kind: &str, name: &str| {
        format!("{samples:>10} samples {:>10} bytes  {kind:<7} {name}\n", bytes + name_bytes(name))
    };
    let counter = row(4, 2 * 8 + name_bytes("a"), "counter", "a");
    let timer = row(2, size_of::<Samples>() + 2 * 8, "timer", "t");
    let set = row(1, size_of::<Members>() + 6 + 48, "set", "s");
    let shown = ask(state, "top 2");
    let wanted = format!(
        "by samples since the last flush:\n{counter}{timer}by bytes:\n{counter}{timer}END\n\n"
    );
    let bytes = shown.split("by bytes:\n").nth(1).expect("there are two lists");
    assert!(shown.starts_with(wanted.split("by bytes:").next().expect("a list")), "{shown}");
    assert_eq!(bytes.lines().count(), 4);
    let all = ask(state, "top 99");
    let lists: Vec<&str> = all.split("by bytes:\n").collect();
    for line in [&counter, &timer, &set, &row(1, 8, "gauge", "g")] {
        assert!(lists.iter().all(|list| list.contains(line.as_str())), "{line}: {all}");
    }
    let of_bytes = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        words[2].parse::<usize>().expect("a number")
    };
    let sizes: Vec<usize> = lists[1].lines().take(7).map(of_bytes).collect();
    assert!(sizes.is_sorted_by(|one, other| one >= other), "{all}");
    receive(state, 0, &(0..20).map(|at| format!("n{at}:1|c\n")).collect::<String>());
    assert_eq!(ask(state, "top").lines().count(), 1 + 10 + 1 + 10 + 2, "ten of each");
    server.end();
}

#[test]
fn stats_are_those_of_the_reference_and_natively_all_that_the_server_counts() {
    let graphite = format!("graphiteHost: '127.0.0.1', graphitePort: {}", testkit::free_port());
    let keys = |plan: Plan| -> (Vec<String>, String) {
        let server = server(plan);
        receive(server.state(), 0, "bad\nk:x|c\nbad:2|c|@9");
        let stats = ask(server.state(), "stats");
        server.end();
        let keys = stats.lines().filter_map(|line| line.split_once(": ")).map(|l| l.0.to_owned());
        (keys.collect(), stats)
    };
    let messages = ["uptime", "messages.last_msg_seen", "messages.bad_lines_seen"];
    let backend = ["last_flush", "last_exception", "flush_time", "flush_length"]
        .map(|figure| format!("graphite.{figure}"));
    let (statsd, text) = keys(of(Flavour::Statsd, &graphite));
    assert_eq!(statsd, [&messages.map(str::to_owned)[..], &backend].concat());
    assert!(text.contains("messages.bad_lines_seen: 3\n") && text.ends_with("END\n\n"), "{text}");
    let (perl, text) = keys(of(Flavour::Perl, &format!("backends: ['graphite'], {graphite}")));
    assert_eq!(perl, [&messages.map(str::to_owned)[..], &backend[..2]].concat());
    let exception = text.lines().find_map(|line| line.strip_prefix("graphite.last_exception: "));
    let ago: u64 = exception.and_then(|ago| ago.parse().ok()).expect("a number");
    let now = stdx::unix_micros() / 1_000_000;
    assert!(ago <= now && ago + 60 > now, "as if it had failed when Unix time began: {ago}");
    let (native, text) =
        keys(native(&json!({ "backend": [{ "kind": "file", "to": "/dev/null" }] })));
    for key in [
        "file.flush_length",
        "statsd.packets",
        "statsd.bad_lines.rate",
        "statsd.names.0.bytes",
        "statsd.backends.file.lost",
        "statsd.last_bad_line.reason",
    ] {
        assert!(native.iter().any(|known| known == key), "{key}: {text}");
    }
}

#[test]
fn items_of_a_list_are_called_by_their_names_or_places_and_no_two_alike() {
    let mut text = String::new();
    let document = json!({
        "a": 1, "b": "text", "c": null,
        "list": [{ "name": "x", "v": 1 }, { "address": "y", "v": 2 }, { "prefix": "", "v": 3 },
                 { "name": "z", "v": 4 }, { "name": "z", "v": 5 }, 6],
    });
    flatten("p", &document, &mut text);
    let wanted = "p.a: 1\np.b: text\np.c: null\n\
                  p.list.x.name: x\np.list.x.v: 1\np.list.y.address: y\np.list.y.v: 2\n\
                  p.list.2.prefix: \np.list.2.v: 3\np.list.z.3.name: z\np.list.z.3.v: 4\n\
                  p.list.z.4.name: z\np.list.z.4.v: 5\np.list.5: 6\n";
    assert_eq!(text, wanted);
}
