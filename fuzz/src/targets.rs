//! The targets by name, each with its corpus and the words of its grammar.

mod accept;
mod answer;
mod chunked;
mod clusters;
mod date;
mod embed_dir;
mod filter;
mod forwarded;
mod framing;
mod freshness;
mod head;
mod key;
mod line;
mod log;
mod oip_body;
mod onnx_model;
mod path;
mod query;
mod range;
mod rank;
mod request_directives;
mod safetensors;
mod sharing;
mod statsd_config;
mod statsd_line;
mod structured;
mod traffic;
mod trees_model;
mod user;
mod vary;

use http1::FieldLines;

/// Something that reads strangers' bytes, and what must hold of it.
#[derive(Debug)]
pub struct Target {
    /// Name on the command line and of the corpus file.
    pub name: &'static str,
    /// Reads one input; panics when a property does not hold.
    pub run: fn(&[u8]),
    /// Words of the grammar, for engines that change inputs.
    pub tokens: &'static [&'static str],
    written: &'static str,
    found: &'static str,
}

impl Target {
    /// The inputs to begin with: those that somebody thought of.
    pub fn written(&self) -> Vec<Vec<u8>> {
        crate::corpus::parse(self.written).expect("a corpus in the repository can be read")
    }

    /// Those, and the ones that libFuzzer found to reach more.
    pub fn corpus(&self) -> Vec<Vec<u8>> {
        let found = crate::corpus::parse(self.found);
        let mut corpus = self.written();
        corpus.extend(found.expect("a corpus in the repository can be read"));
        corpus
    }
}

macro_rules! target {
    ($module:ident) => {
        Target {
            name: stringify!($module),
            run: $module::run,
            tokens: $module::TOKENS,
            written: include_str!(concat!("../corpus/", stringify!($module), ".txt")),
            found: include_str!(concat!("../corpus/found/", stringify!($module), ".txt")),
        }
    };
}

/// Every target.
pub const TARGETS: [Target; 30] = [
    target!(accept),
    target!(answer),
    target!(chunked),
    target!(clusters),
    target!(date),
    target!(request_directives),
    target!(embed_dir),
    target!(filter),
    target!(forwarded),
    target!(framing),
    target!(freshness),
    target!(head),
    target!(key),
    target!(line),
    target!(log),
    target!(oip_body),
    target!(onnx_model),
    target!(path),
    target!(query),
    target!(range),
    target!(rank),
    target!(safetensors),
    target!(sharing),
    target!(statsd_config),
    target!(statsd_line),
    target!(structured),
    target!(traffic),
    target!(trees_model),
    target!(user),
    target!(vary),
];

/// Splits an input at its first line feed: a line of settings, and the rest.
fn settings(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|b| *b == b'\n').unwrap_or(input.len());
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}

/// The numbers of a line of settings; what is no number is 0.
fn number(settings: &[u8], index: usize) -> u64 {
    let word = settings.split(|b| *b == b' ').nth(index).unwrap_or_default();
    std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Response fields from lines `name: value`; lines that are no field are left out.
fn fields(lines: &[u8]) -> FieldLines {
    let mut fields = FieldLines::default();
    for line in lines.split(|b| *b == b'\n').take(64) {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let name = http::HeaderName::from_bytes(&line[..colon]);
        let value = http::HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            fields.append(name.as_str(), value.as_bytes());
        }
    }
    fields
}

/// A request head with these field lines.
fn request(lines: &[u8]) -> Vec<u8> {
    let mut head = b"GET / HTTP/1.1\r\nhost: a\r\n".to_vec();
    for line in lines.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        head.extend_from_slice(line);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}
