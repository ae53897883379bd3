//! Rows as text for the screen and as the page `bench/ORACLE.md`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::check::Row;
use super::check::Verdict;

/// One row, when it is done.
pub(crate) fn line(row: &Row) -> String {
    let (word, more) = match &row.verdict {
        Verdict::Equal => ("equal", String::new()),
        Verdict::Differs(why) => ("DIFFERS", format!("\n  {why}")),
        Verdict::Failed(why) => ("FAILED", format!("\n  {why}")),
    };
    let refused = row.refused.as_ref().map_or(String::new(), |why| format!("  API: {why}"));
    format!("{word:8} {:8} {:3} {}{refused}{more}", row.client, row.messages, row.name)
}

/// How many are equal, by the version that wrote the log and the client.
pub(crate) fn summary(rows: &[Row]) -> String {
    let mut counts: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for row in rows {
        for source in [row.source.as_str(), "all"] {
            let count = counts.entry((source, &row.client)).or_default();
            count.0 += usize::from(row.verdict == Verdict::Equal);
            count.1 += 1;
        }
    }
    let sources: BTreeSet<&str> = counts.keys().map(|(source, _)| *source).collect();
    let clients = clients(rows);
    let mut text = format!("| log of | {} |\n|---|", clients.join(" | "));
    text += &"---|".repeat(clients.len());
    text += "\n";
    for source in sources {
        let cells = clients.iter().map(|client| match counts.get(&(source, client)) {
            Some((equal, all)) => format!(" {equal} of {all} |"),
            None => " |".into(),
        });
        text += &format!("| {source} |{}\n", cells.collect::<String>());
    }
    text
}

/// The clients in the order in which they were asked.
fn clients(rows: &[Row]) -> Vec<&str> {
    let mut clients: Vec<&str> = Vec::new();
    for row in rows {
        if !clients.contains(&row.client.as_str()) {
            clients.push(&row.client);
        }
    }
    clients
}

/// The whole page.
pub(crate) fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# What real clients do\n\n\
         Written by `cargo xtask oracle check --write`. Each session is resumed by each\n\
         client, off the network. `=` is a request, or a refusal, that was predicted\n\
         exactly; the number is that of the messages sent. `API` marks requests that the\n\
         client sends and the real API refuses. See\n\
         [the oracle](../docs/concepts/oracle.md) for what this proves.\n\n## Equal\n\n",
    );
    text += &summary(rows);
    let (edited, plain): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.reach.is_some() || row.operation != "none");
    text += "\n## Edited sessions\n\n";
    if edited.is_empty() {
        text += "None yet.\n";
    } else {
        text += "| operation | recording | log of | client | messages | result | reach |\n|---|---|---|---|---|---|---|\n";
    }
    for row in edited {
        let recording = row.name.rsplit(": ").next().unwrap_or_default();
        let reach = row.reach.as_ref().map_or(String::new(), |(a, b)| format!("{a} → {b}"));
        text += &format!(
            "| `{}` | {recording} | {} | {} | {} | {} | {reach} |\n",
            row.operation,
            row.source,
            row.client,
            row.messages,
            result(row)
        );
    }
    let clients = clients(rows);
    text += &format!("\n## Sessions as they are\n\n| recording | {} |\n|---|", clients.join(" | "));
    text += &"---|".repeat(clients.len());
    text += "\n";
    let mut names: Vec<&str> = Vec::new();
    let mut cells: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for row in plain {
        if row.client == clients[0] {
            names.push(&row.name);
        }
        let did = if row.did == "resumed" { row.messages.to_string() } else { row.did.into() };
        cells.insert((&row.name, &row.client), format!("{did} {}", result(row)));
    }
    for name in names {
        let cells =
            clients.iter().map(|client| cells.get(&(name, *client)).map_or("", String::as_str));
        text += &format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn result(row: &Row) -> String {
    let word = match &row.verdict {
        Verdict::Equal => "=",
        Verdict::Differs(_) => "differs",
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
        let edited = Row {
            operation: "clone {session}".into(),
            reach: Some(("4".into(), "3".into())),
            refused: Some("why".into()),
            ..row("clone {session}: 2.1.29/S1", "2.0.50", Verdict::Equal)
        };
        let rows = [
            row("2.1.29/S1", "2.0.50", Verdict::Equal),
            edited,
            Row { did: "hangs", ..row("2.1.29/S1", "2.1.325", Verdict::Differs("[0]".into())) },
        ];
        let page = page(&rows);
        for expected in [
            "| 2.1.29 | 2 of 2 | 0 of 1 |\n",
            "| `clone {session}` | 2.1.29/S1 | 2.1.29 | 2.0.50 | 3 | =, API | 4 → 3 |\n",
            "| 2.1.29/S1 | 3 = | hangs differs |\n",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
    }
}
