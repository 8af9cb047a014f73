//! Which store a command is about.

use std::cell::RefCell;
use std::env;
use std::io::{ErrorKind, IsTerminal, stderr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::fault::{Fault, complain};
use super::paths::{Whereabouts, flat};
use super::variable;
use crate::error::Error;
use crate::path::MemoryPath;
#[cfg(feature = "search")]
use crate::store::Settings;
use crate::store::{Actor, Store, Warned};

/// The store when nothing names one.
const DEFAULT: &str = "memory";
/// The directory that a store is told by.
const ROOM: &str = ".memdir";
/// As many files are looked at before the first line of the history is shown.
const QUICK_FILES: u64 = 2000;

/// What all commands for people take.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    #[command(flatten)]
    place: Place,
    /// Print JSON: one object, or one object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// A store that a person's command works on.
pub(super) struct Opened {
    pub(super) store: Store,
    /// The base directory, as it was named.
    pub(super) base: Utf8PathBuf,
    /// What names the store in a command that the person is told to run: nothing, or options with a space before them.
    pub(super) options: String,
    here: PathBuf,
    /// What was told already, so that it is told once.
    told: RefCell<Option<Fault>>,
}

/// Whether a missing store is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Refuse,
}

/// The options that name a store.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// The store: the directory that holds `memories/` [default: see `memdir --help`]
    #[arg(long, value_name = "BASE", value_parser = directory, conflicts_with = "home")]
    dir: Option<Utf8PathBuf>,
    /// A directory of many stores; --store names one of them
    #[arg(long, value_name = "HOME", value_parser = directory, requires = "store")]
    home: Option<Utf8PathBuf>,
    /// The store HOME/stores/NAME
    #[arg(long, value_name = "NAME", value_parser = store_name, requires = "home")]
    store: Option<String>,
}

impl Common {
    /// Opens the store that is named, else the nearest one around the working directory.
    pub(super) fn open(&self, missing: Missing) -> Result<Opened, Fault> {
        let here = here()?;
        let named = self.place.named(variable("MEMDIR_DIR")?);
        let base = named.or_else(|| nearest(&here)).unwrap_or_else(|| DEFAULT.into());
        self.place.open_at(base, here, missing)
    }

    /// Opens the store that is named, else the one in `dir`; the directories above do not count. None where it is missing
    /// and not to be made.
    pub(super) fn open_here(
        &self,
        dir: Option<&Utf8Path>,
        missing: Missing,
    ) -> Result<Option<Opened>, Fault> {
        let named = self.place.named(variable("MEMDIR_DIR")?);
        let base = dir.map(Utf8Path::to_owned).or(named).unwrap_or_else(|| DEFAULT.into());
        match self.place.open_at(base, here()?, missing) {
            Err(fault) if fault.is_no_store() => Ok(None),
            done => done.map(Some),
        }
    }
}

impl Place {
    /// The base directory of the store, `MEMDIR_DIR` being `variable`.
    pub(super) fn base(&self, variable: Option<String>) -> Result<Utf8PathBuf, Fault> {
        fit(self.named(variable).unwrap_or_else(|| DEFAULT.into()))
    }

    /// As [`Place::base`] for what a host starts, in a working directory of its choice: where nothing names the store it is in
    /// the directory for the user's data.
    #[cfg(feature = "mcp")]
    pub(super) fn base_for_hosts(&self, variable: Option<String>) -> Result<Utf8PathBuf, Fault> {
        match self.named(variable) {
            Some(base) => fit(base),
            None => fit(user_data()?.join("memdir")),
        }
    }

    /// The settings of the store that is named, `MEMDIR_DIR` being `variable`; the defaults where none is, or where that
    /// variable names none that is there.
    #[cfg(feature = "search")]
    pub(super) fn settings(&self, variable: Option<String>) -> Result<Settings, Fault> {
        let is_given = self.named(None).is_some();
        let Some(base) = self.named(variable) else { return Ok(Settings::default()) };
        match Store::builder(fit(base)?).create(false).open() {
            Err(Error::NoStore { .. }) if !is_given => Ok(Settings::default()),
            opened => Ok(opened?.settings().clone()),
        }
    }

