//! Questions of few words, each of which must find one memory first among others that are like it.

use super::*;

#[test]
fn questions_find_what_has_their_words() {
    let text = include_str!("../../../fixtures/retrieval/words.txt");
    let mut failed = Vec::new();
    for section in text.split("\n== ").skip(1) {
        let (name, lines) = section.split_once('\n').unwrap();
        let bench = Bench::new();
        let mut asked = Vec::new();
        let mut memory = "";
        for (number, line) in lines.lines().filter(|line| !line.is_empty()).enumerate() {
            if let Some(question) = line.strip_prefix("? ") {
                asked.push((question, memory));
            } else {
                memory = line;
                bench.write(&format!("/memories/{number}.md"), line);
                // What is made at once is neighbours.
                bench.pass(Duration::hours(1));
            }
        }
        for (question, expected) in asked {
            let found = bench.found(question);
            if found.first().map(String::as_str) != Some(expected) {
                failed.push(format!("{name}: {question}: {:?}, not {expected}", found.first()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn signs_alone_ask_nothing() {
    let bench = Bench::new();
    bench.store("What is this? Nobody knows!");
    bench.pass(Duration::days(1));
    bench.store("Tea is made at four.");
    bench.pass(Duration::days(1));
    bench.store("The arrow → is a lambda.");
    let newest = bench.found("");
    assert_eq!(newest.len(), 3);
    for query in ["???", "...", " ! ", "*", "…", "\u{201c}\u{201d}", "=>", "```", "|", "\u{200b}\u{feff}"] {
        assert_eq!(bench.found(query), newest, "{query}");
    }
    assert_eq!(bench.found("→"), ["The arrow → is a lambda."]);
}

#[test]
fn a_small_word_counts_only_where_something_has_it_as_a_name() {
    let bench = Bench::new();
    bench.store("The boiler is in the cellar.");
    let score = |query: &str| {
        let ask = Ask { query: query.to_owned(), semantic: false, ..Ask::default() };
        bench.recall.retrieve(&ask).unwrap().memories.first().map(|memory| memory.score)
    };
    let plain = score("where is the boiler");
    assert!(plain.is_some());
    assert_eq!(score("where IS the boiler \u{1f914}"), plain);
    assert_eq!(score("I do NOT know Where The boiler is"), score("know boiler"));
    assert_eq!(score("what is it"), None);
    assert_eq!(score("#boiler attic"), score("boiler attic"), "what no memory has takes no weight");
}

#[test]
fn letters_that_the_model_does_not_know_mean_nothing() {
    let bench = Bench::new();
    bench.store("Поезд опоздал из-за снега.");
    bench.store("The train was late because of snow.");
    assert_eq!(bench.found("холодильник"), [""; 0]);
    assert_eq!(bench.found("поезд"), ["Поезд опоздал из-за снега."]);
    assert_eq!(bench.found("railway delayed in winter"), ["The train was late because of snow."]);
}
