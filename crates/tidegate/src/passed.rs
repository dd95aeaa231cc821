//! Takes the listening sockets that a service manager passes: socket activation, sd_listen_fds(3).
//!
//! A socket is named `public` or `admin` (`FileDescriptorName=` of systemd), and without any names
//! all are public. A listener whose socket is passed does not look at its key of `[listen]`.
//! Invariant: they are taken before a subprocess is started, and none inherits them.
//! Never here: binding (`chassis`), and what is served.

use std::net::TcpListener;

use anyhow::{Context, Result, bail};

use crate::environment;

/// The sockets of both listeners; none of a listener that binds its own.
#[derive(Debug, Default)]
pub(crate) struct PassedSockets {
    pub(crate) public: Vec<TcpListener>,
    pub(crate) admin: Vec<TcpListener>,
}

impl PassedSockets {
    /// Takes what is passed to this process.
    ///
    /// # Errors
    /// When a socket has another name, or is none.
    pub(crate) fn take() -> Result<Self> {
        let mut sockets = Self::default();
        let Some((count, names)) = environment::passed_descriptors() else { return Ok(sockets) };
        let passed = stdx::take_passed(count).context("take the passed sockets")?;
        let mut names = names.into_iter();
        for descriptor in passed {
            let name = names.next();
            let listener = match name.as_deref() {
                // What systemd says for a socket without a name.
                None | Some("public" | "unknown") => &mut sockets.public,
                Some("admin") => &mut sockets.admin,
                Some(name) => bail!(
                    "the passed socket `{name}` is neither `public` nor `admin`; name it by \
                     `FileDescriptorName=` of its unit"
                ),
            };
            listener.push(descriptor.into());
        }
        Ok(sockets)
    }
}
