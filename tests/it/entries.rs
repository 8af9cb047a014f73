//! The tools over entries and the one-file tool, called as the agents of the articles call them.

use memdir::{Content, Dispatcher, Store, ToolUse, one_file_text};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::shell;

struct Agent {
    dispatcher: Dispatcher,
    dir: TempDir,
}

impl Agent {
    fn new(settings: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("memdir.toml"), settings).unwrap();
        let clock = || "2026-11-30T09:12:44Z".parse().unwrap();
        let store = Store::builder(dir.path()).clock(clock).open().unwrap();
        Self { dispatcher: Dispatcher::new(store), dir }
    }

    /// The text of the answer to one call, and whether it is an error.
    fn say(&self, name: &str, input: &Value) -> (String, bool) {
        let call = ToolUse { id: "toolu_1".to_owned(), name: name.to_owned(), input: input.clone() };
        let result = self.dispatcher.run(&call);
        match result.content {
            Content::Text(text) => (text, result.is_error),
            Content::Blocks(blocks) => panic!("{blocks:?}"),
        }
    }

    /// The answer to a call that works.
    fn ask(&self, name: &str, input: &Value) -> Value {
        let (text, is_error) = self.say(name, input);
        assert!(!is_error, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The words of the answer to a call that does not.
    fn refusal(&self, name: &str, input: &Value) -> String {
        let (text, is_error) = self.say(name, input);
        assert!(is_error, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer.as_object().unwrap().len(), 1, "{text}");
        answer["error"].as_str().unwrap().to_owned()
    }
}

fn tool_use(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// The answers of a user message: their ids, and the JSON in their texts.
fn answers(message: &Value) -> Vec<(String, Value)> {
    let results = message["content"].as_array().unwrap();
    let answer = |result: &Value| {
        let text = result["content"].as_str().unwrap();
        let json = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        (result["tool_use_id"].as_str().unwrap().to_owned(), json)
    };
    results.iter().map(answer).collect()
}

#[test]
fn the_articles_agent_stores_finds_and_deletes() {
    let agent = Agent::new("");
    let mut tags = json!({
        "content": "The user prefers dark mode in every editor.",
        "category": "user_preference",
        "tags": ["editor", "theme"],
        "importance": 5,
    });
    let message = json!({"role": "assistant", "content": [
        {"type": "text", "text": "I will remember that."},
        tool_use("toolu_1", "memory_store", &tags),
        tool_use("toolu_2", "bash", &json!({"command": "ls"})),
        tool_use("toolu_3", "memory_retrieve", &json!({"query": "dark mode", "limit": 5})),
    ]});
    let answered = agent.dispatcher.run_message(&message).unwrap();
    assert_eq!(answered.left_alone, ["toolu_2"]);
    let answers = answers(&serde_json::to_value(&answered.message).unwrap());
    let [(first, stored), (second, found)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("toolu_1", "toolu_3"));
    let path = "/memories/user_preference/the-user-prefers-dark-mode-in-every-editor.md";
    let id = stored["memory_id"].as_str().unwrap();
    assert_eq!(*stored, json!({"success": true, "memory_id": id, "path": path}));
    let score = found["memories"][0]["score"].as_f64().unwrap();
    assert!(score > 0.3 && score <= 1.0, "{score}");
    assert_eq!(
        *found,
        json!({"memories": [{
            "id": id,
            "content": "The user prefers dark mode in every editor.",
            "category": "user_preference",
            "tags": ["editor", "theme"],
            "importance": 5,
            "score": score,
            "created_at": "2026-11-30T09:12:44Z",
            "path": path,
            "lines": [7, 7],
        }]})
    );
    // Another form of the same is no second entry.
    tags["content"] = "the user prefers  dark mode in every editor.".into();
    let again = agent.ask("memory_store", &tags);
    assert_eq!((again["memory_id"].as_str(), again["duplicate_of"].as_str()), (Some(id), Some(id)));
    let gone = agent.ask("memory_delete", &json!({"memory_id": id, "reason": "Switched to light mode."}));
    assert_eq!(gone, json!({"success": true}));
    assert_eq!(agent.ask("memory_retrieve", &json!({"query": "dark mode"})), json!({"memories": []}));
    let words = agent.refusal("memory_delete", &json!({"memory_id": id, "reason": "again"}));
    assert!(words.starts_with(&format!("there is no entry with the id {id} (any more)")), "{words}");
}

#[test]
fn calls_that_come_together_are_answered_in_their_order() {
    let agent = Agent::new("");
    let lines = [
        r#"{"command":"create","path":"/memories/notes.md","file_text":"The staging server listens on port 8443.\n"}"#,
        r#"{"query":"staging port"}"#,
        r#"{"content":"Production listens on port 9443.","category":"project_context","importance":4}"#,
        r#"{"command":"str_replace","path":"/memories/notes.md","old_str":"8443","new_str":"8444"}"#,
        r#"{"query":"port","categories":["project_context"]}"#,
        r#"{"query":"staging port"}"#,
        r#"{"action":"save","content":"x"}"#,
        r#"{"command":"view","path":"/memories/agent.txt"}"#,
    ];
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let answers = agent.dispatcher.run_lines(&lines);
    let texts: Vec<String> = answers
        .iter()
        .map(|line| {
            let result: Value = serde_json::from_str(line).unwrap();
            assert!(result.get("is_error").is_none(), "{line}");
            result["content"].as_str().unwrap().to_owned()
        })
        .collect();
    let contents = |text: &str| -> Vec<String> {
        let found: Value = serde_json::from_str(text).unwrap();
        let memories = found["memories"].as_array().unwrap();
        memories.iter().map(|memory| memory["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(contents(&texts[1]), ["The staging server listens on port 8443."]);
    assert_eq!(contents(&texts[4]), ["Production listens on port 9443."]);
    assert_eq!(contents(&texts[5])[0], "The staging server listens on port 8444.");
    assert_eq!(texts[6], r#"{"success":true,"message":"Memory saved."}"#);
    assert!(texts[7].contains("[2026-11-30] x"), "{}", texts[7]);
}

#[test]
fn a_plain_file_is_not_deleted_by_its_id() {
    let agent = Agent::new("");
    agent.say(
        "memory",
        &json!({"command": "create", "path": "/memories/notes.md", "file_text": "Green tea.\n\nOld news.\n"}),
    );
    let found = agent.ask("memory_retrieve", &json!({"query": "green tea"}));
    let memory = &found["memories"][0];
    assert_eq!((&memory["path"], &memory["lines"]), (&json!("/memories/notes.md"), &json!([1, 3])));
    assert!(memory.get("category").is_none() && memory.get("importance").is_none());
    let words = agent.refusal("memory_delete", &json!({"memory_id": memory["id"], "reason": "old"}));
    assert!(words.contains("/memories/notes.md") && words.contains("`str_replace`"), "{words}");
    let malformed = agent.refusal("memory_delete", &json!({"memory_id": "7", "reason": "old"}));
    assert!(malformed.contains("`mem_` and 26 letters and digits"), "{malformed}");
    let unknown = json!({"memory_id": "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "reason": "old"});
    let words = agent.refusal("memory_delete", &unknown);
    assert!(words.starts_with("there is no entry with the id mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"), "{words}");
}

#[test]
fn what_the_rules_of_an_entry_say_is_said_to_the_model() {
    let agent = Agent::new("[entries]\ncategories = [\"recipes\"]\n");
    let entry = |more: Value| {
        let mut input = json!({"content": "Rice needs 12 minutes.", "category": "recipes", "importance": 2});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        input
    };
    assert_eq!(agent.ask("memory_store", &entry(json!({})))["success"], true);
    let long = "x".repeat(10 << 20);
    let tags: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    for (more, words) in [
        (json!({"content": ""}), "content: must not be empty; it is \"\""),
        (
            json!({"category": "food"}),
            "category: must be one of user_preference, project_context, factual_knowledge, decision_log, relationship, \
             task_progress, recipes; it is \"food\"",
        ),
        (
            json!({"expires_at": "2026-11-30"}),
            "expires_at: must be in the future; it is \"2026-11-30T00:00:00Z\"",
        ),
        (json!({"content": long}), "content: must be at most 1048576 bytes"),
        (json!({"tags": tags}), "tags: must be at most 32; it is 10000 tags"),
        (json!({"tags": ["x".repeat(65)]}), "tags: must each be at most 64 characters; it is \"xxx"),
    ] {
        let said = agent.refusal("memory_store", &entry(more));
        assert!(said.starts_with(words) && said.chars().count() < 300, "{said}");
    }
    let future = entry(json!({"content": "Lasts a day.", "expires_at": "2026-12-01"}));
    agent.ask("memory_store", &future);
    let found = agent.ask("memory_retrieve", &json!({"query": "lasts a day", "categories": ["recipes"]}));
    assert_eq!(found["memories"][0]["expires_at"], "2026-12-01T00:00:00Z");
}

#[test]
fn a_secret_in_an_entry_is_warned_of_or_refused() {
    let key = format!("{}{}", "AKIA", "Z7VR4QLMN2PXWB5D");
    let input =
        json!({"content": format!("The key is {key}."), "category": "project_context", "importance": 3});
    let warned = Agent::new("[guard]\nmode = \"warn\"\n").ask("memory_store", &input);
    assert!(warned["warning"].as_str().is_some_and(|words| !words.is_empty()), "{warned}");
    assert!(!warned.to_string().contains(&key), "{warned}");
    let agent = Agent::new("[guard]\nmode = \"block\"\n");
    // The line is one of the field, as the model has not seen the file.
    let entry = |field: &str, value: Value| {
        let mut input = json!({"content": "x", "category": "project_context", "importance": 3});
        input[field] = value;
        input
    };
    for (input, place) in [
        (input, "line 1 of `content`"),
        (entry("content", format!("# One\n\nThe key is {key}.").into()), "line 3 of `content`"),
        (entry("tags", json!(["net", key])), "number 2 of `tags`"),
        (entry("key", key.clone().into()), "`key`"),
    ] {
        let words = agent.refusal("memory_store", &input);
        let expected =
            format!("not stored: {place} looks like aws-access-token. Remove the secret and try again");
        assert_eq!(words, expected);
    }
    let wrong = json!({"content": "x", "category": key, "importance": 3});
    let words = agent.refusal("memory_store", &wrong);
    assert!(words.contains("[redacted: ") && !words.contains(&key), "{words}");
}

#[test]
fn what_is_left_out_leaves_the_front_matter_of_an_entry_whole() {
    let agent = Agent::new("[guard]\nmode = \"redact\"\n");
    let value = "Kq7Xz2Lm9Pw4Rt6Yv8Bn1Cd3";
    let entry = |more: Value| {
        let mut input = json!({"content": format!("The API listens on 9443, password: {value}."), "category": "project_context", "importance": 3});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    for (more, field) in
        [(json!({"tags": [format!("password:{value}"), "net"]}), "tags"), (json!({"key": value}), "key")]
    {
        let words = agent.refusal("memory_store", &entry(more));
        assert!(
            words.starts_with(&format!("{field}: must hold no secret")) && !words.contains(value),
            "{words}"
        );
    }
    agent.ask("memory_store", &entry(json!({"tags": ["net", "api"], "key": "api"})));
    let found = agent.ask("memory_retrieve", &json!({"query": "API listens"}));
    let memory = &found["memories"][0];
    assert_eq!(memory["tags"], json!(["net", "api"]));
    assert_eq!(memory["content"], "The API listens on 9443, password: [redacted: password]");
}

#[test]
fn the_articles_one_file_agent_keeps_its_notes() {
    let agent = Agent::new("");
    let dispatcher = agent.dispatcher.clone().with_agent("code_review_agent").unwrap();
    let save =
        |content: &str| tool_use("t", "memory_20250818", &json!({"action": "save", "content": content}));
    let message = json!({"role": "assistant", "content": [
        save("Team: snake_case"),
        save("Trọng SQL injection prevention"),
        tool_use("t", "memory_20250818", &json!({"action": "forget", "content": ""})),
    ]});
    let answered = dispatcher.run_message(&message).unwrap();
    let answers = answers(&serde_json::to_value(&answered.message).unwrap());
    let saved = json!({"success": true, "message": "Memory saved."});
    let unknown = json!({"success": false, "message": "Unknown action."});
    assert_eq!(
        answers.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>(),
        [saved.clone(), saved, unknown]
    );
    assert!(answered.message.content.iter().all(|result| !result.is_error));
    let store = Store::open(agent.dir.path()).unwrap();
    assert_eq!(
        one_file_text(&store, "code_review_agent").unwrap(),
        "[2026-11-30] Team: snake_case\n[2026-11-30] Trọng SQL injection prevention\n"
    );
}

/// `memdir eval` on a set of one's own, and what it says of a wrong one.
#[test]
fn a_set_of_questions_is_evaluated() {
    let dir = tempfile::tempdir().unwrap();
    let set = concat!(
        r#"{"doc":"tea","category":"user_preference","text":"The user drinks green tea."}"#,
        "\n",
        r#"{"doc":"car","path":"/memories/notes/car.md","text":"The car is parked on level 3."}"#,
        "\n",
        r#"{"query":"q1","kind":"easy","text":"where is the car parked","relevant":["car"]}"#,
        "\n",
        r#"{"query":"q2","kind":"none","text":"zebra xylophone","relevant":[]}"#,
        "\n",
    );
    std::fs::write(dir.path().join("set.jsonl"), set).unwrap();
    let done = shell(dir.path(), "$MEMDIR eval set.jsonl --json");
    let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| &line["way"]).collect::<Vec<_>>(), ["lexical", "semantic", "hybrid"]);
    let hybrid = &lines[2];
    assert_eq!(
        (&hybrid["recall_at_1"], &hybrid["mrr"], &hybrid["questions"]),
        (&json!(1.0), &json!(1.0), &json!(1))
    );
    assert_eq!((&hybrid["unanswerable"], &hybrid["rejected"]), (&json!(1), &json!(1)));
    let kinds = shell(dir.path(), "$MEMDIR eval set.jsonl --kinds").out;
    assert_eq!(kinds.lines().count(), 1 + 3 * 3, "{kinds}");

    let wrong = [
        ("{\"text\":\"x\"}", "line 1: it has neither `doc` nor `query`"),
        ("{\"doc\":\"a\"}", "line 1: missing field `text`"),
        (
            "{\"query\":\"q\",\"text\":\"x\",\"relevant\":[\"gone\"]}",
            "relevant: must be documents of the set (q); it is gone",
        ),
        (
            "{\"doc\":\"a\",\"text\":\"x\"}\n{\"doc\":\"a\",\"text\":\"y\"}",
            "doc: must be different from document to document; it is a",
        ),
        ("", "the set is empty"),
    ];
    for (set, words) in wrong {
        std::fs::write(dir.path().join("set.jsonl"), set).unwrap();
        let done = shell(dir.path(), "$MEMDIR eval set.jsonl");
        assert!(done.err.contains(words), "{set}: {}", done.err);
    }
}

/// An index of somebody else's. Root may write whatever the mode says, unless it gives that up.
#[test]
fn an_index_that_may_only_be_read_is_read_and_one_that_may_not_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let filled = shell(
        dir.path(),
        "umask 077; $MEMDIR init --dir . && n=0; while [ $n -lt 300 ]; do n=$((n + 1)); echo \"Box $n is in room $n$n.\" > memories/$n.md; done; \
         $MEMDIR retrieve --dir . 'where is box 203' -n 1",
    );
    assert!(filled.out.contains("Box 203 is in room 203203.") && filled.err.is_empty(), "{filled:?}");
    let plainly = |line: &str| {
        let bare = "setpriv --inh-caps=-all --bounding-set=-all";
        shell(dir.path(), &format!("if [ $(id -u) = 0 ]; then set -- {bare}; fi; \"$@\" $MEMDIR {line}"))
    };
    shell(dir.path(), "chmod -R a-w .memdir/index");
    let found = plainly("retrieve --dir . 'where is box 203' -n 1");
    assert!(found.out.contains("Box 203 is in room 203203.") && found.err.is_empty(), "{found:?}");
    let told = plainly("check --dir .");
    assert!(
        told.out.contains("note      .memdir/index: it cannot be written: Permission denied"),
        "{told:?}"
    );
    assert_eq!(told.code, Some(0));
    let told = plainly("stats --dir .").out;
    assert!(told.contains("index     300 passages, up to date; it cannot be written: Permission"), "{told}");

    shell(dir.path(), "chmod -R a-r .memdir/index");
    let found = plainly("retrieve --dir . 'where is box 203' -n 1");
    assert!(found.out.contains("Box 203 is in room 203203."), "{found:?}");
    assert!(found.err.starts_with("warning: the index cannot be kept on the disk: Permission"), "{found:?}");
    shell(dir.path(), "chmod -R u+rwX .memdir/index && rm -r .memdir/index && chmod a-w .memdir");

    // Told once, by a process that is asked often.
    let ask = r#"{"type": "tool_use", "id": "1", "name": "memory_retrieve", "input": {"query": "where is box 203"}}"#;
    let asked = plainly(&format!("call --dir . <<'end'\n{ask}\n{ask}\n{ask}\nend"));
    assert_eq!(asked.out.matches("Box 203 is in room 203203.").count(), 3, "{asked:?}");
    assert_eq!(asked.err.matches("warning: the index cannot be kept").count(), 1, "{}", asked.err);
    shell(dir.path(), "chmod u+w .memdir");
}
