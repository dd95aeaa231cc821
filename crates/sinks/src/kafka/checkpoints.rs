//! Reading the topic of checkpoints to its end.
//!
//! Invariant: what was committed before the reading began is read. A reader of committed messages
//! stops before the first open transaction, whosever it is, and would miss what others committed
//! after it; so reading waits until the end for such a reader is the end of the topic.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pipeline::{Checkpoint, SinkError};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Message, Offset, TopicPartitionList};
use serde::{Deserialize, Serialize};

use super::{CHECKPOINTS, KafkaSink, Log, PATIENCE};

const PAUSE: Duration = Duration::from_millis(50);

/// A checkpoint as the value of a message.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    node: String,
    source: String,
    sequence: u64,
    position: String,
}

/// The key and the value of a checkpoint's message.
pub(super) fn encode(checkpoint: &Checkpoint) -> (Vec<u8>, Vec<u8>) {
    let Checkpoint { node, source, sequence, position } = checkpoint.clone();
    let key = format!("{node}/{source}").into_bytes();
    let stored = Stored { node, source, sequence, position };
    (key, serde_json::to_vec(&stored).expect("texts and a number are JSON"))
}

fn decode(value: &[u8]) -> Option<Checkpoint> {
    let Stored { node, source, sequence, position } = serde_json::from_slice(value).ok()?;
    Some(Checkpoint { node, source, sequence, position })
}

impl KafkaSink {
    /// The latest checkpoint of every node and source, by the key of its message.
    pub(super) fn read_checkpoints(&self) -> Result<BTreeMap<Vec<u8>, Checkpoint>, SinkError> {
        let topic = self.topic(CHECKPOINTS);
        let consumer = self.consumer("read_committed")?;
        self.wait_for_open_transactions(&consumer, &topic)?;
        let mut partitions = TopicPartitionList::new();
        partitions
            .add_partition_offset(&topic, 0, Offset::Beginning)
            .and_then(|()| consumer.assign(&partitions))
            .map_err(|error| self.unreachable(&error))?;
        let mut found = BTreeMap::new();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match consumer.poll(PATIENCE) {
                Some(Ok(message)) => {
                    let key = message.key().unwrap_or_default().to_vec();
                    if let Some(held) = message.payload().and_then(decode) {
                        found.insert(key, held);
                    }
                }
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(found),
                Some(Err(error)) => return Err(self.unreachable(&error)),
                None => break,
            }
        }
        Err(self.unreachable(&format!("topic `{topic}` cannot be read to its end")))
    }

    fn wait_for_open_transactions(
        &self,
        committed: &BaseConsumer<Log>,
        topic: &str,
    ) -> Result<(), SinkError> {
        let all = self.consumer("read_uncommitted")?;
        let end = |consumer: &BaseConsumer<Log>| {
            let ends = consumer.fetch_watermarks(topic, 0, PATIENCE);
            ends.map(|(_, end)| end).map_err(|error| self.unreachable(&error))
        };
        let end_of_all = end(&all)?;
        let until = Instant::now() + PATIENCE;
        while end(committed)? < end_of_all {
            if Instant::now() >= until {
                let cause = format!("another node's transaction in `{topic}` is still open");
                return Err(self.unreachable(&cause));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}
