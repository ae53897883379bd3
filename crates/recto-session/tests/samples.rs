//! Texts that fit a pattern, made at random: secrets that nobody ever had, and
//! that stand in no file.

use regex_syntax::hir::Class;
use regex_syntax::hir::Hir;
use regex_syntax::hir::HirKind;

/// A small generator of random numbers, so that a failure can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        // The mixing of SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// So many characters of an alphabet.
    pub(crate) fn string(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| *self.pick(&alphabet)).collect()
    }
}

/// Reads a pattern, to make samples of it.
pub(crate) fn parse(pattern: &str) -> Hir {
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    parser.parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// A text that a pattern fits.
pub(crate) fn sample(pattern: &Hir, random: &mut Random) -> String {
    let mut out = Vec::new();
    write(pattern, random, &mut out);
    String::from_utf8(out).unwrap()
}

fn write(hir: &Hir, random: &mut Random, out: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
        HirKind::Class(class) if bytes_of(class).len() > 200 => out.push(b'.'),
        HirKind::Class(class) => out.push(one_of(class, random)),
        HirKind::Capture(capture) => write(&capture.sub, random, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, random, out)),
        HirKind::Alternation(parts) => write(random.pick(parts), random, out),
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(least + 20, |most| most as usize);
            // What may be left out mostly is; the rest has any length.
            let spread = if least == 0 { most.min(4) } else { most - least };
            for _ in 0..least + random.below(spread + 1) {
                match repetition.sub.kind() {
                    HirKind::Class(class) => out.push(one_of(class, random)),
                    _ => write(&repetition.sub, random, out),
                }
            }
        }
    }
}

/// Where any byte may stand once, an author forgot to escape a dot.
fn bytes_of(class: &Class) -> Vec<u8> {
    match class {
        Class::Bytes(class) => {
            class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect()
        }
        Class::Unicode(class) => {
            let ranges = class.ranges().iter();
            ranges.flat_map(|range| range.start() as u8..=range.end().min('~') as u8).collect()
        }
    }
}

fn one_of(class: &Class, random: &mut Random) -> u8 {
    let bytes = bytes_of(class);
    // Of many characters, those that tokens are made of.
    let is_kept = |byte: &u8| byte.is_ascii_alphanumeric();
    let plain: Vec<u8> = bytes.iter().copied().filter(is_kept).collect();
    let is_printed = |byte: &u8| (b' '..=b'~').contains(byte) || *byte == b'\n';
    let printed: Vec<u8> = bytes.iter().copied().filter(is_printed).collect();
    let is_rich = bytes.len() > 80 && !plain.is_empty();
    *random.pick(match (is_rich, printed.is_empty()) {
        (true, _) => &plain,
        (false, false) => &printed,
        (false, true) => &bytes,
    })
}
