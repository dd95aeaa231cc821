//! Takes the terminal for a full-screen tool, reads its keys, and gives it back.
//!
//! Drawing goes to stdout. Keys come from stdin where that is a terminal, else from `/dev/tty`, so
//! a tool may read its data from a pipe.
//! Invariants: the terminal is as it was when [`Terminal`] is dropped, and before a panic of any
//! thread is printed. After such a panic nothing is drawn any more. Signals are the caller's: it
//! drops the terminal when one has come. Ctrl-C is a key here, [`Key::Interrupt`]. What is pasted
//! comes as one text, so that no paste presses keys.
//! After a hang-up every call here is an error. A tool that has not given the terminal back 5 s
//! later is ended, with exit code 1.
//! Bound: `COPY_BYTES_MAX` of a text go to the clipboard.
//! Refuses: a stdout that is no terminal.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue, terminal};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::changes;
use crate::pane::Pane;
use crate::style::Style;

/// Terminals refuse longer texts for their clipboard.
const COPY_BYTES_MAX: usize = 74_994;

/// What is gathered before it is written.
const FRAME_BYTES: usize = 64 << 10;

/// How long a tool has after a hang-up to end by itself.
const HANG_UP_GRACE: Duration = Duration::from_secs(5);

/// Whether the terminal is ours.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A letter, a digit, a sign.
    Char(char),
    /// Return.
    Enter,
    /// Esc.
    Escape,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// The key that deletes to the left.
    Backspace,
    /// The key that deletes to the right.
    Delete,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-U.
    EraseLine,
}

/// What comes from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resized(u16, u16),
}

/// The terminal, taken.
#[derive(Debug)]
pub struct Terminal {
    out: BufWriter<Stdout>,
    /// Where keys come from.
    keys: OwnedFd,
    /// What is to be seen.
    shown: Buffer,
    /// What is drawn on.
    next: Buffer,
}

impl Terminal {
    /// Takes the terminal: raw mode, the alternate screen, no cursor.
    ///
    /// # Errors
    /// When stdout is no terminal, or none answers.
    pub fn take() -> io::Result<Self> {
        if !io::stdout().is_terminal() {
            return Err(io::Error::other("stdout is no terminal"));
        }
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |about| {
                give_back();
                before(about);
            }));
        });
        let keys = keys()?;
        let watched = keys.try_clone()?;
        thread::Builder::new().name("hang-up".to_owned()).spawn(|| end_after_hang_up(watched))?;
        terminal::enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken =
            execute!(io::stdout(), EnterAlternateScreen, event::EnableBracketedPaste, cursor::Hide);
        taken.inspect_err(|_| give_back())?;
        // A buffer, so that a screen is written at once, and not line by line.
        let out = BufWriter::with_capacity(FRAME_BYTES, io::stdout());
        Ok(Self { out, keys, shown: Buffer::default(), next: Buffer::default() })
    }

    /// Draws, by a function of the whole screen; only what has changed is written.
    ///
    /// # Errors
    /// When the terminal cannot be written to, or was given back by a panic.
    pub fn draw(&mut self, style: Style, draw: impl FnOnce(&mut Pane<'_>)) -> io::Result<()> {
        if !IS_TAKEN.load(Ordering::SeqCst) {
            return Err(io::Error::other("the terminal was given back"));
        }
        let (columns, rows) = terminal::size()?;
        let area = Rect::new(0, 0, columns, rows);
        if area != self.shown.area {
            self.shown = Buffer::empty(area);
            self.next = Buffer::empty(area);
            queue!(self.out, Clear(ClearType::All))?;
        }
        self.next.reset();
        draw(&mut Pane::new(&mut self.next, area, style));
        changes::write(&mut self.out, &self.shown, &self.next)?;
        self.out.flush()?;
        std::mem::swap(&mut self.shown, &mut self.next);
        Ok(())
    }

    /// Returns columns and rows.
    ///
    /// # Errors
    /// When the terminal does not say.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        terminal::size()
    }

    /// Waits for an input, at most `timeout`.
    ///
    /// # Errors
    /// When the terminal cannot be read, as after a hang-up.
    pub fn input(&mut self, timeout: Duration) -> io::Result<Option<Input>> {
        // What crossterm has read already comes first, so both waits are needed.
        for timeout in [Duration::ZERO, timeout] {
            self.wait(timeout)?;
            if event::poll(Duration::ZERO)? {
                return self.read();
            }
        }
        Ok(None)
    }

    /// Waits for bytes from the terminal, or a signal. Never is crossterm asked to wait: it reads
    /// the end of a terminal that has gone again and again.
    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let mut looked_at = [PollFd::new(&self.keys, PollFlags::IN)];
        match poll(&mut looked_at, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if looked_at[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal has hung up"));
        }
        Ok(())
    }

    fn read(&self) -> io::Result<Option<Input>> {
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key).map(Input::Key),
            Event::Paste(text) => Some(Input::Paste(text)),
            Event::Resize(columns, rows) => Some(Input::Resized(columns, rows)),
            _ => None,
        })
    }

    /// Asks the terminal to put a text into its clipboard (OSC 52), and returns whether it was
    /// short enough. Many terminals refuse, and say nothing.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn copy(&mut self, text: &str) -> io::Result<bool> {
        if text.len() > COPY_BYTES_MAX {
            return Ok(false);
        }
        let mut out = io::stdout();
        write!(out, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text))?;
        out.flush()?;
        Ok(true)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Where keys come from.
fn keys() -> io::Result<OwnedFd> {
    match io::stdin().is_terminal() {
        true => io::stdin().as_fd().try_clone_to_owned(),
        false => Ok(File::open("/dev/tty")?.into()),
    }
}

/// Ends the process some seconds after a hang-up, unless the terminal was given back.
///
/// Who draws sees the hang-up first, and ends in order. But a hang-up between that look and
/// crossterm's makes crossterm read the end of the terminal for ever, with a core of its own.
#[expect(clippy::exit, reason = "the thread that would end in order does not come back")]
fn end_after_hang_up(keys: OwnedFd) {
    let mut looked_at = [PollFd::new(&keys, PollFlags::empty())];
    while let Err(Errno::INTR) = poll(&mut looked_at, None) {}
    thread::sleep(HANG_UP_GRACE);
    if IS_TAKEN.load(Ordering::SeqCst) {
        std::process::exit(1);
    }
}

/// Undoes [`Terminal::take`], once.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone needs nothing undone.
    let _ =
        execute!(io::stdout(), event::DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Some(Key::Interrupt),
            KeyCode::Char('u') => Some(Key::EraseLine),
            _ => None,
        };
    }
    Some(match event.code {
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
