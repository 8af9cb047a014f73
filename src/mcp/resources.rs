//! The memories as resources: `memory:///memories/…`.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use chrono::SecondsFormat;
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::json;

use super::uri;
use crate::error::{Error, Trouble};
use crate::path::MemoryPath;
use crate::store::{Entry, Found, Look, Store};
use crate::text::human_size;
use crate::tool::refusal;

/// Files on a page.
const PAGE: usize = 100;
/// What a cursor holds before the path.
const AFTER: &str = "after ";

const MARKDOWN: &str = "text/markdown";
const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";
const IMAGES: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// A page of all memories, after `cursor`: what a view shows, at any depth, in the order of a tree.
pub(super) fn list(store: &Store, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let after = match cursor {
        Some(cursor) => Some(read_cursor(cursor).ok_or_else(bad_cursor)?),
        None => None,
    };
    let mut files = Vec::new();
    let _ = walk(store, &Place::ROOT, after.as_deref(), &mut |file, entry| {
        files.push((file, entry));
        if files.len() > PAGE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| refused(&error))?;
    let is_last = files.len() <= PAGE;
    files.truncate(PAGE);
    let cursor = files.last().filter(|_| !is_last).map(|(file, _)| cursor_after(&file.on_disk));
    let resources = files.iter().map(|(file, entry)| resource(store, &file.path, entry)).collect();
    let mut page = ListResourcesResult::with_all_items(resources);
    page.next_cursor = cursor;
    Ok(page)
}

/// How the address of a memory is made.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new(uri::TEMPLATE, "memory").with_title("A memory").with_description(
        "A file of the memory, by its path below /memories. `%`, `?` and `#` in a name are percent-encoded.",
    );
    vec![template]
}

/// The contents of one memory.
pub(super) fn read(store: &Store, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let path = uri::parse(uri).map_err(|why| bad_uri(uri, why))?;
    let name = path.split_last().map_or("", |(_, name)| name).to_owned();
    let image = image_type(&name);
    let settings = store.settings();
    let limit = if image.is_some() { settings.image_limit } else { settings.file_limit };
    let fits = |size: u64| if size > limit { Err(too_large(&path, size, limit)) } else { Ok(()) };
    if let Look::File { size } = store.look(&path).map_err(|error| refused(&error))? {
        fits(size)?;
    }
    let bytes = match store.read(&path).map_err(|error| refused(&error))? {
        Found::File(bytes) => bytes,
        Found::Not(look) => return Err(not_found(uri, &path, &look)),
    };
    // It may have grown since it was looked at.
    fits(bytes.len() as u64)?;
    let contents = match std::str::from_utf8(&bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(text_type(&name)),
        Err(_) => ResourceContents::blob(BASE64_STANDARD.encode(&*bytes), uri)
            .with_mime_type(image.unwrap_or(BYTES)),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// What a request with a bad address is answered.
pub(super) fn bad_uri(uri: &str, why: uri::BadUri) -> ErrorData {
    let words = format!("`uri` is not that of a memory: {why}");
    ErrorData::invalid_params(words, Some(json!({ "uri": uri })))
}

/// What a request is answered that the store cannot serve. Some errors of a store may name what only its host should know.
pub(super) fn refused(error: &Error) -> ErrorData {
    let words = refusal(error);
    match error {
        Error::TooLargeToRead { .. } | Error::Field { .. } => ErrorData::invalid_params(words, None),
        _ => ErrorData::internal_error(words, None),
    }
}

fn too_large(path: &MemoryPath, size: u64, limit: u64) -> ErrorData {
    let words = format!(
        "{path} is too large to be read whole ({}, at most {}): the memory tool views parts of a text, with view_range",
        human_size(size),
        human_size(limit)
    );
    ErrorData::invalid_params(words, None)
}

fn not_found(uri: &str, path: &MemoryPath, look: &Look) -> ErrorData {
    let words = match look {
        Look::Directory => format!("{path} is a directory, and only files can be read"),
        Look::Link | Look::BelowLink => format!("{path} is a symbolic link, which is not followed"),
        Look::Special => format!("{path} is neither a file nor a directory"),
        Look::Missing | Look::BelowFile(_) | Look::File { .. } => format!("{path} does not exist"),
    };
    ErrorData::resource_not_found(words, Some(json!({ "uri": uri })))
}

fn bad_cursor() -> ErrorData {
    ErrorData::invalid_params("`cursor` is none that a list has given: begin again without one", None)
}

/// A cursor for what comes after a file, by its path as it is on disk.
fn cursor_after(file: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{AFTER}{file}"))
}

fn read_cursor(cursor: &str) -> Option<String> {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix(AFTER).map(str::to_owned)
}

/// A file or directory on a walk.
struct Place {
    path: MemoryPath,
    /// Its path as it is on disk, where names need not be in normal form: pages go by this order.
    on_disk: String,
}

impl Place {
    const ROOT: Self = Self { path: MemoryPath::ROOT, on_disk: String::new() };

    /// An entry of this directory; `None` where no path has its name.
    fn entry(&self, name: &str) -> Option<Self> {
        let path = self.path.join(name);
        if MemoryPath::parse(&path.to_string()).as_ref() != Ok(&path) {
            return None;
        }
        let on_disk = if self.path.is_root() { name.to_owned() } else { format!("{}/{name}", self.on_disk) };
        Some(Self { path, on_disk })
    }
}

/// Calls `each` with the files below a directory that come after one whose path on disk, from there, is `after`.
fn walk(
    store: &Store,
    dir: &Place,
    after: Option<&str>,
    each: &mut dyn FnMut(Place, Entry) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let mut done = Ok(ControlFlow::Continue(()));
    let visited = store.each_entry(&dir.path, &mut |entry| {
        let Turn::Now(after) = turn(&entry.name, entry.is_dir, after) else {
            return ControlFlow::Continue(());
        };
        let Some(place) = dir.entry(&entry.name) else { return ControlFlow::Continue(()) };
        done = if entry.is_dir { walk(store, &place, after, each) } else { Ok(each(place, entry)) };
        if matches!(done, Ok(ControlFlow::Continue(()))) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    match visited {
        // A directory that is closed to us is as an empty one, and so is one that is gone by now.
        Err(Error::Read { why: Trouble::Denied, .. }) if !dir.path.is_root() => done,
        Err(error) => Err(error),
        Ok(_) => done,
    }
}

/// Whether it is an entry's turn.
#[derive(Debug, PartialEq, Eq)]
enum Turn<'a> {
    /// It was on an earlier page.
    Past,
    /// It comes now; of a directory what is after this.
    Now(Option<&'a str>),
}

/// Whether an entry comes after `after`, or in part.
fn turn<'a>(name: &str, is_dir: bool, after: Option<&'a str>) -> Turn<'a> {
    let Some(after) = after else { return Turn::Now(None) };
    let (first, rest) = after.split_once('/').map_or((after, None), |(first, rest)| (first, Some(rest)));
    match name.cmp(first) {
        Ordering::Equal if is_dir => Turn::Now(rest),
        Ordering::Less | Ordering::Equal => Turn::Past,
        Ordering::Greater => Turn::Now(None),
    }
}

fn resource(store: &Store, path: &MemoryPath, entry: &Entry) -> Resource {
    let mut annotations = Annotations::default().with_audience(vec![Role::Assistant]);
    annotations.last_modified = entry.modified.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true));
    Resource::new(uri::of(path), path.as_str())
        .with_mime_type(media_type(store, path, &entry.name))
        .with_size(entry.size)
        .with_annotations(annotations)
}

