//! Delivers into Kafka: a batch is one transaction of one message per row, and of the checkpoint.
//!
//! A message's topic is the prefix and the rollup's name. Its key is the row's key as a JSON array,
//! if there is one, its value the row's deltas as a JSON object (`json.rs`). Whoever reads
//! `read_committed` and merges them has what a database would hold. Topics that are missing are
//! made as the cluster has it by default; the checkpoint's, `tidegate_checkpoints`, is compacted
//! and has one partition.
//!
//! Invariant: only the latest process that claimed a node's source can commit. Its
//! `transactional.id` fences the others off, and it knows the checkpoint that it follows. So the
//! text of that id stays the same from version to version, or an old process is not fenced off.
//! After a failure the next delivery claims anew. A full queue of the driver waits, and drops
//! nothing.
//! Refuses: TLS, which librdkafka has from OpenSSL only.
//! Elsewhere: the checkpoint's message (`kafka/checkpoints.rs`), what librdkafka is set to
//! (`kafka/address.rs`, `kafka/client.rs`).

mod address;
mod checkpoints;
mod client;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Batch, Checkpoint, Sink, SinkError, Table, TableRows};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};

use crate::UrlError;
use crate::json;
use address::KafkaAddress;
use checkpoints::CHECKPOINTS;
use client::{KafkaClient, KafkaLog, REQUEST_TIMEOUT};

/// How long a commit may take; the broker aborts a transaction that takes `transaction.timeout.ms`.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Delivers into Kafka.
pub(crate) struct KafkaSink {
    client: KafkaClient,
    claimed: Option<Claimed>,
}

/// The right to commit for a node's source.
struct Claimed {
    node: String,
    source: String,
    producer: ThreadedProducer<KafkaLog>,
    /// The sequence of the checkpoint that the engine holds, once it was read.
    stored: Option<u64>,
}

impl KafkaSink {
    /// A sink for `kafka://HOST:PORT[,HOST:PORT…]/PREFIX?PROPERTY=VALUE&…`; properties are those of
    /// librdkafka.
    ///
    /// # Errors
    /// When the address lacks something, or a property is none or is ours to set.
    pub(crate) fn new(url: &str) -> Result<Self, UrlError> {
        let address = KafkaAddress::parse(url)?;
        Ok(Self { client: KafkaClient { address }, claimed: None })
    }

    /// What an error of the transaction under way means.
    fn failed(&self, error: &KafkaError) -> SinkError {
        let fences = [
            RDKafkaErrorCode::Fenced,
            RDKafkaErrorCode::ProducerFenced,
            RDKafkaErrorCode::InvalidProducerEpoch,
        ];
        match error.rdkafka_error_code() {
            Some(code) if fences.contains(&code) => {
                self.client.refused("another process has taken over the delivery of this source")
            }
            Some(RDKafkaErrorCode::MessageSizeTooLarge) => self.client.refused(error),
            _ => self.client.unreachable(error),
        }
    }

    fn missing(&self, tables: &[Arc<Table>]) -> Result<Vec<String>, SinkError> {
        let consumer = self.client.consumer("read_committed")?;
        let names = tables.iter().map(|table| table.name.as_str()).chain([CHECKPOINTS]);
        let mut missing = Vec::new();
        for topic in names.map(|name| self.client.topic(name)) {
            let metadata = consumer.fetch_metadata(Some(&topic), REQUEST_TIMEOUT);
            let metadata = metadata.map_err(|error| self.client.unreachable(&error))?;
            if metadata.topics().iter().all(|found| found.error().is_some()) {
                missing.push(topic);
            }
        }
        Ok(missing)
    }

