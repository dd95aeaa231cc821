//! What a statsd keeps over ends of every kind, takes over while it runs, and stands of floods and
//! of backends that fail.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use testkit::{FIXTURE_TIMEOUT, SmallDisk, TempDir, free_port};

use crate::running::{Running, until};
use crate::statsd::{Carbon, Lines, Statsd, graphite, native, send};

/// A server in `folder` that flushes so often to `carbon`.
fn start(folder: TempDir, udp: u16, flush: &str, carbon: u16) -> Statsd {
    let config = |port, _: &Path| {
        let text = native(udp, port, &graphite(carbon));
        text.replace("\"1s\"", &format!("\"{flush}\"\nidle_timeout = \"never\""))
    };
    Statsd::start_in(folder, "t.toml", &[], config)
}

fn snapshot(folder: &TempDir) -> PathBuf {
    folder.path().join("data/statsd-snapshot")
}

/// Waits until the snapshot has this text in it.
fn wait_for_snapshot(statsd: &Statsd, text: &str) {
    until("the snapshot", || {
        let bytes = std::fs::read(snapshot(&statsd.folder)).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    });
}

fn kill(mut statsd: Statsd) -> TempDir {
    statsd.server.signal("KILL").unwrap();
    statsd.server.wait().unwrap();
    statsd.folder
}

/// Adds flushes up until one has this name; that one is added, too.
fn sum_until(carbon: &Carbon, name: &str, sums: &mut Lines) {
    loop {
        let flush = carbon.flushes.recv_timeout(FIXTURE_TIMEOUT).expect("a flush");
        let is_last = flush.get(name).is_some_and(|count| *count > 0.0);
        flush.into_iter().for_each(|(name, value)| *sums.entry(name).or_default() += value);
        if is_last {
            return;
        }
    }
}

#[test]
fn a_killed_server_goes_on_with_its_interval_and_its_gauges() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = start(TempDir::new().unwrap(), udp, "1h", carbon.port);
    send(udp, &["counted:42|c\nlevel:7|g\ntime:320|ms\nwho:a|s\nwho:b|s\nlevel:+1|g\nlast:1|c"]);
    wait_for_snapshot(&statsd, "last");
    let folder = kill(statsd);
    let statsd = start(folder, udp, "1s", carbon.port);
    statsd.server.wait_for_stderr("the server before did not end");
    statsd.server.wait_for_stderr("after_unix_s=");
    let flush = carbon.wait_for(&["stats.counters.counted.count"]);
    for (name, value) in [
        ("stats.counters.counted.count", 42.0),
        ("stats.gauges.level", 8.0),
        ("stats.timers.time.upper_90", 320.0),
        ("stats.sets.who.count", 2.0),
    ] {
        assert_eq!(flush.get(name), Some(&value), "{name}: {flush:?}");
    }
    send(udp, &["level:-3|g\nmarker:1|c"]);
    let mut sums = Lines::new();
    sum_until(&carbon, "stats.counters.marker.count", &mut sums);
    assert_eq!(sums["stats.counters.counted.count"], 0.0, "it is counted twice");
    assert!(statsd.ask("gauges\n").contains("\"level\": 5"));
    statsd.stop();
}

#[test]
fn a_flush_that_was_delivered_is_not_counted_again_whenever_the_server_is_killed() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let mut folder = TempDir::new().unwrap();
    let mut sums = Lines::new();
    for round in 1..=4 {
        let statsd = start(folder, udp, "1s", carbon.port);
        send(udp, &["counted:10|c"]);
        let name = "stats.counters.counted.count";
        let before = sums.get(name).copied().unwrap_or(0.0);
        // As soon as it is delivered, and so at the worst time there is.
        while sums.get(name).copied().unwrap_or(0.0) == before {
            let flush = carbon.flushes.recv_timeout(FIXTURE_TIMEOUT).expect("a flush");
            flush.into_iter().for_each(|(name, value)| *sums.entry(name).or_default() += value);
        }
        folder = kill(statsd);
        while let Ok(flush) = carbon.flushes.try_recv() {
            flush.into_iter().for_each(|(name, value)| *sums.entry(name).or_default() += value);
        }
        assert_eq!(sums[name], f64::from(10 * round));
    }
}

