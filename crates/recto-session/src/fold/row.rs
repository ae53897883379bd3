//! How lines of the chain are kept: some in a row, and each row as short as it can be.
//!
//! The last row takes lines in, 44 bytes each. A row that is full is sealed: each kind of number
//! becomes a list of its own, with as many bytes as the largest of it needs, and with none where
//! all lines are alike. What is left of an ordinary line is less than 40 bytes, and the 16 of
//! its uuid are left of one in a log that is made to be large. A line that a later one replaces
//! opens its row again, for good.

use recto_log::Kind;
use recto_log::UserText;

use crate::Flags;
use crate::fold::node::Moment;
use crate::fold::numbers::Numbers;

/// So many lines are kept in a row: a list that grows by doubling would take twice the memory.
pub(super) const ROW: usize = 1024;

/// A line without a time.
const NO_TIME: i32 = i32::MIN;

/// Some lines, and the numbers of the first of them.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) first: Wide,
    /// The lines, as long as the row is not sealed.
    open: Vec<Packed>,
    sealed: Option<Box<Sealed>>,
}

/// A line, without what few lines have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    /// The uuid, or a place in the list of texts.
    pub(super) uuid: [u32; 4],
    pub(super) parent: u32,
    /// A place in the list, from 1; 0 for a line without any of it.
    pub(super) side: u32,
    pub(super) shape: Shape,
    pub(super) numbers: Small,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) marks: Marks,
    pub(super) kind: Kind,
    pub(super) user: UserText,
}

/// The numbers of a line after those of the row's first line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Small {
    offset: u32,
    /// In milliseconds.
    time: i32,
    line: u16,
    length: [u8; 3],
    content_bytes: [u8; 3],
}

/// The numbers of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) time: Moment,
    pub(super) length: u32,
    pub(super) content_bytes: u32,
}

/// A full row, in columns.
#[derive(Debug, Clone)]
struct Sealed {
    uuids: Box<[[u32; 4]]>,
    parents: Parents,
    /// What the lines of the row are, each once, and which of these each line is; without
    /// places, all are the first.
    shapes: Box<[Shape]>,
    shape_of: Box<[u8]>,
    /// Empty where lines are numbered one after the other.
    lines: Box<[u16]>,
    /// Empty where all have the same.
    times: Box<[i32]>,
    time: i32,
    sides: Numbers,
    /// What offsets are more than they would be if all lines were equally long.
    offsets: Numbers,
    step: u32,
    lengths: Numbers,
    content_bytes: Numbers,
}

/// What the lines of a row follow.
#[derive(Debug, Clone)]
enum Parents {
    /// Each the line before.
    Before,
    /// All the same.
    Same(u32),
    Each(Box<[u32]>),
}

impl Row {
    pub(super) fn new(first: Wide) -> Row {
        Row { first, open: Vec::new(), sealed: None }
    }

    pub(super) fn len(&self) -> usize {
        self.sealed.as_ref().map_or(self.open.len(), |sealed| sealed.uuids.len())
    }

    pub(super) fn push(&mut self, line: Packed) {
        self.open_again(0).push(line);
    }

    /// A line by its place in the row; `start` is the number of the row's first line.
    #[inline]
    pub(super) fn get(&self, start: u32, at: usize) -> Packed {
        match &self.sealed {
            Some(sealed) => sealed.get(start, at),
            None => self.open[at],
        }
    }

    #[inline]
    pub(super) fn uuid(&self, at: usize) -> (Marks, [u32; 4]) {
        match &self.sealed {
            Some(sealed) => (sealed.shape(at).marks, sealed.uuids[at]),
            None => (self.open[at].shape.marks, self.open[at].uuid),
        }
    }

    #[inline]
    pub(super) fn parent(&self, start: u32, at: usize) -> u32 {
        match &self.sealed {
            Some(sealed) => sealed.parent(start, at),
            None => self.open[at].parent,
        }
    }

    #[inline]
    pub(super) fn kind(&self, at: usize) -> Kind {
        match &self.sealed {
            Some(sealed) => sealed.shape(at).kind,
            None => self.open[at].shape.kind,
        }
    }

    pub(super) fn set_parent(&mut self, start: u32, at: usize, parent: u32) {
        match &mut self.sealed {
            Some(sealed) => sealed.set_parent(start, at, parent),
            None => self.open[at].parent = parent,
        }
    }

