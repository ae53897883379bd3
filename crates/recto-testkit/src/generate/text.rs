//! Prose, code and terminal output.
//!
//! Owns: pools of made-up text, built once, and the cutting of pieces out of them. A piece costs a
//! few copies, so that the size of a corpus is not paid word by word. Does not own: JSON.

use super::random::Random;

const WORDS: &[&str] = &[
    "the", "a", "of", "and", "to", "in", "we", "this", "that", "when", "then", "file", "line",
    "session", "parser", "index", "cursor", "buffer", "stream", "search", "result", "error",
    "value", "option", "branch", "commit", "module", "test", "case", "check", "change", "build",
    "cache", "token", "model", "prompt", "answer", "reader", "writer", "offset", "length",
    "record", "field", "table", "query", "server", "client", "request", "response", "handler",
    "config", "default", "argument", "output", "input", "event", "state", "status", "worker",
    "thread", "queue", "batch", "retry", "timeout", "folder", "project", "release", "version",
    "update", "remove", "rename", "insert", "split", "merge", "should", "must", "could", "because",
    "after", "before", "while", "without", "between", "every", "first", "second", "last", "next",
    "empty", "large", "small", "broken", "correct", "stable", "quick", "memory", "disk", "network",
    "terminal", "screen", "window", "button", "colour", "layout", "theme", "account", "invoice",
    "customer", "order", "price", "total", "report", "export", "import", "schema",
];
const FOREIGN: &[&str] = &[
    "проверь сборку ещё раз",
    "ошибка в разборе строки",
    "設定ファイルを確認してください",
    "テストが失敗しました",
    "请检查解析器的边界情况",
    "索引已经重建完成",
    "완료되었습니다",
    "größere Änderungen übernehmen",
    "déjà vérifié, à revoir",
    "🚀 deployed ✅",
    "👩\u{200d}💻 reviewed 🧵",
    "naïve café coöperate",
];
const COMMANDS: &[&str] =
    &["cargo test", "git diff --stat", "npm run build", "rg -n", "ls -la", "python3 -m pytest -q"];
const FOLDERS: &[&str] =
    &["src", "src/net", "src/store", "tests", "lib/core", "web/components", "docs/guide", "tools"];
const SUFFIXES: &[&str] = &["rs", "ts", "py", "md", "toml", "json", "tsx", "go"];

/// The kinds of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Prose,
    Code,
    Terminal,
}

const POOL_BYTES: usize = 400_000;

/// The pools.
pub(super) struct Text {
    prose: Pool,
    code: Pool,
    terminal: Pool,
}

struct Pool {
    text: String,
    lines: Vec<usize>,
}

impl Text {
    pub(super) fn new(random: &mut Random) -> Self {
        Text {
            prose: Pool::new(random, prose_line),
            code: Pool::new(random, code_line),
            terminal: Pool::new(random, terminal_line),
        }
    }

    /// Appends about `size` bytes.
    pub(super) fn append(&self, random: &mut Random, style: Style, size: usize, out: &mut String) {
        let pool = match style {
            Style::Prose => &self.prose,
            Style::Code => &self.code,
            Style::Terminal => &self.terminal,
        };
        let end = out.len() + size;
        while out.len() < end {
            let piece = (end - out.len()).min(random.between(300, 5000) as usize);
            let start = pool.lines[random.below(pool.lines.len())];
            let mut stop = (start + piece).min(pool.text.len());
            while !pool.text.is_char_boundary(stop) {
                stop += 1;
            }
            out.push_str(&pool.text[start..stop]);
            if out.len() < end {
                match style {
                    Style::Prose => out.push_str("\n\nSee #"),
                    Style::Code => out.push_str("\n// id "),
                    Style::Terminal => out.push_str("\n[pid "),
                }
                out.push_str(&random.between(10_000, 9_999_999).to_string());
                out.push('\n');
            }
        }
    }

