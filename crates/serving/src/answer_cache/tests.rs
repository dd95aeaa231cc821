//! Who shares an answer with whom.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::queued::json;
use crate::refusal;

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>, Arc<AtomicBool>);

struct One(Told);

impl AnswerSender for One {
    fn is_waiting(&self) -> bool {
        !self.0.1.load(Ordering::SeqCst)
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        let said = match answer {
            Ok((_, body)) => String::from_utf8(body.to_vec()).unwrap(),
            Err(refusal) => refusal.reason,
        };
        self.0.0.lock().push(said);
    }
}

impl Told {
    fn sender(&self) -> Box<dyn AnswerSender> {
        Box::new(One(self.clone()))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

#[test]
fn those_who_ask_the_same_get_one_answer_and_later_ones_too() {
    let (answers, told) = (AnswerCache::new(), Told::default());
    let first = answers.ask(1, told.sender()).unwrap();
    assert!(answers.ask(1, told.sender()).is_none());
    assert!(told.all().is_empty());
    first.send(Ok(json("x")));
    assert_eq!(told.all(), ["x", "x"]);
    assert!(answers.ask(1, told.sender()).is_none());
    assert_eq!(told.all().len(), 3);
}

#[test]
fn a_refusal_is_shared_but_not_kept() {
    let (answers, told) = (AnswerCache::new(), Told::default());
    let first = answers.ask(1, told.sender()).unwrap();
    answers.ask(1, told.sender());
    first.send(Err(refusal::bad("no")));
    assert_eq!(told.all(), ["no", "no"]);
    assert!(answers.ask(1, told.sender()).is_some());
}

#[test]
fn an_answer_is_wanted_while_anybody_waits() {
    let (answers, gone, here) = (AnswerCache::new(), Told::default(), Told::default());
    let first = answers.ask(1, gone.sender()).unwrap();
    gone.1.store(true, Ordering::SeqCst);
    assert!(!first.is_waiting());
    answers.ask(1, here.sender());
    assert!(first.is_waiting());
}

#[test]
fn whoever_breaks_off_leaves_the_question_to_the_next() {
    let (answers, told) = (AnswerCache::new(), Told::default());
    drop(answers.ask(1, told.sender()));
    assert!(answers.ask(1, told.sender()).is_some());
    assert!(told.all().is_empty());
}
