//! Writes a checkpoint as a message, and reads the topic of checkpoints to its end.
//!
//! Only partition 0 is read: `kafka.rs` makes the topic with one. A message that is no checkpoint
//! is passed over. A read or a wait that comes to no end in 20 to 40 s is `Unreachable`.
//! Invariant: what was committed before the reading began is read. A reader of committed messages
//! stops before the first open transaction, and misses what others committed behind that. So
//! reading begins only once committed messages reach the end that the topic had at first.
//! Later versions read what is written here. Under another key, the old message stays in the topic
//! beside the new one. A message that lacks a member is passed over: then, and under another name
//! of the topic, delivery begins at the log's start.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pipeline::{Checkpoint, SinkError};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Message, Offset, TopicPartitionList};
use serde::{Deserialize, Serialize};

use super::client::{KafkaClient, KafkaLog, REQUEST_TIMEOUT};

/// The topic of checkpoints, after the prefix.
pub(super) const CHECKPOINTS: &str = "tidegate_checkpoints";

const PAUSE: Duration = Duration::from_millis(50);

/// A checkpoint as the value of a message.
#[derive(Debug, Serialize, Deserialize)]
struct CheckpointMessage {
    node: String,
    source: String,
    sequence: u64,
    position: String,
}

/// The key and the value of a checkpoint's message.
pub(super) fn encode(checkpoint: &Checkpoint) -> (Vec<u8>, Vec<u8>) {
    let Checkpoint { node, source, sequence, position } = checkpoint.clone();
    let key = format!("{node}/{source}").into_bytes();
    let stored = CheckpointMessage { node, source, sequence, position };
    (key, serde_json::to_vec(&stored).expect("texts and a number are JSON"))
}

fn decode(value: &[u8]) -> Option<Checkpoint> {
    let CheckpointMessage { node, source, sequence, position } =
        serde_json::from_slice(value).ok()?;
    Some(Checkpoint { node, source, sequence, position })
}

/// The latest checkpoint of every node and source, by the key of its message.
pub(super) fn read(client: &KafkaClient) -> Result<BTreeMap<Vec<u8>, Checkpoint>, SinkError> {
    let topic = client.topic(CHECKPOINTS);
    let consumer = client.consumer("read_committed")?;
    wait_for_open_transactions(client, &consumer, &topic)?;
    let mut partitions = TopicPartitionList::new();
    partitions
        .add_partition_offset(&topic, 0, Offset::Beginning)
        .and_then(|()| consumer.assign(&partitions))
        .map_err(|error| client.unreachable(&error))?;
    let mut found = BTreeMap::new();
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    while Instant::now() < deadline {
        match consumer.poll(REQUEST_TIMEOUT) {
            Some(Ok(message)) => {
                let key = message.key().unwrap_or_default().to_vec();
                if let Some(stored) = message.payload().and_then(decode) {
                    found.insert(key, stored);
                }
            }
            Some(Err(KafkaError::PartitionEOF(_))) => return Ok(found),
            Some(Err(error)) => return Err(client.unreachable(&error)),
            None => break,
        }
    }
    Err(client.unreachable(&format!("topic `{topic}` cannot be read to its end")))
}

fn wait_for_open_transactions(
    client: &KafkaClient,
    committed: &BaseConsumer<KafkaLog>,
    topic: &str,
) -> Result<(), SinkError> {
    let all = client.consumer("read_uncommitted")?;
    let end = |consumer: &BaseConsumer<KafkaLog>| {
        let ends = consumer.fetch_watermarks(topic, 0, REQUEST_TIMEOUT);
        ends.map(|(_, end)| end).map_err(|error| client.unreachable(&error))
    };
    if reaches(end(&all)?, || end(committed), REQUEST_TIMEOUT)? {
        return Ok(());
    }
    let reason = format!("another node's transaction in `{topic}` is still open");
    Err(client.unreachable(&reason))
}

/// Waits until the end of committed messages reaches `end`; false when it does not in time.
fn reaches<E>(
    end: i64,
    mut committed: impl FnMut() -> Result<i64, E>,
    timeout: Duration,
) -> Result<bool, E> {
    let deadline = Instant::now() + timeout;
    while committed()? < end {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