    fn named(&self, variable: Option<String>) -> Option<Utf8PathBuf> {
        match self {
            Self { dir: Some(dir), .. } => Some(dir.clone()),
            Self { home: Some(home), store: Some(store), .. } => Some(home.join("stores").join(store)),
            _ => variable.map(Into::into),
        }
    }

    fn open_at(&self, base: Utf8PathBuf, here: PathBuf, missing: Missing) -> Result<Opened, Fault> {
        let base = fit(base)?;
        let builder = Store::builder(&base).actor(Actor::User(login())).create(missing == Missing::Make);
        Ok(Opened { store: builder.open()?, options: self.options(), base, here, told: RefCell::default() })
    }

    /// The options as they were given.
    fn options(&self) -> String {
        let option = |name: &str, value: &str| format!(" --{name} {}", quoted(value));
        match self {
            Self { dir: Some(dir), .. } => option("dir", dir.as_str()),
            Self { home: Some(home), store: Some(store), .. } => {
                option("home", home.as_str()) + &option("store", store)
            }
            _ => String::new(),
        }
    }
}

/// The directory for the user's data, as the XDG base directory specification has it: relative paths do not count.
#[cfg(feature = "mcp")]
fn user_data() -> Result<Utf8PathBuf, Fault> {
    let absolute = |name| {
        let path = variable(name)?.map(Utf8PathBuf::from);
        Ok::<_, Fault>(path.filter(|path| path.is_absolute()))
    };
    if let Some(data) = absolute("XDG_DATA_HOME")? {
        return Ok(data);
    }
    let home = absolute("HOME")?.map(|home| home.join(".local/share"));
    home.ok_or_else(|| {
        Fault::usage("no store is named, and there is no home directory: name one with --dir BASE")
    })
}

impl Opened {
    /// Reads a path of a memory as a person gave it.
    pub(super) fn path(&self, text: &str) -> Result<MemoryPath, Fault> {
        let is_there = |path: &Path| {
            #[allow(
                clippy::disallowed_methods,
                reason = "it only tells how the text is meant; nothing is opened by it"
            )]
            path.symlink_metadata().is_ok()
        };
        Whereabouts::new(self.here.clone(), self.base.as_std_path()).read(text, is_there)
    }

    /// As [`Opened::path`]; without a text it is the root.
    pub(super) fn path_or_root(&self, text: Option<&str>) -> Result<MemoryPath, Fault> {
        text.map_or(Ok(MemoryPath::ROOT), |text| self.path(text))
    }

    /// Takes what others did to the files into the history before it is shown, as far as that is quick. Where it fails,
    /// the history is shown as it is.
    pub(super) fn take_in(&self, path: &MemoryPath) {
        match self.store.absorb_if_few(path, QUICK_FILES) {
            Ok(Some(_)) => {}
            Ok(None) if !stderr().is_terminal() => {}
            Ok(None) => {
                complain("Too many files to look at each: `memdir check` takes in what others did to them.");
            }
            Err(error) => self.warn_of(error, "what others did to the files may be missing here"),
        }
    }

    /// The base directory without `.` and `..`.
    pub(super) fn absolute(&self) -> PathBuf {
        flat(&self.here.join(&self.base))
    }

    /// Refuses to write something that is no memory among the memories, or into the machine's room.
    pub(super) fn refuse_inside(&self, file: &Utf8Path) -> Result<(), Fault> {
        let (base, place) = (self.absolute(), flat(&self.here.join(file)));
        let real = |path: &Path| {
            #[allow(
                clippy::disallowed_methods,
                reason = "it only finds out where the person's own file would lie"
            )]
            path.canonicalize().unwrap_or_else(|_| path.to_owned())
        };
        // A name may lead there by a link, too.
        let place = place.parent().map(real).unwrap_or_default();
        let is_inside = ["memories", ROOM].iter().any(|part| place.starts_with(real(&base.join(part))));
        if !is_inside {
            return Ok(());
        }
        Err(Fault::usage(format!("`{file}` is inside of the store")).hint("write it somewhere else"))
    }

    /// Tells why the work goes on with less, and what that means.
    pub(super) fn warn_of(&self, error: Error, meaning: &str) {
        let fault = Fault::from(error);
        self.told.replace(Some(fault.clone()));
        fault.and(meaning).warn();
    }

    /// Tells what went wrong beside the work.
    pub(super) fn warn(&self) {
        if let Some(warning) = self.store.take_warning().map(Fault::from)
            && self.told.replace(Some(warning.clone())).as_ref() != Some(&warning)
        {
            warning.warn();
        }
        tell_warned(&self.store.take_warned());
    }
}

