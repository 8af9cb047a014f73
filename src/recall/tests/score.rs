//! What scores too little does not come back, and nothing that answers is lost for that.

use super::*;

/// Words are rare nowhere in a store of few memories, and chatty questions have many that no memory has.
#[test]
fn few_memories_answer_as_many_do() {
    for (memory, questions) in PLAIN {
        let bench = Bench::new();
        bench.store(memory);
        let lost: Vec<_> = questions.iter().filter(|question| bench.found(question) != [*memory]).collect();
        assert!(lost.is_empty(), "{memory}: {lost:?}");
    }
}

const PLAIN: &[(&str, &[&str])] = &[
    ("The user drinks green tea.", &["tea", "TEA?", "does she drink tea", "teas", "gren tea"]),
    ("The garage door code is 4711.", &["what do you know about the garage?", "do you remember the code?"]),
    ("My sister Eva lives in Oslo.", &["what is my sister called?", "do you know my sister?"]),
    ("My name is Tom.", &["do you know my name?", "can you tell me my name please"]),
    ("The printer jams.", &["is there anything about the printer that we should know?"]),
    ("Fire: meet at the car park.", &["Where do we have to go when there is a fire?"]),
    ("We are in Berlin.", &["Where are we?"]),
    ("What did he do?", &["What did he do?"]),
    ("车在车库里。", &["车在哪里?"]),
    ("周佳怡五月去上海。", &["上海"]),
];

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
    for query in ["deployment window", "the", "猫", "🎉"] {
        let ask = Ask { query: query.to_owned(), ..ask.clone() };
        assert_eq!(bench.asked(&ask), ["Helix, with the dark theme."], "{query}");
        assert_eq!(bench.asked(&Ask { min_score: Some(0.5), ..ask }), [""; 0], "{query}");
    }
}
