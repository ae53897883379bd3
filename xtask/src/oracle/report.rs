//! Rows as text for the screen and as the page `bench/ORACLE.md`.

use std::collections::BTreeMap;

use super::check::Row;
use super::check::Verdict;

/// One row, when it is done.
pub(crate) fn line(row: &Row) -> String {
    let (word, more) = match &row.verdict {
        Verdict::Equal => ("equal", String::new()),
        Verdict::Differs(why) => ("DIFFERS", format!("\n  {why}")),
        Verdict::NotGood(why) => ("NOT GOOD", format!("\n  {why}")),
        Verdict::Skipped(why) => ("skipped", format!("\n  {why}")),
        Verdict::NotAsked => ("not asked", String::new()),
        Verdict::Failed(why) => ("FAILED", format!("\n  {why}")),
    };
    let refused = row.refused.as_ref().map_or(String::new(), |why| format!("  API: {why}"));
    format!("{word:8} {:8} {:3} {}{refused}{more}", row.client, row.messages, row.name)
}

/// How many are as they should be: sessions as they are by the version that wrote
/// the log, edited ones by operation.
pub(crate) fn summary(rows: &[Row]) -> String {
    let (edited, plain) = parts(rows);
    let mut text = String::new();
    if !plain.is_empty() {
        text += &counts("log of", &plain, |row| row.source.clone());
    }
    if !edited.is_empty() {
        text += if text.is_empty() { "" } else { "\n" };
        text += &counts("edited by", &edited, |row| {
            let words = row.operation.split(' ').filter(|word| *word != "{session}");
            let options = words.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
            format!("`{}`", options.collect::<Vec<_>>().join(" "))
        });
    }
    text
}

/// The rows of edited sessions, and the others.
fn parts(rows: &[Row]) -> (Vec<&Row>, Vec<&Row>) {
    rows.iter().partition(|row| row.operation != "none")
}

/// A table of how many rows of each group are good in each client.
fn counts(title: &str, rows: &[&Row], group: impl Fn(&Row) -> String) -> String {
    #[derive(Default)]
    struct Count {
        good: usize,
        asked: usize,
    }
    let mut table: BTreeMap<(String, &str), Count> = BTreeMap::new();
    let mut groups: Vec<String> = Vec::new();
    for row in rows {
        let name = group(row);
        if !groups.contains(&name) {
            groups.push(name.clone());
        }
        for name in [name, "all".into()] {
            let count = table.entry((name, &row.client)).or_default();
            count.good += usize::from(row.verdict == Verdict::Equal);
            let is_asked = !matches!(row.verdict, Verdict::Skipped(_) | Verdict::NotAsked);
            count.asked += usize::from(is_asked);
        }
    }
    groups.push("all".into());
    let clients = clients(rows);
    let mut text = head(title, &clients);
    for name in groups {
        let cells = clients.iter().map(|client| match table.get(&(name.clone(), *client)) {
            Some(Count { good, asked }) => format!(" {good} of {asked} |"),
            None => " |".into(),
        });
        text += &format!("| {name} |{}\n", cells.collect::<String>());
    }
    text
}

/// The first lines of a table with a column for each client.
fn head(title: &str, clients: &[&str]) -> String {
    format!("| {title} | {} |\n|---|{}\n", clients.join(" | "), "---|".repeat(clients.len()))
}

/// The clients in the order in which they were asked.
fn clients<'r>(rows: &[&'r Row]) -> Vec<&'r str> {
    let mut clients: Vec<&str> = Vec::new();
    for row in rows {
        if !clients.contains(&row.client.as_str()) {
            clients.push(&row.client);
        }
    }
    clients
}

