//! A pseudo-terminal with a program on it: keys in, the screen as text out.
//!
//! `setsid -c` of util-linux makes it the program's controlling terminal, so that the program finds
//! `/dev/tty`, hears of new sizes, and gets its signals. Dropping it ends the program.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use testkit::FIXTURE_TIMEOUT;

use crate::running::until;

pub(crate) struct PseudoTerminal {
    master: File,
    /// The program's end, kept so that its settings can be looked at.
    slave: File,
    screen: Arc<Mutex<vt100::Parser>>,
    child: Child,
}

impl PseudoTerminal {
    /// Starts a program with so many columns and rows; `prepare` may set its environment.
    pub(crate) fn start(
        arguments: &[&str],
        (columns, rows): (u16, u16),
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::NOCTTY.bits().cast_signed();
        let mut slave = OpenOptions::new();
        slave.read(true).write(true).custom_flags(flags);
        let slave = slave.open(name.to_str().unwrap()).unwrap();
        resize(&master, columns, rows);
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(arguments).env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.env_remove("LC_ALL").env_remove("LC_CTYPE").env_remove("NO_COLOR");
        command.env_remove("COLUMNS");
        prepare(&mut command);
        let end = || slave.try_clone().unwrap();
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let master = File::from(master);
        let screen =
            Arc::new(Mutex::new(vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0)));
        let (mut output, parser) = (master.try_clone().unwrap(), Arc::clone(&screen));
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut piece) {
                parser.lock().unwrap().process(&piece[..length]);
            }
        });
        Self { master, slave, screen, child }
    }

    /// What is to be seen, line by line, without the spaces at the ends.
    pub(crate) fn text(&self) -> String {
        let contents = self.screen.lock().unwrap().screen().contents();
        contents.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    /// Waits for these texts, all at once.
    pub(crate) fn wait_for(&self, wanted: &[&str]) {
        let begun = Instant::now();
        while !wanted.iter().all(|wanted| self.text().contains(wanted)) {
            let text = || self.text();
            assert!(begun.elapsed() < FIXTURE_TIMEOUT, "not {wanted:?} on the screen:\n{}", text());
            thread::yield_now();
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut parser = self.screen.lock().unwrap();
        parser.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
        drop(parser);
        resize(&self.master, columns, rows);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end, and whether the terminal is then as it was.
    pub(crate) fn end(&mut self) -> (ExitStatus, bool) {
        let mut status = None;
        until("the end of the program", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        until("the screen of before", || {
            let parser = self.screen.lock().unwrap();
            !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
        });
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        (status.unwrap(), modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG))
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn at_least_one(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn resize(master: &impl AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}
