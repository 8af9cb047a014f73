//! Goes through what is visible below a directory, one directory at a time, so that little is held and the first is there at once.

use std::ops::ControlFlow;

use super::fault::Fault;
use crate::path::MemoryPath;
use crate::store::{Entry, Store};

/// A file or directory on the way.
pub(super) struct Stop<'a> {
    pub(super) path: MemoryPath,
    pub(super) entry: &'a Entry,
    /// How deep it is; what is in the directory itself is at 1.
    pub(super) level: usize,
}

/// How to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// With what is in it, if it is a directory, and then what comes after it.
    Into,
    /// With what comes after it.
    Over,
    /// Not at all.
    Home,
}

/// Visits what is below `dir`, sorted by the bytes of the names, a directory before what is in it.
///
/// What is gone by then is passed over, and so is, with a warning, what cannot be read.
pub(super) fn walk(
    store: &Store,
    dir: &MemoryPath,
    visit: &mut dyn FnMut(Stop<'_>) -> Result<Next, Fault>,
) -> Result<ControlFlow<()>, Fault> {
    walk_level(store, dir, 1, visit)
}

fn walk_level(
    store: &Store,
    dir: &MemoryPath,
    level: usize,
    visit: &mut dyn FnMut(Stop<'_>) -> Result<Next, Fault>,
) -> Result<ControlFlow<()>, Fault> {
    let mut done = Ok(ControlFlow::Continue(()));
    let visited = store.each_entry(dir, &mut |entry| {
        let path = dir.join(&entry.name);
        done = match visit(Stop { path: path.clone(), entry: &entry, level }) {
            Ok(Next::Home) => Ok(ControlFlow::Break(())),
            Ok(Next::Into) if entry.is_dir => walk_level(store, &path, level + 1, visit),
            Ok(Next::Into | Next::Over) => Ok(ControlFlow::Continue(())),
            Err(fault) => Err(fault),
        };
        if matches!(done, Ok(ControlFlow::Continue(()))) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    if let Err(error) = visited {
        Fault::from(error).and(format_args!("{dir} was passed over")).warn();
    }
    done
}
