//! `memdir init`: makes a store.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use super::fault::Fault;
use super::out::Out;
use super::place::{Common, Missing, Opened};
use crate::error::Error;

/// The settings that a new store gets: all of them, at their defaults, and none in force.
const SETTINGS: &str = include_str!("init.toml");

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory that becomes the store [default: $MEMDIR_DIR, else ./memory]
    #[arg(id = "place", value_name = "DIR", conflicts_with_all = ["dir", "home"])]
    dir: Option<Utf8PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let Args { dir, common } = args;
    if dir.as_ref().is_some_and(|dir| dir.as_str().is_empty()) {
        return Err(Fault::usage("the directory's name is empty"));
    }
    let found = common.open_here(dir.as_deref(), Missing::Refuse)?;
    let is_new = found.is_none();
    let opened = match found {
        Some(opened) => opened,
        None => common
            .open_here(dir.as_deref(), Missing::Make)?
            .ok_or_else(|| Fault::failed("the store is gone again"))?,
    };
    // An empty change makes the journal, and finds out whether one can be kept here.
    opened.store.change(|_| Ok::<_, Error>((Vec::new(), ())))?;
    if is_new {
        write_settings(&opened.base)?;
    }
    tell(&opened, dir.as_deref(), is_new, common, out);
    Ok(0)
}

fn tell(opened: &Opened, dir: Option<&Utf8Path>, is_new: bool, common: &Common, out: &mut Out) {
    let base = &opened.base;
    if common.json {
        let said =
            json!({"base": base.as_str(), "memories": base.join("memories").as_str(), "is_new": is_new});
        _ = out.json(&said);
        return;
    }
    if !is_new {
        _ = out.line(format_args!("There is a memory store in `{base}` already."));
        return;
    }
    let options = match dir {
        Some(dir) => format!(" --dir {}", super::place::quoted(dir.as_str())),
        None => opened.options.clone(),
    };
    _ = out.line(format_args!("Made a memory store in `{base}`."));
    _ = out.line(format_args!(
        "\nThe files are in {}; settings, if you want any, in {}.",
        base.join("memories"),
        base.join("memdir.toml")
    ));
    _ = out.line("\nTo go on:");
    let steps = [
        ("edit notes.md", "write something yourself"),
        ("call < calls.jsonl", "let an agent work with it"),
        ("tree", "see what is there"),
        ("log", "see who changed what"),
    ];
    for (step, what) in steps {
        let (name, rest) = step.split_once(' ').unwrap_or((step, ""));
        let command = format!("memdir {name}{options} {rest}");
        _ = out.line(format_args!("  {:<40}  # {what}", command.trim_end()));
    }
}

/// Writes the commented settings, unless there is a file already.
fn write_settings(base: &Utf8Path) -> Result<(), Fault> {
    let path = base.join("memdir.toml");
    #[allow(clippy::disallowed_methods, reason = "it is the person's file, beside the memories")]
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match file.and_then(|mut file| file.write_all(SETTINGS.as_bytes())) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Fault::failed(format!("cannot write `{path}`: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Settings;

    #[test]
    fn the_settings_of_a_new_store_are_the_defaults() {
        assert_eq!(Settings::parse(SETTINGS).unwrap(), Settings::default());
        let in_force: Vec<_> =
            SETTINGS.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect();
        assert_eq!(Settings::parse(&in_force.join("\n")).unwrap(), Settings::default());
        assert_eq!(SETTINGS.lines().filter(|line| line.starts_with("#: ")).count(), 21);
    }
}
