//! The scanners beside the plain readers of `exchange`, on random and on hostile lines.

use std::sync::Arc;

use exchange::{DecodeError, Exchange, FieldName, FieldValue, Fields};
use stdx::Random;

use super::{Decoder, Format};
use crate::config::SourceConfig;

/// The keys of a source with this format.
pub(super) fn named(format: &str) -> SourceConfig {
    SourceConfig { format: Some(format.to_owned()), ..SourceConfig::default() }
}

pub(super) fn format(name: &str) -> Format {
    Format::parse(&named(name)).unwrap()
}

pub(super) fn decoder(name: &str) -> Decoder {
    Decoder::new(&format(name), Arc::new([]))
}

/// What becomes of each line: fields as text, or the reason.
pub(super) fn fields(
    decoder: &mut Decoder,
    text: &[u8],
    names: &[&str],
) -> Vec<Result<Vec<String>, String>> {
    let names: Vec<FieldName> = names.iter().map(|name| name.parse().unwrap()).collect();
    let mut all = Vec::new();
    decoder.each(text, |_, _, outcome| {
        all.push(outcome.map_err(|error| error.to_string()).map(|event| {
            let shown = |name| event.field(name).map_or("-".to_owned(), |v| v.to_string());
            names.iter().map(shown).collect()
        }));
    });
    all
}

const NAMES: [&str; 18] = [
    "time",
    "method",
    "path",
    "query",
    "query.id",
    "query.a",
    "version",
    "status",
    "bytes_out",
    "client_ip",
    "user",
    "header.user-agent",
    "header.referer",
    "total",
    "host",
    "scheme",
    "id",
    "route",
];

fn pick<'a>(random: &mut Random, choices: &[&'a str]) -> &'a str {
    choices[random.up_to(choices.len() as u64 - 1) as usize]
}

fn combined_line(random: &mut Random) -> String {
    format!(
        "{} {} {} [{}] \"{}\" {} {} \"{}\" \"{}\"{}",
        pick(random, &["1.2.3.4", "192.168.100.200", "::1", "2001:db8::7"]),
        pick(random, &["-", "ident"]),
        pick(random, &["-", "alice", "b c", "d\\x22e"]),
        pick(
            random,
            &[
                "21/Nov/2026:03:54:12 +0000",
                "21/Nov/2026:03:54:13 +0000",
                "21/Nov/2026:03:54:13 +0130",
                "01/Jan/1999:00:00:00 -0500",
            ]
        ),
        pick(
            random,
            &[
                "GET /1/items.json?id=7&a=%20x HTTP/1.1",
                "POST /feedback HTTP/2.0",
                "-",
                "GET /",
                "GET /a[0]?b[]=1 HTTP/1.0",
                "\\x16\\x03",
                "PUT /\\xd0\\xb0?id=\\\"q\\\" HTTP/1.1",
                "GET /a b HTTP/1.1",
                "  ",
                "GET /a -",
            ]
        ),
        pick(random, &["200", "404", "000"]),
        pick(random, &["0", "-", "123456789"]),
        pick(random, &["-", "", "http://example.com/?q=[x]", "a\\\\"]),
        pick(random, &["-", "Mozilla/5.0 (X11; Linux)", "[FBAN/FBIOS] \\x22q\\x22"]),
        pick(random, &["", "", " \"10.0.0.1\"", " 0.123"]),
    )
}

fn same_fields(name: &str, line: &[u8], read: fn(&[u8]) -> Result<Exchange<'_>, DecodeError>) {
    let exchange = read(line).unwrap();
    let mut decoder = decoder(name);
    let text = [line, b"\n"].concat();
    let mut seen = 0;
    decoder.each(&text, |_, _, outcome| {
        seen += 1;
        let event = outcome.unwrap_or_else(|e| panic!("{e} in {}", line.escape_ascii()));
        for field in NAMES {
            let field: FieldName = field.parse().unwrap();
            let (own, plain) = (event.field(&field), exchange.field(&field));
            // A record has zeros where a log has nothing, and the path as it stands.
            let is_absent = |v: &FieldValue<'_>| ["-", ""].map(FieldValue::from).contains(v);
            let plain = plain.filter(|v| field != FieldName::Path || !is_absent(v));
            let plain = plain.filter(|v| own.is_some() || *v != FieldValue::Integer(0));
            assert_eq!(own, plain, "{field} of {}", line.escape_ascii());
        }
    });
    assert_eq!(seen, 1);
}

