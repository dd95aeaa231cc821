//! What lines mean in each flavour, and that the short way means the same as the long one.

mod malformed;
mod notices;

use super::{BadReason, GaugeChange, LineReader, Notice, SampleSink};
use crate::flavour::Flavour;

/// Writes down what it is told.
#[derive(Debug, Default, PartialEq)]
struct Transcript(Vec<String>);

impl Transcript {
    fn say(&mut self, kind: &str, key: &[u8], what: String) {
        self.0.push(format!("{kind} {} {what}", String::from_utf8_lossy(key)));
    }
}

impl SampleSink for Transcript {
    fn counter(&mut self, key: &[u8], amount: f64) {
        self.say("c", key, amount.to_string());
    }

    fn timer(&mut self, key: &[u8], value: f64, weight: f64) {
        self.say("ms", key, format!("{value} x{weight}"));
    }

    fn gauge(&mut self, key: &[u8], change: GaugeChange) {
        self.say("g", key, format!("{change:?}"));
    }

    fn set(&mut self, key: &[u8], member: &[u8]) {
        self.say("s", key, String::from_utf8_lossy(member).into_owned());
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.0.push(format!("{notice:?}"));
    }

    fn key(&mut self, key: &[u8]) {
        self.say("key", key, String::new());
    }

    fn bad(&mut self, _: &[u8], reason: BadReason) {
        self.0.push(format!("bad {}", reason.name()));
    }
}

fn read(flavour: Flavour, datagram: &str) -> Vec<String> {
    read_bytes(flavour, datagram.as_bytes())
}

fn read_bytes(flavour: Flavour, datagram: &[u8]) -> Vec<String> {
    let mut told = Transcript::default();
    LineReader::new(flavour).read(datagram, &mut told);
    told.0
}

fn assert_reads(flavour: Flavour, cases: &[(&str, &[&str])]) {
    for (datagram, wanted) in cases {
        assert_eq!(read(flavour, datagram), *wanted, "`{datagram}` in {}", flavour.name());
    }
}

#[test]
fn every_flavour_reads_what_all_clients_send() {
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        assert_reads(
            flavour,
            &[
                ("a.b:1|c\n", &["c a.b 1"]),
                ("a:2|c|@0.5", &["c a 4"]),
                ("a:3|ms\nb:4.5|ms", &["ms a 3 x1", "ms b 4.5 x1"]),
                ("a:7|g", &["g a Set(7.0)"]),
                ("a:joe|s", &["s a joe"]),
                ("a:-3|c", &["c a -3"]),
            ],
        );
    }
}

#[test]
fn statsd_keeps_its_oddities() {
    assert_reads(
        Flavour::Statsd,
        &[
            ("k:1|c:5|ms", &["c k 1", "ms k 5 x1"]),
            ("k:1|zzz", &["c k 1"]),
            ("k:1|", &["c k 1"]),
            ("a b/c$d:1|c", &["c a_b-cd 1"]),
            ("k:1|c|#env:prod,a;b", &["c k;env=prod;a_b 1"]),
            ("k:1|c|#env:prod|c:abc", &["c k;env=prodcabc 1"]),
            (
                "k:+5|g\nk:-5|g\nk: +5|g",
                &["g k AddUnlessZero(5.0)", "g k AddUnlessZero(-5.0)", "g k Set(5.0)"],
            ),
            ("k:|s", &["s k 0"]),
            ("k:-1|ms\n", &["bad value"]),
            ("k:-1|ms\r\n", &["ms k -1 x1"]),
            ("k:1|ms|@0.1", &["ms k 1 x10"]),
            ("k:1|c|@2e-1", &["c k 0.5"]),
            ("k:0x10|c", &["c k 16"]),
            ("k", &["bad no_type"]),
            ("k:1", &["bad no_type"]),
            ("k:1|c:", &["c k 1", "bad no_type"]),
            ("k:1:2|c", &["bad no_type", "c k 2"]),
            (":1|c", &["c  1"]),
            ("\n\nk:1|c\n\n", &["c k 1"]),
            ("constructor:1|ms", &["ms constructor 1 x1"]),
        ],
    );
}

#[test]
fn what_crashes_or_spoils_statsd_is_a_bad_line() {
    for line in
        ["a:1|c|@ 1", "a:1|c|@0", "a:1|c|@Infinity", "a:Infinity|c", "a:1e999|g", "a:NaN|ms"]
    {
        let told = read(Flavour::Statsd, line);
        assert_eq!(told.len(), 1, "`{line}`");
        assert!(told[0].starts_with("bad "), "`{line}`: {told:?}");
    }
}

