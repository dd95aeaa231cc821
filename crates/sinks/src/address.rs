//! Reads the address of a server: `postgres://user:password@host:port/database?sslmode=require`.
//!
//! PostgreSQL, MySQL and ClickHouse use it. Host, user and database are required; each engine gives
//! its default port. All but the port are percent-decoded. Parameters: `sslmode`, `sslrootcert`,
//! `connect_timeout` (10 s), `statement_timeout` (60 s). ClickHouse takes its own parameter
//! `guarantee` out before (`clickhouse.rs`).
//! Invariant: what stands before the last `@` is never shown, neither by `Display`, `Debug` nor
//! [`UrlError`].
//! Refuses: parameters that it does not know, so a typing error never becomes a default.
//! Elsewhere: what `sslmode` does (`tls.rs`, `clickhouse/http.rs`); addresses of Kafka
//! (`kafka/address.rs`), MongoDB (`mongodb.rs`) and files (`lib.rs`). Addresses stand in users'
//! configurations: a new parameter or default also goes into docs/operating/sinks.md.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use stdx::Span;

use crate::UrlError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether the connection is encrypted, as libpq names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Never.
    Disable,
    /// Where the server offers it; its certificate is not looked at.
    Prefer,
    /// Always; the server's certificate is not looked at.
    Require,
    /// Always, and the certificate must be valid for the host.
    VerifyFull,
}

/// Where a server is, and how to speak to it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub encryption: Encryption,
    /// Certificates to trust instead of the public ones, PEM.
    pub root_certificates: Option<PathBuf>,
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
}

impl ServerAddress {
    /// Reads what follows `SCHEME:`; files in parameters are relative to `root`.
    pub(crate) fn parse(
        scheme: &str,
        rest: &str,
        default_port: u16,
        root: &Path,
    ) -> Result<Self, UrlError> {
        let shown = shown(scheme, rest);
        let lacks = |what| UrlError::Incomplete { url: shown.clone(), what };
        let wrong = |reason: String| UrlError::Wrong { url: shown.clone(), reason };
        let rest = rest.strip_prefix("//").ok_or_else(|| lacks("host"))?;
        // A password with `/` in it must not be taken for a port, and shown.
        let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let (host, port) = host_and_port(place, default_port).map_err(wrong)?;
        let text = |text: &str| decoded(text).map_err(wrong);
        let mut address = Self {
            host: text(host)?,
            port,
            user: text(user)?,
            password: password.map(text).transpose()?,
            database: text(database)?,
            encryption: Encryption::Prefer,
            root_certificates: None,
            connect_timeout: CONNECT_TIMEOUT,
            statement_timeout: STATEMENT_TIMEOUT,
        };
        for pair in parameters.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            address.set(name, &text(value)?, root).map_err(wrong)?;
        }
        // Who names authorities wants them to be asked.
        if address.encryption == Encryption::Require && address.root_certificates.is_some() {
            address.encryption = Encryption::VerifyFull;
        }
        match address {
            Self { ref host, .. } if host.is_empty() => Err(lacks("host")),
            Self { ref user, .. } if user.is_empty() => Err(lacks("user")),
            Self { ref database, .. } if database.is_empty() => Err(lacks("database")),
            address => Ok(address),
        }
    }

    fn set(&mut self, name: &str, value: &str, root: &Path) -> Result<(), String> {
        match name {
            "sslmode" => {
                self.encryption = match value {
                    "disable" => Encryption::Disable,
                    "prefer" => Encryption::Prefer,
                    "require" => Encryption::Require,
                    "verify-full" => Encryption::VerifyFull,
                    _ => {
                        return Err(format!(
                            "`sslmode` is `disable`, `prefer`, `require` or `verify-full`, \
                             not `{value}`"
                        ));
                    }
                };
            }
            "sslrootcert" => self.root_certificates = Some(root.join(value)),
            "connect_timeout" => self.connect_timeout = span(name, value)?,
            "statement_timeout" => self.statement_timeout = span(name, value)?,
            _ => {
                return Err(format!(
                    "`{name}` is no parameter; there are `sslmode`, `sslrootcert`, \
                     `connect_timeout`, `statement_timeout`"
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, database, .. } = self;
        match host.contains(':') {
            true => write!(f, "[{host}]:{port}/{database}"),
            false => write!(f, "{host}:{port}/{database}"),
        }
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// The address without what stands before the last `@`, and without the values of parameters.
fn shown(scheme: &str, rest: &str) -> String {
    let (login, place) =
        rest.rsplit_once('@').map_or((None, rest), |(login, at)| (Some(login), at));
    let place = place.split_once('?').map_or(place.to_owned(), |(place, _)| format!("{place}?…"));
    match login {
        Some(_) => format!("{scheme}://…@{place}"),
        // Without a host there may be a password anywhere.
        None if !rest.starts_with("//") => format!("{scheme}:…"),
        None => format!("{scheme}:{place}"),
    }
}

fn host_and_port(place: &str, default: u16) -> Result<(&str, u16), String> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let Some(port) = port else { return Ok((host, default)) };
    match port.parse() {
        Ok(port) if port > 0 => Ok((host, port)),
        _ => Err(format!("`{port}` is no port")),
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| "it is not UTF-8 when decoded".to_owned())
}

/// `500ms`, `10s`; a bare number is seconds, as in libpq.
fn span(name: &str, value: &str) -> Result<Duration, String> {
    let is_bare = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let text = if is_bare { format!("{value}s") } else { value.to_owned() };
    Span::above_zero(&text).map_err(|error| format!("`{name}`: {error}"))
}

#[cfg(test)]
mod tests;
