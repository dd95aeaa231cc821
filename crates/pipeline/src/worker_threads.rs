//! Runs many tasks on few threads: each does one step at a time and says when the next is due.
//!
//! A task that is ready goes to the back of the queue, so the ready ones take turns. One that waits
//! has an instant, or only its [`TaskWaker`], which also cuts the wait for an instant short.
//! Invariant: a task is in one place only: in the queue, among those that wait, or in one thread.
//! So no two threads ever do its steps, and a wake during a step leads to another step. A task that
//! panics is dropped, and the others go on; whoever added it learns of it by its `Drop`.
//! Idle threads sleep, and one of them keeps the time. Instants come up to [`LATENESS_MAX`] late,
//! so that one wake-up of that thread serves many tasks.
//! The threads end when the value that started them is dropped and no task is left.
//! Refuses: to bound the queue. It holds each task once, and whoever adds tasks bounds these.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// How late a step may come that is due at an instant, when the threads are idle.
const LATENESS_MAX: Duration = Duration::from_millis(5);

/// Work in steps, none of which waits for anything but the disk or, in threads for that, a sink.
pub(crate) trait Task: Send {
    /// Does the next step.
    fn step(&mut self) -> NextStep;
}

/// When a task does its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// As soon as those have had their turn that are ready.
    Ready,
    /// At an instant, or when it is woken.
    At(Instant),
    /// When it is woken.
    OnWake,
    /// Never: it is dropped.
    Ended,
}

/// Threads that share tasks.
pub(crate) struct WorkerThreads {
    shared: Arc<SharedQueue>,
}

/// Has a task do its next step at once.
#[derive(Clone)]
pub(crate) struct TaskWaker {
    shared: Arc<SharedQueue>,
    id: u64,
}

struct SharedQueue {
    queue: Mutex<TaskQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct TaskQueue {
    tasks: HashMap<u64, QueuedTask>,
    ready: VecDeque<u64>,
    timers: BTreeSet<(Instant, u64)>,
    next_id: u64,
    /// Threads that sleep.
    sleeping: usize,
    /// The instant that one of these wakes up for.
    timed: Option<Instant>,
    /// Nobody adds tasks any more.
    is_closed: bool,
}

struct QueuedTask {
    /// None while it is in a thread.
    task: Option<Box<dyn Task>>,
    place: TaskPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskPlace {
    Ready,
    /// It waits, for an instant if there is one.
    Waiting(Option<Instant>),
    InThread {
        /// It was woken since its step began.
        is_woken: bool,
    },
}

impl WorkerThreads {
    /// Starts so many threads called `name`.
    ///
    /// # Errors
    /// When the system gives no thread; those that it gave end.
    pub(crate) fn start(name: &str, count: usize) -> io::Result<Self> {
        let queue = Mutex::new(TaskQueue::default());
        let threads = Self { shared: Arc::new(SharedQueue { queue, changed: Condvar::new() }) };
        for _ in 0..count {
            let shared = Arc::clone(&threads.shared);
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || shared.work())?;
        }
        Ok(threads)
    }

