//! Where the lines of a log are, in a few bytes each.

use recto_log::Kind;

use crate::NodeId;
use crate::Span;
use crate::edit::SourceLine;
use crate::fold::numbers::Numbers;
use crate::fold::numbers::Rising;

/// So many lines are kept together.
const ROW: usize = 1024;

/// The lines of a log. There may be millions: a row of them is kept as lists of what its lines
/// differ in.
#[derive(Debug, Clone, Default)]
pub struct SourceLines {
    rows: Vec<Row>,
    /// Those after the last full row.
    open: Vec<SourceLine>,
}

#[derive(Debug, Clone)]
enum Row {
    Short(Box<Short>),
    /// Lines that have little in common.
    Whole(Box<[SourceLine]>),
}

#[derive(Debug, Clone)]
struct Short {
    offsets: Rising,
    lengths: Numbers,
    /// Of a line without one, that of the line before.
    nodes: Rising,
    /// What lines are, each once, and which of these each line is.
    shapes: Box<[Shape]>,
    shape_of: Numbers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    kind: Kind,
    has_node: bool,
    is_terminated: bool,
    is_utf8: bool,
}

impl SourceLines {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len() * ROW + self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line at a place.
    pub fn get(&self, place: usize) -> Option<SourceLine> {
        match self.rows.get(place / ROW) {
            Some(Row::Short(row)) => Some(row.get(place % ROW)),
            Some(Row::Whole(row)) => row.get(place % ROW).copied(),
            None => self.open.get(place - self.rows.len() * ROW).copied(),
        }
    }

    /// All lines, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = SourceLine> + '_ {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    pub(super) fn push(&mut self, line: SourceLine) {
        self.open.push(line);
        if self.open.len() == ROW {
            let row = match Short::of(&self.open) {
                Some(short) => Row::Short(Box::new(short)),
                None => Row::Whole(self.open.as_slice().into()),
            };
            self.rows.push(row);
            self.open.clear();
        }
    }
}

impl Short {
    fn of(lines: &[SourceLine]) -> Option<Short> {
        let mut shapes: Vec<Shape> = Vec::new();
        let mut shape_of = Vec::with_capacity(lines.len());
        let mut nodes = Vec::with_capacity(lines.len());
        let mut node = lines.iter().find_map(|line| line.node).map_or(0, |node| u64::from(node.0));
        for line in lines {
            let shape = Shape {
                kind: line.kind,
                has_node: line.node.is_some(),
                is_terminated: line.is_terminated,
                is_utf8: line.is_utf8,
            };
            let known = shapes.iter().position(|known| *known == shape);
            shape_of.push(known.unwrap_or(shapes.len()) as u32);
            if known.is_none() {
                shapes.push(shape);
            }
            node = line.node.map_or(node, |node| u64::from(node.0));
            nodes.push(node);
        }
        let offsets: Vec<u64> = lines.iter().map(|line| line.span.offset).collect();
        let lengths: Option<Vec<u32>> =
            lines.iter().map(|line| u32::try_from(line.span.length).ok()).collect();
        Some(Short {
            offsets: Rising::of(&offsets)?,
            lengths: Numbers::of(&lengths?),
            nodes: Rising::of(&nodes)?,
            shapes: shapes.into(),
            shape_of: Numbers::of(&shape_of),
        })
    }

    fn get(&self, at: usize) -> SourceLine {
        let shape = self.shapes[self.shape_of.get(at) as usize];
        let node = u32::try_from(self.nodes.get(at)).ok().map(NodeId);
        SourceLine {
            span: Span { offset: self.offsets.get(at), length: u64::from(self.lengths.get(at)) },
            kind: shape.kind,
            node: node.filter(|_| shape.has_node),
            is_terminated: shape.is_terminated,
            is_utf8: shape.is_utf8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were() {
        let mut lines = SourceLines::default();
        let mut given = Vec::new();
        let mut offset = 0;
        for at in 0..ROW as u64 * 3 + 10 {
            let length = match at {
                // The second row has a line that is too long for the others.
                1500 => 1 << 33,
                at => at * 7919 % 5000,
            };
            let line = SourceLine {
                span: Span { offset, length },
                kind: if at % 5 == 0 { Kind::Summary } else { Kind::User },
                node: (at % 5 != 0).then_some(NodeId(if at % 11 == 0 { 3 } else { at as u32 })),
                is_terminated: at % 2 == 0,
                is_utf8: at % 3 == 0,
            };
            offset += length + 1;
            given.push(line);
            lines.push(line);
        }
        assert_eq!(lines.iter().collect::<Vec<_>>(), given);
        assert_eq!((lines.len(), lines.get(given.len())), (given.len(), None));
        let is_short = |row: &Row| matches!(row, Row::Short(_));
        assert_eq!(lines.rows.iter().map(is_short).collect::<Vec<_>>(), [true, false, true]);
    }
}
