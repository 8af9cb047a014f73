//! English forms that no rule about endings leads to: `bought` is `buy`. Who asks says `What did Ana buy?`, who tells says
//! `I bought`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A word and its forms, then the next. Forms that are more often other words, or that endings lead to another word's form, are left
/// out (`rose`, `lay`, `better`; `bit`, whose plural is `bits`; `leaves`, which is a form of `leave`).
const FORMS: &str = "\
    arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bind bound, bite \
    bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built, burn burnt, buy \
    bought, catch caught, child children, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig \
    dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed \
    fed, feel felt, fight fought, find found, flee fled, fly flew flown, foot feet, forbid forbade forbidden, forget \
    forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given, go went gone \
    goes, goose geese, grow grew grown, half halves, hang hung, hear heard, hide hid hidden, hold held, keep kept, \
    kneel knelt, knife knives, know knew known, lay laid, lean leant, leap leapt, learn \
    learnt, leave left, lend lent, lose lost, make made, man men, mean meant, meet met, mouse mice, pay paid, person \
    people, prove proven, ride rode ridden, ring rang rung, rise risen, run ran, say said, see saw seen, seek \
    sought, sell sold, send sent, sew sewn, shake shook shaken, shelf shelves, shine shone, show shown, \
    shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, speed \
    sped, spell spelt, spend spent, spill spilt, spin spun, spring sprang sprung, stand stood, steal stole stolen, \
    stick stuck, sting stung, strike struck, strive strove, swear swore sworn, sweep swept, swim swam swum, swing \
    swung, take took taken, teach taught, tear tore torn, tell told, thief thieves, think thought, throw threw \
    thrown, tooth teeth, understand understood, undertake undertook undertaken, wake woke woken, wear wore worn, \
    weave wove woven, weep wept, wife wives, win won, withdraw withdrew withdrawn, wolf wolves, woman women, write \
    wrote written";

static BASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut bases = HashMap::new();
    for word in FORMS.split(',') {
        let mut forms = word.split_whitespace();
        if let Some(base) = forms.next() {
            bases.extend(forms.map(|form| (form, base)));
        }
    }
    bases
});

/// The word that a term is a form of; else itself.
pub(super) fn base(term: &str) -> &str {
    BASES.get(term).copied().unwrap_or(term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_leads_to_one_word() {
        assert_eq!(["went", "children", "go", "walked", ""].map(base), ["go", "child", "go", "walked", ""]);
        let forms = FORMS.split(',').map(|word| word.split_whitespace().count() - 1);
        assert_eq!(forms.sum::<usize>(), BASES.len(), "no form stands twice");
        assert!(BASES.values().all(|word| base(word) == *word), "no word is a form of another");
    }
}
