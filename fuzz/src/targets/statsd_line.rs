//! Lines of statsd in all three flavours.
//!
//! What is taken is finite, under a key as the flavour writes it; what is not taken is counted.
//! Nothing depends on how lines are cut into datagrams.

use statsd::Flavour;
use statsd::fuzzing::{Counted, DatagramItems, ItemReader, LineItem, count};

pub(super) const TOKENS: &[&str] = &[
    ":1|c",
    ":2|ms",
    ":+3|g",
    ":-3|g",
    ":a|s",
    ":1|h",
    ":1:2:3|d",
    "|@0.5",
    "|@ 1",
    "|@0",
    "|@1e-320",
    "|#a:b,c",
    "|#",
    "|T1656581400",
    "|c:in-1",
    "|e:it-x",
    "|card:low",
    "_e{1,1}:a|b",
    "_sc|a|0",
    "|d:12",
    "|h:x",
    "|k:y",
    "|p:low",
    "|s:z",
    "|t:error",
    "|m:gone",
    "NaN",
    "Infinity",
    "-1",
    "1e308",
    "0x10",
    "constructor",
    "\n",
    "\r\n",
    "\u{1}",
    "/",
    " ",
    "é",
];

const FLAVOURS: [Flavour; 3] = [Flavour::Native, Flavour::Statsd, Flavour::Perl];

pub(super) fn run(input: &[u8]) {
    for flavour in FLAVOURS {
        for cleans_keys in [true, false] {
            let mut lines = ItemReader::new(flavour, cleans_keys);
            let whole = lines.read(input);
            check(flavour, cleans_keys, &whole);
            cut(&mut lines, input, &whole);
            if cleans_keys {
                long_way(&mut lines, input);
                counted(flavour, input, &whole);
            }
        }
    }
}

fn check(flavour: Flavour, cleans_keys: bool, reading: &DatagramItems) {
    let bad = reading.items.iter().filter(|item| item.kind == "bad").count();
    assert_eq!(reading.bad, bad as u64, "bad pieces are counted as they are told of");
    for item in reading.items.iter().filter(|item| item.kind != "bad") {
        assert!(item.numbers.iter().all(|number| number.is_finite()), "{flavour:?}: {item:?}");
        let weight = item.numbers.get(1).copied().unwrap_or(1.0);
        assert!(weight > 0.0, "{flavour:?}: {item:?}");
        let key = &item.key;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.;=,".contains(byte);
        match flavour {
            _ if item.kind == "notice" => {}
            Flavour::Native => {
                let key = std::str::from_utf8(key).expect("a native key is text");
                let is_odd = |letter: char| letter.is_ascii_control() || letter.is_whitespace();
                assert!(!key.is_empty() && !key.contains(is_odd), "{item:?}");
                assert!(!key.starts_with(';'), "tags of nothing: {item:?}");
            }
            Flavour::Statsd if !cleans_keys => {}
            _ => assert!(key.iter().all(is_plain), "{flavour:?}: {item:?}"),
        }
    }
}

/// Each line in a datagram of its own says the same.
fn cut(lines: &mut ItemReader, input: &[u8], whole: &DatagramItems) {
    let mut all = DatagramItems::default();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let one = lines.read(line);
        all.items.extend(one.items);
        (all.lines, all.bad) = (all.lines + one.lines, all.bad + one.bad);
    }
    assert_eq!(all, *whole, "cut into lines it says something else");
}

/// A letter that every flavour drops from a key sends a line the long way, where it means the same.
fn long_way(lines: &mut ItemReader, input: &[u8]) {
    let is_notice = |line: &[u8]| line.starts_with(b"_e{") || line.starts_with(b"_sc|");
    let lead = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if is_notice(lead) || !lead.contains(&b':') {
        return;
    }
    let meant = |reading: DatagramItems| -> Vec<LineItem> {
        let unnamed = |mut item: LineItem| {
            if item.kind == "bad" {
                item.key.clear();
            }
            item
        };
        reading.items.into_iter().map(unnamed).collect()
    };
    let short = meant(lines.read(lead));
    let long = meant(lines.read(&[b"$", lead].concat()));
    assert_eq!(short, long, "the long way it says something else");
}

/// What two receivers count, with room and without, is what was said.
fn counted(flavour: Flavour, input: &[u8], whole: &DatagramItems) {
    let amounts = || whole.items.iter().filter(|item| item.kind == "c").map(|item| item.numbers[0]);
    let (sum, size) = (amounts().sum::<f64>(), amounts().map(f64::abs).sum::<f64>());
    let values = whole.items.iter().filter(|item| item.kind == "ms").count();
    for bytes_max in [0, 400, 1 << 20] {
        let datagrams = input.split_inclusive(|byte| *byte == b'\n');
        let Counted { sum: shown, values: received, is_finite, charged } =
            count(flavour, bytes_max, datagrams);
        assert!(is_finite, "{flavour:?} shows what is no number");
        assert_eq!(received, values as u64, "{flavour:?}: values of timers");
        assert_eq!(charged, 0, "{flavour:?}: bytes stay charged for nothing");
        // Beyond all numbers a sum is the largest there is.
        if size < 1e300 {
            assert!((shown - sum).abs() <= size * 1e-9, "{flavour:?}: {shown} for {sum}");
        }
    }
}
