//! What scores too little does not come back, and nothing that answers is lost for that.

use super::*;

#[test]
fn who_names_a_tag_means_it() {
    let bench = Bench::new();
    let tags = vec!["editor".to_owned()];
    bench.recall.store(NewEntry { tags: tags.clone(), ..entry("Helix, with the dark theme.") }).unwrap();
    let ask = Ask { query: "deployment window".to_owned(), tags, ..Ask::default() };
    assert_eq!(bench.asked(&ask), ["Helix, with the dark theme."]);
    assert_eq!(bench.asked(&Ask { tags: Vec::new(), ..ask }), [""; 0]);
}
