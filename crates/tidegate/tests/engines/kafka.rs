//! A real Kafka broker, in KRaft mode.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pipeline::{Batch, Checkpoint, Sink, SinkError};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use serde_json::Value;
use testkit::{Server, TempDir, free_port};

use crate::engine;
use crate::ledger::{Engine, Totals, prove};

struct Broker {
    folder: TempDir,
    libraries: PathBuf,
    port: u16,
    server: Option<Server>,
}

impl Broker {
    fn start() -> Option<Self> {
        let libraries = engine("kafka", "libs")?.join("libs");
        let folder = TempDir::new().unwrap();
        let (port, controller) = (free_port(), free_port());
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             controller.listener.names=CONTROLLER\nlog.dirs={}\nnum.partitions=3\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\nbroker.session.timeout.ms=2000\n\
             broker.heartbeat.interval.ms=500\n",
            folder.path().join("data").display()
        );
        std::fs::write(folder.path().join("s.properties"), properties).unwrap();
        let mut broker = Self { folder, libraries, port, server: None };
        let mut format = broker.java("kafka.tools.StorageTool");
        format.args(["format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", "s.properties"]);
        assert!(format.output().unwrap().status.success());
        broker.run();
        Some(broker)
    }

    fn java(&self, class: &str) -> Command {
        let mut java = Command::new("java");
        java.arg("-Xmx512m").arg("-cp").arg(self.libraries.join("*")).arg(class);
        java.current_dir(self.folder.path());
        java
    }

    fn run(&mut self) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        // A broker that was killed may have to wait for its own session to end.
        let mut tried = String::new();
        for _ in 0..3 {
            let mut java = self.java("kafka.Kafka");
            java.arg("s.properties");
            match Server::spawn(java, address) {
                Ok(server) => {
                    self.server = Some(server);
                    return;
                }
                Err(error) => tried = error.to_string(),
            }
        }
        panic!("the broker does not start: {}", &tried[tried.len().saturating_sub(4000)..]);
    }

    fn sink(&self) -> Box<dyn Sink> {
        sinks::open(&self.url(), Path::new("/")).unwrap()
    }

    fn committed(&self, topic: &str) -> Vec<Value> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", format!("127.0.0.1:{}", self.port));
        config.set("group.id", "oracle").set("isolation.level", "read_committed");
        let consumer: BaseConsumer = config.set("enable.partition.eof", "true").create().unwrap();
        let patience = Duration::from_secs(30);
        let metadata = consumer.fetch_metadata(Some(topic), patience).unwrap();
        let partitions = metadata.topics()[0].partitions().len();
        let mut list = TopicPartitionList::new();
        for partition in 0..i32::try_from(partitions).unwrap() {
            list.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&list).unwrap();
        let (mut found, mut ended) = (Vec::new(), 0);
        while ended < partitions {
            match consumer.poll(patience).expect("the broker answers") {
                Ok(message) => {
                    found.push(serde_json::from_slice(message.payload().unwrap()).unwrap());
                }
                Err(KafkaError::PartitionEOF(_)) => ended += 1,
                Err(error) => panic!("{error}"),
            }
        }
        found
    }
}

impl Engine for Broker {
    fn url(&self) -> String {
        format!("kafka://127.0.0.1:{}/t_", self.port)
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::new();
        for row in self.committed("t_hits") {
            let total = totals.entry(row["path"].as_str().unwrap().to_owned()).or_default();
            total.0 += row["count"].as_i64().unwrap();
            total.1 += row["sum_bytes_out"].as_i64().unwrap();
        }
        totals
    }

    fn crash(&mut self) {
        let mut server = self.server.take().expect("it runs");
        server.signal("KILL").unwrap();
        server.wait().unwrap();
        self.run();
    }
}

#[test]
fn kafka_holds_every_line_once_whatever_is_killed() {
    let Some(mut broker) = Broker::start() else { return };
    prove(&mut broker, 40, 4);
    testkit::notice("kafka: ran on a real broker 3.9 in KRaft mode");
}

fn batch(sequence: u64) -> Batch {
    let (node, source) = ("n".to_owned(), "web".to_owned());
    let checkpoint = Checkpoint { node, source, sequence, position: format!("p{sequence}") };
    Batch { checkpoint, rows: Vec::new() }
}

fn begin(sink: &mut dyn Sink) -> Option<Checkpoint> {
    sink.prepare(&[]).unwrap();
    sink.claim("n", "web").unwrap();
    sink.checkpoints("web").unwrap().pop()
}

#[test]
fn kafka_fences_off_whoever_claimed_earlier() {
    let Some(broker) = Broker::start() else { return };
    let (mut first, mut second) = (broker.sink(), broker.sink());
    begin(&mut *first);
    first.deliver(&batch(1)).unwrap();
    assert_eq!(begin(&mut *second), Some(batch(1).checkpoint));
    let refused = first.deliver(&batch(2)).unwrap_err();
    assert!(matches!(refused, SinkError::Refused { .. }), "{refused}");
    second.deliver(&batch(2)).unwrap();
    // It claims again, and sees what was committed meanwhile.
    let fenced = first.deliver(&batch(2)).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 2, expected: 1, .. }), "{fenced}");
}
