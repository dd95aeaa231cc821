//! Who shares an answer with whom.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>, Arc<AtomicBool>);

struct One(Told);

impl Asker for One {
    fn is_waiting(&self) -> bool {
        !self.0.1.load(Ordering::SeqCst)
    }

    fn answer(self: Box<Self>, answer: Result<Answer, Refusal>) {
        let said = match answer {
            Ok(answer) => String::from_utf8(answer.body.to_vec()).unwrap(),
            Err(refusal) => refusal.message,
        };
        self.0.0.lock().push(said);
    }
}

impl Told {
    fn asker(&self) -> Box<dyn Asker> {
        Box::new(One(self.clone()))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

#[test]
fn those_who_ask_the_same_get_one_answer_and_later_ones_too() {
    let (answers, told) = (Answers::new(), Told::default());
    let first = answers.ask(1, told.asker()).unwrap();
    assert!(answers.ask(1, told.asker()).is_none());
    assert!(told.all().is_empty());
    first.answer(Ok(Answer::json("x")));
    assert_eq!(told.all(), ["x", "x"]);
    assert!(answers.ask(1, told.asker()).is_none());
    assert_eq!(told.all().len(), 3);
}

#[test]
fn a_refusal_is_shared_but_not_kept() {
    let (answers, told) = (Answers::new(), Told::default());
    let first = answers.ask(1, told.asker()).unwrap();
    answers.ask(1, told.asker());
    first.answer(Err(Refusal::bad("no")));
    assert_eq!(told.all(), ["no", "no"]);
    assert!(answers.ask(1, told.asker()).is_some());
}

#[test]
fn an_answer_is_wanted_while_anybody_waits() {
    let (answers, gone, here) = (Answers::new(), Told::default(), Told::default());
    let first = answers.ask(1, gone.asker()).unwrap();
    gone.1.store(true, Ordering::SeqCst);
    assert!(!first.is_waiting());
    answers.ask(1, here.asker());
    assert!(first.is_waiting());
}

#[test]
fn whoever_breaks_off_leaves_the_question_to_the_next() {
    let (answers, told) = (Answers::new(), Told::default());
    drop(answers.ask(1, told.asker()));
    assert!(answers.ask(1, told.asker()).is_some());
    assert!(told.all().is_empty());
}