#[test]
fn an_interval_that_restarts_break_off_is_flushed_once_by_the_last_of_them() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let mut folder = TempDir::new().unwrap();
    for _ in 0..3 {
        let statsd = start(folder, udp, "1h", carbon.port);
        send(udp, &["counted:14|c\nlevel:7|g"]);
        folder = statsd.stop();
    }
    assert!(carbon.flushes.try_recv().is_err(), "its interval is not over");
    let statsd = start(folder, udp, "1s", carbon.port);
    assert!(!statsd.server.stderr().contains("did not end"), "{}", statsd.server.stderr());
    let flush = carbon.wait_for(&["stats.gauges.level"]);
    assert_eq!((flush["stats.gauges.level"], flush["stats.counters.counted.count"]), (7.0, 42.0));
    send(udp, &["marker:1|c"]);
    let mut sums = Lines::new();
    sum_until(&carbon, "stats.counters.marker.count", &mut sums);
    assert_eq!(sums["stats.counters.counted.count"], 0.0, "it is counted twice");
    statsd.stop();
}

#[test]
fn a_snapshot_that_is_cut_short_or_newer_is_set_aside_and_said() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = start(TempDir::new().unwrap(), udp, "1h", carbon.port);
    send(udp, &["level:7|g"]);
    wait_for_snapshot(&statsd, "level");
    let mut folder = kill(statsd);
    let good = std::fs::read(snapshot(&folder)).unwrap();
    let newer = [b"tidegate statsd snapshot 9\n", &good[27..]].concat();
    for (bytes, why) in
        [(&good[..good.len() - 3], "it is cut short or changed"), (&newer, "of version 9")]
    {
        std::fs::write(snapshot(&folder), bytes).unwrap();
        let statsd = start(folder, udp, "1h", carbon.port);
        statsd.server.wait_for_stderr("the snapshot is set aside");
        statsd.server.wait_for_stderr(why);
        assert!(statsd.ask("stats\n").contains("statsd.snapshot.set_aside: statsd: the snapshot"));
        assert_eq!(statsd.ask("gauges\n"), "{}\nEND\n\n");
        folder = kill(statsd);
        let refused = folder.path().join("data/statsd-snapshot.refused");
        assert_eq!(std::fs::read(refused).unwrap(), bytes);
    }
}

#[test]
fn a_full_disk_stops_neither_flushes_nor_receiving_and_is_said_until_it_has_room() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let Some(_disk) = SmallDisk::mount(&data, 1).unwrap() else { return };
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = start(folder, udp, "1s", carbon.port);
    std::fs::write(data.join("filler"), vec![0; 2 << 20]).unwrap_err();
    let mut sent = 0;
    until("the disk to be found full", || {
        sent += 1;
        send(udp, &["counted:1|c"]);
        statsd.ask("stats\n").contains("No space left")
    });
    send(udp, &["marker:1|c"]);
    let mut sums = Lines::new();
    sum_until(&carbon, "stats.counters.marker.count", &mut sums);
    assert_eq!(sums["stats.counters.counted.count"], f64::from(sent));
    std::fs::remove_file(data.join("filler")).unwrap();
    until("snapshots to be written again", || {
        send(udp, &["level:7|g"]);
        statsd.ask("stats\n").contains("statsd.snapshot.last_error: null")
    });
    kill(statsd);
}

#[test]
fn flushes_that_neither_graphite_nor_the_disk_takes_are_counted() {
    let folder = TempDir::new().unwrap();
    let spool = folder.path().join("data/statsd-spool");
    let Some(_disk) = SmallDisk::mount(&spool, 1).unwrap() else { return };
    let udp = free_port();
    let statsd = start(folder, udp, "1s", free_port());
    std::fs::write(spool.join("filler"), vec![0; 2 << 20]).unwrap_err();
    // More than a part of a block that may still be left.
    let many: Vec<String> = (0..200).map(|name| format!("{}{name}:1|c", "x".repeat(150))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    send(udp, &many);
    until("a flush to be lost", || {
        let stats = statsd.ask("stats\n");
        let lost = stats.lines().find_map(|l| l.strip_prefix("statsd.backends.graphite.lost: "));
        lost.is_some_and(|lost| lost != "0") && stats.contains("graphite.last_error: ")
    });
    statsd.server.wait_for_stderr("a flush cannot be spooled");
    send(udp, &["still:1|c"]);
    until("receiving to go on", || statsd.ask("last still\n").contains("still"));
    statsd.stop();
}

/// A carbon that misbehaves: what it does to each connection.
fn bad_carbon(each: fn(TcpStream, &mut Vec<TcpStream>)) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            each(stream.unwrap(), &mut held);
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (port, count)
}