    fn create(&self, topics: &[String]) -> Result<(), SinkError> {
        let admin: AdminClient<KafkaLog> = self
            .client
            .address
            .config
            .create_with_context(KafkaLog)
            .map_err(|e| self.client.unreachable(&e))?;
        let wanted: Vec<NewTopic<'_>> = topics.iter().map(|topic| self.new_topic(topic)).collect();
        let options = AdminOptions::new().operation_timeout(Some(REQUEST_TIMEOUT));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| self.client.unreachable(&error))?;
        let created = runtime.block_on(admin.create_topics(&wanted, &options));
        for created in created.map_err(|error| self.client.unreachable(&error))? {
            match created {
                Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                Err((topic, code)) => {
                    return Err(self
                        .client
                        .refused(format!("topic `{topic}` was not created: {code}")));
                }
            }
        }
        Ok(())
    }

    /// A topic as it is to be made; only of the checkpoint's one more is known than the cluster has
    /// by default.
    fn new_topic<'t>(&self, topic: &'t str) -> NewTopic<'t> {
        // -1: as the cluster has it.
        let replication = TopicReplication::Fixed(-1);
        match topic == self.client.topic(CHECKPOINTS) {
            true => NewTopic::new(topic, 1, replication).set("cleanup.policy", "compact"),
            false => NewTopic::new(topic, -1, replication),
        }
    }

    /// Makes sure that the checkpoint before `new` is the one in the topic.
    fn compare(&mut self, new: &Checkpoint) -> Result<(), SinkError> {
        let is_claimed = self
            .claimed
            .as_ref()
            .is_some_and(|claimed| claimed.node == new.node && claimed.source == new.source);
        if !is_claimed {
            self.claim(&new.node, &new.source)?;
        }
        if self.claimed.as_ref().is_some_and(|claimed| claimed.stored.is_none()) {
            self.checkpoints(&new.source)?;
        }
        let stored = self.claimed.as_ref().and_then(|claimed| claimed.stored).unwrap_or(0);
        let expected = new.sequence - 1;
        if stored == expected {
            return Ok(());
        }
        Err(SinkError::Fenced { source_name: new.source.clone(), stored, expected })
    }

    fn commit(&self, batch: &Batch) -> Result<(), KafkaError> {
        let claimed = self.claimed.as_ref().expect("the checkpoint was compared under a claim");
        let producer = &claimed.producer;
        producer.begin_transaction()?;
        for rows in &batch.rows {
            self.send_rows(producer, rows)?;
        }
        let (key, value) = checkpoints::encode(&batch.checkpoint);
        let topic = self.client.topic(CHECKPOINTS);
        send(producer, BaseRecord::to(&topic).key(&key[..]).payload(&value[..]))?;
        producer.commit_transaction(COMMIT_TIMEOUT)
    }

    fn send_rows(
        &self,
        producer: &ThreadedProducer<KafkaLog>,
        rows: &TableRows,
    ) -> Result<(), KafkaError> {
        let topic = self.client.topic(&rows.table.name);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for index in 0..rows.len() {
            key.clear();
            value.clear();
            json::object(rows, index, json::rfc3339, &mut value);
            let mut record = BaseRecord::to(&topic).payload(&value[..]);
            if rows.table.keys() > 0 {
                json::key(rows, index, json::rfc3339, &mut key);
                record = record.key(&key[..]);
            }
            send(producer, record)?;
        }
        Ok(())
    }
}

/// Hands a message over; waits while the queue is full.
fn send(
    producer: &ThreadedProducer<KafkaLog>,
    mut record: BaseRecord<'_, [u8], [u8]>,
) -> Result<(), KafkaError> {
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), same)) => {
                record = same;
                producer.poll(Duration::from_millis(10));
            }
            Err((error, _)) => return Err(error),
        }
    }
}

impl Sink for KafkaSink {
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError> {
        let missing = self.missing(tables)?;
        if missing.is_empty() { Ok(()) } else { self.create(&missing) }
    }

    fn claim(&mut self, node: &str, source: &str) -> Result<(), SinkError> {
        self.claimed = None;
        let id = format!("tidegate:{}:{node}:{source}", self.client.address.prefix);
        let mut config: ClientConfig = self.client.address.config.clone();
        config.set("transactional.id", id);
        let producer: ThreadedProducer<KafkaLog> = config
            .create_with_context(KafkaLog)
            .map_err(|error| self.client.unreachable(&error))?;
        // Whatever an earlier process had under way is committed or aborted when this returns.
        producer
            .init_transactions(REQUEST_TIMEOUT)
            .map_err(|error| self.client.unreachable(&error))?;
        let (node, source) = (node.to_owned(), source.to_owned());
        self.claimed = Some(Claimed { node, source, producer, stored: None });
        Ok(())
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        let all = checkpoints::read(&self.client)?;
        let found: Vec<_> = all.into_values().filter(|stored| stored.source == source).collect();
        if let Some(claimed) = self.claimed.as_mut().filter(|claimed| claimed.source == source) {
            let ours = found.iter().find(|stored| stored.node == claimed.node);
            claimed.stored = Some(ours.map_or(0, |stored| stored.sequence));
        }
        Ok(found)
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.compare(&batch.checkpoint)?;
        match self.commit(batch) {
            Ok(()) => {
                if let Some(claimed) = &mut self.claimed {
                    claimed.stored = Some(batch.checkpoint.sequence);
                }
                Ok(())
            }
            Err(error) => {
                // The next claim ends the transaction, one way or the other.
                self.claimed = None;
                Err(self.failed(&error))
            }
        }
    }
}

#[cfg(test)]
mod tests;
