//! An app in Python that prints its port, and is killed when it is dropped.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running app, and where it listens.
pub(crate) struct PythonApp(pub(crate) Child, pub(crate) SocketAddr);

impl PythonApp {
    /// Starts a program in `folder`, and waits for its port.
    pub(crate) fn start(folder: &Path, python: &Path, program: &str) -> Self {
        let mut command = Command::new(python);
        command.args(["-c", program]).current_dir(folder).stdout(Stdio::piped());
        let mut app = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(app.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port.trim().parse().unwrap()));
        Self(app, address)
    }
}

impl Drop for PythonApp {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
