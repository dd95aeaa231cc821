//! What a receiver counts of what it reads, and that it follows the plan.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Intake;
use crate::active_config::ActiveConfig;
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::legacy;
use crate::plan::Plan;
use crate::receive::last_received::LastReceived;
use crate::repeat::Repeater;
use crate::table::{Bounds, Gauges, Table};
use crate::tests::logged;

struct Receiver {
    config: Arc<ActiveConfig>,
    table: Arc<Mutex<Table>>,
    intake: Intake,
}

impl Receiver {
    fn new(plan: Plan) -> Self {
        let bounds = Arc::new(Bounds::of(&plan, None));
        let table = Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
        let gauges = Arc::new(Mutex::new(Gauges::new(bounds)));
        let config = Arc::new(ActiveConfig::new(plan));
        let last_received = Arc::new(LastReceived::new());
        let intake = Intake::new(Arc::clone(&config), Arc::clone(&table), gauges, last_received);
        Self { config, table, intake }
    }

    fn take(&mut self, pieces: &[&str]) {
        self.intake.take(|take| pieces.iter().for_each(|piece| take(piece.as_bytes())));
    }

    /// Counters with their sums, by name.
    fn counters(&self) -> Vec<String> {
        let table = self.table.lock();
        let mut counters: Vec<String> =
            table.counters.iter().map(|(name, sum)| format!("{name}={sum}")).collect();
        counters.sort();
        counters
    }
}

fn native() -> Plan {
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    config::plan(&Config::default(), Path::new("/nowhere"), wrong)
}

#[test]
fn packets_bytes_lines_and_bad_lines_are_counted_under_the_names_of_the_flavour() {
    let legacy = |flavour| legacy::read("{ prefixStats: 'own' }", flavour).expect("it is read");
    let native = Plan { self_prefix: "own".to_owned(), ..native() };
    let lines = "own.metrics_received=4";
    for (plan, lines) in [
        (native, Some(lines)),
        (legacy(Flavour::Statsd), Some(lines)),
        (legacy(Flavour::Perl), None),
    ] {
        let mut receiver = Receiver::new(plan);
        receiver.take(&["a:1|c\nb", "a:2|c"]);
        receiver.take(&["c"]);
        receiver.take(&[]);
        let bad = ["a=3", "own.bad_lines_seen=2"];
        let wanted = bad.into_iter().chain(lines).chain(["own.packets_received=3"]);
        assert_eq!(receiver.counters(), wanted.collect::<Vec<_>>());
        let totals = receiver.table.lock().totals.clone();
        assert_eq!((totals.packets, totals.bytes, totals.lines), (3, 13, 4));
    }
}

#[test]
fn a_plan_that_changes_is_followed_from_the_next_batch_on() {
    let statsd = |text: &str| legacy::read(text, Flavour::Statsd).expect("it is read");
    let mut receiver = Receiver::new(statsd("{ keyNameSanitize: true }"));
    receiver.take(&["a b:1|c"]);
    assert!(receiver.table.lock().keys.is_empty());
    receiver.config.set(statsd(
        "{ keyNameSanitize: false, prefixStats: 'other', keyFlush: { interval: 1000 } }",
    ));
    receiver.take(&["a b:1|c", "c:1|c"]);
    assert_eq!(
        receiver.counters(),
        [
            "a b=1",
            "a_b=1",
            "c=1",
            "other.metrics_received=2",
            "other.packets_received=2",
            "statsd.metrics_received=1",
            "statsd.packets_received=1",
        ]
    );
    assert_eq!(receiver.table.lock().keys.len(), 2);
}

#[test]
fn repeaters_get_every_piece_as_it_came_whatever_it_says() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a socket");
    let to = socket.local_addr().expect("an address").to_string();
    let repeater = Repeater::start(&[to], false).expect("a thread");
    let mut receiver = Receiver::new(native());
    let way = repeater.way().expect("it has not ended");
    receiver.intake = receiver.intake.repeating(vec![way]);
    receiver.take(&["a:1|c\nb:1|c\n", "no line"]);
    drop(receiver);
    repeater.end();
    for wanted in ["a:1|c\nb:1|c\n", "no line"] {
        let mut buffer = [0; 100];
        let length = socket.recv(&mut buffer).expect("it was sent");
        assert_eq!(&buffer[..length], wanted.as_bytes());
    }
}

#[test]
fn lines_are_logged_where_the_plan_says_so_from_the_next_batch_on() {
    let mut receiver = Receiver::new(native());
    assert_eq!(logged(|| receiver.take(&["a:1|c"])), [""; 0]);
    receiver.config.set(Plan { shows_lines: true, ..native() });
    assert_eq!(logged(|| receiver.take(&["a:1|c\n", "b"])), ["message=a:1|c;", "message=b;"]);
}
