//! Takes the directory of a pool: its sockets, the Python side in one file, the lock and the leash.
//!
//! The leash is a pipe that only this process holds open for writing. When it dies, the kernel
//! signals the Python processes that read it (Linux only).
//! While another process holds the directory, such as the one before this, that has to drain, the
//! directory beside it is taken (`DIR.next`). So a successor need not wait.
//! Invariant: whoever holds the lock (flock(2)) is the only supervisor in the directory. So what an
//! earlier one left is cleared away, and at the end what the pool itself left: `*.sock` files, and
//! processes of this user. Such a process is known by `TIDEGATE_CONTROL` in its environment, which
//! must name this directory's control socket letter for letter. Without `/proc` none is found.
//! Python knows the names `leash` (`control.py`), `output.sock` and `wNUMBER.sock` (`pool.py`).
//! `python/tests/conftest.py` plays the supervisor with names of its own, so its tests notice no
//! change here. `output.rs` looks for `tidegate.pyz` in crash dumps; `build.rs` packs it. A longer
//! name of a socket also changes `LONGEST_NAME`, which bounds the paths that `config.rs` admits.
//! Refuses: process numbers from files; processes of other pools, whose sockets have other paths.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
#[cfg(target_os = "linux")]
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::process::{Pid, Signal};

use crate::error::WorkersError;
use crate::plan::Plan;

/// Bytes of a path in `sockaddr_un`, with its zero byte (unix(7)).
const SOCKET_PATH_BYTES: usize = if cfg!(target_os = "linux") { 108 } else { 104 };
/// The longest name of a socket in the directory.
const LONGEST_NAME: &str = "w18446744073709551615.sock";
/// What is added to the name of a directory that another process holds.
const NEXT: &str = ".next";
/// Bytes of the longest path of a directory.
pub(crate) const DIR_BYTES_MAX: usize = SOCKET_PATH_BYTES - 2 - LONGEST_NAME.len() - NEXT.len();
/// The environment variable that names the control socket.
pub(crate) const CONTROL: &str = "TIDEGATE_CONTROL";
/// What Python runs, made by the build script.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tidegate.pyz"));

/// A directory that is ours.
#[derive(Debug)]
pub(crate) struct PoolDir {
    path: PathBuf,
    _lock: File,
    /// Kept open for writing, never written: when we are gone the kernel tells its readers.
    _leash: Option<OwnedFd>,
}

/// What listens in it.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// Python processes connect here to be told what to do.
    pub control: UnixListener,
    /// Workers write what they print here.
    pub output: UnixListener,
}

impl PoolDir {
    /// Makes the directory and takes it, clears away what an earlier process left, and listens.
    ///
    /// # Errors
    /// When it cannot be written, it and the one beside it are others', or its path is too long for
    /// sockets.
    pub(crate) fn take(plan: &Plan) -> Result<(Self, Listeners), WorkersError> {
        let first = plan.dir.clone();
        let bytes = first.as_os_str().as_bytes().len();
        if bytes > DIR_BYTES_MAX {
            let (pool, max) = (plan.name.clone(), DIR_BYTES_MAX);
            return Err(WorkersError::PathTooLong { pool, dir: first, bytes, max });
        }
        let failed = |operation: &'static str, path: PathBuf| {
            let pool = plan.name.clone();
            move |source| WorkersError::Dir { pool, operation, path, source }
        };
        let mut next = first.clone().into_os_string();
        next.push(NEXT);
        let mut taken = None;
        for path in [first.clone(), next.into()] {
            make(&path).map_err(failed("make the directory", path.clone()))?;
            let lock = lock(&path).map_err(failed("lock", path.join("lock")))?;
            taken = lock.map(|lock| (path, lock));
            if taken.is_some() {
                break;
            }
        }
        let Some((path, lock)) = taken else {
            return Err(WorkersError::InUse { pool: plan.name.clone(), dir: first });
        };
        let mut dir = Self { path: path.clone(), _lock: lock, _leash: None };
        dir.clear().map_err(failed("clear the directory", path.clone()))?;
        dir._leash = leash(&path.join("leash")).map_err(failed("make", path.join("leash")))?;
        dir.write_program().map_err(failed("write", dir.program()))?;
        let listen = |socket: PathBuf| {
            let listener = UnixListener::bind(&socket);
            listener
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                .map_err(failed("listen on", socket))
        };
        let control = listen(dir.control())?;
        let output = listen(path.join("output.sock"))?;
        Ok((dir, Listeners { control, output }))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The socket of control connections.
    pub(crate) fn control(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// What Python runs.
    pub(crate) fn program(&self) -> PathBuf {
        self.path.join("tidegate.pyz")
    }

    /// Removes the socket of a worker that has ended.
    pub(crate) fn forget(&self, socket: &Path) {
        if socket.parent() == Some(&self.path) {
            // It may have removed it itself.
            let _ = std::fs::remove_file(socket);
        }
    }

    /// Removes sockets, and kills processes that still have our control socket in their
    /// environment: they hang, and did not notice the end of their supervisor.
    pub(crate) fn clear(&self) -> io::Result<()> {
        let ended = end_left_over(&self.control());
        if ended > 0 {
            tracing::warn!(dir = %self.path.display(), ended, "killed left-over processes");
        }
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == "sock") {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn write_program(&self) -> io::Result<()> {
        let fresh = self.path.join("tidegate.pyz.new");
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(PROGRAM)?;
        drop(file);
        std::fs::rename(fresh, self.program())
    }
}

fn make(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            std::fs::set_permissions(path, Permissions::from_mode(0o700))
        }
        made => made,
    }
}

/// Makes the pipe whose only writer we are; none where the system cannot signal its readers.
#[cfg(target_os = "linux")]
fn leash(path: &Path) -> io::Result<Option<OwnedFd>> {
    match rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    // Opened for both, for there is no reader yet (fifo(7)).
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(Some(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(target_os = "linux"))]
fn leash(_path: &Path) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

/// Returns the lock's file; none when another holds it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    let file =
        options.write(true).create(true).truncate(false).mode(0o600).open(path.join("lock"))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Kills the processes whose environment names this control socket; returns how many.
fn end_left_over(control: &Path) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let mut wanted = format!("{CONTROL}=").into_bytes();
    wanted.extend_from_slice(control.as_os_str().as_bytes());
    let our_id = std::process::id();
    let numbers = processes.flatten().filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|pid| *pid != our_id && end_if_left_over(*pid, &wanted)).count()
}

fn end_if_left_over(number: u32, wanted: &[u8]) -> bool {
    let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { return false };
    // Other users' processes do not show their environment.
    let is_ours = || {
        let environment = std::fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
    };
    is_ours() && rustix::process::kill_process(pid, Signal::KILL).is_ok()
}
