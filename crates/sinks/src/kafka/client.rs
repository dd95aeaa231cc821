//! Makes consumers for the brokers of an address, names topics, and sends librdkafka's log to ours.
//!
//! Also here: how an error of Kafka becomes `Unreachable` or `Refused`. Which of the two it is the
//! caller says (`kafka.rs`). A request may take 20 s; nothing is tried again here. Producers are
//! made in `kafka.rs`.

use std::time::Duration;

use pipeline::SinkError;
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::KafkaError;
use rdkafka::producer::{DeliveryResult, NoCustomPartitioner, ProducerContext};

use super::address::KafkaAddress;

const ENGINE: &str = "kafka";
/// How long one request may take; the caller tries again.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The brokers of an address.
pub(super) struct KafkaClient {
    pub address: KafkaAddress,
}

impl KafkaClient {
    /// The topic of a name.
    pub(super) fn topic(&self, name: &str) -> String {
        format!("{}{name}", self.address.prefix)
    }

    pub(super) fn consumer(&self, isolation: &str) -> Result<BaseConsumer<KafkaLog>, SinkError> {
        let mut config = self.address.config.clone();
        config.set("isolation.level", isolation).set("enable.partition.eof", "true");
        config.create_with_context(KafkaLog).map_err(|error| self.unreachable(&error))
    }

    pub(super) fn unreachable(&self, error: &impl ToString) -> SinkError {
        let place = self.address.place.clone();
        SinkError::Unreachable { engine: ENGINE, place, reason: error.to_string() }
    }

    pub(super) fn refused(&self, reason: impl ToString) -> SinkError {
        let place = self.address.place.clone();
        SinkError::Refused { engine: ENGINE, place, reason: reason.to_string() }
    }
}

/// Sends what librdkafka says to our log.
#[derive(Debug, Clone)]
pub(super) struct KafkaLog;

impl rdkafka::ClientContext for KafkaLog {
    fn log(&self, level: rdkafka::config::RDKafkaLogLevel, facility: &str, message: &str) {
        use rdkafka::config::RDKafkaLogLevel as Level;
        match level {
            Level::Debug | Level::Info | Level::Notice => {
                tracing::debug!(facility, message, "librdkafka");
            }
            _ => tracing::warn!(facility, message, "librdkafka"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::warn!(%error, reason, "librdkafka");
    }
}

impl rdkafka::consumer::ConsumerContext for KafkaLog {}

impl ProducerContext<NoCustomPartitioner> for KafkaLog {
    type DeliveryOpaque = ();

    /// A message that is not delivered fails its transaction; nothing is to be noted here.
    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

#[cfg(test)]
mod tests;
