use super::*;
use crate::recall::tests::entry;

const OLDER: &str = "On weekends the user mostly goes hiking in the mountains.";
const NEWER: &str = "The user goes to the mountains for hikes at the weekend.";

/// What becomes of an entry when another one is stored after its candidates were looked up: what it replaces, and what is told.
fn decided_after(settings: &str, meanwhile: &[&str]) -> (Vec<MemoryId>, Vec<Similar>, Vec<MemoryId>) {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings::parse(settings).unwrap();
    let store = crate::store::Store::builder(dir.path()).settings(settings.clone()).open().unwrap();
    let recall = Recall::new(store.clone());
    let new = entry(NEWER);
    let is_told = settings.entries.on_similar == OnSimilar::Report;
    let candidates = recall.candidates(&new, NEWER, is_told).unwrap();
    let other = Recall::new(store.clone());
    let stored = meanwhile.iter().map(|text| other.store(entry(text)).unwrap().memory_id).collect();
    let now = store.now();
    let change = move |snapshot: &mut Snapshot<'_>| {
        let known = read(snapshot, &candidates, &new, NEWER, &settings, now)?;
        let decision = decide(&new, NEWER, &known, &settings.entries, now);
        let (_, (stored, alike)) = carry_out(snapshot, &new, decision, &settings, now)?;
        Ok::<_, Error>((Vec::new(), (stored.superseded.clone(), most_similar(alike, &stored))))
    };
    let (superseded, similar) = store.change(change).unwrap();
    (superseded, similar, stored)
}

#[test]
fn what_comes_after_the_candidates_is_judged_by_what_it_means() {
    let (superseded, similar, stored) = decided_after("", &["Tea is green.", OLDER]);
    assert_eq!(superseded, []);
    let told: Vec<_> = similar.iter().map(|one| one.id).collect();
    assert_eq!(told, stored[1..]);
    let (superseded, similar, stored) = decided_after(
        "[entries]\non_similar = \"supersede\"\nsimilar_threshold = 0.7\n",
        &["Tea is green.", OLDER],
    );
    assert_eq!((superseded, similar), (stored[1..].to_vec(), vec![]));
}