/// The whole page.
pub(crate) fn page(rows: &[Row], is_outside: bool) -> String {
    let (title, option) = match is_outside {
        true => ("What real clients do with sessions of other people", " --outside"),
        false => ("What real clients do", ""),
    };
    let mut text = format!(
        "# {title}\n\n\
         Written by `cargo xtask oracle check{option} --write`. Each session is resumed by each\n\
         client, off the network. `=` is a request, or a refusal, that was predicted\n\
         exactly; the number is that of the messages sent. `API` marks requests that the\n\
         client sends and the real API refuses. See\n\
         [the oracle](../docs/concepts/oracle.md) for what this proves.\n\n## Equal\n\n",
    );
    text += &summary(rows);
    let unasked = rows.iter().filter(|row| row.verdict == Verdict::NotAsked).count();
    if unasked > 0 {
        text += &format!(
            "\n{unasked} of {} questions were not asked; their cells are empty below.\n",
            rows.len()
        );
    }
    let (edited, plain) = parts(rows);
    text += "\n## What is not\n\n";
    let mut misses: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for row in rows {
        let why = match &row.verdict {
            Verdict::Equal | Verdict::NotAsked => continue,
            Verdict::Differs(why) => format!("differs: {}", brief(why)),
            Verdict::NotGood(why) | Verdict::Skipped(why) | Verdict::Failed(why) => {
                format!("{}: {}", result(row), why.replace('\n', " "))
            }
        };
        misses.entry((&row.name, why)).or_default().push(&row.client);
    }
    for ((name, why), clients) in &misses {
        text += &format!("- `{name}` in {}: {why}\n", clients.join(", "));
    }
    if misses.is_empty() {
        text += "Nothing.\n";
    }
    text += "\n## Edited sessions\n\n\
             A repair is good only if the client brings back everything. The reach is what\n\
             this client brings back of what it should, before and after the edit.\n\n";
    text += &table("edit and recording", &edited, |row| {
        let reach = row.reach.as_ref().map_or(String::new(), |(before, after)| {
            if before == after { format!(", {after}") } else { format!(", {before} → {after}") }
        });
        match row.verdict {
            Verdict::Skipped(_) => "skipped".into(),
            Verdict::NotAsked => String::new(),
            Verdict::Equal | Verdict::Differs(_) | Verdict::NotGood(_) | Verdict::Failed(_) => {
                format!("{} {}{reach}", did(row), result(row))
            }
        }
    });
    text += "\n## Sessions as they are\n\n";
    text += &table("recording", &plain, |row| match row.verdict {
        Verdict::NotAsked => String::new(),
        Verdict::Equal
        | Verdict::Differs(_)
        | Verdict::NotGood(_)
        | Verdict::Skipped(_)
        | Verdict::Failed(_) => format!("{} {}", did(row), result(row)),
    });
    text
}

/// The first line of a reason; where messages differ, that is the place.
fn brief(why: &str) -> String {
    const LONGEST_REASON: usize = 200;
    why.lines().next().unwrap_or_default().chars().take(LONGEST_REASON).collect()
}

/// A line for each name, a column for each client.
fn table(title: &str, rows: &[&Row], cell: impl Fn(&Row) -> String) -> String {
    let clients = clients(rows);
    let mut names: Vec<&str> = Vec::new();
    let mut cells: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for row in rows {
        if cells.insert((&row.name, &row.client), cell(row)).is_none()
            && !names.contains(&row.name.as_str())
        {
            names.push(&row.name);
        }
    }
    let mut text = head(title, &clients);
    for name in names {
        let cells =
            clients.iter().map(|client| cells.get(&(name, *client)).map_or("", String::as_str));
        text += &format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn did(row: &Row) -> String {
    if row.did == "resumed" { row.messages.to_string() } else { row.did.into() }
}

fn result(row: &Row) -> String {
    let word = match &row.verdict {
        Verdict::Equal => "=",
        Verdict::Differs(_) => "differs",
        Verdict::NotGood(_) => "not good",
        Verdict::Skipped(_) => "skipped",
        Verdict::NotAsked => "",
        Verdict::Failed(_) => "failed",
    };
    format!("{word}{}", if row.refused.is_some() { ", API" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, client: &str, verdict: Verdict) -> Row {
        Row {
            name: name.into(),
            operation: "none".into(),
            source: "2.1.29".into(),
            client: client.into(),
            did: "resumed",
            messages: 3,
            verdict,
            refused: None,
            reach: None,
        }
    }

    #[test]
    fn the_page_counts_and_shows_every_row() {
        let edited = |client: &str, verdict| Row {
            operation: "fork {session} --at 2".into(),
            reach: Some(("90 %".into(), "100 %".into())),
            ..row("fork {session} --at 2: 2.1.29/S1", client, verdict)
        };
        let rows = [
            row("2.1.29/S1", "2.0.50", Verdict::Equal),
            edited("2.0.50", Verdict::Equal),
            Row {
                did: "hangs",
                ..row("2.1.29/S1", "2.1.325", Verdict::Differs("message 0\n  more".into()))
            },
            Row {
                refused: Some("why".into()),
                ..edited("2.1.325", Verdict::NotGood("the API refuses it".into()))
            },
            edited("2.1.29", Verdict::Skipped("there is nothing to do".into())),
            row("2.1.29/S2", "2.0.50", Verdict::NotAsked),
        ];
        let page = page(&rows, false);
        for expected in [
            "| log of | 2.0.50 | 2.1.325 |\n",
            "| 2.1.29 | 1 of 1 | 0 of 1 |\n",
            "| `fork --at` | 1 of 1 | 0 of 1 | 0 of 0 |\n",
            "\n1 of 6 questions were not asked",
            "| 2.1.29/S2 |  |  |\n",
            "- `2.1.29/S1` in 2.1.325: differs: message 0\n",
            "- `fork {session} --at 2: 2.1.29/S1` in 2.1.325: not good, API: the API refuses it\n",
            "| fork {session} --at 2: 2.1.29/S1 | 3 =, 90 % → 100 % | 3 not good, API, 90 % → 100 % | skipped |\n",
            "| 2.1.29/S1 | 3 = | hangs differs |\n",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
    }
}