#[test]
fn reads_combined_lines_as_the_plain_reader_does() {
    let mut random = Random::new(1);
    for _ in 0..3000 {
        let line = combined_line(&mut random);
        same_fields("combined", line.as_bytes(), exchange::decode_combined);
        same_fields("common", line.as_bytes(), exchange::decode_combined);
    }
}

#[test]
fn reads_the_lines_of_a_piece_as_it_reads_each_alone() {
    let mut random = Random::new(2);
    let lines: Vec<String> = (0..2000)
        .map(|_| match random.up_to(9) {
            0 => "garbage \" [ \\".to_owned(),
            1 => String::new(),
            _ => combined_line(&mut random),
        })
        .collect();
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let all = fields(&mut decoder("combined"), text.as_bytes(), &NAMES);
    assert_eq!(all.len(), lines.len());
    for (line, seen) in lines.iter().zip(all) {
        let alone = fields(&mut decoder("combined"), format!("{line}\n").as_bytes(), &NAMES);
        assert_eq!(alone, [seen], "{line}");
    }
}

#[test]
fn hands_out_offsets_that_lead_back_to_the_lines() {
    let mut random = Random::new(3);
    let line =
        |_| if random.up_to(5) == 0 { "x".repeat(70_000) } else { combined_line(&mut random) };
    let text = (0..50).map(line).map(|line| line + "\n").collect::<String>() + "no line feed yet";
    for name in ["combined", "ltsv", "json", "tidegate", "[$time_local] $status"] {
        let mut end = 0;
        decoder(name).each(text.as_bytes(), |start, line, _| {
            assert_eq!(start, end);
            end = start + line.len() + 1;
            assert_eq!(&text.as_bytes()[start..end - 1], line);
            assert_eq!(text.as_bytes()[end - 1], b'\n');
        });
        assert_eq!(end, text.len() - 16, "{name}");
    }
}

const LINE: &str = "1.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 12 \
                    \"http://x/\" \"Mozilla/5.0 (X11)\"";

#[test]
fn refuses_every_line_torn_and_glued_to_the_next() {
    let next = LINE.replace("1.2.3.4", "100.200.30.40").replace("/a", "/b");
    // A line torn within its address leaves an address that is none, but for these.
    let whole_address = ["", "1", "1."];
    for cut in 0..LINE.len() {
        let glued = format!("{}{next}\n", &LINE[..cut]);
        let seen = fields(&mut decoder("combined"), glued.as_bytes(), &["path"]);
        assert_eq!(seen[0].is_err(), !whole_address.contains(&&LINE[..cut]), "{glued}");
    }
    let glued = format!("{LINE}{next}\n{LINE} {next}\n");
    let seen = fields(&mut decoder("combined"), glued.as_bytes(), &["path"]);
    assert!(seen.iter().all(Result::is_err), "{seen:?}");
}

#[test]
fn refuses_every_prefix_of_a_combined_line() {
    for cut in 0..LINE.len() {
        let text = format!("{}\n", &LINE[..cut]);
        let seen = fields(&mut decoder("combined"), text.as_bytes(), &["path"]);
        assert!(seen[0].is_err(), "{text}");
    }
}

