//! The reader against serde_json: the same bodies accepted, the same texts read.

use super::*;

/// xorshift64*: seeded, so a failure is replayed by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

fn accepts(body: &[u8]) -> Result<(), Refusal> {
    let mut json = Json::new(body)?;
    json.skip()?;
    json.end()
}

/// Pieces that make valid and nearly valid JSON when put together at random.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"\"",
    "1",
    "-0",
    "0.5",
    "1e5",
    "1E+5",
    "-1.25e-3",
    "01",
    "1.",
    ".5",
    "-",
    "+1",
    "1e",
    "true",
    "false",
    "null",
    "nul",
    "NaN",
    "Infinity",
    " ",
    "\n\t\r",
    "\"\\n\\\"\\\\\\/\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\u12\"",
    "\"\\x\"",
    "\"é😀\"",
    "\"\u{1}\"",
    "\"",
    "\\",
    "\u{feff}",
];

#[test]
fn accepts_exactly_what_serde_json_accepts() {
    let mut random = Random(1);
    let mut accepted = 0;
    for round in 0..200_000 {
        let length = 1 + random.below(7);
        let body: String = (0..length).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let ours = accepts(body.as_bytes());
        let theirs = serde_json::from_str::<serde_json::Value>(&body);
        // A matter of the type that is read, not of the grammar.
        if theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range")) {
            continue;
        }
        assert_eq!(ours.is_ok(), theirs.is_ok(), "round {round}: {body}\n{ours:?}\n{theirs:?}");
        accepted += usize::from(ours.is_ok());
    }
    assert!(accepted > 1000, "{accepted} valid bodies are too few to prove anything");
}

#[test]
fn accepts_every_nested_value_that_serde_json_writes() {
    let mut random = Random(2);
    for _ in 0..2000 {
        let value = random_value(&mut random, 4);
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            assert_eq!(accepts(text.as_bytes()), Ok(()), "{text}");
        }
    }
}

fn random_value(random: &mut Random, depth: usize) -> serde_json::Value {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => (random.below(2000) as f64 / 7.0 - 100.0).into(),
        1 => random_text(random).into(),
        2 => serde_json::Value::Null,
        3 => (random.below(2) == 0).into(),
        4 => (0..random.below(4)).map(|_| random_value(random, depth - 1)).collect(),
        _ => (0..random.below(4))
            .map(|_| (random_text(random), random_value(random, depth - 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

fn random_text(random: &mut Random) -> String {
    let characters = ['a', '"', '\\', '/', '\n', '\u{0}', 'é', '😀', '\u{2028}', ' '];
    (0..random.below(6)).map(|_| characters[random.below(characters.len())]).collect()
}

#[test]
fn texts_mean_what_serde_json_says_and_are_written_back() {
    let mut random = Random(3);
    let escapes = [
        "\\n",
        "\\t",
        "\\r",
        "\\b",
        "\\f",
        "\\/",
        "\\\\",
        "\\\"",
        "\\u0041",
        "\\u00E9",
        "\\ud83d\\ude00",
        "\\u0000",
        "é",
        "x",
    ];
    for _ in 0..2000 {
        let inner: String =
            (0..random.below(8)).map(|_| escapes[random.below(escapes.len())]).collect();
        let body = format!("\"{inner}\"");
        let expected: String = serde_json::from_str(&body).unwrap();
        let mut json = Json::new(body.as_bytes()).unwrap();
        let mut buffer = String::from("left over");
        assert_eq!(json.text().unwrap().decoded(&mut buffer), expected);
        let mut written = Vec::new();
        push_text(&mut written, &expected);
        assert_eq!(serde_json::from_slice::<String>(&written).unwrap(), expected);
    }
}

#[test]
fn an_error_names_the_byte_and_the_cause() {
    for (body, expected) in [
        (&b""[..], "malformed JSON at byte 0: the body ends where a value is expected"),
        (b"{\"a\":1", "malformed JSON at byte 6: expected `,` or `}`, the body ends"),
        (b"[1,]", "malformed JSON at byte 3: expected a value, found ']'"),
        (b"[1 2]", "malformed JSON at byte 3: expected `,` or `]`, found '2'"),
        (b"{\"a\" 1}", "malformed JSON at byte 5: expected `:`, found '1'"),
        (b"[NaN]", "malformed JSON at byte 1: `NaN` is not JSON; send null or leave it out"),
        (
            b"[-Infinity]",
            "malformed JSON at byte 2: `Infinity` is not JSON; send null or leave it out",
        ),
        (b"[01]", "malformed JSON at byte 2: expected `,` or `]`, found '1'"),
        (b"\"a\\q\"", "malformed JSON at byte 2: not an escape sequence that JSON knows"),
        (b"\"a\nb\"", "malformed JSON at byte 2: a control character in a text"),
        (b"\"ab", "malformed JSON at byte 3: the body ends inside a text"),
        (b"\"\xC3\"", "malformed JSON at byte 1: not UTF-8"),
        (b"{} x", "malformed JSON at byte 3: expected the end of the body, found 'x'"),
    ] {
        let refusal = accepts(body).unwrap_err();
        assert_eq!(refusal.reason, expected);
        assert_eq!(refusal.status, 400);
        assert!(refusal.reason.contains(&format!("byte {}", refusal.position.unwrap())));
    }
}

#[test]
fn nesting_ends_at_64() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(accepts(nested(64).as_bytes()), Ok(()));
    let refusal = accepts(nested(65).as_bytes()).unwrap_err();
    assert_eq!(refusal.reason, "malformed JSON at byte 64: nested more than 64 deep");
    assert!(accepts("[".repeat(1_000_000).as_bytes()).is_err());
    assert!(accepts("{\"a\":".repeat(1_000_000).as_bytes()).is_err());
}
