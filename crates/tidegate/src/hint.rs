//! Attaches to an error what the user can do about it, and takes it off again for printing.
//!
//! A `Hint` is fixed text, added with `anyhow::Context::context`. `main.rs` prints the outermost
//! one on a line of its own, after the causes. `TAKEN` and `STILL_REACHED` are here because several
//! commands share them; other hints stand beside the errors that they are for.
//! Invariant: `split` puts each cause on the line once, in order, without the hint that it returns.

use std::fmt;
use std::io::{self, ErrorKind};

/// A hint, attached with `anyhow::Context::context`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hint(pub &'static str);

/// What to do about an address that cannot be listened on.
pub(crate) const TAKEN: Hint = Hint(
    "end what listens there (`ss -lntup` names it), or choose another address: `[listen]` and \
     `[statsd]` in the configuration, the options of `tidegate demo` (see its `--help`)",
);

/// What to do about a port that this user may not bind.
const PRIVILEGED: Hint = Hint(
    "a port below 1024 needs a privilege: `tidegate.socket` of systemd binds it for Tidegate, or \
     choose another port",
);

/// What to do about files that cannot be written.
const UNWRITABLE: Hint = Hint(
    "let the user that Tidegate runs as write there, or say by `root` in the configuration where \
     relative paths start",
);

/// What to do about an address of a statsd that was configured by a file of its own.
pub(crate) const STATSD_TAKEN: Hint = Hint(
    "end what listens there (`ss -lntup` names it), or choose another: `address` and `port`, or \
     `mgmt_address` and `mgmt_port`, in the file",
);

/// What to do while the configuration has errors; only of commands with `--admin`.
pub(crate) const STILL_REACHED: Hint = Hint(
    "`--admin IP:PORT` still reaches a running server; its token is read from \
     `TIDEGATE_ADMIN_TOKEN`",
);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Returns what to do about an address that could not be bound.
pub(crate) fn of_bind(error: &io::Error) -> Hint {
    if error.kind() == ErrorKind::PermissionDenied { PRIVILEGED } else { TAKEN }
}

/// Adds what to do about files that cannot be written, where an error is of that kind and has no
/// hint yet.
pub(crate) fn about_files(error: anyhow::Error) -> anyhow::Error {
    let of_system = error.chain().find_map(|reason| reason.downcast_ref::<io::Error>());
    let kind = of_system.map(io::Error::kind);
    let is_closed =
        matches!(kind, Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem));
    let is_new = error.downcast_ref::<Hint>().is_none();
    if is_closed && is_new { error.context(UNWRITABLE) } else { error }
}

/// Returns the chain of causes on one line, and the outermost hint.
pub(crate) fn split(error: &anyhow::Error) -> (String, Option<Hint>) {
    let hint = error.downcast_ref::<Hint>().copied();
    let texts: Vec<String> = error
        .chain()
        .map(ToString::to_string)
        .filter(|text| hint.is_none_or(|hint| text != hint.0))
        .collect();
    (texts.join(": "), hint)
}
