//! The sink against librdkafka's mock cluster, which knows topics, producers and transactions.
//!
//! It fences nobody off and hides no aborted message: `make test-engines` has a real broker.

use std::sync::Arc;

use pipeline::{CellValue, Column, ColumnRole, Kind};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::{Message, Offset, TopicPartitionList};

use super::*;

struct Broker {
    cluster: MockCluster<'static, DefaultProducerContext>,
}

impl Broker {
    fn start() -> Self {
        let cluster = MockCluster::new(1).unwrap();
        for topic in ["t_hits", "t_tidegate_checkpoints"] {
            cluster.create_topic(topic, 1, 1).unwrap();
        }
        Self { cluster }
    }

    fn sink(&self) -> KafkaSink {
        KafkaSink::new(&format!("kafka://{}/t_", self.cluster.bootstrap_servers())).unwrap()
    }

    fn messages(&self, topic: &str) -> Vec<(String, String)> {
        let consumer = self.sink().client.consumer("read_committed").unwrap();
        let mut partitions = TopicPartitionList::new();
        partitions.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
        consumer.assign(&partitions).unwrap();
        let mut found = Vec::new();
        let shown =
            |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or(b"-").to_vec()).unwrap();
        loop {
            match consumer.poll(REQUEST_TIMEOUT).expect("the mock cluster answers") {
                Ok(message) => found.push((shown(message.key()), shown(message.payload()))),
                Err(KafkaError::PartitionEOF(_)) => return found,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn table() -> Arc<Table> {
    let column = |name: &str, kind, role| Column { name: name.to_owned(), kind, role };
    let path = column("path", Kind::Text, ColumnRole::Key);
    let columns = vec![path, column("count", Kind::Integer, ColumnRole::Sum)];
    Arc::new(Table { name: "hits".to_owned(), columns })
}

fn batch(sequence: u64) -> Batch {
    let mut rows = TableRows::new(table());
    rows.push(CellValue::Text(b"/a"));
    rows.push(CellValue::Integer(i64::try_from(sequence).unwrap()));
    let (node, source) = ("n.1".to_owned(), "log".to_owned());
    let position = format!("p{sequence}");
    Batch { checkpoint: Checkpoint { node, source, sequence, position }, rows: vec![rows] }
}

/// What a pipeline does before it delivers.
fn begin(sink: &mut KafkaSink) -> Option<Checkpoint> {
    sink.prepare(&[table()]).unwrap();
    sink.claim("n.1", "log").unwrap();
    sink.checkpoints("log").unwrap().pop()
}

#[test]
fn commits_rows_with_their_checkpoint() {
    let broker = Broker::start();
    let mut sink = broker.sink();
    assert_eq!(begin(&mut sink), None);
    sink.deliver(&batch(1)).unwrap();
    sink.deliver(&batch(2)).unwrap();
    let of = |count: u64| ("[\"/a\"]".to_owned(), format!("{{\"path\":\"/a\",\"count\":{count}}}"));
    assert_eq!(broker.messages("t_hits"), [of(1), of(2)]);
    assert_eq!(begin(&mut broker.sink()), Some(batch(2).checkpoint));
    assert!(broker.sink().checkpoints("other").unwrap().is_empty());
}

#[test]
fn reading_checkpoints_takes_no_right_away() {
    let broker = Broker::start();
    let mut sink = broker.sink();
    begin(&mut sink);
    sink.deliver(&batch(1)).unwrap();
    assert_eq!(broker.sink().checkpoints("log").unwrap(), [batch(1).checkpoint]);
    sink.deliver(&batch(2)).unwrap();
}

#[test]
fn delivers_nothing_where_the_checkpoint_is_another_one() {
    let broker = Broker::start();
    let mut sink = broker.sink();
    begin(&mut sink);
    let fenced = sink.deliver(&batch(2)).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 0, expected: 1, .. }), "{fenced}");
    assert!(broker.messages("t_hits").is_empty());
}

#[test]
fn finds_what_is_wrong_with_an_address() {
    let error = |url: &str| KafkaSink::new(url).err().expect("it is wrong").to_string();
    assert_eq!(error("kafka:///t"), "`kafka:///t` names no host");
    assert_eq!(error("kafka://h/a b"), "`kafka://h/a b`: `a b` cannot begin a topic's name");
    assert_eq!(error("kafka://h?acks=0"), "`kafka://h?…`: property `acks` is not to be set");
    assert!(error("kafka://h?lingre=1").contains("lingre"));
    let address = KafkaAddress::parse("kafka://h:1,i:2/p_?compression.type=lz4").unwrap();
    assert_eq!(address.config.get("compression.type"), Some("lz4"));
    assert_eq!(format!("{address:?}"), "KafkaAddress(h:1,i:2/p_)");
}

