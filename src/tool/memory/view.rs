//! `view`: a file with its line numbers, an image, or a directory.

use std::ops::ControlFlow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::error::Error;
use crate::store::{Found, Look, Settings, Store};
use crate::text::{self, Body, Bytes, Scan, Scanned};
use crate::tool::wire::{Block, Content, ImageSource};

use super::call::{Command, Named, View};
use super::image::Image;
use super::{Answer, listing, words};

/// Lines that a number of six digits can count.
const MOST_LINES: usize = 999_999;
/// Levels that a listing shows.
const DEPTH: usize = 2;
/// How often something that is a file and a directory by turns is looked at before it counts as missing.
const TRIES: usize = 4;

/// Shows what stands at a path.
pub(in crate::tool) fn view(store: &Store, view: &View) -> Answer {
    let View { at, range } = view;
    let range = range.as_deref();
    let refused = |error| words::refused(&error, Command::View, &[at]);
    for _ in 0..TRIES {
        match read(store, at, range).map_err(refused)? {
            Ok(read) => return show(at, read, range, store.settings()),
            Err(Look::Missing) if at.path.is_root() => {}
            Err(Look::Directory | Look::File { .. }) => {}
            Err(look) => return Err(words::no_file(Command::View, &look, &at.text)),
        }
        match store.list(&at.path, DEPTH).map_err(refused)? {
            Ok(found) => {
                return listing::show(&at.text, &found, range, store.settings().view_limit)
                    .map(Content::Text);
            }
            Err(Look::File { .. } | Look::Directory) => {}
            Err(look) => return Err(words::no_file(Command::View, &look, &at.text)),
        }
    }
    Err(words::missing(Command::View, &at.text))
}

/// What was read of a file, as its name asks for it.
enum Read {
    /// All of what may be an image.
    Whole(Bytes),
    /// Of a text what may be shown; `None`: it is no text.
    Text(Option<Scanned>),
}

fn read(store: &Store, at: &Named, range: Option<&[i64]>) -> Result<Result<Read, Look>, Error> {
    if Image::is_named(name(at)) {
        return Ok(match store.read(&at.path)? {
            Found::File(bytes) => Ok(Read::Whole(bytes)),
            Found::Not(look) => Err(look),
        });
    }
    let mut scan = Scan::new(range, store.settings().view_limit);
    let read = store.read_pieces(&at.path, &mut |piece| {
        if scan.feed(piece) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(read.map(|()| Read::Text(scan.end())))
}

fn show(at: &Named, read: Read, range: Option<&[i64]>, settings: &Settings) -> Answer {
    let scanned = match read {
        Read::Text(scanned) => scanned,
        Read::Whole(bytes) => {
            if let Some(image) = Image::of(name(at), &bytes) {
                return show_image(at, image, &bytes, settings.image_limit);
            }
            let mut scan = Scan::new(range, settings.view_limit);
            scan.feed(&bytes);
            scan.end()
        }
    };
    let scanned = scanned.ok_or_else(|| words::not_utf8(&at.text))?;
    show_text(&at.text, &scanned, range, settings.view_limit).map(Content::Text)
}

fn name(at: &Named) -> &str {
    at.path.split_last().map_or("", |(_, name)| name)
}

fn show_image(at: &Named, image: Image, bytes: &[u8], limit: u64) -> Answer {
    let size = bytes.len() as u64;
    if size > limit {
        return Err(words::large_image(&at.text, size));
    }
    let media_type = image.media_type().to_owned();
    let source = ImageSource::Base64 { media_type, data: BASE64_STANDARD.encode(bytes) };
    let text = format!("Here's the image {}:", at.text);
    Ok(Content::Blocks(vec![Block::Text { text }, Block::Image { source }]))
}

fn show_text(path: &str, scanned: &Scanned, range: Option<&[i64]>, limit: usize) -> Result<String, String> {
    let Scanned { lines, kept } = scanned;
    let lines = *lines;
    if lines > MOST_LINES {
        return Err(words::too_many_lines(path));
    }
    let (first, last) = match range {
        None => (1, lines),
        Some(range) => {
            text::pick(range, lines).ok_or_else(|| words::bad_range(range, "file", lines, "line"))?
        }
    };
    let body = Body { text: kept, begins: first, lines, first, last, limit };
    Ok(text::body_under(&["Here's the content of ", path, " with line numbers:\n"], body))
}