/// Tells what looks like a secret in what was stored.
pub(super) fn tell_warned(warned: &[Warned]) {
    for Warned { path, warning, .. } in warned {
        complain(&format!("warning: {path}: {warning}"));
    }
}

/// The working directory.
fn here() -> Result<PathBuf, Fault> {
    #[allow(clippy::disallowed_methods, reason = "the environment is read here and passed on")]
    env::current_dir().map_err(|error| Fault::failed(format!("cannot tell the working directory: {error}")))
}

/// The nearest directory at or above `here` that holds a store of this user's, as it is named from there. One that
/// somebody else laid out, in `/tmp` perhaps, must be named to be used.
fn nearest(here: &Path) -> Option<Utf8PathBuf> {
    let me = rustix::process::geteuid();
    let is_mine = |dir: &Path| {
        dir.join(ROOM)
            .symlink_metadata()
            .is_ok_and(|room| room.is_dir() && (me.is_root() || room.uid() == me.as_raw()))
    };
    let up = here.ancestors().position(is_mine)?;
    Some(if up == 0 { ".".into() } else { vec![".."; up].join("/").into() })
}

/// Where a machine keeps the names of its users.
const USERS: &str = "/etc/passwd";

/// The login name of whoever runs the command, else the number of the user.
fn login() -> String {
    let name = |variable_name: &str| variable(variable_name).ok().flatten();
    name("USER").or_else(|| name("LOGNAME")).unwrap_or_else(|| {
        let uid = rustix::process::getuid().as_raw();
        #[allow(clippy::disallowed_methods, reason = "it is no file of a store")]
        let users = std::fs::read(USERS).unwrap_or_default();
        name_of(uid, &String::from_utf8_lossy(&users)).unwrap_or_else(|| format!("uid {uid}"))
    })
}

/// The name of a user in the text of `/etc/passwd`.
fn name_of(uid: u32, users: &str) -> Option<String> {
    let is_of = |line: &&str| line.split(':').nth(2).is_some_and(|number| number.parse() == Ok(uid));
    let name = users.lines().find(is_of)?.split(':').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// A value as a shell takes it for one word.
pub(super) fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', r"'\''"))
    }
}

/// Refuses what is no directory and the inside of a store, and names the right one.
fn fit(base: Utf8PathBuf) -> Result<Utf8PathBuf, Fault> {
    #[allow(clippy::disallowed_methods, reason = "it only finds out what to say")]
    let seen = base.as_std_path().metadata();
    match seen {
        Ok(seen) if !seen.is_dir() => {
            return Err(Fault::usage(format!("`{base}` is no directory"))
                .hint("a store is a directory, with `memories` in it"));
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(Fault::usage(format!("`{base}` leads through something that is no directory")));
        }
        _ => {}
    }
    match store_around(&base) {
        Some(right) => Err(Fault::usage(format!("`{base}` is the inside of a store"))
            .hint(format!("the store is `{right}`: --dir {}", quoted(right.as_str())))),
        None => Ok(base),
    }
}

