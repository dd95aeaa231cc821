//! Follows the threads of a trace: joins halves of calls, knows descriptors, requests and children.
//!
//! On a terminal strace names no process as long as there is one. So those lines are of the process
//! that is named later without being announced as new.
//! Invariants: halves are joined by thread, and never over its end or its `execve`. A process id
//! that comes again after its end is another process. A call is on the path of a request if its
//! thread was answering one (`requests.rs`). What another thread does for it is not seen.
//! Bound: memory goes with the threads that live, and the bounds of each table.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::arguments::{self, CallTimeout, Descriptor};
use super::census::TraceCounts;
use super::family::{FamilyTotals, command_of};
use super::ledger::{CallTarget, DescriptorTable, FileLedger};
use super::line::{StraceLine, TraceEvent, TracedCall};
use super::requests::{self, OpenRequest, RequestTotals};
use super::stacks::StackTotals;
use super::syscalls::{SyscallRole, SyscallTable};
use super::waits::{TimedWait, WaitTable, two_digits};

/// Bytes of the arguments of a call that is not finished.
const ARGS_BYTES_MAX: usize = 4096;
/// A step back of the clock that is more than the order of lines.
const STEP_BACK_US: u64 = 1_000_000;
/// Announced threads that are kept.
const ATTACHED_MAX: usize = 100_000;
/// The number of a process that is not known yet.
const NAMELESS: u32 = 0;
/// Pairs of call and target on the path.
const PATHS_MAX: usize = 5000;

/// What a trace has been found to hold.
#[derive(Debug, Default)]
pub(super) struct TraceState {
    pub counts: TraceCounts,
    pub syscalls: SyscallTable,
    pub ledger: FileLedger,
    pub waits: WaitTable,
    pub requests: RequestTotals,
    pub family: FamilyTotals,
    pub stacks: StackTotals,
    /// Calls and nanoseconds within requests, by call and target.
    pub on_path: HashMap<(usize, CallTarget), (u64, u64), RandomState>,
    threads: HashMap<u32, ThreadState, RandomState>,
    tables: HashMap<u32, (DescriptorTable, u32), RandomState>,
    next_table: u32,
    /// Threads that strace has announced.
    attached: HashSet<u32, RandomState>,
    /// The process of lines that name none.
    nameless: Option<u32>,
    /// Threads whose fork has not returned.
    forking: Vec<u32>,
    last_time_us: u64,
}

/// One thread that lives.
#[derive(Debug, Default)]
struct ThreadState {
    table: u32,
    pending: Option<PendingCall>,
    request: Option<OpenRequest>,
    command: Option<String>,
    /// Where it was forked, and by whom.
    birth: Option<Birth>,
    is_thread: bool,
}

#[derive(Debug)]
struct Birth {
    time_us: u64,
    parent: String,
    is_of_request: bool,
}

/// The first half of a call.
#[derive(Debug)]
struct PendingCall {
    place: usize,
    args: Vec<u8>,
    time_us: Option<u64>,
}

/// A whole call of a thread.
#[derive(Debug, Clone, Copy)]
struct ThreadCall<'c> {
    pid: u32,
    place: usize,
    /// When it began.
    time_us: u64,
    took_ns: Option<u64>,
    call: TracedCall<'c>,
}

impl TraceState {
    /// Takes a line.
    pub(super) fn take(&mut self, line: &StraceLine<'_>) {
        let pid = self.named(line.pid);
        if let Some(time) = line.time_us {
            self.note_time(time);
        }
        let time_us = line.time_us.unwrap_or(self.last_time_us);
        match line.event {
            TraceEvent::Call(call) => {
                let place = self.syscalls.place(call.name);
                let took_ns = call.took_ns;
                self.returned(ThreadCall { pid, place, time_us, took_ns, call });
            }
            TraceEvent::Unfinished { name, args } => {
                let place = self.syscalls.place(name);
                let is_fork = self.syscalls.all[place].role == SyscallRole::Fork;
                let args = args[..args.len().min(ARGS_BYTES_MAX)].to_vec();
                let thread = self.thread(pid, time_us);
                let pending = PendingCall { place, args, time_us: line.time_us };
                let before = thread.pending.replace(pending);
                self.counts.abandoned += u64::from(before.is_some());
                if is_fork {
                    self.forking.push(pid);
                }
            }
            TraceEvent::Resumed(call) => self.resumed(pid, line.time_us, call),
            TraceEvent::Signal => self.counts.signals += 1,
            TraceEvent::Ended => self.ended(pid, time_us),
            TraceEvent::Superseded { by } => {
                // The thread that ran `execve` goes on under this number.
                self.ended(by, time_us);
            }
            TraceEvent::Frame(frame) => self.stacks.frame(frame),
            TraceEvent::Attached(pid) => {
                if self.attached.len() < ATTACHED_MAX {
                    self.attached.insert(pid);
                }
            }
            TraceEvent::Other => self.counts.unread += 1,
        }
    }

