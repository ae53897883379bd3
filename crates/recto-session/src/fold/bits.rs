//! Yes or no for each line, in one bit.

use crate::NodeId;

/// A set of lines. All lines of the session have a place in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Of so many lines, none.
    pub(crate) fn new(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)])
    }

    /// Of so many lines, those that are named.
    pub(crate) fn of<'l>(count: usize, lines: impl IntoIterator<Item = &'l NodeId>) -> Bits {
        let mut bits = Bits::new(count);
        for id in lines {
            bits.add(*id);
        }
        bits
    }

    #[inline]
    pub(crate) fn has(&self, id: NodeId) -> bool {
        self.0[id.index() / 64] & (1 << (id.0 % 64)) != 0
    }

    /// Adds a line. Says whether it is new.
    #[inline]
    pub(crate) fn add(&mut self, id: NodeId) -> bool {
        let (word, bit) = (&mut self.0[id.index() / 64], 1 << (id.0 % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_there_once() {
        let mut bits = Bits::new(130);
        for at in [0, 63, 64, 129] {
            assert!(!bits.has(NodeId(at)));
            assert!(bits.add(NodeId(at)));
            assert!(!bits.add(NodeId(at)));
        }
        let there: Vec<u32> = (0..130).filter(|at| bits.has(NodeId(*at))).collect();
        assert_eq!(there, [0, 63, 64, 129]);
        assert_eq!(Bits::of(130, &there.into_iter().map(NodeId).collect::<Vec<_>>()), bits);
    }
}
