//! What the fields of a request are: tables of shapes (`shapes.json`, and `blocks.json` for what is in messages), and the
//! first thing in a request that has not its shape.
//!
//! What is wrong is told in the order in which the API finds it: the known fields of an object as the table has them, then
//! those that are not known. A field that needs a beta, or another version of the API, is not known without it.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::Purpose;
use super::head::Head;
use crate::context::ApiError;
use crate::double::fault::Fault;

/// What a value is.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Shape {
    Any,
    Boolean,
    /// An object whose fields are not known.
    Map,
    Integer(Range),
    Number(Range),
    String(Text),
    /// One of these.
    Words(Vec<Box<str>>),
    List(Box<Shape>),
    Object(Object),
    /// An object whose `type` says which.
    Tagged(Tagged),
    /// The first that is of the same kind of JSON; otherwise, the last.
    Either(Vec<Shape>),
    /// The shape of that name.
    Like(Box<str>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    min: Option<i32>,
    max: Option<i32>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    min: Option<usize>,
    max: Option<usize>,
    /// Only ASCII letters, digits, `_` and `-` may be in it: how the API writes that.
    plain: Option<Box<str>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    fields: Vec<Field>,
    /// The shape whose fields it has as well.
    like: Option<Box<str>>,
    /// Whether other fields may be there.
    #[serde(default)]
    open: bool,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: Box<str>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    null: bool,
    #[serde(default)]
    betas: Vec<Box<str>>,
    #[serde(default)]
    versions: Vec<Box<str>>,
    is: Shape,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Tagged {
    /// What it is without a `type`.
    default: Option<Box<str>>,
    /// Whether it may be of a type that is not here.
    #[serde(default)]
    open: bool,
    tags: Vec<Tag>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Tag {
    #[serde(rename = "tag")]
    name: Box<str>,
    #[serde(default)]
    betas: Vec<Box<str>>,
    is: Shape,
}

#[derive(serde::Deserialize)]
struct Table {
    shapes: HashMap<Box<str>, Shape>,
}

/// Whether a request has the shape of one for that purpose.
pub(super) fn check(fields: &Map<String, Value>, purpose: Purpose, head: &Head) -> Result<(), ApiError> {
    let name = if purpose == Purpose::Count { "count" } else { "message" };
    let Shape::Object(object) = named(name) else { unreachable!("a test reads the table") };
    Reader { head }.object(object, fields, &Path::default(), false)
}

fn named(name: &str) -> &'static Shape {
    static TABLE: OnceLock<Table> = OnceLock::new();
    &TABLE.get_or_init(table).shapes[name]
}

fn table() -> Table {
    let read = |json| serde_json::from_str::<Table>(json).expect("a test reads the table");
    let mut table = read(include_str!("shapes.json"));
    table.shapes.extend(read(include_str!("blocks.json")).shapes);
    table
}

/// Where a value stands: `tools.0.name`.
#[derive(Default)]
struct Path(String);

impl Path {
    fn with(&self, step: &str) -> Self {
        Self(if self.0.is_empty() { step.to_owned() } else { format!("{}.{step}", self.0) })
    }
}

struct Reader<'a> {
    head: &'a Head,
}

impl Reader<'_> {
    fn check(&self, shape: &Shape, value: &Value, at: &Path) -> Result<(), ApiError> {
        let is = |is: bool, fault: Fault| if is { Ok(()) } else { Err(fault.at(&at.0)) };
        match shape {
            Shape::Any => Ok(()),
            Shape::Boolean => is(value.is_boolean(), Fault::NoBoolean),
            Shape::Map => is(value.is_object(), Fault::NoMap),
            Shape::Integer(range) => {
                let number = value.as_f64().ok_or_else(|| Fault::NoInteger.at(&at.0))?;
                is(number.fract() == 0.0, Fault::Fraction)?;
                range.check(number, at)
            }
            Shape::Number(range) => range.check(value.as_f64().ok_or_else(|| Fault::NoNumber.at(&at.0))?, at),
            Shape::String(text) => text.check(value.as_str().ok_or_else(|| Fault::NoString.at(&at.0))?, at),
            Shape::Words(words) => {
                if value.as_str().is_some_and(|value| words.iter().any(|word| **word == *value)) {
                    return Ok(());
                }
                Err(Fault::NoSuchWord.error(&[("path", &at.0), ("values", &either(words))]))
            }
            Shape::List(of) => {
                let items = value.as_array().ok_or_else(|| Fault::NoList.at(&at.0))?;
                let mut items = items.iter().enumerate();
                items.try_for_each(|(i, item)| self.check(of, item, &at.with(&i.to_string())))
            }
            Shape::Object(object) => {
                let fields = value.as_object().ok_or_else(|| Fault::NoMap.at(&at.0))?;
                self.object(object, fields, at, false)
            }
            Shape::Tagged(tagged) => self.tagged(tagged, value, at),
            Shape::Either(shapes) => {
                let shape = shapes.iter().find(|shape| shape.is_of_kind(value)).or(shapes.last());
                shape.map_or(Ok(()), |shape| self.check(shape, value, at))
            }
            Shape::Like(name) => self.check(named(name), value, at),
        }
    }

    fn tagged(&self, tagged: &Tagged, value: &Value, at: &Path) -> Result<(), ApiError> {
        let fields = value.as_object().ok_or_else(|| Fault::NoTagged.at(&at.0))?;
        let tag = match fields.get("type") {
            None | Some(Value::Null) => tagged.default.as_deref().ok_or_else(|| Fault::NoTag.at(&at.0))?,
            Some(tag) => tag.as_str().unwrap_or_default(),
        };
        let mut known = tagged.tags.iter().filter(|known| self.has(&known.betas));
        let Some(found) = known.clone().find(|known| *known.name == *tag) else {
            if tagged.open {
                return Ok(());
            }
            let given = fields.get("type").map_or_else(String::new, said);
            let tags: Vec<String> = known.by_ref().map(|known| format!("'{}'", known.name)).collect();
            let facts = [("path", at.0.as_str()), ("value", &given), ("values", &tags.join(", "))];
            return Err(Fault::NoSuchTag.error(&facts));
        };
        self.object(found.is.object(), fields, &at.with(tag), true)
    }

    /// `tagged`: its `type` was looked at.
    fn object(
        &self,
        object: &Object,
        fields: &Map<String, Value>,
        at: &Path,
        tagged: bool,
    ) -> Result<(), ApiError> {
        let known: Vec<&Field> = object.all().filter(|field| self.knows(field)).collect();
        for field in &known {
            let at = at.with(&field.name);
            match fields.get(&*field.name) {
                None if field.required => return Err(Fault::Missing.at(&at.0)),
                None => {}
                Some(Value::Null) if field.null => {}
                Some(value) => self.check(&field.is, value, &at)?,
            }
        }
        let is_known = |name: &str| {
            object.open || (tagged && name == "type") || known.iter().any(|field| *field.name == *name)
        };
        match fields.keys().find(|name| !is_known(name)) {
            Some(extra) => Err(Fault::Extra.at(&at.with(extra).0)),
            None => Ok(()),
        }
    }

    fn knows(&self, field: &Field) -> bool {
        let version = self.head.version;
        self.has(&field.betas)
            && (field.versions.is_empty() || field.versions.iter().any(|known| **known == *version))
    }

    fn has(&self, betas: &[Box<str>]) -> bool {
        betas.is_empty() || betas.iter().any(|beta| self.head.has(beta))
    }
}

