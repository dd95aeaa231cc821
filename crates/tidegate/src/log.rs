//! Sets up the log: lines on stderr without control characters, or documents of JSON (`JSON_LOGS`).
//!
//! Invariant: an event is one line, whatever its values hold. What comes from outside (a purge's
//! URL, a message of a database) could otherwise forge lines, or change the terminal of whoever
//! reads them. Control characters are written as escapes, such as `\n` and `\u{1b}`.
//! Operators' scripts read the names of fields and the order of a line: time, level, message,
//! fields. Never here: what is logged, and at which level (`environment::log_filter`).

use std::fmt::{Debug, Display, Formatter, Write};
use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;

use crate::environment;

/// Sets it up for the whole process; `filter` says what is logged.
pub(crate) fn start(filter: &str) {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_ansi(std::io::stderr().is_terminal() && !environment::has_no_colour())
        .with_writer(std::io::stderr)
        // It would be said on stderr, too, and a message that cannot be written there panics.
        .log_internal_errors(false)
        .with_target(false);
    if environment::has_json_logs() {
        return lines
            .json()
            .flatten_event(true)
            .with_writer(|| JsonLines(std::io::stderr()))
            .init();
    }
    let field = debug_fn(|writer, field, value| match field.name() {
        "message" => write!(writer, "{}", Escaped(value)),
        name => write!(writer, "{name}={}", Escaped(value)),
    });
    lines.fmt_fields(field.delimited(" ")).init();
}

/// A value without control characters.
struct Escaped<'v>(&'v dyn Debug);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(Escaping(f), "{:?}", self.0)
    }
}

struct Escaping<'f, 'b>(&'f mut Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for piece in text.split_inclusive(char::is_control) {
            let mut chars = piece.chars();
            match chars.next_back().filter(|last| last.is_control()) {
                Some(control) => write!(self.0, "{}{}", chars.as_str(), control.escape_default())?,
                None => self.0.write_str(piece)?,
            }
        }
        Ok(())
    }
}

/// Documents of JSON, in which only the characters below 32 are escapes already.
struct JsonLines<W>(W);

impl<W: std::io::Write> std::io::Write for JsonLines<W> {
    fn write(&mut self, document: &[u8]) -> std::io::Result<usize> {
        let mut text = String::with_capacity(document.len());
        for character in String::from_utf8_lossy(document).chars() {
            match character {
                '\u{7f}'..='\u{9f}' => text.push_str(&format!("\\u{:04x}", character as u32)),
                other => text.push(other),
            }
        }
        self.0.write_all(text.as_bytes())?;
        Ok(document.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{Escaped, JsonLines};

    #[test]
    fn a_document_holds_no_control_character_and_means_the_same() {
        let mut lines = JsonLines(Vec::new());
        lines.write_all("{\"a\":\"\u{9b}2J\u{7f}\u{85}é\"}\n".as_bytes()).unwrap();
        let text = String::from_utf8(lines.0).unwrap();
        assert_eq!(text, "{\"a\":\"\\u009b2J\\u007f\\u0085é\"}\n");
    }

    #[test]
    fn a_value_cannot_end_its_line_or_speak_to_the_terminal() {
        let evil = format_args!("url=/\x1b]0;own\x07\n2026 FAKE\r\u{9b}31m é").to_string();
        let shown = Escaped(&format_args!("{evil}")).to_string();
        assert_eq!(shown, "url=/\\u{1b}]0;own\\u{7}\\n2026 FAKE\\r\\u{9b}31m é");
        assert_eq!(Escaped(&"quoted\n").to_string(), "\"quoted\\n\"");
    }
}
