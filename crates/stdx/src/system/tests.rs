//! The requests are granted here, and change no contents.

use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::thread;

use super::{cut_trains, run_when_idle, start_writing};

#[test]
fn only_the_calling_thread_becomes_idle() {
    // proc_pid_stat(5): field 41 is the policy, of which 5 is `SCHED_IDLE` and 0 the usual one.
    let policy = || {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        fields.split_whitespace().nth(38).unwrap().to_owned()
    };
    let before = policy();
    let inside = thread::spawn(move || {
        run_when_idle();
        policy()
    });
    assert_eq!(inside.join().unwrap(), "5");
    let after = fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after = after.rsplit_once(')').unwrap().1.split_whitespace().nth(38).unwrap().to_owned();
    assert_eq!(after, before);
}

#[test]
fn contents_stay_as_they_are_when_writing_is_begun_early() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 100_000]).unwrap();
    start_writing(file.as_file(), 0, 50_000);
    start_writing(file.as_file(), 50_000, u64::MAX);
    assert_eq!(fs::read(file.path()).unwrap(), [7; 100_000]);
}

#[test]
fn a_train_is_cut_into_datagrams_of_one_length() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    cut_trains(sender.as_fd(), 4).unwrap();
    sender.send(b"one.two.end").unwrap();
    let mut room = [0; 16];
    for expected in ["one.", "two.", "end"] {
        let length = receiver.recv(&mut room).unwrap();
        assert_eq!(&room[..length], expected.as_bytes());
    }
}