#[test]
fn a_graphite_that_never_reads_or_resets_holds_up_neither_receiving_nor_the_end() {
    // Closing with something unread is a reset.
    let reset = |stream: TcpStream, _: &mut Vec<TcpStream>| {
        stream.peek(&mut [0]).unwrap();
    };
    let hold = |stream: TcpStream, held: &mut Vec<TcpStream>| held.push(stream);
    for (is_slow, each) in [(true, hold as fn(TcpStream, &mut Vec<TcpStream>)), (false, reset)] {
        let (port, connections) = bad_carbon(each);
        let udp = free_port();
        let statsd = start(TempDir::new().unwrap(), udp, "1s", port);
        // Few enough for the system's buffers to take them in place of a carbon that does not read.
        let mut stream = TcpStream::connect(("127.0.0.1", udp)).unwrap();
        for name in 0..100 {
            writeln!(stream, "{}{name}:1|c", "x".repeat(60)).unwrap();
        }
        until("a connection", || connections.load(Ordering::Relaxed) > 0);
        until("the failure to be said", || {
            let stats = statsd.ask("stats\n");
            let error = "statsd.backends.graphite.last_error: ";
            stats.lines().any(|line| line.strip_prefix(error).is_some_and(|why| why != "null"))
        });
        stream.write_all(b"marker:1|c\n").unwrap();
        until("receiving to go on", || statsd.ask("counters\n").contains("marker"));
        let begun = Instant::now();
        let folder = statsd.stop();
        assert!(begun.elapsed() < FIXTURE_TIMEOUT, "the end took {:?}", begun.elapsed());
        let spool = folder.path().join("data/statsd-spool/graphite");
        let waits = std::fs::read_dir(&spool).unwrap().count();
        // One that resets may have taken a flush before it did so.
        assert!(waits > 0 || !is_slow, "nothing waits in `{}`", spool.display());
    }
}

#[test]
fn a_million_names_stay_within_their_bytes_and_every_sample_is_counted() {
    let carbon = Carbon::start(0);
    let (udp, names) = (free_port(), 1_000_000);
    let bytes_max = 4_000_000;
    let config = |port, _: &Path| {
        let text = native(udp, port, &graphite(carbon.port));
        let bounds = format!("\"2s\"\nidle_timeout = \"2s\"\nnames_bytes_max = \"{bytes_max}B\"");
        text.replace("\"1s\"", &bounds)
    };
    let statsd = Statsd::start("t.toml", &[], config);
    let before = resident_bytes(&statsd);
    let mut stream = TcpStream::connect(("127.0.0.1", udp)).unwrap();
    let mut most = (0, 0);
    for thousand in 0..names / 1000 {
        let lines: String =
            (0..1000).map(|name| format!("flood.{}:1|c\n", thousand * 1000 + name)).collect();
        stream.write_all(lines.as_bytes()).unwrap();
        if thousand % 100 == 99 {
            most.0 = most.0.max(resident_bytes(&statsd));
            most.1 = most.1.max(figure(&statsd, "statsd.names.0.bytes"));
        }
    }
    stream.write_all(b"marker:1|c\n").unwrap();
    let is_counted = |name: &str| name.starts_with("stats.counters.") && name.ends_with(".count");
    let mut counted = 0.0;
    let mut overflowed = 0.0;
    while counted < f64::from(names) {
        let flush = carbon.flushes.recv_timeout(FIXTURE_TIMEOUT).expect("a flush");
        let of = |part: &str| -> f64 {
            let counts = flush.iter().filter(|(name, _)| is_counted(name) && name.contains(part));
            counts.map(|(_, count)| count).sum()
        };
        overflowed += of(".statsd.overflow.");
        counted += of(".flood.") + of(".statsd.overflow.");
    }
    // The marker may be one of those that overflowed.
    assert!(counted - f64::from(names) <= 1.0, "{counted} of {names}");
    assert!(overflowed > 0.5 * f64::from(names), "{overflowed} overflowed");
    // The overflow key itself is always let in.
    assert!(most.1 <= bytes_max + 500, "{} bytes of names", most.1);
    let grown = most.0.saturating_sub(before);
    assert!(grown < 100_000_000, "grown by {grown} bytes from {before}");
    until("idle names to give their bytes back", || {
        figure(&statsd, "statsd.names.0.bytes") < 4_000
    });
    statsd.stop();
}

/// A number of `stats`.
fn figure(statsd: &Statsd, name: &str) -> u64 {
    let stats = statsd.ask("stats\n");
    let line = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no `{name}` in {stats}")).parse().unwrap()
}

fn resident_bytes(statsd: &Statsd) -> u64 {
    let path = format!("/proc/{}/statm", statsd.server.process_id());
    let text = std::fs::read_to_string(path).unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Replaces a file as an editor does.
fn replace(path: &Path, text: &str) {
    let aside = path.with_extension("aside");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, path).unwrap();
}

