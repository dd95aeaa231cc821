//! The threads run, are rung out of their wait, and end.

use std::sync::mpsc::{Sender, channel};

use super::*;

struct Rounds {
    polled: Mutex<Sender<&'static str>>,
}

impl Poll for Rounds {
    fn poll(&self) {
        self.polled.lock().send("poll").ok();
    }

    fn verify(&self, _stop: &Stop) {
        self.polled.lock().send("verify").ok();
    }
}

#[test]
fn polls_and_verifies_again_and_again_until_stopped() {
    let (sender, receiver) = channel();
    let watcher = Watcher::start(vec![Arc::new(Rounds { polled: Mutex::new(sender) })]).unwrap();
    let seen: Vec<_> = receiver.iter().take(6).collect();
    assert!(seen.contains(&"poll") && seen.contains(&"verify"));
    watcher.stop();
    receiver.try_iter().for_each(drop);
    assert!(receiver.recv().is_err(), "the threads have dropped their senders");
}

#[test]
fn drop_ends_a_check_that_heeds_its_stop() {
    struct Endless(Mutex<Sender<()>>);
    impl Poll for Endless {
        fn poll(&self) {}
        fn verify(&self, stop: &Stop) {
            self.0.lock().send(()).ok();
            while !stop.asked() {
                std::thread::yield_now();
            }
        }
    }
    let (sender, receiver) = channel();
    let watcher = Watcher::start(vec![Arc::new(Endless(Mutex::new(sender)))]).unwrap();
    receiver.recv().unwrap();
    drop(watcher);
    assert!(receiver.try_iter().count() == 0 && receiver.recv().is_err());
}
