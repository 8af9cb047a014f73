use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::*;

fn time(text: &str) -> DateTime<Utc> {
    parse_time(text).unwrap()
}

fn fields(text: &str) -> Fields {
    match read(text) {
        Front::Fields(fields) => *fields,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn head(yaml: &str) -> String {
    format!("---\n{yaml}---\nbody\n")
}

fn broken(text: &str) -> (usize, String) {
    match read(text) {
        Front::Broken(Broken { line, why }) => (line, why),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn an_entry_is_read() {
    let text = "---\nid: mem_01\nimportance: 4   # high\ntags: [editor, theme]\ncreated_at: 2026-11-30T09:12:44Z\n\
                updated_at: 2026-12-01\nexpires_at: 2027-01-01 00:00:00 +01:00\nkey: editor.theme\npinned: true\n\
                category: decision_log\n---\nDark.\n---\n";
    let expected = Fields {
        id: Some("mem_01".to_owned()),
        importance: Some(4),
        tags: vec!["editor".to_owned(), "theme".to_owned()],
        created_at: Some(time("2026-11-30T09:12:44Z")),
        updated_at: Some(time("2026-12-01T00:00:00Z")),
        expires_at: Some(time("2026-12-31T23:00:00Z")),
        key: Some("editor.theme".to_owned()),
        pinned: true,
        category: Some("decision_log".to_owned()),
        is_ours: true,
        faults: Vec::new(),
        body: text.len() - "Dark.\n---\n".len(),
        body_line: 12,
    };
    assert_eq!(fields(text), expected);
    let windows = text.replace('\n', "\r\n");
    assert_eq!(fields(&windows), Fields { body: windows.len() - "Dark.\r\n---\r\n".len(), ..expected });
}

#[test]
fn a_text_without_front_matter_has_none() {
    for text in [
        "",
        "text",
        "---",
        "---\n\nA text under a line.\n",
        "\n---\nid: 1\n---\n",
        "# Head\n---\nid: 1\n---\n",
    ] {
        assert_eq!(read(text), Front::None, "{text:?}");
    }
}

#[test]
fn values_are_read_as_they_are_meant() {
    let tags = |yaml: &str| fields(&head(yaml)).tags;
    for (yaml, is) in [
        (
            "tags: [a, 1, true, null, \"\", 1.0, 007, 2026-01-01]\n",
            &["a", "1", "true", "1.0", "007", "2026-01-01"][..],
        ),
        ("tags:\n  - a\n  - b c\n", &["a", "b c"]),
        ("tags:\n- a\n-\n- '#b'\n", &["a", "#b"]),
        ("tags: a, b,, c d\n", &["a", "b", "c d"]),
        ("tags: a\n", &["a"]),
        ("tags: 1.10\n", &["1.10"]),
        ("tags: yes\n", &["yes"]),
        ("tags:\n", &[]),
        ("tags: []\n", &[]),
        ("tags: null\n", &[]),
        ("x: &t [a, b]\ntags: *t\n", &["a", "b"]),
    ] {
        assert_eq!(tags(yaml), is, "{yaml}");
        assert_eq!(fields(&head(yaml)).faults, [], "{yaml}");
    }
    let key = |yaml: &str| fields(&head(yaml)).key;
    for (yaml, is) in [
        ("key: 1.0\n", Some("1.0")),
        ("key: True\n", Some("True")),
        ("key: 0x1F\n", Some("0x1F")),
        (
            "key: 99999999999999999999999999999999999999999999\n",
            Some("99999999999999999999999999999999999999999999"),
        ),
        ("key: \"a\\nb\"\n", Some("a\nb")),
        ("key: >-\n  a\n  b\n", Some("a b")),
        ("\"key\": a\n", Some("a")),
        ("key: ''\n", None),
        ("key: ~\n", None),
        ("Key: a\n", None),
    ] {
        assert_eq!(key(yaml).as_deref(), is, "{yaml}");
    }
    for (yaml, is) in [
        ("pinned: true\n", true),
        ("pinned: \"Yes\"\n", true),
        ("pinned: on\n", true),
        ("pinned: no\n", false),
    ] {
        assert_eq!(fields(&head(yaml)).pinned, is, "{yaml}");
    }
    assert_eq!(fields(&head("importance: '4'\n")).importance, Some(4));
}

#[test]
fn what_is_ours() {
    for (yaml, is) in [
        ("title: x\ntags: [a]\ncreated_at: 2026-01-01\n", false),
        ("category:\n", false),
        ("", false),
        ("# nothing\n", false),
        ("importance: high\n", true),
        ("expires_at: 2026-01-01\n", true),
        ("key: x\n", true),
        ("pinned: false\n", true),
    ] {
        assert_eq!(fields(&head(yaml)).is_ours, is, "{yaml}");
    }
}

#[test]
fn a_wrong_value_is_told_and_counts_as_absent() {
    let fault = |yaml: &str| {
        let fields = fields(&head(yaml));
        assert_eq!(
            fields,
            Fields { is_ours: fields.is_ours, faults: fields.faults.clone(), ..fields.emptied() }
        );
        fields.faults.into_iter().map(|fault| (fault.line, fault.why)).collect::<Vec<_>>()
    };
    let importance = "`importance` must be a whole number from 1 to 5";
    let moment = "must be a date or a time in the form `2026-11-30T09:12:44Z`";
    for (yaml, faults) in [
        ("importance: high\n", vec![(2, importance.to_owned())]),
        ("# c\n\nimportance: 9\n", vec![(4, importance.to_owned())]),
        ("importance: 0\n", vec![(2, importance.to_owned())]),
        ("importance: 4.5\n", vec![(2, importance.to_owned())]),
        ("importance: [4]\n", vec![(2, importance.to_owned())]),
        ("x:\n  importance: 1\nimportance: -1\n", vec![(4, importance.to_owned())]),
        (
            "expires_at: soon\ncreated_at: 2026\n",
            vec![(2, format!("`expires_at` {moment}")), (3, format!("`created_at` {moment}"))],
        ),
        ("key: [a]\n", vec![(2, "`key` must be a text".to_owned())]),
        ("id: {a: 1}\n", vec![(2, "`id` must be a text".to_owned())]),
        ("category: !x y\n", vec![(2, "`category` must be a text".to_owned())]),
        ("pinned: maybe\n", vec![(2, "`pinned` must be `true` or `false`".to_owned())]),
        ("tags: {a: 1}\n", vec![(2, "`tags` must be a list of texts".to_owned())]),
        (
            "a: |\n  tags: x\ntags:\n  - [[note]]\n  - b\n",
            vec![(4, "`tags` must be a list of texts".to_owned())],
        ),
    ] {
        assert_eq!(fault(yaml), faults, "{yaml}");
    }
}

impl Fields {
    /// Only where the body is.
    fn emptied(&self) -> Self {
        Self { body: self.body, body_line: self.body_line, ..Self::default() }
    }
}

#[test]
fn broken_front_matter_is_told_with_its_line() {
    for (yaml, line, why) in [
        ("a: 1\nb: c: d\n", 3, "mapping values are not allowed in this context"),
        ("a: 1\nkey: \"x\nb: 2\n", 3, "found unexpected end of stream"),
        ("a: 1\ntags: [a, b\nc: 1\n", 4, "did not find expected ',' or ']'"),
        ("a: 1\n\tb: 2\n", 3, "found a tab character that violates indentation"),
        ("a: @x\n", 2, "found character that cannot start any token"),
        ("a: 1\nb: x\u{7}y\n", 3, "control characters are not allowed"),
        ("a: *x\n", 2, "unknown anchor"),
        ("just a text\n", 2, "it is not a mapping of names to values"),
        ("- a\n- b\n", 2, "it is not a mapping of names to values"),
        ("42\n", 2, "it is not a mapping of names to values"),
        ("!x {a: 1}\n", 2, "it is not a mapping of names to values"),
        ("[a]: 1\n", 2, "invalid type: sequence, expected a string"),
        ("a: 1\nb: 2\n\"a\": 3\n", 4, "`a` is there twice"),
        ("id: mem_1\nid: mem_2\n", 3, "`id` is there twice"),
        ("a: 1\n--- b\n", 3, "it is more than one YAML document"),
    ] {
        let (at, said) = broken(&head(yaml));
        assert!(said.contains(why) && !said.contains(" at line "), "{yaml}: {said}");
        assert_eq!(at, line, "{yaml}: {said}");
    }
}

#[test]
fn yaml_that_grows_is_refused_or_never_built() {
    let long = "x".repeat(30_000);
    let many = "*a, ".repeat(8_000);
    let bomb = format!("---\na: &a {long}\ntags: [{many}]\n---\n");
    assert!(broken(&bomb).1.contains("aliases"));
    let list = format!("---\na: &a [{}]\ntags: [{many}]\n---\n", "b,".repeat(10_000));
    assert_eq!(fields(&list).faults.len(), 1);
    let mut laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (of, is) in ('a'..='y').zip('b'..='z') {
        let of = vec![format!("*{of}"); 9].join(",");
        laughs.extend([is.to_string(), format!(": &{is} [{of}]\n")]);
    }
    let laughs = format!("---\n{laughs}tags: *z\n---\n");
    assert_eq!(fields(&laughs).faults.len(), 1);
    let refused = edit(&laughs, &[("importance", Some(Value::Integer(1)))]).unwrap_err();
    assert_eq!(refused.why, "repetition limit exceeded");
    for deep in ["[".repeat(60_000), "{a: ".repeat(15_000), "[".repeat(1_000)] {
        assert!(matches!(read(&format!("---\ntags: {deep}\n---\n")), Front::Broken(_)));
    }
    for deep in ["- ".repeat(30_000), "? ".repeat(30_000)] {
        assert_eq!(fields(&format!("---\nx:\n  {deep}\n---\n")).faults, []);
    }
}

#[test]
fn an_edit_keeps_what_it_does_not_name() {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    let list = |items: &[&str]| Some(Value::List(items.iter().map(|&item| item.to_owned()).collect()));
    let at = Some(Value::Time(time("2026-12-01T10:00:00Z")));
    for (before, edits, after) in [
        // A value, with its comment and the blanks around it.
        (
            "importance:   4   # note\n",
            vec![("importance", Some(Value::Integer(5)))],
            "importance:   5   # note\n",
        ),
        ("importance:\n", vec![("importance", Some(Value::Integer(5)))], "importance: 5\n"),
        ("importance: # note\n", vec![("importance", Some(Value::Integer(5)))], "importance: 5 # note\n"),
        ("\"key\" : 'a # b'#c\n", vec![], "\"key\" : 'a # b'#c\n"),
        ("\"key\" : 'a # b' #c\n", vec![("key", text("x: y"))], "\"key\" : \"x: y\" #c\n"),
        ("key: a\n  b\nz: 1\n", vec![("key", text("c"))], "key: c\nz: 1\n"),
        ("key: |\n  # a\n\n  b\n\n# c\nz: 1\n", vec![("key", text("c"))], "key: c\n\n# c\nz: 1\n"),
        // What is there already stays as it is written.
        (
            "key: 'a'\ntags:\n  - a # x\n",
            vec![("key", text("a")), ("tags", list(&["a"]))],
            "key: 'a'\ntags:\n  - a # x\n",
        ),
        // Lists in each of their forms.
        ("tags: [a, b] # t\n", vec![("tags", list(&["a", "c, d"]))], "tags: [a, \"c, d\"] # t\n"),
        ("tags: [a,\n  b] # t\nz: 1\n", vec![("tags", list(&["c"]))], "tags: [c] # t\nz: 1\n"),
        (
            "tags: # t\n  - a\n  - b\nz: 1\n",
            vec![("tags", list(&["a", "no"]))],
            "tags: # t\n  - a\n  - \"no\"\nz: 1\n",
        ),
        ("tags:\n- a\n- b\nz: 1\n", vec![("tags", list(&["a"]))], "tags:\n- a\nz: 1\n"),
        ("tags:\n- a\nz: 1\n", vec![("tags", list(&[]))], "tags: []\nz: 1\n"),
        ("tags: a, b\n", vec![("tags", list(&["a", "b", "c"]))], "tags: [a, b, c]\n"),
        // Keys that go.
        ("a: 1\nkey: x # c\n# d\nz: 1\n", vec![("key", None)], "a: 1\n# d\nz: 1\n"),
        ("key: x\n", vec![("key", None), ("tags", None)], ""),
        // Keys that come.
        ("", vec![("importance", Some(Value::Integer(3)))], "importance: 3\n"),
        (
            "z: 1\n# end\n",
            vec![("updated_at", at.clone())],
            "z: 1\n# end\nupdated_at: 2026-12-01T10:00:00Z\n",
        ),
        (
            "id: a\nkey: k\nz: 1\n",
            vec![("updated_at", at.clone())],
            "id: a\nupdated_at: 2026-12-01T10:00:00Z\nkey: k\nz: 1\n",
        ),
        ("a: 1\n# c\npinned: true\n", vec![("key", text("k"))], "a: 1\n# c\nkey: k\npinned: true\n"),
        ("  a: 1\n", vec![("importance", Some(Value::Integer(3)))], "  a: 1\n  importance: 3\n"),
        ("a: |+\n  x\n\n", vec![("odd key: ", text("3"))], "a: |+\n  x\n\n\"odd key: \": \"3\"\n"),
        // Both at once, beside what only a parser understands.
        (
            "x: &x {a: [1, 'b']}\ny: *x\n<<: *x\nimportance: 1\n",
            vec![("importance", Some(Value::Integer(2))), ("pinned", Some(Value::Flag(true)))],
            "x: &x {a: [1, 'b']}\ny: *x\n<<: *x\nimportance: 2\npinned: true\n",
        ),
    ] {
        assert_eq!(edit(&head(before), &edits), Ok(head(after)), "{before}");
        for (begin, end) in [("", "\r\n"), ("\u{FEFF}", "\n")] {
            let dress = |yaml: &str| format!("{begin}---\n{yaml}---\n\n\tno newline").replace('\n', end);
            // A block text has the line ends in it; what it comes to is the same for YAML.
            assert_eq!(edit(&dress(before), &edits), Ok(dress(after)), "{before}");
        }
    }
}

#[test]
fn what_cannot_be_edited_in_place_is_refused() {
    let edits = [("key", Some(Value::Text("x".to_owned())))];
    for (text, line) in [
        ("text".to_owned(), 1),
        ("---\nno end\n".to_owned(), 1),
        (head("a: [\n"), 2),
        (head("{a: 1}\n"), 2),
        (head("? a\n: 1\n"), 2),
        (head("a: 1\nb:\n  - \"c\nkey: d\"\n"), 5),
        (head("a: 1\rkey: 2\n"), 2),
        (head("key: &x a\nb: *x\n"), 2),
        (head("a: &x 1\nkey: &x 2\nb: *x\n"), 3),
        (head("a: 1\n...x\n"), 3),
    ] {
        let refused = edit(&text, &edits).map_err(|broken| broken.line);
        assert!(refused == Err(line), "{text:?}: {:?}", edit(&text, &edits));
    }
    // Blank lines would become part of the text before them.
    assert!(edit(&head("a: |+\n  x\nkey: y\n\nz: 1\n"), &[("key", None)]).is_err());
}

#[test]
fn a_body_is_changed_under_its_front_matter() {
    assert_eq!(with_body("---\na: 1\n---\nold", "new").unwrap(), "---\na: 1\n---\nnew");
    assert_eq!(with_body("---\na: 1\n---", "new\n").unwrap(), "---\na: 1\n---\nnew\n");
    assert_eq!(
        with_body("---\r\na: 1\r\n---\r\nold\r\n", "n\new\n").unwrap(),
        "---\r\na: 1\r\n---\r\nn\r\new\r\n"
    );
    assert_eq!(with_body("---\na: 1\n---\nold\n", "").unwrap(), "---\na: 1\n---\n");
    assert!(with_body("old", "new").is_err());
}

#[test]
fn a_new_entry_has_the_order_of_the_specification() {
    let fields = [
        ("pinned", Value::Flag(true)),
        ("source", Value::Text("chat: 1".to_owned())),
        ("tags", Value::List(vec!["editor".to_owned(), "a, b".to_owned(), "null".to_owned()])),
        ("importance", Value::Integer(4)),
        ("created_at", Value::Time(time("2026-11-30T09:12:44.9Z"))),
        ("id", Value::Text("mem_01JDZ".to_owned())),
        ("key", Value::Text("editor.theme".to_owned())),
    ];
    assert_eq!(
        compose(&fields, "The user prefers dark mode."),
        "---\nid: mem_01JDZ\nimportance: 4\ntags: [editor, \"a, b\", \"null\"]\ncreated_at: 2026-11-30T09:12:44Z\n\
         key: editor.theme\npinned: true\nsource: \"chat: 1\"\n---\nThe user prefers dark mode.\n"
    );
    assert_eq!(compose(&[("tags", Value::List(Vec::new()))], ""), "---\n---\n");
}

#[test]
fn an_edit_that_breaks_front_matter_is_told() {
    let good = head("key: a\n");
    let line = |after: &str| broke(&good, after).map(|broken| broken.line);
    assert_eq!(line(&head("key: b\nz: [a\n")), Some(3));
    assert_eq!(line("---\nkey: a\nbody\n"), Some(1));
    assert_eq!(line(&head("key: b\n")), None);
    assert_eq!(line("body\n"), None);
    assert_eq!(broke("body\n", &head("key: [a\n")), None);
    assert_eq!(broke(&head("key: [\n"), &head("key: [a\n")), None);
}

/// Values that people write, and that can be changed in place.
fn tidy_value() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "",
        "4",
        "[a, \"b]\", # c\n  'd']",
        "\n  - a\n  # c\n  - \"b\"",
        "\n- a\n- b: 1",
        "|\n  # text\n\n  more",
        ">-\n  a: b",
        "\"a\n  b # c\"  # d",
        "'it''s'",
        "one\n  two # c",
        "{a: [1, 2]}  # c",
        "2026-11-30 # c",
        "[[note]]",
    ])
    .prop_map(str::to_owned)
}

fn line((key, value, blank): (String, String, bool)) -> String {
    if key.is_empty() {
        return "\n".to_owned();
    }
    format!("{key}: {value}\n{}", if blank { "\n" } else { "" })
}

/// Front matter of many kinds, whole and not.
fn yaml() -> impl Strategy<Value = String> {
    let value = prop_oneof!["[a-z0-9 #:'\"\\[\\]{},&*!|>~-]{0,12}", tidy_value()];
    let key = prop_oneof![
        proptest::sample::select(KEYS.to_vec()).prop_map(str::to_owned),
        "[a-z]{1,3}",
        Just("\"quoted: key\"".to_owned()),
        Just("# comment".to_owned()),
        Just(String::new()),
    ];
    let line = (key, value, any::<bool>()).prop_map(line);
    proptest::collection::vec(line, 0..6).prop_map(|lines| lines.concat())
}

/// Front matter that can be changed in place.
fn tidy() -> impl Strategy<Value = String> {
    let keys = [&KEYS[..], &["aliases", "\"quoted: key\"", "'x'", "a b"]].concat();
    let keys = proptest::sample::subsequence(keys, 0..8).prop_shuffle();
    keys.prop_flat_map(|keys| {
        let line = |key: &str| (Just(key.to_owned()), tidy_value(), any::<bool>()).prop_map(line);
        keys.into_iter().map(line).collect::<Vec<_>>().prop_map(|lines| lines.concat())
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Flag),
        any::<String>().prop_map(Value::Text),
        proptest::collection::vec(any::<String>(), 0..4).prop_map(Value::List),
        (0..253_402_300_799_i64).prop_map(|at| Value::Time(DateTime::from_timestamp(at, 0).unwrap())),
    ]
}

fn reads_as(fields: &Fields, key: &str, value: &Value) -> bool {
    let faulty = fields.faults.iter().any(|fault| fault.why.starts_with(&format!("`{key}` must")));
    let text = |is: &Option<String>, text: &String| is.as_ref() == Some(text).filter(|text| !text.is_empty());
    let moment = |is: &Option<DateTime<Utc>>, time: &DateTime<Utc>| is.as_ref() == Some(time);
    match (key, value) {
        ("id", Value::Text(is)) => text(&fields.id, is),
        ("key", Value::Text(is)) => text(&fields.key, is),
        ("category", Value::Text(is)) => text(&fields.category, is),
        ("importance", Value::Integer(is @ 1..=5)) => fields.importance.map(i64::from) == Some(*is),
        ("importance", Value::Integer(_)) => faulty,
        ("pinned", Value::Flag(is)) => fields.pinned == *is,
        ("created_at", Value::Time(is)) => moment(&fields.created_at, is),
        ("updated_at", Value::Time(is)) => moment(&fields.updated_at, is),
        ("expires_at", Value::Time(is)) => moment(&fields.expires_at, is),
        ("tags", Value::List(is)) => fields.tags.iter().eq(is.iter().filter(|tag| !tag.is_empty())),
        _ => true,
    }
}

proptest! {
    #[test]
    fn junk_never_panics(text in any::<String>(), yaml in yaml(), value in value()) {
        for text in [head(&text), text, head(&yaml)] {
            let _ = read(&text);
            let _ = edit(&text, &[("key", Some(value.clone()))]);
            let _ = with_body(&text, "x");
        }
    }

    #[test]
    fn an_edit_changes_the_lines_of_its_key_alone(
        (yaml, is_tidy) in prop_oneof![(yaml(), Just(false)), (tidy(), Just(true))],
        key in proptest::sample::select(KEYS.to_vec()),
        value in proptest::option::of(value()),
        windows in any::<bool>(),
    ) {
        let mut text = head(&yaml);
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let before = match read(&text) {
            Front::Fields(before) => before,
            _ if is_tidy => panic!("{text}"),
            _ => return Ok(()),
        };
        let edited = match edit(&text, &[(key, value.clone())]) {
            Ok(edited) => edited,
            Err(broken) if is_tidy => panic!("{text}{broken:?}"),
            Err(_) => return Ok(()),
        };
        let after = fields(&edited);
        match &value {
            Some(value) => prop_assert!(reads_as(&after, key, value), "{text}\n{edited}"),
            None => prop_assert!(!lines::spans(&edited[4..after.body - 4]).0.iter().any(|span| span.key == key)),
        }
        prop_assert_eq!(&edited[after.body..], &text[before.body..]);
        let others = |text: &str| {
            let fence = parsed(text).unwrap().0;
            let yaml = &text[fence.yaml];
            let mut left = yaml.to_owned();
            let (spans, _) = lines::spans(yaml);
            for span in spans.iter().rev().filter(|span| span.key == key) {
                left.replace_range(span.lines.clone(), "");
            }
            left
        };
        prop_assert_eq!(others(&text), others(&edited));
    }

    #[test]
    fn what_is_composed_reads_as_it_was_given(
        id in any::<String>(),
        tags in proptest::collection::vec(any::<String>(), 0..4),
        key in any::<String>(),
        at in 0..253_402_300_799_i64,
        body in "(---\n)?(\\PC|\n){0,20}",
    ) {
        let given = [
            ("id", Value::Text(id)),
            ("tags", Value::List(tags)),
            ("key", Value::Text(key)),
            ("created_at", Value::Time(DateTime::from_timestamp(at, 0).unwrap())),
        ];
        let text = compose(&given, &body);
        let fields = fields(&text);
        for (key, value) in &given {
            prop_assert!(reads_as(&fields, key, value), "{text}");
        }
        prop_assert_eq!(text[fields.body..].trim_end_matches('\n'), body.trim_end_matches('\n'));
    }
}
