//! The command that goes on with a session in the client.

use std::path::Path;

/// What to type in a shell. A directory whose name could do something else there is
/// left out.
pub fn resume_command(client: &str, id: &str, directory: Option<&Path>) -> String {
    let resume = format!("{} --resume {id}", shell_word(client));
    let directory = directory.and_then(Path::to_str);
    match directory.filter(|directory| !directory.chars().any(char::is_control)) {
        Some(directory) => format!("cd {} && {resume}", shell_word(directory)),
        None => resume,
    }
}

/// A text as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_the_shell_needs_it() {
        let command = |directory: &str| resume_command("claude", "id", Some(Path::new(directory)));
        assert_eq!(command("/home/dev/app"), "cd /home/dev/app && claude --resume id");
        assert_eq!(command("/a b/$(x)"), "cd '/a b/$(x)' && claude --resume id");
        assert_eq!(command("/it's"), "cd '/it'\\''s' && claude --resume id");
        assert_eq!(command("/x\nrm"), "claude --resume id");
        assert_eq!(command("/x\u{1b}[201~"), "claude --resume id");
        assert_eq!(resume_command("claude", "id", None), "claude --resume id");
    }
}
