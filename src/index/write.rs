//! Writing to the index: everything of an update counts from one commit on, or not at all.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use crc32fast::Hasher;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{IndexWriter, TantivyDocument};

use super::lexical::gone::Gone;
use super::lexical::{self, Fields, folded_tag};
use super::manifest::{Manifest, Mark};
use super::rows::{RECORD, Row, RowWriter};
use super::vectors::{Bitmap, VectorWriter};
use super::view::{ROWS, View};
use super::{Doc, IndexError, Model, caught, place};

/// An update of more memories has more threads and memory for itself.
const MANY: usize = 4096;

/// Bytes that each thread of tantivy may hold before it writes a segment, for few memories and for many.
const FEW_BUDGET: usize = 15_000_000;
const MANY_BUDGET: usize = 100_000_000;

/// Segments with fewer documents are of one size to the merging of segments.
const SMALL_SEGMENT: u32 = 2_000;

/// Writes on to a view, or begins a generation; who calls it has the lock.
pub(super) fn write(
    dir: &Path,
    model: &Model,
    base: Option<&View>,
    mark: Mark,
    docs: &mut dyn Iterator<Item = Doc>,
) -> Result<(), IndexError> {
    // What others left takes room that this may need.
    place::sweep(dir);
    let written = match base {
        Some(view) => caught(|| fill(&view.dir, model, base, mark, docs)),
        None => caught(|| begin(dir, model, mark, docs)),
    };
    // A generation that was not completed, or the one before it.
    place::sweep(dir);
    written
}

fn begin(
    dir: &Path,
    model: &Model,
    mark: Mark,
    docs: &mut dyn Iterator<Item = Doc>,
) -> Result<(), IndexError> {
    let generation = place::begin(dir)?;
    fill(&dir.join(&generation), model, None, mark, docs)?;
    Ok(place::publish(dir, &generation)?)
}

/// Writes a commit to a generation.
fn fill(
    generation: &Path,
    model: &Model,
    base: Option<&View>,
    mark: Mark,
    docs: &mut dyn Iterator<Item = Doc>,
) -> Result<(), IndexError> {
    let first: Vec<Doc> = (&mut *docs).take(MANY).collect();
    let is_many = first.len() == MANY;
    let mut batch = Batch::begin(generation, model, base, is_many)?;
    for doc in first.into_iter().chain(docs) {
        batch.put(doc)?;
    }
    batch.commit(mark)
}

struct Batch<'a> {
    dir: &'a Path,
    model: &'a Model,
    base: Option<&'a View>,
    manifest: Manifest,
    fields: Fields,
    writer: IndexWriter,
    rows: RowWriter<BufWriter<File>>,
    vectors: VectorWriter,
    categories: HashMap<String, u16>,
    /// The new rows of each memory: the first, and how many.
    new: HashMap<u32, (u32, u32)>,
    /// New rows that are dead already, since their memory came twice.
    stillborn: Vec<u32>,
    next: u32,
}

