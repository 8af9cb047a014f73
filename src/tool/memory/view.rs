//! `view`: a file with its line numbers, an image, or a directory.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::store::{Found, Look, Settings, Store};
use crate::text::{self, Body};
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
        match store.read(&at.path).map_err(refused)? {
            Found::File(bytes) => return file(at, &bytes, range, store.settings()),
            Found::Not(Look::Missing) if at.path.is_root() => {}
            Found::Not(Look::Directory | Look::File { .. }) => {}
            Found::Not(look) => return Err(words::no_file(Command::View, &look, &at.text)),
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

fn file(at: &Named, bytes: &[u8], range: Option<&[i64]>, settings: &Settings) -> Answer {
    let name = at.path.split_last().map_or("", |(_, name)| name);
    if let Some(image) = Image::of(name, bytes) {
        return show_image(at, image, bytes, settings.image_limit);
    }
    let content = str::from_utf8(bytes).map_err(|_| words::not_utf8(&at.text))?;
    show_text(&at.text, content, range, settings.view_limit).map(Content::Text)
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

fn show_text(path: &str, content: &str, range: Option<&[i64]>, limit: usize) -> Result<String, String> {
    let lines = text::line_count(content);
    if lines > MOST_LINES {
        return Err(words::too_many_lines(path));
    }
    let (first, last) = match range {
        None => (1, lines),
        Some(range) => {
            text::pick(range, lines).ok_or_else(|| words::bad_range(range, "file", lines, "line"))?
        }
    };
    let body = Body { text: content, lines, first, last, limit };
    Ok(text::body_under(&["Here's the content of ", path, " with line numbers:\n"], body))
}
