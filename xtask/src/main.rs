//! Tasks of this repository.

mod r#gen;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("gen") => r#gen::run(&words[1..]),
        _ => anyhow::bail!("usage: cargo xtask gen ..."),
    }
}
