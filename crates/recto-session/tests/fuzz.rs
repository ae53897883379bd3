//! Fuzz targets: queries and price files. See `recto_testkit::fuzz` for how to run more.

use recto_session::search::Query;
use recto_session::search::highlights;
use recto_session::usage::PriceTable;
use recto_testkit::fuzz::fuzz;

const QUERIES: [&str; 8] = [
    "needle",
    "\"two words\" OR other -not",
    "(a (b OR c*) -\"d e\") role:user",
    "tool:bash is:error path:src/main.rs",
    "name*",
    "über Ünïcode 日本語 zero\u{200d}width",
    "-(a -(b -(c)))",
    "a OR (b OR (c OR (d)))",
];

const QUERY_WORDS: [&str; 14] = [
    "OR",
    "-",
    "\"",
    "(",
    ")",
    "*",
    "tool:",
    "role:",
    "is:",
    "path:",
    "((((((((((((",
    "\u{301}",
    "NEAR",
    "AND",
];

#[test]
fn any_text_is_a_query_or_an_error() {
    let texts = ["a needle in two words", "über 日本語 zero\u{200d}width d e", "", "src/main.rs"];
    let mut understood = 0u64;
    fuzz(&QUERIES, &QUERY_WORDS, 20_000, |input| {
        let text = String::from_utf8_lossy(input);
        match Query::parse(&text) {
            Ok(query) => {
                understood += 1;
                assert!(query.wanted().len() <= text.len() + 1);
                for text in texts {
                    for range in highlights(&query, text) {
                        assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
                    }
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
    assert!(understood > 0);
}

const PRICES: [&str; 3] = [
    "[[model]]\nname = \"claude-x-1\"\ninput = 3.0\noutput = 15.0\ncache_read = 0.3\n",
    "[[price]]\nmodel = \"a\"\nfrom = 2026-01-01\ninput = \"1e-3\"\noutput = 15\n",
    "a = 1\n[b]\nc = [1, 2.5, \"x\"]\n",
];

const PRICE_WORDS: [&str; 12] = [
    "[[",
    "]]",
    "1e999",
    "-1",
    "nan",
    "inf",
    "99999999999999999999",
    "1e-400",
    "0x7f",
    "\"\"\"",
    "=",
    "from",
];

#[test]
fn any_text_is_a_price_file_or_an_error() {
    let own = PriceTable::built_in().unwrap();
    assert!(!own.rows().is_empty());
    let built_in = include_str!("../data/prices.toml");
    let seeds = [PRICES[0], PRICES[1], PRICES[2], built_in];
    fuzz(&seeds, &PRICE_WORDS, 2000, |input| {
        let text = String::from_utf8_lossy(input);
        let mut table = PriceTable::default();
        match table.add_file(&text, "fuzz") {
            Ok(()) => {
                for row in table.rows() {
                    assert!(!format!("{row:?}").is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}
