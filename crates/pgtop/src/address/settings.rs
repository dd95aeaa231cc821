//! Lays settings of several origins over each other, and makes an address of them.
//!
//! Settings have libpq's names. A text of them is an URL (`postgres://…`), pairs (`host=a port=1`),
//! or pgtop's `HOST[:PORT][/DATABASE]`.
//! Invariant: what is unknown in a text is an error. In a service file it is passed over: there may
//! be settings of libpq that mean nothing here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::files::{FileError, password_of, service_of};
use super::place::{PORT, PgAddress, PgEncryption, PgPassword};

/// Where libpq looks for each setting in the environment.
const VARIABLES: [(&str, &str); 9] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("dbname", "PGDATABASE"),
    ("password", "PGPASSWORD"),
    ("passfile", "PGPASSFILE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
];

/// Known in a text, and without a meaning here.
const PASSED_OVER: [&str; 3] = ["application_name", "connect_timeout", "target_session_attrs"];

/// Why there is no address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// A setting is none: mend it.
    #[error("`{text}` is no {wanted}")]
    Value {
        /// As it was written.
        text: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A file cannot be read: mend it.
    #[error(transparent)]
    File(#[from] FileError),
    /// No file defines the service: name another.
    #[error("no service file defines `{0}`")]
    NoService(String),
}

/// Settings of a connection, by libpq's names.
#[derive(Clone, Default)]
pub struct ConnectionSettings(BTreeMap<String, String>);

impl ConnectionSettings {
    /// Sets one; an empty value is as none.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Reads a server from the command line.
    ///
    /// # Errors
    /// When the text is none of the forms, or has a setting that is unknown.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let mut all = Self::default();
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            all.read_url(text)?;
        } else if text.contains('=') {
            all.read_pairs(text)?;
        } else if text.contains('@') {
            let text = "…@…".to_owned();
            let wanted = "server: a role is written as `postgres://ROLE@HOST/DATABASE`";
            return Err(AddressError::Value { text, wanted });
        } else {
            let (host, database) = match text.split_once('/') {
                Some((host, database)) if !host.is_empty() => (host, Some(database)),
                _ => (text, None),
            };
            all.set("dbname", database.map(str::to_owned));
            all.set_host(host);
        }
        Ok(all)
    }

    /// Sets the host of `HOST[:PORT]`, as pgtop's `--host` has it.
    pub fn set_host(&mut self, text: &str) {
        let port = text.rsplit_once(':').filter(|(host, port)| {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            is_number && (!host.contains(':') || host.ends_with(']'))
        });
        let (host, port) = port.map_or((text, None), |(host, port)| (host, Some(port)));
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match host.starts_with('/') {
            true => self.set_socket(Path::new(host)),
            false => self.set("host", Some(host.to_owned())),
        }
        self.set("port", port.map(str::to_owned));
    }

    /// Sets a local socket, or the directory where it is. A socket's name has the port.
    pub fn set_socket(&mut self, socket: &Path) {
        let name = socket.file_name().map(|name| name.to_string_lossy().into_owned());
        let port = name.as_ref().and_then(|name| name.strip_prefix(".s.PGSQL."));
        let dir = if port.is_some() { socket.parent() } else { Some(socket) };
        self.set("host", dir.map(|dir| dir.display().to_string()));
        self.set("port", port.map(str::to_owned));
    }

    /// Takes from `other` what is not set here.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        for (name, value) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self
    }

    /// Makes the address. `variable` looks a variable of the environment up.
    ///
    /// # Errors
    /// When a value is none, a service is not defined, or a file cannot be read.
    pub fn resolve(
        self,
        config: &Self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<PgAddress, AddressError> {
        let mut all = match self.0.get("service").cloned() {
            Some(name) => self.or(&Self::service(&name, variable)?),
            None => self,
        };
        let mut environment = Self::default();
        for (name, key) in VARIABLES {
            environment.set(name, variable(key));
        }
        all = all.or(config);
        // As in libpq, a service's settings win over single variables.
        if let (None, Some(name)) = (all.0.get("service"), variable("PGSERVICE")) {
            all = all.or(&Self::service(&name, variable)?);
        }
        all.or(&environment).address(variable)
    }

    fn service(
        name: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, AddressError> {
        let found = service_of(name, variable)?;
        found.map(Self).ok_or_else(|| AddressError::NoService(name.to_owned()))
    }

    fn address(
        mut self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<PgAddress, AddressError> {
        let mut take = |name: &str| self.0.remove(name);
        let host = take("hostaddr").or(take("host")).unwrap_or_else(|| "localhost".to_owned());
        let port = match take("port") {
            None => PORT,
            Some(text) => match text.parse() {
                Ok(port @ 1..) => port,
                // Not the text, which may be a password in the wrong place.
                _ => {
                    let text = "port=…".to_owned();
                    return Err(AddressError::Value { text, wanted: "port" });
                }
            },
        };
        let user = take("user").unwrap_or_else(|| "postgres".to_owned());
        let database = take("dbname").unwrap_or_else(|| "test".to_owned());
        let encryption = match take("sslmode") {
            None => PgEncryption::Prefer,
            Some(text) => encryption(&text)
                .ok_or(AddressError::Value { text, wanted: "`sslmode`, such as `verify-full`" })?,
        };
        let named = take("sslrootcert");
        // Who names authorities wants them to be asked, as libpq does. `system` is the web's.
        let encryption = match (encryption, named.as_deref()) {
            (PgEncryption::Require, Some(_)) | (PgEncryption::Prefer, Some("system")) => {
                PgEncryption::VerifyFull
            }
            (encryption, _) => encryption,
        };
        let root_certificates = named.filter(|it| it != "system").map(PathBuf::from);
        let (password, file) = (take("password"), take("passfile"));
        let mut address = PgAddress {
            host,
            port,
            user,
            database,
            password: password.map(PgPassword),
            encryption,
            root_certificates,
        };
        if address.password.is_none() {
            let home = variable("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
            let file = file.map(PathBuf::from).or(home);
            address.password = file.and_then(|file| password_of(&file, &address)).map(PgPassword);
        }
        Ok(address)
    }

    fn read_url(&mut self, text: &str) -> Result<(), AddressError> {
        // Not the text itself, which may hold a password.
        let wrong = || AddressError::Value {
            text: "postgres://…".to_owned(),
            wanted: "URL; write `/`, `?`, `@` and `%` in it as %2F, %3F, %40, %25",
        };
        let (_, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password with a sign that ends it: that has to be written as `%2F`.
        if database.contains('@') || query.contains('@') {
            return Err(wrong());
        }
        let (user, host) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let decoded = |text: &str| decoded(text).ok_or_else(wrong);
        for (name, value) in [("user", user), ("password", password), ("dbname", database)] {
            self.set(name, Some(decoded(value)?));
        }
        if !host.is_empty() {
            let port = host.rsplit_once(':').map_or("", |(_, port)| port);
            if !host.ends_with(']') && !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong());
            }
            self.set_host(&decoded(host)?);
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
            self.set_known(name, decoded(value)?)?;
        }
        Ok(())
    }

    /// Reads `name=value` pairs; a value with spaces stands in single quotes, `\` escapes.
    fn read_pairs(&mut self, text: &str) -> Result<(), AddressError> {
        let wrong = || AddressError::Value { text: "…".to_owned(), wanted: "list of NAME=VALUE" };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=').ok_or_else(wrong)?;
            let mut characters = after.trim_start().char_indices().peekable();
            let is_quoted = characters.next_if(|(_, character)| *character == '\'').is_some();
            let (mut value, mut end) = (String::new(), after.trim_start().len());
            while let Some((at, character)) = characters.next() {
                match character {
                    '\\' => value.extend(characters.next().map(|(_, character)| character)),
                    '\'' if is_quoted => {
                        end = at + 1;
                        break;
                    }
                    space if !is_quoted && space.is_whitespace() => {
                        end = at;
                        break;
                    }
                    other => value.push(other),
                }
            }
            self.set_known(name.trim(), value)?;
            rest = after.trim_start()[end..].trim_start();
        }
        Ok(())
    }

    fn set_known(&mut self, name: &str, value: String) -> Result<(), AddressError> {
        let is_known = name == "service" || VARIABLES.iter().any(|(known, _)| *known == name);
        if is_known {
            self.set(name, Some(value));
        } else if !PASSED_OVER.contains(&name) {
            // Behind a password it may be the rest of that.
            let has_password = self.0.contains_key("password");
            let text = if has_password { "…" } else { name }.to_owned();
            return Err(AddressError::Value { text, wanted: "setting of a connection" });
        }
        Ok(())
    }
}

fn encryption(text: &str) -> Option<PgEncryption> {
    Some(match text {
        "disable" => PgEncryption::Disable,
        "allow" | "prefer" => PgEncryption::Prefer,
        "require" => PgEncryption::Require,
        "verify-ca" | "verify-full" => PgEncryption::VerifyFull,
        _ => return None,
    })
}

/// A part of an URL without its `%` escapes.
fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        // Two digits of 4 bits.
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}
