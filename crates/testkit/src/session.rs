//! A database's own client program that stays, for tests that ask often.
//!
//! Invariant: an answer is whole, or there is none. Refuses: to reconnect. A server that was killed
//! ends the session, and the test begins the next one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What the client is told to print behind every answer.
const END: &str = "--end--";

/// A client that is connected.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What the client prints between two columns.
    between: char,
}

impl Session {
    pub(crate) fn start(mut client: Command, between: char) -> Session {
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = client.spawn().expect("the client starts");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Session { child, input, output, between }
    }

    /// Runs one statement; returns a line for each row, `|` between columns. Nothing when the
    /// statement failed or the server is gone: the session is over then.
    pub fn ask(&mut self, sql: &str) -> Option<String> {
        let asked = writeln!(self.input, "{sql};\nSELECT '{END}';");
        asked.and_then(|()| self.input.flush()).ok()?;
        let mut answer = String::new();
        loop {
            let start = answer.len();
            if !matches!(self.output.read_line(&mut answer), Ok(1..)) {
                return None;
            }
            if answer[start..].trim_end() == END {
                answer.truncate(start);
                return Some(answer.trim_end().replace(self.between, "|"));
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