/// The store whose `memories` this directory is, as it is named from here.
fn store_around(dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let absolute = flat(camino::absolute_utf8(dir).ok()?.as_std_path());
    let base = absolute.parent().filter(|_| absolute.file_name().is_some_and(|name| name == "memories"))?;
    if !base.join(ROOM).is_dir() {
        return None;
    }
    let parent = dir.parent().filter(|_| dir.file_name() == Some("memories"));
    Some(match parent {
        Some(parent) if parent.as_str().is_empty() => ".".into(),
        Some(parent) => parent.to_owned(),
        None if dir == "." => "..".into(),
        None => dir.join(".."),
    })
}

fn directory(text: &str) -> Result<Utf8PathBuf, &'static str> {
    if text.is_empty() { Err("it is empty") } else { Ok(text.into()) }
}

fn store_name(text: &str) -> Result<String, &'static str> {
    let is_fit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    match text.len() {
        1..=64 if !text.starts_with('.') && text.bytes().all(is_fit) => Ok(text.to_owned()),
        _ => Err("a name is 1 to 64 letters, digits, `.`, `_` or `-`, and does not begin with `.`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(dir: Option<&str>, home: Option<(&str, &str)>) -> Place {
        Place {
            dir: dir.map(Into::into),
            home: home.map(|(home, _)| home.into()),
            store: home.map(|(_, store)| store.to_owned()),
        }
    }

    #[test]
    fn the_first_that_is_named_counts() {
        let cases = [
            (place(Some("a"), None), Some("b"), "a"),
            (place(None, Some(("h", "s"))), Some("b"), "h/stores/s"),
            (place(None, None), Some("b"), "b"),
            (place(None, None), None, "memory"),
        ];
        for (place, variable, base) in cases {
            let about = format!("{place:?} {variable:?}");
            assert_eq!(place.base(variable.map(str::to_owned)).unwrap(), base, "{about}");
        }
    }

    #[test]
    fn the_inside_of_a_store_is_refused_and_the_store_named() {
        let dir = tempfile::tempdir().unwrap();
        let base = Utf8Path::from_path(dir.path()).unwrap();
        let inside = base.join("memories");
        assert!(place(Some(inside.as_str()), None).base(None).is_ok(), "a store may be called memories");
        #[allow(clippy::disallowed_methods, reason = "a test lays out its directories")]
        std::fs::create_dir(base.join(".memdir")).unwrap();
        for dir in [inside.clone(), inside.join(""), inside.join(".")] {
            let fault = place(Some(dir.as_str()), None).base(None).unwrap_err();
            assert_eq!(
                fault,
                Fault::usage(format!("`{dir}` is the inside of a store"))
                    .hint(format!("the store is `{base}`: --dir {base}"))
            );
        }
    }

    #[test]
    fn options_are_shown_as_a_shell_takes_them() {
        assert_eq!(place(None, None).options(), "");
        assert_eq!(place(Some("./memory"), None).options(), " --dir ./memory");
        assert_eq!(place(Some("my memory"), None).options(), " --dir 'my memory'");
        assert_eq!(place(Some("it's"), None).options(), r" --dir 'it'\''s'");
        assert_eq!(place(None, Some(("h", "s"))).options(), " --home h --store s");
    }

    #[test]
    fn a_user_is_named_as_the_machine_names_them() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# 7:x:7\nmara:x:1000:1000:Mara,,,:/home/mara:/bin/sh\n:x:8:8::/:\nbroken\n";
        for (uid, name) in [(0, Some("root")), (1000, Some("mara")), (100, None), (8, None)] {
            assert_eq!(name_of(uid, users).as_deref(), name, "{uid}");
        }
    }

    #[test]
    fn store_names() {
        for name in ["a", "A.b_c-9", "-", &"n".repeat(64)] {
            assert_eq!(store_name(name).as_deref(), Ok(name));
        }
        for name in ["", ".", ".a", "a/b", "ä", "a b", &"n".repeat(65)] {
            assert!(store_name(name).is_err(), "{name}");
        }
    }
}
