//! A generated language: sentences whose words are drawn from the word pieces of the model after Zipf's law (its vocabulary
//! is ordered by frequency).

#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "figures for people")]

use std::fs;
use std::path::Path;

/// The categories that every store has.
pub const CATEGORIES: [&str; 6] = [
    "user_preference",
    "project_context",
    "factual_knowledge",
    "decision_log",
    "relationship",
    "task_progress",
];

/// A generator of random numbers: `SplitMix64`.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Words, and how likely each is or one before it.
pub struct Language {
    words: Vec<String>,
    sums: Vec<f64>,
}

impl Language {
    pub fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/static-256/vocab.txt");
        let vocabulary = fs::read_to_string(path).expect("the vocabulary");
        let is_word = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        let words: Vec<_> = vocabulary.lines().filter(is_word).map(str::to_owned).collect();
        let mut sum = 0.0;
        let sums = (1..=words.len()).map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7);
            sum
        });
        Self { sums: sums.collect(), words }
    }

    fn word(&self, random: &mut Random) -> &str {
        let at = random.fraction() * self.sums.last().expect("there are words");
        &self.words[self.sums.partition_point(|sum| *sum < at)]
    }

    /// 5 to 40 words.
    pub fn sentence(&self, random: &mut Random) -> String {
        let length = 5 + random.below(36);
        (0..length).map(|_| self.word(random)).collect::<Vec<_>>().join(" ")
    }

    /// The first 3 to 10 words of a sentence.
    pub fn question(sentence: &str, random: &mut Random) -> String {
        let words: Vec<_> = sentence.split(' ').collect();
        let length = (3 + random.below(8)).min(words.len());
        words[..length].join(" ")
    }
}