    /// The process of a line.
    fn named(&mut self, pid: Option<u32>) -> u32 {
        let Some(pid) = pid else { return self.nameless.unwrap_or(NAMELESS) };
        let is_first = self.nameless.is_none() && !self.attached.contains(&pid);
        if is_first && !self.threads.contains_key(&pid) {
            self.nameless = Some(pid);
            if let Some(state) = self.threads.remove(&NAMELESS) {
                self.threads.insert(pid, state);
            }
            let forking = self.forking.iter_mut().filter(|forking| **forking == NAMELESS);
            forking.for_each(|forking| *forking = pid);
        }
        pid
    }

    /// What is left at the end of the trace.
    pub(super) fn finish(&mut self) {
        self.stacks.flush();
        let pending = self.threads.values().filter(|thread| thread.pending.is_some()).count();
        self.counts.unfinished += pending as u64;
        let alive = std::mem::take(&mut self.threads);
        for thread in alive.into_values() {
            self.count_child(&thread, self.last_time_us);
        }
    }

    fn note_time(&mut self, time_us: u64) {
        let counts = &mut self.counts;
        if time_us + STEP_BACK_US < self.last_time_us {
            counts.steps_back += 1;
        }
        counts.first_us.get_or_insert(time_us);
        self.last_time_us = time_us;
        counts.last_us = Some(counts.last_us.unwrap_or(0).max(time_us));
    }

    fn thread(&mut self, pid: u32, time_us: u64) -> &mut ThreadState {
        if !self.threads.contains_key(&pid) {
            self.counts.threads += 1;
            // A child may be seen before its parent's fork has returned.
            let parent = self.forking.last().copied().filter(|parent| *parent != pid);
            let pending = parent.and_then(|parent| self.threads.get(&parent)?.pending.as_ref());
            let shares_files = pending.is_some_and(|call| shares_files(&call.args));
            self.begin(pid, parent, time_us, shares_files);
        }
        self.threads.get_mut(&pid).expect("it was just begun")
    }

    fn begin(&mut self, pid: u32, parent: Option<u32>, time_us: u64, shares_files: bool) {
        let (mut state, mut table) = (ThreadState::default(), None);
        if let Some(parent) = parent.and_then(|parent| self.threads.get(&parent)) {
            state.birth = Some(Birth {
                time_us,
                parent: parent.command.clone().unwrap_or_else(|| "?".to_owned()),
                is_of_request: parent.request.is_some(),
            });
            state.command = parent.command.clone();
            table = Some(parent.table);
        }
        let shared = table.filter(|_| shares_files);
        state.table = match (shared, table) {
            (Some(shared), _) => shared,
            (None, copied) => {
                let copied = copied.and_then(|table| self.tables.get(&table));
                let table = copied.map(|(table, _)| table.clone()).unwrap_or_default();
                self.next_table += 1;
                self.tables.insert(self.next_table, (table, 0));
                self.next_table
            }
        };
        state.is_thread = shares_files;
        if let Some((_, users)) = self.tables.get_mut(&state.table) {
            *users += 1;
        }
        self.threads.insert(pid, state);
    }

    fn ended(&mut self, pid: u32, time_us: u64) {
        let Some(thread) = self.threads.remove(&pid) else { return };
        self.counts.abandoned += u64::from(thread.pending.is_some());
        self.forking.retain(|parent| *parent != pid);
        if let Some((_, users)) = self.tables.get_mut(&thread.table) {
            *users -= 1;
            if *users == 0 {
                self.tables.remove(&thread.table);
            }
        }
        self.count_child(&thread, time_us);
    }

    fn count_child(&mut self, thread: &ThreadState, time_us: u64) {
        let Some(birth) = thread.birth.as_ref().filter(|_| !thread.is_thread) else { return };
        let command = thread.command.as_deref().unwrap_or("?");
        let lived = time_us.saturating_sub(birth.time_us);
        self.family.add(&birth.parent, command, lived, birth.is_of_request);
    }