#[test]
fn perl_keeps_its_oddities() {
    assert_reads(
        Flavour::Perl,
        &[
            ("a_test_value,category=web:1|c", &["c a_test_value,category=web 1"]),
            ("a//b  c:1|c", &["c a_b-c 1"]),
            ("k:0|c", &["c k 1"]),
            ("k:|c", &["c k 1"]),
            ("k:+5|g", &["g k Set(5.0)"]),
            ("k:1|ms|@bad", &["ms k 1 x1"]),
            ("k:1|c|@x", &["bad rate"]),
            ("k:1|c|@0", &["bad rate"]),
            ("a_bad_test_value|z", &["bad no_type"]),
            ("k:1|c::", &["c k 1"]),
            ("k:5abc|c", &["c k 5"]),
        ],
    );
}

#[test]
fn native_reads_both_ways_to_pack() {
    assert_reads(
        Flavour::Native,
        &[
            ("k:1:2:3|ms", &["ms k 1 x1", "ms k 2 x1", "ms k 3 x1"]),
            ("k:1|c:2|ms", &["c k 1", "ms k 2 x1"]),
            ("k:1|c|@0.5:2|ms|#a:b", &["c k;a=b 2", "ms k;a=b 2 x1"]),
            ("k:1:x:3|d", &["ms k 1 x1", "bad value", "ms k 3 x1"]),
            ("k:10.0.0.1:80|s", &["s k 10.0.0.1:80"]),
            ("k:#1|s", &["s k #1"]),
        ],
    );
}

#[test]
fn native_takes_fields_in_any_order_and_unknown_ones() {
    for line in [
        "k:1|c|@0.5|#b:2,a:1",
        "k:1|c|#a:1,b:2|@0.5|T1656581400",
        "k:1|c|c:in-123|e:it-x|card:low|#b:2,a:1,a:1|new:field|@0.5",
        // Fields of nothing, fields that look like others inside, and `#` on every tag.
        "k:1|c||:|x:#z:9|c::,#@|@0.5|#,,a:1,#b:2,,",
        "k:1|c|card:@0.1|@0.5|T1|#b:2,#a:1|#c:3",
    ] {
        assert_eq!(read(Flavour::Native, line), ["c k;a=1;b=2 2"], "`{line}`");
    }
}

#[test]
fn native_cleans_names_and_tags() {
    assert_reads(
        Flavour::Native,
        &[
            ("a b/c:1|c", &["c a_b-c 1"]),
            ("k:1|c|#url:http://x/y?z,prod,~a:~b,;:1", &["c k;a=_b;prod=true;url=http://x/y?z 1"]),
            ("k:1|c|#a:b~c,d:e f\u{2003}g,h:~", &["c k;a=b~c;d=e_f_g;h=_ 1"]),
            ("k:1|c|#ort:Köln Süd", &["c k;ort=Köln_Süd 1"]),
            // As statsd 0.9, which was run: `;` and `=` stay, and of `ünï` the `n`.
            ("a;env=x:1|c", &["c a;env=x 1"]),
            ("a;env=x y;b:1|c|#c:d,env:x_y", &["c a;b=true;c=d;env=x_y 1"]),
            ("a=b;:1|c", &["c a=b 1"]),
            ("ünï:1|c", &["c n 1"]),
            (";env=x:1|c", &["bad key"]),
            ("a;env=\u{7}:1|c", &["bad control"]),
            ("\u{1}k:1|c", &["bad control"]),
            ("k:1|c|#a:\u{7}", &["bad control"]),
            ("$$:1|c", &["bad key"]),
            (":1|c", &["bad key"]),
        ],
    );
}

#[test]
fn native_says_what_is_wrong() {
    assert_reads(
        Flavour::Native,
        &[
            ("k:1|q", &["bad type"]),
            ("k:1|", &["bad no_type"]),
            ("k:1", &["bad no_type"]),
            ("k", &["bad no_type"]),
            ("k:|c", &["bad value"]),
            ("k:-1|ms", &["bad value"]),
            ("k:-1|h", &["ms k -1 x1"]),
            ("k:0x10|c", &["bad value"]),
            ("k:1|c|@0", &["bad rate"]),
            ("k:1|c|@1.1", &["bad rate"]),
            ("k:1|c|@nan", &["bad rate"]),
            ("k:1|c|@", &["bad rate"]),
            ("k:1.2.3|g", &["bad value"]),
            ("k:1|C", &["bad type"]),
            ("a|b:c", &["bad no_type"]),
            ("_x{1,1}:a|b", &["bad type"]),
            ("_e{99999999999999999999,1}:a|b", &["bad notice"]),
            ("_e{1,9}:a|b", &["bad notice"]),
            ("_sc|x|4", &["bad notice"]),
        ],
    );
}

