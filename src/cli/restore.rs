//! `memdir restore`: undo.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::busy::Busy;
use super::fault::Fault;
use super::out::{self, Out};
use super::place::{Common, Missing, Opened};
use super::words::many;
use super::{ids, when};
use crate::id::{ChangeId, VersionId};
use crate::path;
use crate::path::MemoryPath;
use crate::store::{Others, Restoration, Restore, Restored, Unmerged};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("state").required(true))]
pub(super) struct Args {
    /// A file, or with --before also a directory [default: all memories]
    path: Option<String>,
    /// Put back the content of this version
    #[arg(long, value_name = "VERSION", value_parser = ids::version, group = "state", requires = "path")]
    to: Option<VersionId>,
    /// Put back what was there before this time; what was made later is removed
    #[arg(long, value_name = "TIME", value_parser = when::moment, group = "state")]
    before: Option<DateTime<Utc>>,
    /// Undo what this change did; what came after it stays
    #[arg(long, value_name = "CHANGE", value_parser = ids::change, group = "state", conflicts_with = "path")]
    change: Option<ChangeId>,
    /// Replace other memories that are in the way; they stay in the history
    #[arg(long)]
    overwrite: bool,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    if args.before.is_some_and(|time| time > Utc::now()) {
        return Err(
            Fault::usage("the time of --before is still to come").hint("nothing was changed after it")
        );
    }
    let mut opened = args.common.open(Missing::Refuse)?;
    if let Some(reason) = &args.reason {
        opened.store = opened.store.with_reason(reason);
    }
    let path = opened.path_or_root(args.path.as_deref())?;
    let what = match (args.to, args.before, args.change) {
        (Some(version), _, _) => Restore::Version { path, version },
        (_, Some(time), _) => Restore::Before { path, time },
        (_, _, Some(change)) => Restore::Change(change),
        (None, None, None) => return Err(Fault::usage("say what to restore: --to, --before or --change")),
    };
    let others = if args.overwrite { Others::Overwrite } else { Others::Keep };
    let busy = Busy::with("restoring");
    let done = if args.dry_run {
        opened.store.preview_restore(&what, others)?
    } else {
        opened.store.restore(&what, others)?
    };
    drop(busy);
    opened.warn();
    if args.common.json {
        _ = out.json(&object(&done, args.dry_run));
    } else {
        tell(&opened, &done, args, out);
    }
    Ok(0)
}

fn tell(opened: &Opened, done: &Restoration, args: &Args, out: &mut Out) {
    if done.memories.is_empty() {
        _ = out.line(if args.change.is_some() {
            "Nothing to do: nothing is left of what that change did."
        } else {
            "Nothing to do: it is as it was then."
        });
        return;
    }
    let taken = taken(done);
    for memory in &done.memories {
        if line(memory, Action::of(memory, &taken), out).is_break() {
            return;
        }
    }
    if args.dry_run {
        _ = out.line("Nothing was changed yet: that is what would be done.");
    } else if let Some(change) = done.change_id {
        let id = out.paint(out::ID, change);
        _ = out.line(format_args!(
            "It is the change {id}; to undo it: memdir restore{} --change {change}",
            opened.options
        ));
    }
}

/// What became of a memory, in a word.
#[derive(Clone, Copy)]
enum Action {
    Restored,
    Moved,
    PutBack,
    Removed,
    /// Another one is where it was.
    Replaced,
}

impl Action {
    fn of(memory: &Restored, taken: &HashSet<&MemoryPath>) -> Self {
        match (&memory.from, &memory.to) {
            (Some(from), None) if taken.contains(from) => Self::Replaced,
            (_, None) => Self::Removed,
            (None, Some(_)) => Self::PutBack,
            (Some(from), Some(to)) if from != to => Self::Moved,
            _ => Self::Restored,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Moved => "moved",
            Self::PutBack => "put_back",
            Self::Removed => "removed",
            Self::Replaced => "replaced",
        }
    }
}

/// Where memories are now that the restore put there.
fn taken(done: &Restoration) -> HashSet<&MemoryPath> {
    done.memories.iter().filter_map(|memory| memory.to.as_ref()).collect()
}

fn line(memory: &Restored, action: Action, out: &mut Out) -> std::ops::ControlFlow<()> {
    let shown = |path: &MemoryPath| path::escape(&path.to_string()).into_owned();
    let mut place = match (&memory.from, &memory.to) {
        (Some(from), Some(to)) if from != to => format!("{} → {}", shown(from), shown(to)),
        (from, to) => to.as_ref().or(from.as_ref()).map_or_else(String::new, shown),
    };
    if let Some(version) = memory.version {
        place = format!("{place}  {}", out.paint(out::ID, version));
    }
    let why = match memory.unmerged {
        None => "",
        Some(Unmerged::SameLines) => ": they changed the same lines",
        Some(Unmerged::NotText) => ": it is not text, or too large to be merged",
    };
    let (is_kept, style) = (memory.kept > 0, if memory.to.is_some() { out::GOOD } else { out::BAD });
    let others = match memory.undone {
        _ if is_kept && memory.kept == 1 => "  (its later version stays)".to_owned(),
        _ if is_kept => format!("  (its {} stay)", many(memory.kept, "later version")),
        0 => String::new(),
        undone => format!("  ({} undone{why})", many(undone, "later version")),
    };
    let word = action.word().replace('_', " ");
    out.line(format_args!("{:<8}  {place}{others}", out.paint(style, word)))
}

fn object(done: &Restoration, is_preview: bool) -> Value {
    let taken = taken(done);
    let memory = |memory: &Restored| {
        json!({
            "action": Action::of(memory, &taken).word(),
            "from": memory.from.as_ref().map(ToString::to_string),
            "to": memory.to.as_ref().map(ToString::to_string),
            "version_id": memory.version.map(|id| id.to_string()),
            "undone": memory.undone,
            "kept": memory.kept,
        })
    };
    json!({
        "is_dry_run": is_preview,
        "change_id": done.change_id.map(|id| id.to_string()),
        "memories": done.memories.iter().map(memory).collect::<Vec<_>>(),
    })
}
