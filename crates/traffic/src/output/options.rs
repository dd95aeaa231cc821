//! Says in which form exchanges are written, and what of their headers is shown.
//!
//! Invariant: the value of a header that is a secret by its name is shown only where that is asked
//! for. Never here: the forms themselves.

use exchange::is_secret_header;

use crate::view::{Side, View};

pub(crate) const REDACTED: &[u8] = b"[redacted]";

/// In which form exchanges are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// Two lines each, as vlogdump writes them.
    #[default]
    Text,
    /// A JSON object a line each.
    Ndjson,
    /// HTTP Archive 1.2.
    Har,
}

/// What is shown of each exchange.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputOptions {
    /// The form.
    pub format: OutputFormat,
    /// Whether text has ANSI colours.
    pub colour: bool,
    /// Whether text shows the headers of requests.
    pub request_headers: bool,
    /// Whether text shows the headers of responses.
    pub response_headers: bool,
    /// Whether secret headers are shown as they are.
    pub shows_secrets: bool,
}

/// Calls `found` with each header as it may be shown.
pub(super) fn each_shown<'a>(
    view: &View<'a>,
    side: Side,
    options: &OutputOptions,
    mut found: impl FnMut(&'a [u8], &'a [u8]),
) {
    view.each_header(side, |name, value| {
        let value = if is_secret_header(name) && !options.shows_secrets { REDACTED } else { value };
        found(name, value);
    });
}
