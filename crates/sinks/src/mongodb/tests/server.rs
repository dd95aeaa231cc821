//! A small server that speaks MongoDB's wire protocol and keeps documents in memory.
//!
//! It knows the commands, filters and updates that the sink sends, and panics at any other, which
//! fails the test. It does not know users, TLS, cursors or transactions. A real server is tried by
//! `make test-engines`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

use ::mongodb::bson::{Bson, Document, doc};

/// What goes wrong with a command.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// It is done, and nobody hears of it.
    LosesAnswer,
    /// It is not done.
    LosesRequest,
    /// It is not done, and this is the answer.
    Answers(Document),
}

/// Tells for a command that arrives what goes wrong with it.
type Script = dyn FnMut(&Document) -> Option<Fault> + Send;

#[derive(Default)]
pub(super) struct State {
    collections: BTreeMap<String, Vec<Document>>,
    /// Names and collections of the commands so far, without those of a connection's beginning.
    pub commands: Vec<(String, String)>,
    script: Option<Box<Script>>,
}

pub(super) struct FakeMongo {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
}

impl FakeMongo {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (state, is_over) = (Arc::new(Mutex::new(State::default())), Arc::default());
        let fake = Self { address, state: Arc::clone(&state), is_over: Arc::clone(&is_over) };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(SeqCst) {
                    return;
                }
                let state = Arc::clone(&state);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        fake
    }

    pub(super) fn url(&self) -> String {
        format!("mongodb://{}/t", self.address)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the server knows every command of the sink")
    }

    pub(super) fn documents(&self, collection: &str) -> Vec<Document> {
        self.state().collections.get(collection).cloned().unwrap_or_default()
    }

    /// From now on commands go wrong as `script` says.
    pub(super) fn goes_wrong(
        &self,
        script: impl FnMut(&Document) -> Option<Fault> + Send + 'static,
    ) {
        self.state().script = Some(Box::new(script));
    }

    /// From now on the command that writes for the `nth` time goes wrong, and no other.
    pub(super) fn goes_wrong_at(&self, nth: usize, fault: Fault) {
        let mut writes = 0;
        self.goes_wrong(move |command| {
            writes += usize::from(is_write(name(command)));
            (is_write(name(command)) && writes == nth).then(|| fault.clone())
        });
    }
}

impl Drop for FakeMongo {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        // Wakes the thread that listens.
        drop(TcpStream::connect(self.address));
    }
}

/// Answers one connection until it ends.
fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let number = |at: usize| i32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let (length, id) = (number(0), number(4));
        let mut body = vec![0; usize::try_from(length).unwrap() - head.len()];
        stream.read_exact(&mut body)?;
        let Some(answer) = state.lock().unwrap().answer(&command(&body)) else { return Ok(()) };
        let answer = answer.to_vec().unwrap();
        let length = i32::try_from(head.len() + 5 + answer.len()).unwrap();
        // OP_MSG, without flags, with one document.
        let mut message: Vec<u8> =
            [length, 0, id, 2013, 0].iter().flat_map(|number| number.to_le_bytes()).collect();
        message.push(0);
        message.extend(answer);
        stream.write_all(&message)?;
    }
}

/// The command of a message; sequences of documents become its members.
fn command(body: &[u8]) -> Document {
    let mut rest = &body[4..];
    let mut command = Document::new();
    while let Some((kind, section)) = rest.split_first() {
        rest = section;
        if *kind == 0 {
            command.extend(Document::from_reader(&mut rest).unwrap());
            continue;
        }
        let size = i32::from_le_bytes(rest[..4].try_into().unwrap());
        let (sequence, after) = rest.split_at(usize::try_from(size).unwrap());
        rest = after;
        let end = sequence[4..].iter().position(|byte| *byte == 0).unwrap() + 4;
        let member = std::str::from_utf8(&sequence[4..end]).unwrap();
        let mut sequence = &sequence[end + 1..];
        let mut documents = Vec::new();
        while !sequence.is_empty() {
            documents.push(Document::from_reader(&mut sequence).unwrap());
        }
        command.insert(member, documents);
    }
    command
}

fn name(command: &Document) -> &str {
    command.keys().next().expect("a command has a name")
}

fn is_write(name: &str) -> bool {
    matches!(name, "insert" | "update" | "delete" | "findAndModify")
}

fn list<'d>(command: &'d Document, member: &str) -> impl Iterator<Item = &'d Document> {
    command.get_array(member).unwrap().iter().map(|each| each.as_document().unwrap())
}

impl State {
    fn answer(&mut self, command: &Document) -> Option<Document> {
        let name = name(command).to_owned();
        if matches!(name.as_str(), "hello" | "isMaster") {
            return Some(doc! {
                "ok": 1.0, "isWritablePrimary": true, "ismaster": true, "helloOk": true,
                "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000,
                "maxWriteBatchSize": 100_000, "minWireVersion": 0, "maxWireVersion": 21,
            });
        }
        let collection = command.get_str(&name).unwrap_or_default().to_owned();
        self.commands.push((name.clone(), collection.clone()));
        let fault = self.script.as_mut().and_then(|script| script(command));
        match fault {
            None => Some(self.done(&name, &collection, command)),
            Some(Fault::LosesRequest) => None,
            Some(Fault::Answers(answer)) => Some(answer),
            Some(Fault::LosesAnswer) => {
                self.done(&name, &collection, command);
                None
            }
        }
    }

