//! The command that goes on with a session in the client.

use std::path::Path;

/// What to type in a shell. A directory whose name could do something else there is left
/// out. A home is named if the client would not use it by itself; its path must be
/// absolute, because the command goes to another directory first.
pub fn resume_command(
    home: Option<&Path>,
    client: &str,
    id: &str,
    directory: Option<&Path>,
) -> String {
    let word = |path: Option<&Path>| {
        let path = path.and_then(Path::to_str);
        path.filter(|path| !path.chars().any(char::is_control)).map(shell_word)
    };
    let mut command = word(directory).map_or(String::new(), |word| format!("cd {word} && "));
    if let Some(home) = word(home) {
        command.push_str(&format!("CLAUDE_CONFIG_DIR={home} "));
    }
    command + &format!("{} --resume {id}", shell_word(client))
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
        let command =
            |directory: &str| resume_command(None, "claude", "id", Some(Path::new(directory)));
        assert_eq!(command("/home/dev/app"), "cd /home/dev/app && claude --resume id");
        assert_eq!(command("/a b/$(x)"), "cd '/a b/$(x)' && claude --resume id");
        assert_eq!(command("/it's"), "cd '/it'\\''s' && claude --resume id");
        assert_eq!(command("/x\nrm"), "claude --resume id");
        assert_eq!(command("/x\u{1b}[201~"), "claude --resume id");
        assert_eq!(resume_command(None, "claude", "id", None), "claude --resume id");
    }

    #[test]
    fn a_home_that_the_client_would_not_use_is_named() {
        let command = |home: &str, directory: Option<&str>| {
            resume_command(Some(Path::new(home)), "claude", "id", directory.map(Path::new))
        };
        assert_eq!(
            command("/my home", Some("/app")),
            "cd /app && CLAUDE_CONFIG_DIR='/my home' claude --resume id"
        );
        assert_eq!(command("/home", None), "CLAUDE_CONFIG_DIR=/home claude --resume id");
        assert_eq!(command("/x\nrm", None), "claude --resume id");
    }
}
