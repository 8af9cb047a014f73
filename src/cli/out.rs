//! What a command tells on standard output: streamed, in colours where a person looks, quiet once nobody reads it.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{IsTerminal, stdout};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::fault::Fault;
use super::pipe::{self, Reader};
use crate::path;
use crate::text::unified;

/// The first screen is not held back.
const FIRST_BYTES: usize = 4 << 10;
/// Bytes that are gathered afterwards before they are written.
const BYTES: usize = 64 << 10;

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const ODD: Style = AnsiColor::Yellow.on_default();
pub(super) const ID: Style = AnsiColor::Yellow.on_default();
pub(super) const PLACE: Style = AnsiColor::Cyan.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();

/// Standard output, for one command.
pub(super) struct Out {
    buffer: Vec<u8>,
    most: usize,
    has_colours: bool,
    is_terminal: bool,
    /// How it went so far; nothing more is written once the reader is gone or writing failed.
    state: Result<Reader, Fault>,
}

/// Runs a command that says what it does; the exit code that it came to.
pub(super) fn speak(command: impl FnOnce(&mut Out) -> Result<u8, Fault>) -> Result<ExitCode, Fault> {
    let mut out = Out::new();
    let done = command(&mut out);
    out.flush();
    match (done?, out.state?) {
        (code, Reader::Listens) => Ok(ExitCode::from(code)),
        (_, Reader::Gone) => Ok(ExitCode::SUCCESS),
    }
}

impl Out {
    fn new() -> Self {
        let has_colours = anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never;
        Self {
            buffer: Vec::new(),
            most: FIRST_BYTES,
            has_colours,
            is_terminal: stdout().is_terminal(),
            state: Ok(Reader::Listens),
        }
    }

    /// Says some bytes as they are; breaks off when nobody listens any more.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        self.buffer.extend_from_slice(bytes);
        if self.is_terminal || self.buffer.len() >= self.most {
            self.flush();
        }
        if matches!(self.state, Ok(Reader::Listens)) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Says one line.
    pub(super) fn line(&mut self, line: impl Display) -> ControlFlow<()> {
        self.bytes(format!("{line}\n").as_bytes())
    }

    /// Says one object, as a line of JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) -> ControlFlow<()> {
        let line = serde_json::to_string(value).expect("what is shown has text keys and no failing parts");
        self.line(line)
    }

    /// Says the unified diff of two texts, each line behind `margin`.
    pub(super) fn hunks(&mut self, old: &str, new: &str, context: usize, margin: &str) -> ControlFlow<()> {
        for line in unified(old, new, context).split_inclusive('\n') {
            let line = line.strip_suffix('\n').unwrap_or(line);
            let style = match line.as_bytes().first() {
                Some(b'+') => GOOD,
                Some(b'-') => BAD,
                Some(b'@') => PLACE,
                _ => Style::new(),
            };
            let shown = self.shown(line);
            self.line(format_args!("{margin}{}", self.paint(style, shown)))?;
        }
        ControlFlow::Continue(())
    }

    /// Writes what is held back.
    pub(super) fn flush(&mut self) {
        if matches!(self.state, Ok(Reader::Listens)) {
            self.state = pipe::say(&self.buffer);
        }
        self.buffer.clear();
        self.most = BYTES;
    }

    /// A text in a style, where there are colours.
    pub(super) fn paint<T: Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted { style: if self.has_colours { style } else { Style::new() }, text }
    }

    /// A line of a memory: on a terminal with nothing in it that the terminal would obey.
    pub(super) fn shown<'a>(&self, line: &'a str) -> Cow<'a, str> {
        if self.is_terminal { tame(line) } else { Cow::Borrowed(line) }
    }
}

/// A text in a style.
pub(super) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style)?;
        self.text.fmt(f)?;
        write!(f, "{:#}", self.style)
    }
}

/// Shows controls and invisible characters as `\u{XXXX}`, but for tabs.
fn tame(line: &str) -> Cow<'_, str> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if !path::has_invisible(line) {
        return Cow::Borrowed(line);
    }
    let parts: Vec<_> = line.split('\t').map(path::escape).collect();
    Cow::Owned(parts.join("\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_nothing_to_obey() {
        let cases = [
            ("plain", "plain"),
            ("a\tb", "a\tb"),
            ("a\r", "a"),
            ("\u{1b}[2J\tx", "\\u{001B}[2J\tx"),
            ("a\u{202e}b", "a\\u{202E}b"),
        ];
        for (line, shown) in cases {
            assert_eq!(tame(line), shown);
        }
    }

    #[test]
    fn a_text_without_colours_is_bare() {
        let mut out = Out::new();
        out.has_colours = false;
        assert_eq!(format!("{:>4}", out.paint(BAD, "no")), "  no");
        out.has_colours = true;
        assert_eq!(format!("{:>4}", out.paint(BAD, "no")), "\u{1b}[31m  no\u{1b}[0m");
    }
}