    /// The line, to be changed.
    pub(super) fn get_mut(&mut self, start: u32, at: usize) -> &mut Packed {
        &mut self.open_again(start)[at]
    }

    fn open_again(&mut self, start: u32) -> &mut Vec<Packed> {
        if let Some(sealed) = self.sealed.take() {
            self.open = (0..sealed.uuids.len()).map(|at| sealed.get(start, at)).collect();
        }
        &mut self.open
    }

    /// Makes a full row short, unless its lines are too unlike each other.
    pub(super) fn seal(&mut self, start: u32) {
        if self.sealed.is_none()
            && let Some(sealed) = Sealed::of(start, &self.open)
        {
            self.sealed = Some(Box::new(sealed));
            self.open = Vec::new();
        }
    }
}

impl Sealed {
    fn of(start: u32, lines: &[Packed]) -> Option<Sealed> {
        let mut shapes: Vec<Shape> = Vec::new();
        let mut shape_of = Vec::with_capacity(lines.len());
        for line in lines {
            let known = shapes.iter().position(|shape| *shape == line.shape);
            let place = known.unwrap_or(shapes.len());
            if known.is_none() {
                shapes.push(line.shape);
            }
            shape_of.push(u8::try_from(place).ok()?);
        }
        if shapes.len() == 1 {
            shape_of.clear();
        }
        let numbers = |of: fn(&Packed) -> u32| lines.iter().map(of).collect::<Vec<u32>>();
        let time = lines.first().map_or(NO_TIME, |line| line.numbers.time);
        let is_one_time = lines.iter().all(|line| line.numbers.time == time);
        let times = lines.iter().filter(|_| !is_one_time).map(|line| line.numbers.time);
        let is_counted = lines.iter().zip(0u16..).all(|(line, at)| line.numbers.line == at);
        let counts = lines.iter().filter(|_| !is_counted).map(|line| line.numbers.line);
        let (step, offsets) = after_steps(&numbers(|line| line.numbers.offset));
        Some(Sealed {
            uuids: lines.iter().map(|line| line.uuid).collect(),
            parents: Parents::of(start, lines),
            shapes: shapes.into(),
            shape_of: shape_of.into(),
            lines: counts.collect(),
            times: times.collect(),
            time,
            sides: Numbers::of(&numbers(|line| line.side)),
            offsets: Numbers::of(&offsets),
            step,
            lengths: Numbers::of(&numbers(|line| of_three(line.numbers.length))),
            content_bytes: Numbers::of(&numbers(|line| of_three(line.numbers.content_bytes))),
        })
    }

    #[inline]
    fn shape(&self, at: usize) -> Shape {
        self.shapes[self.shape_of.get(at).map_or(0, |shape| usize::from(*shape))]
    }

    #[inline]
    fn parent(&self, start: u32, at: usize) -> u32 {
        match &self.parents {
            Parents::Before => start.wrapping_add(at as u32).wrapping_sub(1),
            Parents::Same(parent) => *parent,
            Parents::Each(parents) => parents[at],
        }
    }

    fn set_parent(&mut self, start: u32, at: usize, parent: u32) {
        if self.parent(start, at) == parent {
            return;
        }
        if !matches!(self.parents, Parents::Each(_)) {
            let all = (0..self.uuids.len()).map(|at| self.parent(start, at));
            self.parents = Parents::Each(all.collect());
        }
        if let Parents::Each(parents) = &mut self.parents {
            parents[at] = parent;
        }
    }

    #[inline]
    fn get(&self, start: u32, at: usize) -> Packed {
        let place = at as u32;
        let [length, content_bytes] =
            [&self.lengths, &self.content_bytes].map(|column| three_of(column.get(at)));
        Packed {
            uuid: self.uuids[at],
            parent: self.parent(start, at),
            side: self.sides.get(at),
            shape: self.shape(at),
            numbers: Small {
                offset: (place * self.step).wrapping_add(self.offsets.get(at)),
                time: self.times.get(at).copied().unwrap_or(self.time),
                line: self.lines.get(at).copied().unwrap_or(at as u16),
                length,
                content_bytes,
            },
        }
    }
}