#[test]
fn a_changed_file_is_taken_over_and_a_wrong_one_is_not() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = Statsd::start("t.toml", &[], |port, _| native(udp, port, &graphite(carbon.port)));
    let file = statsd.folder.path().join("t.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    for (percent, prefix) in [(50, "one"), (75, "two"), (99, "three")] {
        let more = format!("percentiles = [{percent}]\nprefix = \"{prefix}\"\n");
        replace(&file, &good.replace("[statsd]\n", &format!("[statsd]\n{more}")));
        until("the new prefix", || statsd.ask("config\n").contains(&format!("prefix: {prefix}")));
        send(udp, &["t:1|ms"]);
        let flush = carbon.wait_for(&[&format!("stats.timers.t.upper_{percent}")]);
        assert!(!flush.contains_key("stats.timers.t.upper_90"));
        carbon.wait_for(&[&format!("stats.counters.{prefix}.packets_received.count")]);
        let wrong = "[statsd]\nflush = \"soon\"\npercentiles = [0]\nbackend = [{ kind = \"x\" }]\n";
        replace(&file, wrong);
        for error in ["`statsd.flush`", "`statsd.percentiles`", "`statsd.backend[0].kind`"] {
            statsd.server.wait_for_stderr(error);
        }
        assert!(statsd.ask("config\n").contains(&format!("prefix: {prefix}")));
    }
    replace(
        &file,
        &good.replace("\"1s\"", "\"7s\"").replace("\"tcp:", "\"udp:127.0.0.1:0\", \"tcp:"),
    );
    statsd.server.wait_for_stderr("needs_restart=\"listen, flush\"");
    until("the rest", || statsd.ask("config\n").contains("prefix: statsd"));
    assert!(statsd.ask("config\n").contains("flush: 1s"), "it is not what is in force");
    statsd.stop();
}

#[test]
fn the_references_files_are_read_again_as_they_do_it() {
    for (compat, follows, wants_signal) in [
        ("statsd", "automaticConfigReload: true", false),
        ("statsd", "automaticConfigReload: false", true),
        ("perl", "\"x\": 1", true),
    ] {
        let udp = free_port();
        let text = |port, prefix: &str| {
            format!(
                "{{ \"port\": {udp}, \"mgmt_port\": {port}, \"flushInterval\": 200, {follows}, \
                 \"backends\": [], \"prefixStats\": \"{prefix}\" }}"
            )
        };
        let statsd = Statsd::start("l.js", &["--compat", compat], |port, _| text(port, "before"));
        let file = statsd.folder.path().join("l.js");
        replace(&file, &text(statsd.management.port(), "after"));
        if wants_signal {
            assert!(!statsd.ask("counters\n").contains("after."));
            statsd.server.signal("HUP").unwrap();
        }
        until("the new prefix", || statsd.ask("counters\n").contains("after.packets_received"));
        replace(&file, "{ flushInterval: 'soon' }");
        statsd.server.signal("HUP").unwrap();
        statsd.server.wait_for_stderr("stays as it was");
        statsd.server.wait_for_stderr("`flushInterval` is");
        statsd.stop();
    }
}

#[test]
fn a_file_that_is_broken_when_it_is_read_again_is_refused_on_one_line_of_the_log() {
    let statsd = Statsd::start("l.js", &[], |port, _| {
        format!("{{ port: {}, mgmt_port: {port}, backends: [] }}", free_port())
    });
    replace(&statsd.folder.path().join("l.js"), "{\n  port: 8125,\n");
    statsd.server.wait_for_stderr("stays as it was");
    let log = statsd.server.stderr();
    let line = log.lines().find(|line| line.contains("stays as it was")).unwrap();
    let said = "l.js: 1 error; line 2: the file ends within an object or a list";
    assert!(line.ends_with(said), "{line}");
    statsd.stop();
}

#[test]
fn serve_reads_its_statsd_section_again_and_shows_its_alarms() {
    let (udp, management) = (free_port(), free_port());
    let config = format!(
        "[statsd]\nlisten = [\"udp:127.0.0.1:{udp}\"]\nmanagement = \"127.0.0.1:{management}\"\n\
         flush = \"1s\"\nprefix = \"before\"\n"
    );
    let folder = TempDir::new().unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    std::fs::write(snapshot(&folder), "something else").unwrap();
    let server = Running::start_in(folder, &config);
    let alarms = server.status()["alarms"].to_string();
    assert!(alarms.contains("no snapshot of statsd"), "{alarms}");
    let file = server.folder.path().join("tidegate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    replace(&file, &text.replace("before", "after"));
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", management)).unwrap();
        stream.write_all(b"config\nquit\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    until("the new prefix", || ask().contains("prefix: after"));
    // A mistake anywhere in the file is one.
    replace(&file, &text.replace("before", "never").replace("[listen]", "[listen]\nnonsense = 1"));
    server.server.wait_for_stderr("nonsense");
    assert!(ask().contains("prefix: after"));
}
