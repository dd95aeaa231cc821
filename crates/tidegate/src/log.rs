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
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .with_target(false);
    if environment::has_json_logs() {
        return lines.json().flatten_event(true).init();
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

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn a_value_cannot_end_its_line_or_speak_to_the_terminal() {
        let evil = format_args!("url=/\x1b]0;own\x07\n2026 FAKE\r\u{9b}31m é").to_string();
        let shown = Escaped(&format_args!("{evil}")).to_string();
        assert_eq!(shown, "url=/\\u{1b}]0;own\\u{7}\\n2026 FAKE\\r\\u{9b}31m é");
        assert_eq!(Escaped(&"quoted\n").to_string(), "\"quoted\\n\"");
    }
}