    fn done(&mut self, name: &str, collection: &str, command: &Document) -> Document {
        let documents = self.collections.entry(collection.to_owned()).or_default();
        match name {
            "find" => {
                let filter = command.get_document("filter").unwrap();
                let found = documents.iter().filter(|document| matches(document, filter));
                let found: Vec<Document> = found.cloned().collect();
                let cursor = doc! { "id": 0_i64, "ns": "t.c", "firstBatch": found };
                doc! { "ok": 1.0, "cursor": cursor }
            }
            "insert" => {
                let before = documents.len();
                documents.extend(list(command, "documents").cloned());
                doc! { "ok": 1.0, "n": (documents.len() - before) as i32 }
            }
            "delete" => {
                let before = documents.len();
                for delete in list(command, "deletes") {
                    let filter = delete.get_document("q").unwrap();
                    documents.retain(|document| !matches(document, filter));
                }
                doc! { "ok": 1.0, "n": (before - documents.len()) as i32 }
            }
            "update" => {
                let changed = list(command, "updates").filter(|one| {
                    let (filter, update) =
                        (one.get_document("q").unwrap(), one.get_document("u").unwrap());
                    change(documents, filter, update, one.get_bool("upsert").unwrap_or(false))
                        .is_some()
                });
                let changed = changed.count() as i32;
                doc! { "ok": 1.0, "n": changed, "nModified": changed }
            }
            "findAndModify" => {
                let [filter, update] =
                    ["query", "update"].map(|part| command.get_document(part).unwrap());
                let at = change(documents, filter, update, true).unwrap();
                doc! { "ok": 1.0, "value": &documents[at] }
            }
            "ping" | "endSessions" => doc! { "ok": 1.0 },
            other => panic!("no command `{other}`"),
        }
    }
}

/// Changes the document that matches, and tells where it is; makes one where told to.
fn change(
    documents: &mut Vec<Document>,
    filter: &Document,
    update: &Document,
    upsert: bool,
) -> Option<usize> {
    if let Some(at) = documents.iter().position(|document| matches(document, filter)) {
        update_one(&mut documents[at], update, false);
        return Some(at);
    }
    if !upsert {
        return None;
    }
    let mut made = filter.clone();
    update_one(&mut made, update, true);
    documents.push(made);
    Some(documents.len() - 1)
}

fn update_one(document: &mut Document, update: &Document, is_new: bool) {
    for (operator, members) in update {
        for (path, new) in members.as_document().expect("operators have members") {
            let old = find(document, path).cloned();
            let is_before = |old: &Bson| order(new, old).is_some_and(Ordering::is_lt);
            let value = match (operator.as_str(), old) {
                ("$setOnInsert", _) if !is_new => continue,
                ("$set" | "$setOnInsert", _) | ("$inc" | "$min" | "$max", None) => new.clone(),
                ("$inc", Some(old)) => sum(&old, new),
                ("$min", Some(old)) if is_before(&old) => new.clone(),
                ("$max", Some(old)) if !is_before(&old) => new.clone(),
                ("$min" | "$max", Some(old)) => old,
                (other, _) => panic!("no operator `{other}`"),
            };
            set(document, path, value);
        }
    }
}

fn matches(document: &Document, filter: &Document) -> bool {
    filter.iter().all(|(path, wanted)| {
        let found = find(document, path);
        match wanted {
            Bson::Document(operators) => operators.iter().all(|one| holds(found, one)),
            Bson::Null => found.is_none_or(|found| *found == Bson::Null),
            wanted => found == Some(wanted),
        }
    })
}

/// Values of different types have no order: every comparison of them fails.
fn holds(found: Option<&Bson>, (operator, operand): (&String, &Bson)) -> bool {
    let order = |wanted: &Bson| found.and_then(|found| order(found, wanted));
    match (operator.as_str(), operand) {
        ("$in", Bson::Array(any)) => found.is_some_and(|found| any.contains(found)),
        ("$not", Bson::Document(not)) => !not.iter().all(|one| holds(found, one)),
        ("$gt", wanted) => order(wanted).is_some_and(Ordering::is_gt),
        ("$gte", wanted) => order(wanted).is_some_and(Ordering::is_ge),
        (other, _) => panic!("no operator `{other}`"),
    }
}

fn order(one: &Bson, other: &Bson) -> Option<Ordering> {
    match (one, other) {
        (Bson::Int64(one), Bson::Int64(other)) => Some(one.cmp(other)),
        (Bson::Double(one), Bson::Double(other)) => one.partial_cmp(other),
        (Bson::DateTime(one), Bson::DateTime(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

fn sum(one: &Bson, other: &Bson) -> Bson {
    match (one, other) {
        (Bson::Int64(one), Bson::Int64(other)) => Bson::Int64(one + other),
        (Bson::Double(one), Bson::Double(other)) => Bson::Double(one + other),
        other => panic!("no sum of {other:?}"),
    }
}

fn find<'d>(document: &'d Document, path: &str) -> Option<&'d Bson> {
    match path.split_once('.') {
        None => document.get(path),
        Some((first, rest)) => find(document.get_document(first).ok()?, rest),
    }
}

fn set(document: &mut Document, path: &str, value: Bson) {
    let Some((first, rest)) = path.split_once('.') else {
        document.insert(path, value);
        return;
    };
    let inner = document.entry(first).or_insert_with(|| Bson::Document(Document::new()));
    set(inner.as_document_mut().expect("a path leads through documents"), rest, value);
}