    fn resumed(&mut self, pid: u32, time_us: Option<u64>, call: TracedCall<'_>) {
        let now = time_us.unwrap_or(self.last_time_us);
        let place = self.syscalls.place(call.name);
        let pending = self.thread(pid, now).pending.take();
        let Some(pending) = pending.filter(|pending| pending.place == place) else {
            // Its first half is before the trace, or of another call.
            self.counts.strays += 1;
            let took_ns = call.took_ns;
            let began = now.saturating_sub(took_ns.unwrap_or(0) / 1000);
            return self.returned(ThreadCall { pid, place, time_us: began, took_ns, call });
        };
        if self.syscalls.all[place].role == SyscallRole::Fork {
            self.forking.retain(|parent| *parent != pid);
        }
        let began = pending.time_us.unwrap_or(now);
        let between = pending.time_us.zip(time_us).map(|(from, to)| to.saturating_sub(from));
        let took_ns = call.took_ns.or(between.map(|micros| micros.saturating_mul(1000)));
        let mut args = pending.args;
        args.extend_from_slice(call.args);
        let call = TracedCall { args: &args, ..call };
        self.returned(ThreadCall { pid, place, time_us: began, took_ns, call });
    }

    /// Counts a call that has returned, and follows what it did.
    fn returned(&mut self, it: ThreadCall<'_>) {
        self.counts.calls += 1;
        let error = it.call.error();
        self.syscalls.all[it.place].add(it.took_ns, error);
        let role = self.syscalls.all[it.place].role;
        self.thread(it.pid, it.time_us);
        let target = match role {
            SyscallRole::Other => CallTarget::None,
            _ if error.is_some() && !matches!(role, SyscallRole::Wait(_)) => CallTarget::None,
            _ => self.follow(role, &it),
        };
        let is_on_path = self.threads.get(&it.pid).is_some_and(|thread| thread.request.is_some());
        let took = it.took_ns.unwrap_or(0);
        if is_on_path {
            self.syscalls.all[it.place].on_path_ns += took;
            if self.on_path.len() < PATHS_MAX || self.on_path.contains_key(&(it.place, target)) {
                let totals = self.on_path.entry((it.place, target)).or_default();
                *totals = (totals.0 + 1, totals.1 + took);
            }
            if let CallTarget::File(file) = target {
                self.ledger.files[file].on_path_s += took as f64 / 1e9;
            }
        }
        if let SyscallRole::Wait(form) = role
            && let Some(timeout) = arguments::timeout(form, it.call.args)
            && let Some(took_ns) = it.took_ns
        {
            let says_out = error == Some(b"ETIMEDOUT") || it.call.result.starts_with(b"0 (Timeout");
            let timeout_us = match timeout {
                CallTimeout::After(length) => Some(length),
                CallTimeout::At(time) => time.checked_sub(it.time_us),
                // How long one that ran out took is how long it was to take.
                CallTimeout::AtOther => says_out.then(|| two_digits(took_ns / 1000)),
            };
            if let Some(timeout_us) = timeout_us {
                let wait = TimedWait { timeout_us, took_ns, says_out, is_on_path, pid: it.pid };
                self.waits.add((it.place, &self.syscalls.all[it.place].name), wait);
            }
        }
        let name = &self.syscalls.all[it.place].name;
        self.stacks.begin(name, took, is_on_path);
        self.answered(role, &it);
    }

    /// What a call did to descriptors, files and children; returns what it waited for.
    fn follow(&mut self, role: SyscallRole, it: &ThreadCall<'_>) -> CallTarget {
        let args = it.call.args;
        match role {
            SyscallRole::Read | SyscallRole::Write => self.transferred(role, it),
            SyscallRole::Open(at) => self.opened(at, it),
            SyscallRole::Close => {
                let Some(descriptor) = arguments::descriptor(args) else { return CallTarget::None };
                let target = self.target(it.pid, descriptor);
                self.change(it.pid, |table| table.close(descriptor.number));
                target
            }
            SyscallRole::Duplicate => {
                let from = arguments::descriptor(args);
                let target = from.map_or(CallTarget::None, |from| self.target(it.pid, from));
                self.set_result(it, target);
                target
            }
            SyscallRole::Accept => {
                self.set_result(it, CallTarget::Socket);
                CallTarget::Socket
            }
            SyscallRole::Socket => {
                let target = match it.call.name {
                    b"socket" => CallTarget::Socket,
                    _ => CallTarget::Pipe,
                };
                self.set_result(it, target);
                target
            }
            SyscallRole::Sync | SyscallRole::Truncate => {
                let Some(descriptor) = arguments::descriptor(args) else { return CallTarget::None };
                let target = self.target(it.pid, descriptor);
                if let (CallTarget::File(file), SyscallRole::Sync) = (target, role) {
                    self.ledger.files[file].syncs += 1;
                }
                target
            }
            SyscallRole::Rename(from, to) => {
                let paths = [from, to].map(|at| self.path(at, args));
                for file in paths.into_iter().flatten() {
                    self.ledger.files[file].renames += 1;
                }
                paths[1].map_or(CallTarget::None, CallTarget::File)
            }
            SyscallRole::Remove(at) => {
                let Some(file) = self.path(at, args) else { return CallTarget::None };
                self.ledger.files[file].removals += 1;
                CallTarget::File(file)
            }
            SyscallRole::Fork => {
                self.forked(it);
                CallTarget::Child
            }
            SyscallRole::Execute => {
                let list = arguments::split(args, 3);
                let texts = list.get(1).map(|list| arguments::texts(list, 12)).unwrap_or_default();
                let command = match texts.is_empty() {
                    true => arguments::first_text(args).map(|path| command_of(&[path])),
                    false => Some(command_of(&texts)),
                };
                let thread = self.thread(it.pid, it.time_us);
                thread.command = command.or(thread.command.take());
                CallTarget::None
            }
            SyscallRole::Reap => CallTarget::Child,
            SyscallRole::Wait(_) => CallTarget::Timer,
            SyscallRole::Other => CallTarget::None,
        }
    }