impl<'a> Batch<'a> {
    fn begin(
        dir: &'a Path,
        model: &'a Model,
        base: Option<&'a View>,
        is_many: bool,
    ) -> Result<Self, IndexError> {
        let (index, fields, manifest, crc) = if let Some(view) = base {
            // Opened anew, so that it knows of all files which others made, and checks those that it reads.
            let (index, fields) = lexical::open(&place::texts(dir)?)?;
            (index, fields, view.manifest.clone(), view.rows_crc.clone())
        } else {
            let (index, fields) = lexical::create(&place::texts(dir)?)?;
            (index, fields, Manifest::empty(model.id()), Hasher::new())
        };
        let threads =
            if is_many { std::thread::available_parallelism().map_or(1, usize::from).min(4) } else { 1 };
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(if is_many { MANY_BUDGET } else { FEW_BUDGET })
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options)?;
        let mut policy = LogMergePolicy::default();
        policy.set_min_layer_size(SMALL_SEGMENT);
        policy.set_del_docs_ratio_before_merge(0.3);
        writer.set_merge_policy(Box::new(policy));
        let rows = place::append_at(&dir.join(ROWS), (manifest.rows * RECORD) as u64)?;
        let vectors =
            VectorWriter::append(dir, model.dimensions(), manifest.rows, manifest.vectors.as_ref())?;
        let numbers = 1..;
        let categories = manifest.categories.iter().cloned().zip(numbers).collect();
        let next = u32::try_from(manifest.rows).map_err(|_| IndexError::new("it is full"))?;
        Ok(Self {
            dir,
            model,
            base,
            manifest,
            fields,
            writer,
            rows: RowWriter::new(rows, crc),
            vectors,
            categories,
            new: HashMap::new(),
            stillborn: Vec::new(),
            next,
        })
    }

    fn put(&mut self, doc: Doc) -> Result<(), IndexError> {
        let Doc { memory, facts, passages } = doc;
        let memory = u32::try_from(memory).map_err(|_| IndexError::new("a memory has too high a number"))?;
        let category = match &facts.category {
            None => 0,
            Some(name) => self.category(name)?,
        };
        let first = self.next;
        for (ordinal, passage) in (0..).zip(passages) {
            self.vectors.push(&self.model.embed(&passage))?;
            self.rows.push(&Row::new(memory, ordinal, category, &facts))?;
            let mut document = TantivyDocument::new();
            document.add_text(self.fields.text, passage);
            for tag in &facts.tags {
                document.add_text(self.fields.tag, folded_tag(tag));
            }
            if let Some(key) = &facts.key {
                document.add_text(self.fields.key, key);
            }
            document.add_u64(self.fields.row, u64::from(self.next));
            self.writer.add_document(document)?;
            self.next = self.next.checked_add(1).ok_or_else(|| IndexError::new("it is full"))?;
        }
        if let Some((first, count)) = self.new.insert(memory, (first, self.next - first)) {
            self.stillborn.extend(first..first + count);
        }
        Ok(())
    }

    fn category(&mut self, name: &str) -> Result<u16, IndexError> {
        if let Some(&known) = self.categories.get(name) {
            return Ok(known);
        }
        let number = u16::try_from(self.manifest.categories.len() + 1)
            .map_err(|_| IndexError::new("there are too many categories"))?;
        self.manifest.categories.push(name.to_owned());
        self.categories.insert(name.to_owned(), number);
        Ok(number)
    }

    fn commit(mut self, mark: Mark) -> Result<(), IndexError> {
        let mut manifest = self.manifest;
        manifest.mark = mark;
        manifest.serial += 1;
        manifest.rows = self.next as usize;
        let mut gone = Bitmap::none(manifest.rows);
        let mut dead = Bitmap::none(manifest.rows);
        if let Some(view) = self.base {
            dead.words_mut()[..view.dead.words().len()].copy_from_slice(view.dead.words());
            for (row, memory) in view.rows.memory.iter().enumerate() {
                if self.new.contains_key(memory) && !view.dead.has(row) {
                    gone.set(row);
                }
            }
        }
        for row in self.stillborn {
            gone.set(row as usize);
        }
        for (dead, gone) in dead.words_mut().iter_mut().zip(gone.words()) {
            *dead |= gone;
        }
        manifest.dead = dead.count();
        if manifest.dead > 0 {
            manifest.dead_crc = place::write_whole(&self.dir.join(manifest.dead_name()), dead.words())?;
        }
        manifest.rows_crc = self.rows.finish()?;
        manifest.vectors = Some(self.vectors.finish()?);
        if gone.count() > 0 {
            self.writer.delete_query(Box::new(Gone(Arc::new(gone))))?;
        }
        let payload = serde_json::to_string(&manifest)
            .map_err(|fault| IndexError::new(format!("its manifest cannot be written: {fault}")))?;
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&payload);
        commit.commit()?;
        // A segment that is being merged is no reason to fail: what is committed is committed.
        let _ = self.writer.wait_merging_threads();
        // Who opens the commit before this one still finds its file.
        place::remove_older(self.dir, "dead.", manifest.serial.saturating_sub(1));
        Ok(())
    }
}
