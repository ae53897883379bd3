//! Texts that fit a pattern, made at random: secrets that nobody ever had, and
//! that stand in no file.

use std::collections::BTreeMap;

use regex::bytes::Regex;
use regex::bytes::RegexBuilder;
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

/// A rule as it is published.
pub(crate) struct PublicRule {
    pub(crate) name: &'static str,
    entropy: f64,
    group: usize,
    keywords: Vec<&'static str>,
    pattern: Hir,
    regex: Regex,
}

pub(crate) fn public_rules() -> Vec<PublicRule> {
    let table = include_str!("../../../fixtures/secrets/public-rules.tsv");
    let rule = |row: &'static str| {
        let columns: Vec<&str> = row.split('\t').collect();
        let [name, entropy, group, keywords, pattern] = columns[..] else { panic!("{row}") };
        PublicRule {
            name,
            entropy: entropy.parse().unwrap(),
            group: group.parse().unwrap(),
            keywords: keywords.split(',').collect(),
            pattern: parse(pattern),
            regex: RegexBuilder::new(pattern).unicode(false).build().unwrap(),
        }
    };
    table.lines().map(rule).collect()
}

/// A text with a secret of a rule, and the secret.
pub(crate) fn true_positive(rule: &PublicRule, random: &mut Random) -> (String, String) {
    for _ in 0..200 {
        let text = sample(&rule.pattern, random);
        let Some(groups) = rule.regex.captures(text.as_bytes()) else { continue };
        let filled = groups.iter().skip(1).flatten().find(|group| !group.is_empty());
        let secret = match rule.group {
            // Their groups divide the secret and do not hold it.
            _ if matches!(rule.name, "microsoft-teams-webhook" | "jwt-base64") => groups.get(0),
            0 => filled.or(groups.get(0)),
            group => groups.get(group),
        };
        let secret = String::from_utf8(secret.unwrap().as_bytes().to_vec()).unwrap();
        let has = |test: fn(&u8) -> bool| secret.as_bytes().iter().any(test);
        let is_plausible = entropy(&secret) > rule.entropy
            && (rule.name != "generic-api-key" || has(u8::is_ascii_digit))
            && (rule.name != "vault-service-token" || has(u8::is_ascii_digit))
            && (rule.name != "hashicorp-tf-password"
                || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
            // An empty value, or that of a template.
            && (rule.name != "kubernetes-secret-yaml"
                || !["''", "\"\"", "}}"].iter().any(|end| secret.ends_with(end)));
        if !is_plausible {
            continue;
        }
        // The rules look at a text only where it holds one of their words.
        let lower = text.to_lowercase();
        if rule.keywords.iter().any(|keyword| lower.contains(keyword)) {
            return (text, secret);
        }
        return (format!("{}:\n{text}", rule.keywords[0]), secret);
    }
    panic!("no sample of {}", rule.name);
}

fn entropy(text: &str) -> f64 {
    let mut counts: BTreeMap<char, f64> = BTreeMap::new();
    text.chars().for_each(|c| *counts.entry(c).or_default() += 1.0);
    let part = |count: &f64| count / text.chars().count() as f64;
    counts.values().map(part).map(|part| -part * part.log2()).sum()
}
