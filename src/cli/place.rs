//! Which store a command is about.

use camino::{Utf8Path, Utf8PathBuf};

use super::fault::Fault;

/// The store when nothing names one.
const DEFAULT: &str = "memory";

/// The options that name a store.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// The store: the directory that holds `memories/` [default: $MEMDIR_DIR, else ./memory]
    #[arg(long, value_name = "BASE", value_parser = directory, conflicts_with = "home")]
    dir: Option<Utf8PathBuf>,
    /// A directory of many stores; --store names one of them
    #[arg(long, value_name = "HOME", value_parser = directory, requires = "store")]
    home: Option<Utf8PathBuf>,
    /// The store HOME/stores/NAME
    #[arg(long, value_name = "NAME", value_parser = store_name, requires = "home")]
    store: Option<String>,
}

impl Place {
    /// The base directory of the store, `MEMDIR_DIR` being `variable`.
    pub(super) fn base(self, variable: Option<String>) -> Result<Utf8PathBuf, Fault> {
        let base = match self {
            Self { dir: Some(dir), .. } => dir,
            Self { home: Some(home), store: Some(store), .. } => home.join("stores").join(store),
            _ => variable.unwrap_or_else(|| DEFAULT.to_owned()).into(),
        };
        match store_around(&base) {
            Some(right) => Err(Fault::usage(format!("`{base}` is the inside of a store"))
                .hint(format!("the store is `{right}`: --dir {right}"))),
            None => Ok(base),
        }
    }
}

/// The store whose `memories` this directory is.
fn store_around(dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let dir = camino::absolute_utf8(dir).ok()?;
    let base = dir.parent().filter(|_| dir.file_name() == Some("memories"))?;
    base.join(".memdir").is_dir().then(|| base.to_owned())
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
    fn store_names() {
        for name in ["a", "A.b_c-9", "-", &"n".repeat(64)] {
            assert_eq!(store_name(name).as_deref(), Ok(name));
        }
        for name in ["", ".", ".a", "a/b", "ä", "a b", &"n".repeat(65)] {
            assert!(store_name(name).is_err(), "{name}");
        }
    }
}
