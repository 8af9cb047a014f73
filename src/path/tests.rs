//! Tables of paths and what they parse to.

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Result<String, PathError> {
    MemoryPath::parse(text).map(|path| path.as_str().to_owned())
}

#[test]
fn what_parses_is_in_normal_form() {
    let deep = format!("/memories{}", "/d".repeat(20));
    let wide = format!("/memories/{}", "x".repeat(255));
    for (text, normal) in [
        ("/memories", ""),
        ("/memories/", ""),
        ("/memories/.", ""),
        ("/memories/a/..", ""),
        ("/memories/a.md", "a.md"),
        ("/memories/a/./b//c.md/", "a/b/c.md"),
        ("/memories/x/../y/../z.md", "z.md"),
        ("/memories/.../..hidden", ".../..hidden"),
        ("/memories/a%20b%", "a%20b%"),
        ("/memories/%c0%ae%c0%af", "%c0%ae%c0%af"),
        ("/memories/%uff0e%2", "%uff0e%2"),
        ("/memories/\u{FF0E}\u{FF0E}", "\u{FF0E}\u{FF0E}"),
        ("/memories/cafe\u{301}.md", "caf\u{E9}.md"),
        ("/memories/\u{1100}\u{1161}\u{11A8}", "\u{AC01}"),
        ("/memories/ ", " "),
        (&deep, &deep["/memories/".len()..]),
        (&format!("{deep}/x/.."), &deep["/memories/".len()..]),
        (&wide, &wide["/memories/".len()..]),
    ] {
        assert_eq!(parsed(text).as_deref(), Ok(normal), "{text}");
    }
}

#[test]
fn the_first_broken_rule_answers() {
    use PathError::*;
    let long = format!("/memories{}", "/dddddddddd".repeat(100));
    for (text, error) in [
        ("", NotUnderRoot),
        ("/", NotUnderRoot),
        ("memories/x", NotUnderRoot),
        ("/Memories", NotUnderRoot),
        ("//memories", NotUnderRoot),
        ("/memories_evil/../x", NotUnderRoot),
        ("/memories\u{301}/x", NotUnderRoot),
        ("/memories\\a", NotUnderRoot),
        ("\u{200B}/memories/a", NotUnderRoot),
        ("/memories/..", Escapes),
        ("/memories/../memories/a", Escapes),
        ("/memories/a/../../b", Escapes),
        ("/memories/\\/../..", Escapes),
        ("/memories/%2e", Escapes),
        ("/memories/%2E%2e/x", Escapes),
        ("/memories/.%2e", Escapes),
        ("/memories/%252e%252E", Escapes),
        ("/memories/a%2fb", Escapes),
        ("/memories/a%5Cb", Escapes),
        ("/memories/a%00", Escapes),
        ("/memories/a%2500", Escapes),
        ("/memories/a\\%41", Escapes),
        ("/memories/a\\b", Backslash),
        ("/memories/a\\\n", Backslash),
        ("/memories/a\n", Invisible),
        ("/memories/\u{212A}\u{200D}a", Invisible),
        (&format!("/memories/\t{}", "x".repeat(300)), Invisible),
        (&format!("/memories/{}", "x".repeat(256)), LongSegment),
        (&format!("/memories/{}/..", "x".repeat(256)), LongSegment),
        (&format!("{long}/{}", "x".repeat(256)), LongSegment),
        (&format!("/memories{}a.md", "/".repeat(1012)), Long),
        (&long, Long),
        (&format!("/memories{}", "/d".repeat(21)), Deep),
    ] {
        assert_eq!(parsed(text), Err(error), "{text}");
    }
}

#[test]
fn the_whole_path_may_have_1024_bytes() {
    let slashes = "/".repeat(1011);
    assert_eq!(parsed(&format!("/memories{slashes}a.md")).as_deref(), Ok("a.md"));
}

#[test]
fn limits_count_the_composed_form() {
    assert!(parsed(&format!("/memories/{}", "e\u{301}".repeat(127))).is_ok());
    assert_eq!(parsed(&format!("/memories/{}", "e\u{301}".repeat(128))), Err(PathError::LongSegment));
}

#[test]
fn hidden_segments_and_git_in_any_case() {
    for (text, hidden, git) in [
        ("/memories/a.b/c", None, false),
        ("/memories/a/.b/.c", Some(".b"), false),
        ("/memories/.GiT/config", Some(".GiT"), true),
        ("/memories/a/.git", Some(".git"), true),
        ("/memories/.g\u{FE0F}it", Some(".g\u{FE0F}it"), true),
        ("/memories/.gitkeep", Some(".gitkeep"), false),
        ("/memories/.git./x", Some(".git."), false),
        ("/memories/git~1", None, false),
    ] {
        let path = MemoryPath::parse(text).unwrap();
        assert_eq!(
            (path.hidden_segment(), path.is_hidden(), path.names_git()),
            (hidden, hidden.is_some(), git)
        );
    }
}

#[test]
fn joining_and_limits_below() {
    let dir = MemoryPath::ROOT.join("a").join("cafe\u{301}");
    assert_eq!(dir.to_string(), "/memories/a/caf\u{E9}");
    assert_eq!(dir.depth(), 2);
    assert!(!dir.is_too_long_with(0, 0));
    assert!(!dir.is_too_long_with(1024 - dir.to_string().len() - 1, 18));
    assert!(dir.is_too_long_with(1024 - dir.to_string().len(), 18));
    assert!(dir.is_too_long_with(1, 19));
}

proptest! {
    #[test]
    fn what_parses_names_nothing_outside(
        text in prop_oneof![
            any::<String>(),
            "/memories(/([a.%25ef\\\\ /]{0,4}|\\.|\\.\\.|\\PC{0,3}|[e\u{301}\u{200d}\u{212a}\u{6cc}k]{0,5})){0,6}",
        ]
    ) {
        if let Ok(path) = MemoryPath::parse(&text) {
            let again = path.to_string();
            prop_assert_eq!(MemoryPath::parse(&again), Ok(path.clone()));
            prop_assert!(path.is_root() || path.as_str().split('/').all(|s| !matches!(s, "" | "." | "..")));
            prop_assert!(again.len() <= PATH_BYTES && path.depth() <= DEPTH);
            prop_assert!(path.segments().all(|s| s.len() <= SEGMENT_BYTES));
        }
    }
}