    /// A new text of about `size` bytes.
    pub(super) fn piece(&self, random: &mut Random, style: Style, size: usize) -> String {
        let mut out = String::with_capacity(size + 64);
        self.append(random, style, size, &mut out);
        out
    }
}

impl Pool {
    fn new(random: &mut Random, line: fn(&mut Random, &mut String)) -> Self {
        let mut text = String::with_capacity(POOL_BYTES + 4096);
        let mut lines = Vec::new();
        while text.len() < POOL_BYTES {
            lines.push(text.len());
            line(random, &mut text);
            text.push('\n');
        }
        Pool { text, lines }
    }
}

/// A word of the vocabulary.
pub(super) fn word(random: &mut Random) -> &'static str {
    random.pick(WORDS)
}

/// A phrase of `count` words on one line.
pub(super) fn phrase(random: &mut Random, count: usize) -> String {
    let words: Vec<&str> = (0..count).map(|_| word(random)).collect();
    words.join(" ")
}

/// A relative path of a source file.
pub(super) fn relative_path(random: &mut Random) -> String {
    let (folder, suffix) = (random.pick(FOLDERS), random.pick(SUFFIXES));
    format!("{folder}/{}_{}.{suffix}", word(random), word(random))
}

/// A command line.
pub(super) fn command(random: &mut Random) -> String {
    let start = random.pick(COMMANDS);
    let quoted = phrase(random, 2);
    format!("{start} \"{quoted}\" {} 2>&1 | tail -{}", relative_path(random), random.between(5, 90))
}

fn prose_line(random: &mut Random, out: &mut String) {
    for _ in 0..1 + random.below(3) {
        if random.chance(400) {
            out.push_str(random.pick(FOREIGN));
        } else {
            let count = 6 + random.below(11);
            let start = out.len();
            out.push_str(&phrase(random, count));
            if let Some(first) = out.get_mut(start..=start) {
                first.make_ascii_uppercase();
            }
        }
        out.push_str(random.pick(&[". ", ". ", "! ", ": `x` \"quoted\" "]));
    }
}

fn code_line(random: &mut Random, out: &mut String) {
    for _ in 0..random.below(4) {
        out.push_str(random.pick(&["    ", "    ", "\t"]));
    }
    let (one, two, three) = (word(random), word(random), word(random));
    let line = match random.below(8) {
        0 => format!("fn {one}_{two}(&self, {three}: &str) -> Option<u64> {{"),
        1 => format!(
            "let {one}_{two} = self.{three}.get(\"{two}\").unwrap_or({});",
            random.below(999)
        ),
        2 => format!("// {one} {two} {three}: keep in step with the {one}"),
        3 => "}".to_string(),
        4 => format!("if {one}.{two}() && {three} != \"\\n\" {{"),
        5 => format!("return {{ {one}: {two}, \"{three}\": [{}] }};", random.below(9999)),
        6 => String::new(),
        _ => format!("assert_eq!({one}_{two}({}), {three}.{one});", random.below(99)),
    };
    out.push_str(&line);
}

fn terminal_line(random: &mut Random, out: &mut String) {
    let path = relative_path(random);
    let number = random.below(5000);
    let line = match random.below(7) {
        0 => format!("\u{1b}[32mok\u{1b}[0m   {path}::{} ... {number} ms", word(random)),
        1 => format!("\u{1b}[1;31merror\u{1b}[0m: {} at {path}:{number}:7", phrase(random, 5)),
        2 => format!("{path}:{number}:{}", phrase(random, 6)),
        3 => format!("-rw-r--r-- 1 dev dev {number:>7} Oct 11 09:{:02} {path}", number % 60),
        4 => format!("\r[{:>3}%] {}", number % 101, phrase(random, 4)),
        5 => format!("{} | {number} +++---", path),
        _ => format!("warning: {} «{}»", phrase(random, 7), random.pick(FOREIGN)),
    };
    out.push_str(&line);
}
