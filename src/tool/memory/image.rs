//! Which files are images, by name and by bytes.

use memchr::memmem;

/// The kinds of image that a view shows as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Image {
    Png,
    Jpeg,
}

impl Image {
    /// Whether a file of this name may be an image.
    pub fn is_named(name: &str) -> bool {
        let is_known = |(_, extension): (&str, &str)| {
            ["png", "jpg", "jpeg"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        };
        name.rsplit_once('.').is_some_and(is_known)
    }

    /// The kind of an image: an image's name, and the first and last bytes of either kind.
    pub fn of(name: &str, bytes: &[u8]) -> Option<Self> {
        if !Self::is_named(name) {
            return None;
        }
        [Self::Png, Self::Jpeg].into_iter().find(|kind| {
            let body = bytes.strip_prefix(kind.magic());
            body.is_some_and(|body| memmem::rfind(body, kind.end()).is_some())
        })
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Self::Png => b"\x89PNG\r\n\x1a\n",
            Self::Jpeg => b"\xff\xd8\xff",
        }
    }

    /// PNG: the whole IEND chunk, length and checksum included. JPEG: the marker EOI.
    fn end(self) -> &'static [u8] {
        match self {
            Self::Png => b"\0\0\0\0IEND\xae\x42\x60\x82",
            Self::Jpeg => b"\xff\xd9",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_bytes_make_an_image() {
        let png = b"\x89PNG\r\n\x1a\n...\0\0\0\0IEND\xae\x42\x60\x82";
        let jpeg = b"\xff\xd8\xff\xe0...\xff\xd9trailing";
        for (name, bytes, image) in [
            ("a.png", &png[..], Some(Image::Png)),
            ("a.JPEG", png, Some(Image::Png)),
            ("a.png", jpeg, Some(Image::Jpeg)),
            (".jpg", jpeg, Some(Image::Jpeg)),
            ("a.gif", png, None),
            ("png", png, None),
            ("a.png", &png[..png.len() - 1], None),
            ("a.jpg", b"\xff\xd8\xff", None),
            ("a.jpg", b"\xff\xd8\xff\xd9", None),
            ("a.png", b"", None),
        ] {
            assert_eq!(Image::of(name, bytes), image, "{name}");
        }
    }
}