/// The type of a file's content: by its name, else by how it begins.
fn media_type(store: &Store, path: &MemoryPath, name: &str) -> &'static str {
    if is_markdown(name) {
        return MARKDOWN;
    }
    if let Some(image) = image_type(name) {
        return image;
    }
    let mut is_text = true;
    let read = store.read_pieces(path, &mut |piece| {
        // A character may be cut in two.
        is_text = std::str::from_utf8(piece).map_or_else(|error| error.error_len().is_none(), |_| true);
        ControlFlow::Break(())
    });
    if is_text && matches!(read, Ok(Ok(()))) { TEXT } else { BYTES }
}

fn text_type(name: &str) -> &'static str {
    if is_markdown(name) { MARKDOWN } else { TEXT }
}

fn is_markdown(name: &str) -> bool {
    extension(name)
        .is_some_and(|extension| ["md", "markdown"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn image_type(name: &str) -> Option<&'static str> {
    let extension = extension(name)?;
    IMAGES.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|(_, media_type)| *media_type)
}

fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_and_others_do_not() {
        for path in ["a", "a/b c/ä.md", "after "] {
            assert_eq!(read_cursor(&cursor_after(path)).as_deref(), Some(path));
        }
        for bad in ["", "x", "a/b", "YWZ0ZXI", "!!!!", "MTIz", &format!("{}=", cursor_after("abc"))] {
            assert_eq!(read_cursor(bad), None, "{bad}");
        }
    }

    #[test]
    fn pages_go_on_where_one_ended() {
        for (name, is_dir, after, right) in [
            ("b", false, None, Turn::Now(None)),
            ("a", false, Some("b"), Turn::Past),
            ("a", true, Some("b/c"), Turn::Past),
            ("b", false, Some("b"), Turn::Past),
            // Where there was a directory there is a file now, or the other way round.
            ("b", false, Some("b/c"), Turn::Past),
            ("b", true, Some("b"), Turn::Now(None)),
            ("b", true, Some("b/c/d"), Turn::Now(Some("c/d"))),
            // Names are compared, not paths: `b.md` comes after `b/c`.
            ("b.md", false, Some("b/c"), Turn::Now(None)),
            ("b", true, Some("b.md"), Turn::Past),
        ] {
            assert_eq!(turn(name, is_dir, after), right, "{name} {after:?}");
        }
    }
}
