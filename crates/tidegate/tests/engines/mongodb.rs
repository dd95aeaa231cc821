//! FerretDB over SQLite, which speaks MongoDB's wire protocol and has no transactions.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::mongodb::Client;
use ::mongodb::bson::{Document, doc};
use pipeline::{Batch, Checkpoint, Sink, SinkError};
use testkit::{Server, TempDir, free_port};

use crate::engine;
use crate::ledger::{Engine, Totals, prove};

struct Ferret {
    program: PathBuf,
    folder: TempDir,
    address: SocketAddr,
    server: Option<Server>,
}

impl Ferret {
    fn start() -> Option<Self> {
        let program = engine("ferretdb", "ferretdb")?.join("ferretdb");
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut ferret = Self { program, folder, address, server: None };
        ferret.run();
        Some(ferret)
    }

    fn run(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg(self.address.to_string()).arg("data").current_dir(self.folder.path());
        self.server = Some(Server::spawn(command, self.address).unwrap());
    }

    fn sink(&self) -> Box<dyn Sink> {
        sinks::open(&self.url(), Path::new("/")).unwrap()
    }

    fn documents(&self, collection: &str) -> Vec<Document> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::with_uri_str(self.url()).await.unwrap();
            let collection = client.database("t").collection::<Document>(collection);
            let mut found = collection.find(doc! {}).await.unwrap();
            let mut documents = Vec::new();
            while found.advance().await.unwrap() {
                documents.push(found.deserialize_current().unwrap());
            }
            documents
        })
    }
}

impl Engine for Ferret {
    fn url(&self) -> String {
        format!("mongodb://{}/t", self.address)
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::new();
        for document in self.documents("hits") {
            let total = totals.entry(document.get_str("path").unwrap().to_owned()).or_default();
            total.0 += document.get_i64("count").unwrap();
            total.1 += document.get_i64("sum_bytes_out").unwrap();
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
fn mongodb_holds_every_line_once_whatever_is_killed() {
    let Some(mut ferret) = Ferret::start() else { return };
    prove(&mut ferret, 60, 15);
    assert!(ferret.documents("tidegate_batches").is_empty());
    testkit::notice("mongodb: ran on FerretDB 1.24.2 over SQLite");
}

fn batch(sequence: u64) -> Batch {
    let (node, source) = ("n.1".to_owned(), "web".to_owned());
    let checkpoint = Checkpoint { node, source, sequence, position: format!("p{sequence}") };
    Batch { checkpoint, rows: Vec::new() }
}

fn begin(sink: &mut dyn Sink) -> Option<Checkpoint> {
    sink.prepare(&[]).unwrap();
    sink.claim("n.1", "web").unwrap();
    sink.checkpoints("web").unwrap().pop()
}

#[test]
fn mongodb_fences_off_whoever_claimed_earlier() {
    let Some(ferret) = Ferret::start() else { return };
    let (mut first, mut second) = (ferret.sink(), ferret.sink());
    assert_eq!(begin(&mut *first), None);
    first.deliver(&batch(1)).unwrap();
    assert_eq!(begin(&mut *second), Some(batch(1).checkpoint));
    let refused = first.deliver(&batch(2)).unwrap_err();
    assert!(refused.to_string().contains("another process"), "{refused}");
    second.deliver(&batch(2)).unwrap();
    // It claims again, and sees what was committed meanwhile.
    let fenced = first.deliver(&batch(2)).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 2, expected: 1, .. }), "{fenced}");
}