impl Shape {
    fn is_of_kind(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Boolean => value.is_boolean(),
            Self::Integer(_) | Self::Number(_) => value.is_number(),
            Self::String(_) | Self::Words(_) => value.is_string(),
            Self::List(_) => value.is_array(),
            Self::Map | Self::Object(_) | Self::Tagged(_) => value.is_object(),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.is_of_kind(value)),
            Self::Like(name) => named(name).is_of_kind(value),
        }
    }

    /// The object that a tag names.
    fn object(&self) -> &Object {
        match self {
            Self::Object(object) => object,
            Self::Like(name) => named(name).object(),
            _ => unreachable!("a test reads the table"),
        }
    }
}

impl Object {
    /// Its fields, its own first.
    fn all(&self) -> Box<dyn Iterator<Item = &Field> + '_> {
        match &self.like {
            Some(like) => Box::new(self.fields.iter().chain(named(like).object().all())),
            None => Box::new(self.fields.iter()),
        }
    }
}

impl Range {
    fn check(&self, number: f64, at: &Path) -> Result<(), ApiError> {
        let refuse = |fault: Fault, bound: i32| {
            Err(fault.error(&[("path", at.0.as_str()), ("value", &bound.to_string())]))
        };
        match (self.min, self.max) {
            (Some(min), _) if number < f64::from(min) => refuse(Fault::TooLittle, min),
            (_, Some(max)) if number > f64::from(max) => refuse(Fault::TooMuch, max),
            _ => Ok(()),
        }
    }
}

impl Text {
    fn check(&self, text: &str, at: &Path) -> Result<(), ApiError> {
        let length = text.chars().count();
        let refuse = |fault: Fault, value: String| {
            Err(fault.error(&[("path", at.0.as_str()), ("value", value.as_str())]))
        };
        match self {
            Self { max: Some(max), .. } if length > *max => refuse(Fault::TooLong, max.to_string()),
            Self { min: Some(min), .. } if length < *min => refuse(Fault::TooShort, min.to_string()),
            Self { plain: Some(pattern), .. } if !text.chars().all(is_plain) => {
                refuse(Fault::Pattern, pattern.to_string())
            }
            _ => Ok(()),
        }
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// `'a', 'b' or 'c'`
fn either(words: &[Box<str>]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// A value as it is told in a text.
fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits every shape; what it names must be there, and what a tag has must be an object.
    fn visit(shape: &Shape) {
        match shape {
            Shape::List(of) => visit(of),
            Shape::Either(shapes) => shapes.iter().for_each(visit),
            Shape::Like(name) => _ = named(name),
            Shape::Object(object) => object.all().for_each(|field| visit(&field.is)),
            Shape::Tagged(tagged) => {
                assert!(
                    tagged.tags.iter().all(|tag| tag.is.object().all().all(|field| *field.name != *"type"))
                );
                tagged.tags.iter().for_each(|tag| visit(&tag.is));
            }
            _ => {}
        }
    }

    #[test]
    fn the_table_is_whole() {
        let table = table();
        table.shapes.values().for_each(visit);
        for name in ["message", "count"] {
            assert!(matches!(named(name), Shape::Object(_)), "{name}");
        }
    }

    #[test]
    fn every_beta_that_is_needed_is_known() {
        let mut rest = concat!(include_str!("shapes.json"), include_str!("blocks.json"));
        while let Some((_, after)) = rest.split_once(r#""betas": ["#) {
            let (betas, after) = after.split_once(']').unwrap();
            for beta in betas.split(", ") {
                assert!(crate::double::ask::head::is_beta(beta.trim_matches('"')), "{beta}");
            }
            rest = after;
        }
    }
}