#[test]
fn events_and_checks_are_read_whole() {
    let mut told =
        read(Flavour::Native, "_e{5,8}:title|a|b\\nc:d|d:12|h:x|k:y|p:low|s:z|t:error|#a:1,b");
    let event = told.remove(0);
    for part in ["title: \"title\"", "text: \"a|b\\nc:d\"", "time: Some(12)", "tags: \"a:1,b\""] {
        assert!(event.contains(part), "{part} in {event}");
    }
    let mut told = read(Flavour::Native, "_sc|db.up|2|d:5|#x:y|h:web1|m:gone|away");
    let check = told.remove(0);
    for part in ["name: \"db.up\"", "status: 2", "host: \"web1\"", "message: \"gone|away\""] {
        assert!(check.contains(part), "{part} in {check}");
    }
}

#[test]
fn what_real_clients_send_as_events_and_checks_is_read_as_they_mean_it() {
    let told = |line: &str| read(Flavour::Native, line).remove(0);
    for (line, title, text) in [
        // Bytes, UTF-16 units (`ö` is one, `🌊` are two), fields of the sender.
        ("_e{8,8}:Köln ü|Flut🌊|#a:b", "Köln ü", "Flut🌊"),
        ("_e{6,6}:Köln ü|Flut🌊|#a:b", "Köln ü", "Flut🌊"),
        ("_e{1,3}:a|b|c|c:in-1|e:x|card:low|#a:b", "a", "b|c"),
    ] {
        let event = told(line);
        let has = |name: &str, value: &str| event.contains(&format!("{name}: \"{value}\""));
        assert!(has("title", title) && has("text", text) && has("tags", "a:b"), "{line}: {event}");
    }
    let check = told("_sc|db|1|card:low|#x:y|m:gone|away|c:in-1|card:low");
    assert!(check.contains("message: \"gone|away\"") && check.contains("tags: \"x:y\""), "{check}");
    for line in
        ["_e{0,1}:|b", "_e{1,1}:ab|c", "_e{1,2}:a|b", "_e{1}:a|b", "_e{1,1:a|b", "_e{x,1}:a|b"]
    {
        assert_eq!(told(line), "bad notice", "{line}");
    }
    for line in ["_sc|a", "_sc||1", "_sc|a|", "_sc|a|12", "_sc|a|-1", "_sc|a|1|d:soon"] {
        assert_eq!(told(line), "bad notice", "{line}");
    }
}

#[test]
fn lines_and_bad_pieces_are_counted() {
    let mut told = Transcript::default();
    let seen = LineReader::new(Flavour::Statsd).read(b"a:1|c\n\nb\nc:1|c:x|c", &mut told);
    assert_eq!((seen.lines, seen.bad), (3, 2));
}

/// A space in the key, which statsd makes `_`, sends a line the long way.
#[test]
fn the_short_way_means_what_the_long_way_means() {
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        for line in [
            "_:1|c",
            "_:0|c",
            "_:123456789012345|ms",
            "_:1234567890123456|g",
            "_:9|g\n",
            "_:123456789012345678901234567890|c",
        ] {
            let short = read(flavour, line);
            let long = read(flavour, &line.replacen('_', "$_", 1));
            assert_eq!(short, long, "`{line}` in {}", flavour.name());
        }
    }
}

#[test]
fn what_clients_send_most_takes_the_short_way_and_what_is_odd_the_long_one() {
    for (line, length) in
        [("web.hits-2_x:1|c", 16), ("a:123456789012345|ms\nb:1|c", 21), ("a:0|g\n", 6), (":1|c", 4)]
    {
        assert_eq!(super::plain(line.as_bytes()).map(|(_, found)| found), Some(length), "`{line}`");
    }
    for line in [
        "",
        "a",
        "a:",
        "a:1",
        "a:1|",
        "a:1|q",
        "a:1|cx",
        "a:|c",
        "a:1.5|c",
        "a|1|c",
        "a b:1|c",
        "a:1|c|@0.5",
        "a:1234567890123456|c",
        "a:1c",
        "a:+1|g",
        "a:1|m",
        "a:1|s",
        "a:1|c\r\n",
    ] {
        assert!(super::plain(line.as_bytes()).is_none(), "`{line}`");
    }
}
