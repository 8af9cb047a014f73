//! `memdir grep`: lines that match.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::fault::{FAILED, Fault};
use super::out::{self, Out};
use super::paths::no_file;
use super::place::{Common, Missing, Opened};
use super::walk::{Next, Stop, walk};
use crate::id::VersionId;
use crate::path::{self, MemoryPath};
use crate::store::{Found, Look};
use crate::text::{How, Line, Pattern};
use crate::version::{Log, Version};

#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Args {
    /// What to look for: this very text, unless --regex says otherwise
    pattern: String,
    /// A directory or a file, with --history also a deleted one [default: all memories]
    path: Option<String>,
    /// PATTERN is a regular expression
    #[arg(short = 'E', long)]
    regex: bool,
    /// Upper and lower case are the same
    #[arg(short, long)]
    ignore_case: bool,
    /// Search the contents of all versions, newest first, also of what is deleted
    #[arg(long)]
    history: bool,
    /// Show only the paths of the files that match; with --history the ids of the versions
    #[arg(short = 'l', long, conflicts_with_all = ["context", "after_context", "before_context"])]
    files_with_matches: bool,
    /// Show N lines around each match, too
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<usize>,
    /// Show N lines after each match, too
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<usize>,
    /// Show N lines before each match, too
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<usize>,
    #[command(flatten)]
    common: Common,
}

struct Search<'a> {
    args: &'a Args,
    pattern: Pattern,
    /// Lines before and after a match.
    around: (usize, usize),
    has_found: bool,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let how = How { is_regex: args.regex, ignores_case: args.ignore_case };
    let pattern = Pattern::new(&args.pattern, how).map_err(|error| {
        Fault::usage(format!("`{}`: {error}", args.pattern))
            .hint("without --regex the text is taken as it is")
    })?;
    let both = args.context.unwrap_or(0);
    let around = (args.before_context.unwrap_or(both), args.after_context.unwrap_or(both));
    let opened = args.common.open(Missing::Refuse)?;
    let path = opened.path_or_root(args.path.as_deref())?;
    let mut search = Search { args, pattern, around, has_found: false };
    if args.history {
        opened.take_in(&path);
        let log = Log { path: Some(path), ..Log::default() };
        opened.store.history()?.contents(&log, |version, bytes| Ok(search.version(&version, bytes, out)))?;
        opened.warn();
        return Ok(if search.has_found { 0 } else { FAILED });
    }
    match opened.store.look(&path)? {
        Look::File { .. } => _ = search.file(&opened, &path, out),
        Look::Directory => {
            _ = walk(&opened.store, &path, &mut |Stop { path, entry, .. }| {
                Ok(if entry.is_dir { Next::Into } else { search.file(&opened, &path, out) })
            })?;
        }
        Look::Missing if path.is_root() => {}
        look => return Err(no_file(&path, look)),
    }
    opened.warn();
    Ok(if search.has_found { 0 } else { FAILED })
}

impl Search<'_> {
    /// Looks through one file. What cannot be read is passed over with a warning; what is no text, or gone, without.
    fn file(&mut self, opened: &Opened, path: &MemoryPath, out: &mut Out) -> Next {
        let bytes = match opened.store.read(path) {
            Ok(Found::File(bytes)) => bytes,
            Ok(Found::Not(_)) => return Next::Over,
            Err(error) => {
                Fault::from(error).and(format_args!("{path} was passed over")).warn();
                return Next::Over;
            }
        };
        if self.text(None, path, &bytes, out).is_break() { Next::Home } else { Next::Over }
    }

    /// Looks through a version that held these bytes.
    fn version(&mut self, version: &Version, bytes: &[u8], out: &mut Out) -> ControlFlow<()> {
        // What has bytes has a path: a redaction takes both.
        let Some(path) = &version.path else { return ControlFlow::Continue(()) };
        self.text(Some(version.id), path, bytes, out)
    }

    fn text(
        &mut self,
        version: Option<VersionId>,
        path: &MemoryPath,
        bytes: &[u8],
        out: &mut Out,
    ) -> ControlFlow<()> {
        let Ok(text) = str::from_utf8(bytes) else { return ControlFlow::Continue(()) };
        let lines = self.pattern.lines(text, self.around);
        if lines.is_empty() {
            return ControlFlow::Continue(());
        }
        let is_first = !std::mem::replace(&mut self.has_found, true);
        match (self.args.files_with_matches, self.args.common.json) {
            (true, true) => out.json(&object(version, path)),
            (true, false) => match version {
                Some(version) => out.line(out.paint(out::ID, version)),
                None => out.line(out.paint(out::PLACE, path::escape(&path.to_string()))),
            },
            (false, true) => lines.iter().try_for_each(|line| out.json(&line_object(version, path, line))),
            (false, false) => self.say(version, path, &lines, is_first, out),
        }
    }

    /// Says the lines as grep does: `:` after the number of a match, `-` after that of a line around it, `--` where some
    /// are left out.
    fn say(
        &self,
        version: Option<VersionId>,
        path: &MemoryPath,
        lines: &[Line],
        is_first: bool,
        out: &mut Out,
    ) -> ControlFlow<()> {
        let shown = path.to_string();
        let shown = path::escape(&shown);
        let id = version.map(|id| format!("{}:", out.paint(out::ID, id))).unwrap_or_default();
        let mut before = None;
        for line in lines {
            let is_apart = before.map_or(!is_first, |before| line.number != before + 1);
            if self.around != (0, 0) && is_apart {
                out.line(out.paint(out::FAINT, "--"))?;
            }
            before = Some(line.number);
            let sign = if line.matches.is_empty() { '-' } else { ':' };
            let place = out.paint(out::PLACE, &shown);
            let number = out.paint(out::GOOD, line.number);
            out.line(format_args!("{id}{place}{sign}{number}{sign}{}", marked(line, out)))?;
        }
        ControlFlow::Continue(())
    }
}

/// The text of a line, what matches standing out.
fn marked(line: &Line, out: &Out) -> String {
    let mut text = String::with_capacity(line.text.len());
    let mut from = 0;
    for found in &line.matches {
        text.push_str(&out.shown(&line.text[from..found.start]));
        let _ = write!(text, "{}", out.paint(out::BAD.bold(), out.shown(&line.text[found.clone()]))); // a String takes it
        from = found.end;
    }
    text.push_str(&out.shown(&line.text[from..]));
    text
}

/// What matches: a file, or a version of one.
fn object(version: Option<VersionId>, path: &MemoryPath) -> Value {
    let mut object = json!({});
    if let Some(version) = version {
        object["version_id"] = version.to_string().into();
    }
    object["path"] = path.to_string().into();
    object
}

fn line_object(version: Option<VersionId>, path: &MemoryPath, line: &Line) -> Value {
    let matches: Vec<_> = line.matches.iter().map(|found| json!([found.start, found.end])).collect();
    let mut object = object(version, path);
    object["line_number"] = line.number.into();
    object["text"] = line.text.clone().into();
    object["is_match"] = (!matches.is_empty()).into();
    object["matches"] = matches.into();
    object
}