#[test]
fn an_address_that_is_refused_shows_no_password() {
    for url in [
        "kafka://h:1/p?sasl.password=hush&acks=1",
        "kafka:///p?sasl.password=hush",
        "kafka://h:1/!?a=hush",
    ] {
        let error = KafkaSink::new(url).err().expect("it is refused").to_string();
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn sources_of_a_node_are_delivered_each_for_itself_and_rows_without_a_key_have_none() {
    let broker = Broker::start();
    let mut sink = broker.sink();
    let other = |mut batch: Batch| {
        "app".clone_into(&mut batch.checkpoint.source);
        let user = Column { name: "user".to_owned(), kind: Kind::Text, role: ColumnRole::Plain };
        let columns = vec![user];
        let mut rows = TableRows::new(Arc::new(Table { name: "hits".to_owned(), columns }));
        rows.push(CellValue::Text(b"anna"));
        batch.rows = vec![rows];
        batch
    };
    for sequence in 1..=2 {
        sink.deliver(&batch(sequence)).unwrap();
        sink.deliver(&other(batch(sequence))).unwrap();
    }
    sink.deliver(&batch(3)).unwrap();
    // Another node, whose source has the same name.
    let mut elsewhere = batch(1);
    "n.2".clone_into(&mut elsewhere.checkpoint.node);
    sink.deliver(&elsewhere).unwrap();
    let sorted = |mut found: Vec<Checkpoint>| {
        found.sort_by(|one, other| one.node.cmp(&other.node));
        found
    };
    let expected = [batch(3).checkpoint, elsewhere.checkpoint.clone()];
    assert_eq!(sorted(sink.checkpoints("log").unwrap()), expected);
    assert_eq!(sink.checkpoints("app").unwrap(), [other(batch(2)).checkpoint]);
    let messages = broker.messages("t_hits");
    let keys: Vec<&str> = messages.iter().map(|(key, _)| key.as_str()).collect();
    let row = "[\"/a\"]";
    assert_eq!(keys, [row, "-", row, "-", row, row]);
    assert_eq!(messages[1].1, "{\"user\":\"anna\"}");
    // The last one claimed was n.2, whose sequence is another.
    let fenced = sink.deliver(&elsewhere).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 1, expected: 0, .. }), "{fenced}");
}

#[test]
fn topics_that_are_missing_are_found_and_must_be_made() {
    let broker = Broker::start();
    let sink = broker.sink();
    let absent = Arc::new(Table { name: "absent".to_owned(), ..(*table()).clone() });
    let tables = [table(), absent];
    assert_eq!(sink.missing(&tables).unwrap(), ["t_absent"]);
    assert_eq!(sink.missing(&tables[..1]).unwrap(), Vec::<String>::new());
    // The mock cluster makes none, and does not say so.
    let url = format!("kafka://{}/t_?socket.timeout.ms=100", broker.cluster.bootstrap_servers());
    let error = KafkaSink::new(&url).unwrap().prepare(&tables).unwrap_err();
    assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
}

#[test]
fn only_the_topic_of_checkpoints_is_compacted_and_has_one_partition() {
    let sink = KafkaSink::new("kafka://h:1/p_").unwrap();
    for (name, partitions, config) in [
        ("p_tidegate_checkpoints", 1, vec![("cleanup.policy", "compact")]),
        ("p_hits", -1, vec![]),
        ("tidegate_checkpoints", -1, vec![]),
    ] {
        let topic = sink.new_topic(name);
        assert_eq!((topic.name, topic.num_partitions, &topic.config), (name, partitions, &config));
        assert!(matches!(topic.replication, TopicReplication::Fixed(-1)));
    }
}

#[test]
fn one_that_another_process_has_fenced_off_is_refused_and_a_lost_broker_is_not() {
    use RDKafkaErrorCode::{
        Fenced, InvalidProducerEpoch, MessageSizeTooLarge, MessageTimedOut, ProducerFenced,
    };
    let sink = KafkaSink::new("kafka://h:1,i:2/p_").unwrap();
    let fenced = "another process has taken over the delivery of this source";
    for (code, is_refused, is_fenced) in [
        (Fenced, true, true),
        (ProducerFenced, true, true),
        (InvalidProducerEpoch, true, true),
        (MessageSizeTooLarge, true, false),
        (MessageTimedOut, false, false),
    ] {
        let error = sink.failed(&KafkaError::MessageProduction(code));
        assert_eq!(matches!(error, SinkError::Refused { engine: "kafka", .. }), is_refused);
        assert_eq!(matches!(error, SinkError::Unreachable { engine: "kafka", .. }), !is_refused);
        assert_eq!(error.to_string().ends_with(fenced), is_fenced, "{error}");
        assert!(error.to_string().contains("`h:1,i:2`"), "{error}");
    }
}
