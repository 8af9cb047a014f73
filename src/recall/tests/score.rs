//! What scores too little does not come back, and nothing that answers is lost for that.

use super::*;

#[test]
fn few_memories_answer_as_many_do() {
    let bench = Bench::new();
    bench.store("The user drinks green tea.");
    for question in
        ["tea", "TEA?", "green tea", "what does the user drink?", "does she drink tea", "teas", "gren tea"]
    {
        assert_eq!(bench.found(question), ["The user drinks green tea."], "{question}");
    }
    for question in ["who are you?", "the", "ok", "deployment window", "what is the capital of France?"] {
        assert_eq!(bench.found(question), [""; 0], "{question}");
    }
    bench.store("周佳怡五月去上海。");
    bench.store("The printer is on the third floor.");
    assert_eq!(bench.found("tea"), ["The user drinks green tea."]);
    assert_eq!(bench.found("上海"), ["周佳怡五月去上海。"]);
}

/// With a table of English words, Chinese is judged by its words alone: all of them once are as good as can be.
#[test]
fn a_question_that_the_model_cannot_read_scores_by_words() {
    let bench = Bench::new();
    bench.store("挂绳坏了四十条。");
    let found = bench.recall.retrieve(&Ask { query: "挂绳坏了".to_owned(), ..Ask::default() }).unwrap();
    assert!(found.memories[0].score > 0.9, "{found:?}");
    assert!((found.memories[0].terms.relevance - found.memories[0].terms.lexical).abs() < 1e-6);
}

#[test]
fn who_names_a_tag_means_it() {
    let bench = Bench::new();
    let tags = vec!["editor".to_owned()];
    bench.recall.store(NewEntry { tags: tags.clone(), ..entry("Helix, with the dark theme.") }).unwrap();
    let ask = Ask { query: "deployment window".to_owned(), tags, ..Ask::default() };
    assert_eq!(bench.asked(&ask), ["Helix, with the dark theme."]);
    assert_eq!(bench.asked(&Ask { tags: Vec::new(), ..ask }), [""; 0]);
}
