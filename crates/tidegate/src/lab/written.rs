//! Writes reports to stdout or into a file.

use std::path::Path;

use anyhow::Result;

use crate::cli::WrittenArgs;
use crate::output;

/// Writes a report where it was asked for. `text` makes it, for a style that matters to text only.
pub(super) fn write(args: &WrittenArgs, text: impl FnOnce(&screen::Style) -> String) -> Result<()> {
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let mut style = output::style();
    style.width = args.width.unwrap_or(style.width);
    style.ascii |= args.ascii;
    style.colour &= file.is_none();
    let text = text(&style);
    match file {
        Some(path) => output::write(path, &text),
        None => output::print(&text),
    }
}
