//! Reads a `kafka:` address: brokers, the prefix of topics, and properties of librdkafka.
//!
//! Nothing is decoded. The prefix may be empty; its characters are those of a topic's name.
//! librdkafka checks the properties when the address is read.
//! Refuses: the properties in `OURS`, since this code sets them, or delivery exactly once depends
//! on them.

use std::fmt;

use rdkafka::ClientConfig;

use crate::UrlError;

/// Properties that this code sets, or that exactly once depends on.
const OURS: [&str; 7] = [
    "bootstrap.servers",
    "transactional.id",
    "enable.idempotence",
    "isolation.level",
    "enable.partition.eof",
    "acks",
    "group.id",
];

/// A `kafka:` address.
pub(super) struct KafkaAddress {
    /// The brokers, for messages.
    pub place: String,
    /// What topics' names begin with.
    pub prefix: String,
    /// Properties for every client.
    pub config: ClientConfig,
}

impl KafkaAddress {
    /// Reads `kafka://HOST:PORT[,HOST:PORT…]/PREFIX?PROPERTY=VALUE&…`.
    pub(super) fn parse(url: &str) -> Result<Self, UrlError> {
        let missing = |what| UrlError::Incomplete { url: shown(url), what };
        let rest = url.strip_prefix("kafka://").ok_or_else(|| missing("host"))?;
        let (rest, properties) = rest.split_once('?').unwrap_or((rest, ""));
        let (brokers, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if brokers.is_empty() {
            return Err(missing("host"));
        }
        let is_topic = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if !prefix.bytes().all(is_topic) {
            return Err(wrong(url, format!("`{prefix}` cannot begin a topic's name")));
        }
        let mut config = ClientConfig::new();
        // Consumers need a group's name though they join none.
        config.set("bootstrap.servers", brokers).set("group.id", "tidegate");
        config.set("client.id", "tidegate");
        for property in properties.split('&').filter(|property| !property.is_empty()) {
            let (name, value) = property.split_once('=').unwrap_or((property, ""));
            if OURS.contains(&name) {
                return Err(wrong(url, format!("property `{name}` is not to be set")));
            }
            config.set(name, value);
        }
        config.create_native_config().map_err(|error| wrong(url, error.to_string()))?;
        Ok(Self { place: brokers.to_owned(), prefix: prefix.to_owned(), config })
    }
}

fn wrong(url: &str, reason: String) -> UrlError {
    UrlError::Wrong { url: shown(url), reason }
}

/// The address without its properties, which may hold a password.
fn shown(url: &str) -> String {
    url.split_once('?').map_or_else(|| url.to_owned(), |(place, _)| format!("{place}?…"))
}

impl fmt::Debug for KafkaAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KafkaAddress({}/{})", self.place, self.prefix)
    }
}