    /// Adds the task that `make` makes, which is ready; `make` gets what wakes it.
    pub(crate) fn add<T: Task + 'static>(&self, make: impl FnOnce(TaskWaker) -> T) -> TaskWaker {
        let id = {
            let mut queue = self.shared.queue.lock();
            queue.next_id += 1;
            queue.next_id
        };
        let waker = TaskWaker { shared: Arc::clone(&self.shared), id };
        let task: Option<Box<dyn Task>> = Some(Box::new(make(waker.clone())));
        let mut queue = self.shared.queue.lock();
        queue.tasks.insert(id, QueuedTask { task, place: TaskPlace::Ready });
        queue.make_ready(id);
        self.shared.call_another(&queue);
        waker
    }
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl TaskWaker {
    /// Does nothing for a task that has ended.
    pub(crate) fn wake(&self) {
        let mut queue = self.shared.queue.lock();
        let Some(task) = queue.tasks.get_mut(&self.id) else { return };
        let due = match &mut task.place {
            TaskPlace::Ready => return,
            TaskPlace::InThread { is_woken } => {
                *is_woken = true;
                return;
            }
            TaskPlace::Waiting(due) => *due,
        };
        if let Some(due) = due {
            queue.timers.remove(&(due, self.id));
        }
        queue.make_ready(self.id);
        self.shared.call_another(&queue);
    }
}

impl std::fmt::Debug for TaskWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskWaker").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SharedQueue {
    /// Does steps of tasks until the queue is closed and empty.
    fn work(&self) {
        while let Some((id, mut task)) = self.next() {
            let next = catch_unwind(AssertUnwindSafe(|| task.step())).unwrap_or(NextStep::Ended);
            if next == NextStep::Ended {
                // Its message was printed; a broken task may panic once more when it is dropped.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
                self.remove(id);
            } else {
                self.queue.lock().put_back(id, task, next);
            }
        }
    }

    /// Sleeps until a task is ready, and takes it; none when there will be none.
    fn next(&self) -> Option<(u64, Box<dyn Task>)> {
        let mut queue = self.queue.lock();
        loop {
            queue.release_due(Instant::now());
            if let Some(next) = queue.take_ready() {
                if !queue.ready.is_empty() || queue.untimed().is_some() {
                    self.call_another(&queue);
                }
                return Some(next);
            }
            if queue.is_closed && queue.tasks.is_empty() {
                return None;
            }
            self.sleep(&mut queue);
        }
    }

    fn sleep(&self, queue: &mut MutexGuard<'_, TaskQueue>) {
        queue.sleeping += 1;
        match queue.untimed() {
            None => self.changed.wait(queue),
            Some(due) => {
                queue.timed = Some(due);
                self.changed.wait_until(queue, due.max(Instant::now() + LATENESS_MAX));
                if queue.timed == Some(due) {
                    queue.timed = None;
                }
            }
        }
        queue.sleeping -= 1;
    }

    /// Forgets a task that has ended.
    fn remove(&self, id: u64) {
        let mut queue = self.queue.lock();
        queue.tasks.remove(&id);
        if queue.is_closed && queue.tasks.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Wakes one thread up, if one sleeps.
    fn call_another(&self, queue: &TaskQueue) {
        if queue.sleeping > 0 {
            self.changed.notify_one();
        }
    }
}

impl TaskQueue {
    /// Readies the tasks whose instant has come.
    fn release_due(&mut self, now: Instant) {
        while let Some((due, id)) = self.timers.first().copied()
            && due <= now
        {
            self.timers.pop_first();
            self.make_ready(id);
        }
    }

    fn make_ready(&mut self, id: u64) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.place = TaskPlace::Ready;
            self.ready.push_back(id);
        }
    }

    fn take_ready(&mut self) -> Option<(u64, Box<dyn Task>)> {
        let id = self.ready.pop_front()?;
        let queued = self.tasks.get_mut(&id)?;
        queued.place = TaskPlace::InThread { is_woken: false };
        Some((id, queued.task.take()?))
    }

    fn put_back(&mut self, id: u64, task: Box<dyn Task>, next: NextStep) {
        let Some(queued) = self.tasks.get_mut(&id) else { return };
        queued.task = Some(task);
        let is_woken = queued.place == TaskPlace::InThread { is_woken: true };
        let due = match next {
            NextStep::At(due) if !is_woken => Some(due),
            NextStep::OnWake if !is_woken => None,
            _ => return self.make_ready(id),
        };
        queued.place = TaskPlace::Waiting(due);
        self.timers.extend(due.map(|due| (due, id)));
    }

    /// The next instant, if no thread wakes up for it.
    fn untimed(&self) -> Option<Instant> {
        let (due, _) = self.timers.first()?;
        self.timed.is_none_or(|timed| *due < timed).then_some(*due)
    }
}

#[cfg(test)]
mod tests;