fn journal_line(random: &mut Random) -> Vec<u8> {
    let shown = exchange::Impression {
        model: "news".into(),
        version: "1".into(),
        propensity: 0.5,
        items: ["a", "b\""].into_iter().collect(),
    };
    let mut phases = [0; exchange::Phase::COUNT];
    phases[random.up_to(exchange::Phase::COUNT as u64 - 1) as usize] = random.up_to(3) as u32;
    let exchange = exchange::ExchangeRef {
        time_us: 1_700_000_000_000_000 + random.up_to(5_000_000),
        id: u128::from(random.bits()),
        method: pick(random, &["GET", "POST"]),
        scheme: pick(random, &["http", ""]),
        host: Some(b"localhost:8080"),
        path: pick(random, &["/", "/a\"b", "/\u{1}\\", "/{x}/[y]"]).as_bytes(),
        query: [None, Some(&b"id=7&a=%41"[..])][random.up_to(1) as usize],
        version: "1.1",
        status: random.up_to(599) as u16,
        bytes_in: random.up_to(10),
        bytes_out: random.bits() >> 1,
        client_ip: Some("10.1.2.3".parse().unwrap()),
        user: [None, Some(&b""[..]), Some(b"u\xff"), Some(b"-")][random.up_to(3) as usize],
        user_agent: Some(b"curl"),
        route: Some("r"),
        cache: exchange::CacheResult::ALL[random.up_to(5) as usize],
        decision: exchange::Decision::ALL[random.up_to(6) as usize],
        fetched_by: (random.up_to(1) == 0).then(|| u128::from(random.bits())),
        total_us: random.up_to(1000),
        phases,
        impression: (random.up_to(1) == 0).then_some(&shown),
        ..exchange::ExchangeRef::default()
    };
    let mut line = Vec::new();
    match random.up_to(2) {
        0 => exchange::encode_brief(&exchange, &mut line),
        _ => exchange::encode(&exchange, &mut line),
    }
    line
}

#[test]
fn reads_journal_lines_as_the_plain_reader_does() {
    let mut random = Random::new(4);
    let mut names: Vec<String> = NAMES.map(str::to_owned).into();
    names.extend(
        ["decision", "decision_detail", "cache", "bytes_in", "model", "model_version"]
            .map(str::to_owned),
    );
    names.extend(["propensity", "upstream", "ranked_by", "fetched_by"].map(str::to_owned));
    names.extend(exchange::Phase::ALL.map(|phase| format!("phase.{}", phase.name())));
    let mut decoder = decoder("tidegate");
    for _ in 0..3000 {
        let line = journal_line(&mut random);
        let exchange = exchange::decode(&line).unwrap();
        decoder.each(&line, |_, _, outcome| {
            let event = outcome.unwrap();
            for name in &names {
                let name: FieldName = name.parse().unwrap();
                let (own, plain) = (event.field(&name), exchange.field(&name));
                assert_eq!(own, plain, "{name} of {}", line.escape_ascii());
            }
        });
    }
}

#[test]
fn refuses_every_prefix_of_a_journal_line_and_two_in_one() {
    let mut random = Random::new(5);
    for _ in 0..20 {
        let line = journal_line(&mut random);
        for cut in 0..line.len() - 1 {
            let torn = [&line[..cut], b"\n"].concat();
            let glued = [&line[..cut], &line].concat();
            let seen = fields(&mut decoder("tidegate"), &torn, &["path"]);
            assert!(seen[0].is_err(), "{}", torn.escape_ascii());
            let seen = fields(&mut decoder("tidegate"), &glued, &["path"]);
            assert!(cut == 0 || seen[0].is_err(), "{}", glued.escape_ascii());
        }
    }
}

#[test]
fn agrees_with_the_plain_reader_on_damaged_lines_that_both_take() {
    let mut random = Random::new(6);
    for turn in 0..20_000 {
        let (mut line, name) = match turn % 3 {
            0 => (combined_line(&mut random).into_bytes(), "combined"),
            1 => (journal_line(&mut random), "tidegate"),
            _ => (
                b"time:[21/Nov/2026:03:54:12 +0000]\treq:GET /a HTTP/1.1\tstatus:200\tx:\\x41"
                    .to_vec(),
                "ltsv",
            ),
        };
        for _ in 0..=random.up_to(2) {
            let at = random.up_to(line.len() as u64 - 1) as usize;
            line[at] = *b"\0\"\\[]{}:,\t -x\xff".get(random.up_to(13) as usize).unwrap_or(&b'7');
        }
        let line = line.strip_suffix(b"\n").map_or(line.clone(), <[u8]>::to_vec);
        let plain = match name {
            "combined" => exchange::decode_combined(&line),
            "ltsv" => exchange::decode_ltsv(&line),
            _ => exchange::decode(&line),
        };
        let text = [&line[..], b"\n"].concat();
        decoder(name).each(&text, |_, _, outcome| {
            let (Ok(exchange), Ok(event)) = (&plain, outcome) else { return };
            let (own, plain) =
                (event.field(&FieldName::Status), exchange.field(&FieldName::Status));
            assert_eq!(event.time_us(), exchange.time_us, "{}", line.escape_ascii());
            assert_eq!(own, plain, "{}", line.escape_ascii());
        });
    }
}

