//! Claims about turns.

use std::time::Duration;

use super::{Group, Length, Started, Turns};

const MS: Duration = Duration::from_millis(1);

fn group(name: &str, length: Length) -> Group<'_> {
    Group { name, length }
}

/// Turns whose jobs do nothing: the tests say how long they took.
struct Simulation {
    turns: Turns,
    names: Vec<&'static str>,
}

impl Simulation {
    fn new() -> Self {
        Self { turns: Turns::new(1000), names: Vec::new() }
    }

    fn push(&mut self, name: &'static str, length: Length) {
        let index = self.turns.index(group(name, length));
        if index == self.names.len() {
            self.names.push(name);
        }
        self.turns.push(group(name, length), Box::new(|| {})).ok().expect("room for the job");
    }

    /// Runs the next job, which takes as long as its group's do.
    fn step(&mut self, took: impl Fn(&str) -> Duration) -> &'static str {
        let Started { group, charged, .. } = self.turns.start().expect("a job waits");
        self.turns.end(group, charged, took(self.names[group]));
        self.names[group]
    }
}

fn took(name: &str) -> Duration {
    if name == "heavy" { 100 * MS } else { MS }
}

#[test]
fn groups_get_the_same_time_whatever_their_jobs_take() {
    let mut simulation = Simulation::new();
    for _ in 0..500 {
        simulation.push("light", Length::Short);
    }
    for _ in 0..10 {
        simulation.push("heavy", Length::Long);
    }
    let mut times = [Duration::ZERO; 2];
    while times[1] < 500 * MS {
        let name = simulation.step(took);
        times[usize::from(name == "heavy")] += took(name);
    }
    let [light, heavy] = times;
    assert!(heavy.abs_diff(light) <= 100 * MS, "{light:?} and {heavy:?}");
}

#[test]
fn jobs_of_a_group_start_in_the_order_of_arrival() {
    let mut turns = Turns::new(3);
    let (note, notes) = std::sync::mpsc::channel();
    for number in 0..3 {
        let note = note.clone();
        let job = Box::new(move || note.send(number).unwrap());
        turns.push(group("a", Length::Short), job).ok().unwrap();
    }
    assert!(turns.push(group("a", Length::Short), Box::new(|| {})).is_err(), "the bound is 3");
    assert!(turns.push(group("b", Length::Short), Box::new(|| {})).is_ok(), "of each group");
    while let Some(started) = turns.start() {
        (started.job)();
    }
    assert_eq!(notes.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((turns.waiting(), turns.has_short()), (0, false));
}

#[test]
fn a_group_that_was_idle_saved_no_turns() {
    let mut simulation = Simulation::new();
    simulation.push("light", Length::Short);
    simulation.step(took);
    for _ in 0..100 {
        simulation.push("heavy", Length::Long);
    }
    for _ in 0..50 {
        simulation.step(took);
    }
    for _ in 0..1000 {
        simulation.push("light", Length::Short);
    }
    let lights = (0..).take_while(|_| simulation.step(took) == "light").count();
    assert!(lights <= 200, "{lights} jobs before the next heavy one");
}

#[test]
fn a_job_within_another_is_short_and_of_a_group_that_has_had_less() {
    let mut turns = Turns::new(10);
    let push = |turns: &mut Turns, name, length| {
        turns.push(group(name, length), Box::new(|| {})).ok().unwrap();
    };
    push(&mut turns, "heavy", Length::Long);
    let heavy = turns.start().unwrap();
    push(&mut turns, "light", Length::Short);
    push(&mut turns, "other", Length::Long);
    assert!(turns.start_within(heavy.group, heavy.charged, Duration::ZERO).is_none());
    let light = turns.start_within(heavy.group, heavy.charged, 2 * MS).unwrap();
    turns.end(light.group, light.charged, 3 * MS);
    push(&mut turns, "light", Length::Short);
    assert!(turns.start_within(heavy.group, heavy.charged, 3 * MS).is_none(), "as much each");
    assert!(turns.start_within(heavy.group, heavy.charged, 4 * MS).is_some());
    assert!(turns.start_within(heavy.group, heavy.charged, 4000 * MS).is_none(), "no short one");
}