    fn transferred(&mut self, role: SyscallRole, it: &ThreadCall<'_>) -> CallTarget {
        let Some(descriptor) = arguments::descriptor(it.call.args) else { return CallTarget::None };
        let target = self.target(it.pid, descriptor);
        let bytes = it.call.value().and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
        if let CallTarget::File(file) = target {
            let totals = &mut self.ledger.files[file];
            if role == SyscallRole::Read {
                totals.reads += 1;
                totals.bytes_read += bytes;
            } else {
                totals.writes += 1;
                totals.bytes_written += bytes;
            }
        }
        target
    }

    fn opened(&mut self, at: usize, it: &ThreadCall<'_>) -> CallTarget {
        // With `-y` the result names the file in full.
        let named = arguments::descriptor(it.call.result).and_then(|opened| opened.target);
        let file = match named {
            Some(path) => Some(self.ledger.place(path)),
            None => self.path(at, it.call.args),
        };
        let Some(file) = file else { return CallTarget::None };
        self.ledger.files[file].opens += 1;
        self.set_result(it, CallTarget::File(file));
        CallTarget::File(file)
    }

    fn path(&mut self, at: usize, args: &[u8]) -> Option<usize> {
        let parts = arguments::split(args, at + 2);
        let path = arguments::first_text(parts.get(at)?)?;
        Some(match path.contains(&b'\\') {
            true => self.ledger.place(&arguments::unescaped(path)),
            false => self.ledger.place(path),
        })
    }

    fn target(&mut self, pid: u32, descriptor: Descriptor<'_>) -> CallTarget {
        if let Some(text) = descriptor.target {
            return self.ledger.target(text);
        }
        let table = self.threads.get(&pid).and_then(|thread| self.tables.get(&thread.table));
        table.and_then(|(table, _)| table.get(descriptor.number)).unwrap_or(CallTarget::None)
    }

    fn change(&mut self, pid: u32, change: impl FnOnce(&mut DescriptorTable)) {
        let table = self.threads.get(&pid).map(|thread| thread.table);
        if let Some((table, _)) = table.and_then(|table| self.tables.get_mut(&table)) {
            change(table);
        }
    }

    /// The descriptor that a call returned stands for a target.
    fn set_result(&mut self, it: &ThreadCall<'_>, target: CallTarget) {
        if let Some(descriptor) = arguments::descriptor(it.call.result) {
            self.change(it.pid, |table| table.set(descriptor.number, target));
        }
    }

    fn forked(&mut self, it: &ThreadCall<'_>) {
        let child = it.call.value().and_then(|child| u32::try_from(child).ok());
        let Some(child) = child.filter(|child| *child > 0) else { return };
        // It may have been seen before this line.
        if !self.threads.contains_key(&child) {
            self.counts.threads += 1;
            self.begin(child, Some(it.pid), it.time_us, shares_files(it.call.args));
        }
    }

    /// Begins and ends requests.
    fn answered(&mut self, role: SyscallRole, it: &ThreadCall<'_>) {
        let end_us = it.time_us + it.took_ns.unwrap_or(0) / 1000;
        let Some(thread) = self.threads.get_mut(&it.pid) else { return };
        match role {
            SyscallRole::Read => {
                if requests::begins(it.call.args) {
                    thread.request = Some(OpenRequest { begin_us: end_us });
                }
                if thread.request.is_some() {
                    let bytes = it.call.value().and_then(|value| u64::try_from(value).ok());
                    self.requests.note_bytes(it.call.args, bytes.unwrap_or(0));
                }
            }
            SyscallRole::Write if thread.request.is_some() && requests::answers(it.call.args) => {
                let begin_us = thread.request.take().map_or(end_us, |request| request.begin_us);
                self.requests.add(end_us.saturating_sub(begin_us));
            }
            _ => {}
        }
    }
}

/// Whether a fork makes a thread, which has its descriptors from its process.
fn shares_files(args: &[u8]) -> bool {
    memchr::memmem::find(args, b"CLONE_FILES").is_some()
}