/// A line of each format that people write by a server; the journal's own is not among them.
const LINES: [(&str, &str); 4] = [
    ("combined", LINE),
    (
        "ltsv",
        "time:21/Nov/2026:03:54:12 +0000\thost:1.2.3.4\treq:GET /a HTTP/1.1\tstatus:200\tsize:12",
    ),
    (
        "json",
        concat!(
            r#"{"time":"2026-11-21T03:54:12Z","remote_addr":"1.2.3.4","path":"/a","#,
            r#""status":200,"bytes_out":12}"#
        ),
    ),
    (
        "$remote_addr [$time_local] \"$request\" $status $body_bytes_sent",
        "1.2.3.4 [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 12",
    ),
];

#[test]
fn a_carriage_return_before_the_line_feed_is_no_part_of_a_line() {
    for (name, line) in LINES {
        let text = format!("{line}\r\n{line}\n{line}\r\n");
        let seen = fields(&mut decoder(name), text.as_bytes(), &NAMES);
        assert_eq!(seen.len(), 3, "{name}");
        assert!(seen[0].is_ok() && seen.iter().all(|one| *one == seen[1]), "{name}: {seen:?}");
    }
}

#[test]
fn a_line_behind_nul_bytes_is_refused_in_each_format() {
    for (name, line) in LINES {
        let text = format!("{}{line}\n{line}\n", "\0".repeat(100));
        let seen = fields(&mut decoder(name), text.as_bytes(), &["client_ip"]);
        assert!(seen[0].is_err(), "{name}: {seen:?}");
        assert_eq!(seen[1], Ok(vec!["1.2.3.4".to_owned()]), "{name}");
    }
}

#[test]
fn bytes_that_are_not_said_are_0_in_each_format_and_other_absent_values_are_absent() {
    for (name, line) in LINES {
        let line = line.replace("12 \"http", "- \"-").replace("size:12", "size:-");
        let line =
            line.replace("200 12", "200 -").replace("\"bytes_out\":12", "\"bytes_out\":\"-\"");
        let text = format!("{line}\n");
        let seen = fields(&mut decoder(name), text.as_bytes(), &["bytes_out", "user"]);
        assert_eq!(seen, [Ok(vec!["0".to_owned(), "-".to_owned()])], "{name}: {line}");
    }
}

#[test]
fn bytes_that_no_sink_can_hold_are_refused_in_each_format() {
    let largest = i64::MAX.unsigned_abs();
    for (name, line) in LINES {
        for (bytes, is_sound) in [(largest, true), (largest + 1, false), (u64::MAX, false)] {
            let line = line.replace("12 \"http", &format!("{bytes} \"http"));
            let line = line.replace("size:12", &format!("size:{bytes}"));
            let line = line.replace("\"bytes_out\":12", &format!("\"bytes_out\":{bytes}"));
            let line = line.strip_suffix(" 12").map_or(line.clone(), |l| format!("{l} {bytes}"));
            let text = format!("{line}\n");
            let seen = fields(&mut decoder(name), text.as_bytes(), &["bytes_out"]);
            let wanted = is_sound.then(|| vec![bytes.to_string()]);
            assert_eq!(seen[0].clone().ok(), wanted, "{name}: {line}");
        }
    }
}

#[test]
fn dates_and_zones_that_do_not_exist_are_refused() {
    for (time, is_one) in [
        ("29/Feb/2024:03:54:12 +0000", true),
        ("29/Feb/2025:03:54:12 +0000", false),
        ("31/Apr/2025:03:54:12 +0000", false),
        ("29/Feb/2000:03:54:12 +0000", true),
        ("29/Feb/2100:03:54:12 +0000", false),
        ("21/Nov/2026:03:54:12 +1400", true),
        ("21/Nov/2026:03:54:12 -1401", false),
        ("21/Nov/2026:03:54:12 +2500", false),
        ("21/Nov/2026:03:54:12 -0060", false),
    ] {
        let text = LINE.replace("21/Nov/2026:03:54:12 +0000", time) + "\n";
        let seen = fields(&mut decoder("combined"), text.as_bytes(), &["status"]);
        assert_eq!(seen[0].is_ok(), is_one, "{time}");
    }
}
