//! The shortest way from one list of lines to another.
//!
//! There are often several; models and logs know the one that takes lines away before it adds
//! some, and goes along the text from its beginning. So this is Myers' algorithm forward, with
//! these choices.

/// A run of lines on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    Same(usize),
    Removed(usize),
    Added(usize),
}

/// Differences of more lines are left to a way that is not the shortest.
const MOST_EDITS: isize = 1500;

/// A way to a point: how far it came in the old text, and its last run.
#[derive(Debug, Clone, Copy)]
struct Way {
    old: isize,
    last: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    run: Run,
    before: Option<usize>,
}

struct Search<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    parts: Vec<Part>,
}

/// The runs from one list to the other; nothing if they differ in too many lines.
pub(super) fn runs(old: &[&str], new: &[&str]) -> Option<Vec<Run>> {
    let mut search = Search { old, new, parts: Vec::new() };
    let last = search.last_part()?;
    let mut runs = Vec::new();
    let mut at = last;
    while let Some(part) = at.and_then(|at| search.parts.get(at)) {
        runs.push(part.run);
        at = part.before;
    }
    runs.reverse();
    Some(runs)
}

impl Search<'_> {
    /// The last part of the way to the ends of both lists.
    fn last_part(&mut self) -> Option<Option<usize>> {
        let (old_len, new_len) = (self.old.len() as isize, self.new.len() as isize);
        // One way for each diagonal, from -MOST_EDITS to MOST_EDITS.
        let width = (MOST_EDITS + 2) * 2 + 1;
        let place = |diagonal: isize| (diagonal + MOST_EDITS + 2) as usize;
        let mut best: Vec<Option<Way>> = vec![None; width as usize];
        let (way, new_at) = self.along(Way { old: -1, last: None }, 0);
        if way.old + 1 >= old_len && new_at + 1 >= new_len {
            return Some(way.last);
        }
        if let Some(start) = best.get_mut(place(0)) {
            *start = Some(way);
        }
        let (mut lowest, mut highest) = (isize::MIN, isize::MAX);
        for edits in 1..=MOST_EDITS {
            let mut diagonal = lowest.max(-edits);
            while diagonal <= highest.min(edits) {
                let remove = best.get_mut(place(diagonal - 1)).and_then(Option::take);
                let add = best.get(place(diagonal + 1)).copied().flatten();
                let add = add.filter(|add| (0..new_len).contains(&(add.old - diagonal)));
                let remove = remove.filter(|remove| remove.old + 1 < old_len);
                let stepped = match (remove, add) {
                    (None, None) => None,
                    (Some(remove), Some(add)) if remove.old < add.old => Some(self.added(add)),
                    (Some(remove), _) => Some(self.removed(remove)),
                    (None, Some(add)) => Some(self.added(add)),
                };
                let way = stepped.map(|way| self.along(way, diagonal));
                if let Some((way, new_at)) = way {
                    let (is_old_over, is_new_over) =
                        (way.old + 1 >= old_len, new_at + 1 >= new_len);
                    if is_old_over && is_new_over {
                        return Some(way.last);
                    }
                    if is_old_over {
                        highest = highest.min(diagonal - 1);
                    }
                    if is_new_over {
                        lowest = lowest.max(diagonal + 1);
                    }
                }
                if let Some(here) = best.get_mut(place(diagonal)) {
                    *here = way.map(|(way, _)| way);
                }
                diagonal += 2;
            }
        }
        None
    }

    fn push(&mut self, run: Run, before: Option<usize>) -> Option<usize> {
        self.parts.push(Part { run, before });
        Some(self.parts.len() - 1)
    }

    /// The way, one line of the new text further.
    fn added(&mut self, way: Way) -> Way {
        let (count, before) = match way.last.and_then(|at| self.parts.get(at)) {
            Some(Part { run: Run::Added(count), before }) => (count + 1, *before),
            _ => (1, way.last),
        };
        Way { old: way.old, last: self.push(Run::Added(count), before) }
    }

    /// The way, one line of the old text further.
    fn removed(&mut self, way: Way) -> Way {
        let (count, before) = match way.last.and_then(|at| self.parts.get(at)) {
            Some(Part { run: Run::Removed(count), before }) => (count + 1, *before),
            _ => (1, way.last),
        };
        Way { old: way.old + 1, last: self.push(Run::Removed(count), before) }
    }

    /// The way along the lines that are the same, and how far it is in the new text.
    fn along(&mut self, way: Way, diagonal: isize) -> (Way, isize) {
        let (mut old_at, mut new_at) = (way.old, way.old - diagonal);
        let (old, new) = (self.old, self.new);
        let from = |lines: usize, at: isize| usize::try_from(at + 1).unwrap_or(0).min(lines);
        let old_rest = old.get(from(old.len(), old_at)..).unwrap_or_default();
        let new_rest = new.get(from(new.len(), new_at)..).unwrap_or_default();
        let count = old_rest.iter().zip(new_rest).take_while(|(old, new)| old == new).count();
        old_at += count as isize;
        new_at += count as isize;
        let last = if count > 0 { self.push(Run::Same(count), way.last) } else { way.last };
        (Way { old: old_at, last }, new_at)
    }
}
