//! Texts of /proc, as kernels write them.

use super::super::counters::{SignalReadings, SignalSource as _};
use super::{
    MountsFile, ReadAgain, UNASKED, memory, network, nfs, pressure, processors, received_packets,
    run_queues, sources,
};

/// What two texts, one after the other, report.
fn growth(reports: impl Fn(&str, &mut SignalReadings), texts: [&str; 2]) -> Vec<(String, f64)> {
    let mut counters = SignalReadings::default();
    for (now_ns, text) in [(100, texts[0]), (200, texts[1])] {
        counters.begin(now_ns);
        reports(text, &mut counters);
    }
    let mut all = Vec::new();
    counters.grown(&mut |it| all.push((it.name.to_owned(), it.amount)));
    all
}

fn named(name: &str, amount: f64) -> (String, f64) {
    (name.to_owned(), amount)
}

#[test]
fn pressure_is_the_growth_of_its_total() {
    let text = |some, full| {
        format!(
            "some avg10=1.00 avg60=0.00 avg300=0.00 total={some}\n\
             full avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
        )
    };
    let texts = [text(1_000, 500), text(4_000, 1_500)];
    let found = growth(|text, found| pressure(text, "disk", found), [&texts[0], &texts[1]]);
    assert_eq!(found, [named("some waits for disk", 3.0), named("all wait for disk", 1.0)]);
}

#[test]
fn processors_count_in_milliseconds_and_levels_are_as_they_stand() {
    let before = "cpu  10 0 10 100 0 0 0 0 0 0\nctxt 5\nprocesses 7\nprocs_running 3\n";
    let after = "cpu  12 1 14 100 2 1 1 3 0 0\nctxt 9\nprocesses 8\nprocs_running 4\n";
    let expected = [
        named("cpu of programs", 30.0),
        named("cpu of the kernel", 40.0),
        named("cpu idle for disk", 20.0),
        named("cpu of interrupts", 20.0),
        named("cpu stolen", 30.0),
        named("context switches", 4.0),
        named("forks", 1.0),
        named("runnable threads", 4.0),
    ];
    assert_eq!(growth(processors, [before, after]), expected);
}

#[test]
fn waits_in_run_queues_are_summed_over_cores() {
    let text = |one, other| {
        format!("version 17\ncpu0 0 0 0 0 0 0 9 {one} 3\ndomain0 3\ncpu1 0 0 0 0 0 0 9 {other} 3\n")
    };
    let texts = [text(1_000_000, 0), text(3_000_000, 5_000_000)];
    let found = growth(run_queues, [&texts[0], &texts[1]]);
    assert_eq!(found, [named("waits in run queues", 7.0)]);
}

#[test]
fn memory_counts_pages_as_bytes_and_sums_stalls() {
    let before = "nr_dirty 1\nallocstall_dma 1\nallocstall_normal 2\npgmajfault 3\n";
    let after = "nr_dirty 2\nallocstall_dma 2\nallocstall_normal 5\npgmajfault 4\n";
    let expected = [
        named("dirty pages", 8_192.0),
        named("page faults from disk", 1.0),
        named("stalls for free pages", 4.0),
        // That it was looked at, and did not grow.
        named("pages scanned by programs", 0.0),
    ];
    assert_eq!(growth(memory, [before, after]), expected);
}

#[test]
fn the_network_is_read_by_the_names_above_the_numbers() {
    let before =
        "Tcp: InSegs RetransSegs\nTcp: 5 7\nTcpExt: DelayedACKs TCPTimeouts\nTcpExt: 1 1\n";
    let after = "Tcp: InSegs RetransSegs\nTcp: 9 8\nTcpExt: DelayedACKs TCPTimeouts\nTcpExt: 4 3\n";
    let expected = [
        named("tcp retransmissions", 1.0),
        named("tcp delayed acknowledgements", 3.0),
        named("tcp time-outs", 2.0),
    ];
    assert_eq!(growth(network, [before, after]), expected);
}

#[test]
fn packets_that_cores_could_not_take_in_are_summed_over_cores() {
    let text = |dropped: u32, squeezed: u32| {
        let rest = "00000000 00000000 00000000";
        format!(
            "06455f48 {dropped:08x} {squeezed:08x} {rest}\n\
             05d96b68 0000000a 00000025 {rest}\n"
        )
    };
    let texts = [text(9, 39), text(31, 42)];
    let found = growth(received_packets, [&texts[0], &texts[1]]);
    let expected =
        [named("packets dropped at the backlog", 22.0), named("network time squeezes", 3.0)];
    assert_eq!(found, expected);
}

/// mountstats with a mount by NFS that has read.
fn mounts(ops: u32, ms: u32) -> String {
    format!(
        "device proc mounted on /proc with fstype proc\n\
         device files:/x mounted on /home with fstype nfs4 statvers=1.1\n\
         \tper-op statistics\n\
         \t        NULL: 0 0 0 0 0 0 0 0 0\n\
         \t        READ: {ops} {ops} 0 100 100 1 2 {ms} 0\n\
         \t       WRITE: 2 2 0 100 100 1 2 10 0\n"
    )
}

#[test]
fn operations_of_nfs_are_summed_by_mount() {
    let texts = [mounts(5, 20), mounts(8, 65)];
    let found = growth(nfs, [&texts[0], &texts[1]]);
    assert_eq!(found, [named("operations on /home", 3.0), named("waits for /home", 45.0)]);
}

#[test]
fn a_mount_by_nfs_that_comes_later_is_seen_in_the_end() {
    let dir = testkit::TempDir::new().expect("a directory");
    let path = dir.path().join("mountstats");
    std::fs::write(&path, "device proc mounted on /proc with fstype proc\n").unwrap();
    let file = ReadAgain::open(path.to_str().unwrap()).unwrap();
    let mut source = MountsFile { file, unasked: 0 };
    let mut counters = SignalReadings::default();
    let mut names = Vec::new();
    for now_ns in 1..=u64::from(UNASKED) + 3 {
        counters.begin(now_ns);
        source.sample(&mut counters);
        std::fs::write(&path, mounts(5, 20)).unwrap();
        counters.grown(&mut |it| names.push(it.name.to_owned()));
    }
    assert_eq!(names, ["operations on /home", "waits for /home"]);
}

#[test]
fn this_host_has_sources_that_can_be_read_again_and_again() {
    let mut notes = Vec::new();
    let mut found = sources(&mut notes);
    assert!(found.len() >= 4, "{notes:?}");
    let mut counters = SignalReadings::default();
    for now_ns in [100, 200] {
        counters.begin(now_ns);
        found.iter_mut().for_each(|source| source.sample(&mut counters));
    }
    let mut names = Vec::new();
    counters.grown(&mut |it| names.push(it.name.to_owned()));
    assert!(names.iter().any(|name| name == "runnable threads"), "{names:?}");
    assert!(ReadAgain::open("/proc/no such file").is_err());
}