impl Parents {
    fn of(start: u32, lines: &[Packed]) -> Parents {
        let first = lines.first().map_or(0, |line| line.parent);
        // The line before the first of all is no line, and so spelled.
        let is_before = |(at, line): (u32, &Packed)| (start + at).wrapping_sub(1) == line.parent;
        if (0..).zip(lines).all(is_before) {
            return Parents::Before;
        }
        match lines.iter().all(|line| line.parent == first) {
            true => Parents::Same(first),
            false => Parents::Each(lines.iter().map(|line| line.parent).collect()),
        }
    }
}

/// Numbers that grow, as the length of a step, and what each is more than so many steps.
fn after_steps(numbers: &[u32]) -> (u32, Vec<u32>) {
    let places = || (0u32..).zip(numbers);
    // No number is less than its steps, so that nothing is less than none.
    let step = places().skip(1).map(|(at, number)| number / at).min().unwrap_or(0);
    (step, places().map(|(at, number)| number - at * step).collect())
}

impl Wide {
    /// As what it is after the first of its row, if there is room for it.
    pub(super) fn after(&self, first: &Wide) -> Option<Small> {
        let time = match (self.time, first.time) {
            (Moment::NONE, _) => NO_TIME,
            (_, Moment::NONE) => return None,
            (time, first) => {
                let after = time.number().checked_sub(first.number())?;
                i32::try_from(after).ok().filter(|after| *after != NO_TIME)?
            }
        };
        Some(Small {
            line: u16::try_from(self.line.checked_sub(first.line)?).ok()?,
            offset: u32::try_from(self.offset.checked_sub(first.offset)?).ok()?,
            time,
            length: three(self.length)?,
            content_bytes: three(self.content_bytes)?,
        })
    }
}

impl Small {
    #[inline]
    pub(super) fn wide(&self, first: &Wide) -> Wide {
        Wide {
            line: first.line + u64::from(self.line),
            offset: first.offset + u64::from(self.offset),
            time: match self.time {
                NO_TIME => Moment::NONE,
                after => Moment::at(first.time.number().wrapping_add(i64::from(after))),
            },
            length: of_three(self.length),
            content_bytes: of_three(self.content_bytes),
        }
    }
}

fn three(number: u32) -> Option<[u8; 3]> {
    match number.to_le_bytes() {
        [low, middle, high, 0] => Some([low, middle, high]),
        _ => None,
    }
}

/// The lowest three bytes.
#[inline]
fn three_of(number: u32) -> [u8; 3] {
    let [low, middle, high, _] = number.to_le_bytes();
    [low, middle, high]
}

#[inline]
fn of_three([low, middle, high]: [u8; 3]) -> u32 {
    u32::from_le_bytes([low, middle, high, 0])
}

/// Yes-or-no facts in two bytes, from the first bit on in the order of [`Flags`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks(pub(super) u16);

impl Marks {
    /// Its uuid is a text.
    pub(super) const TEXT: u16 = 1 << 13;
    /// Its numbers are in the list of such lines.
    pub(super) const WIDE: u16 = 1 << 14;
    /// It follows something in meaning.
    pub(super) const LOGICAL: u16 = 1 << 15;

    pub(super) fn of(flags: Flags) -> Marks {
        let Flags {
            is_sidechain,
            is_meta,
            is_compact_summary,
            is_api_error,
            is_synthetic,
            is_aborted,
            is_string,
            has_message,
            has_content,
            is_display_only,
            has_byte_order_mark,
            is_broken_text,
            asks_nothing,
        } = flags;
        let all = [
            is_sidechain,
            is_meta,
            is_compact_summary,
            is_api_error,
            is_synthetic,
            is_aborted,
            is_string,
            has_message,
            has_content,
            is_display_only,
            has_byte_order_mark,
            is_broken_text,
            asks_nothing,
        ];
        Marks(all.iter().rev().fold(0, |marks, is| (marks << 1) | u16::from(*is)))
    }

    pub(super) fn has(self, mark: u16) -> bool {
        self.0 & mark != 0
    }

    pub(super) fn flags(self) -> Flags {
        let is = |place: u16| self.has(1 << place);
        Flags {
            is_sidechain: is(0),
            is_meta: is(1),
            is_compact_summary: is(2),
            is_api_error: is(3),
            is_synthetic: is(4),
            is_aborted: is(5),
            is_string: is(6),
            has_message: is(7),
            has_content: is(8),
            is_display_only: is(9),
            has_byte_order_mark: is(10),
            is_broken_text: is(11),
            asks_nothing: is(12),
        }
    }
}
