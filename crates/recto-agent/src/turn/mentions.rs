//! Files and directories that a prompt names with `@`: the model gets them with the prompt.

use std::fs;
use std::path::Path;

use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::conversation::Written;
use super::shared::lock;
use crate::permission::Call;
use crate::permission::Verdict;
use crate::tool::ToolCall;
use crate::tool::prepare;

/// How many entries of a directory are told.
const MOST_ENTRIES: usize = 1000;

impl Conversation {
    /// Attaches what a prompt names. What is not there, or may not be read without a question,
    /// stays words.
    pub(super) async fn attach_mentioned(
        &mut self,
        content: &Value,
        cancel: &CancellationToken,
    ) -> Written<()> {
        let blocks = content.as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| block["text"].as_str()).chain(content.as_str());
        let mut names: Vec<String> = Vec::new();
        for name in texts.flat_map(mentioned) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            let place = self.shared.place_in(self.tools.cwd());
            let path = place.absolute(&name);
            let shown = path.strip_prefix(&place.cwd).unwrap_or(&path).display().to_string();
            let input = json!({"file_path": path});
            let call = Call { tool: "Read", input: &input };
            let decision = lock(&self.shared.permissions).decide(call, &place);
            if decision.verdict != Verdict::Allowed {
                continue;
            }
            if path.is_dir() {
                self.attach_directory(&path, &shown)?;
            } else if path.is_file() {
                self.attach_file(&path, &shown, input, cancel).await?;
            }
        }
        Ok(())
    }

    fn attach_directory(&mut self, path: &Path, shown: &str) -> Written<()> {
        let Ok(entries) = fs::read_dir(path) else { return Ok(()) };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.take(MOST_ENTRIES).collect();
        names.sort();
        let content = names.join("\n");
        let attachment = json!({
            "type": "directory",
            "path": path,
            "content": content,
            "displayPath": shown,
        });
        let path = path.display();
        let called = json!({"command": format!("ls {path}"), "description": format!("Lists files in {path}")});
        let told = [
            format!("Called the Bash tool with the following input: {called}"),
            format!("Result of calling the Bash tool:\n{content}"),
        ];
        self.transcript.attachment_in_parts(&attachment, &told, "user")?;
        Ok(())
    }

    /// As `Read` gives it, so that the file counts as read.
    async fn attach_file(
        &mut self,
        path: &Path,
        shown: &str,
        input: Value,
        cancel: &CancellationToken,
    ) -> Written<()> {
        let told = format!("Called the Read tool with the following input: {input}");
        let call = ToolCall { id: String::new(), name: "Read".to_owned(), input };
        let Ok(prepared) = prepare(call, &self.tools) else { return Ok(()) };
        let outcome = prepared.run(&self.tools, cancel).await;
        if outcome.is_error || outcome.structured["type"] != "text" {
            return Ok(());
        }
        let attachment = json!({
            "type": "file",
            "filename": path,
            "content": outcome.structured,
            "displayPath": shown,
        });
        let result = format!("Result of calling the Read tool:\n{}", outcome.content.text());
        self.transcript.attachment_in_parts(&attachment, &[told, result], "user")?;
        for note in &outcome.notes {
            self.write_note(note).await?;
        }
        Ok(())
    }
}

/// The paths behind each `@` that begins a word, without the marks that end a sentence.
fn mentioned(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let begins = c == '@' && before.is_whitespace();
        before = c;
        if !begins {
            continue;
        }
        let rest = text.get(at + 1..).unwrap_or_default();
        let name = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => rest
                .split(char::is_whitespace)
                .next()
                .unwrap_or_default()
                .trim_end_matches([',', ';', ':', '!', '?', ')', '.']),
        };
        if !name.is_empty() {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_by_an_at_sign_that_begins_a_word() {
        assert_eq!(mentioned("look at @a.txt, and @src/ please."), ["a.txt", "src/"]);
        assert_eq!(mentioned("@\"with blanks.txt\" and me@example.org"), ["with blanks.txt"]);
        assert_eq!(mentioned("@ alone, @, and none"), [""; 0]);
    }
}
