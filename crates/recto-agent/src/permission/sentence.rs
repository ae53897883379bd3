//! What the model reads when a call does not run. Scripts and models know these sentences, so
//! they are the client's.

use crate::permission::shell::script::Doubt;

pub(crate) fn not_granted(what: &str) -> String {
    format!("Claude requested permissions to {what}, but you haven't granted it yet.")
}

pub(crate) fn sensitive(path: &str) -> String {
    format!("Claude requested permissions to edit {path} which is a sensitive file.")
}

pub(crate) fn no_such_tool(tool: &str) -> String {
    // Tools of a server are gone without a word about it.
    let disabled = match tool.starts_with("mcp__") {
        true => String::new(),
        false => format!(". {tool} is disabled for this session, in subagents as well as here."),
    };
    tool_use_error(&format!("Error: No such tool available: {tool}{disabled}"))
}

pub(crate) fn tool_use_error(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}

pub(crate) fn command_denied(command: &str) -> String {
    format!("Permission to use Bash with command {command} has been denied.")
}

pub(crate) fn dont_ask(tool: &str) -> String {
    format!(
        "Permission to use {tool} has been denied because Claude Code is running in don't ask mode. IMPORTANT: You *may* attempt to accomplish this action using other tools that might naturally be used to accomplish this goal, e.g. using head instead of cat. But you *should not* attempt to work around this denial in malicious ways, e.g. do not use your ability to run tests to execute non-test actions. You should only try to work around this restriction in reasonable ways that do not attempt to bypass the intent behind this denial. If you believe this capability is essential to complete the user's request, STOP and explain to the user what you were trying to do and why you need this permission. Let the user decide how to proceed."
    )
}

pub(crate) fn auto_mode_unavailable(tool: &str) -> String {
    format!(
        "Auto mode is unavailable: its safety check does not run for this session, so {tool} was not run. Other actions that need the check will be denied too, and retrying won't help. Finish what you can without them, then tell the user what is blocked and that they can switch to another permission mode."
    )
}

pub(crate) fn nobody_to_ask(what: &str) -> String {
    format!(
        "Permission for this tool use was denied. It requires approval, and this session has no approval surface — nobody can answer a permission prompt here — so it was denied automatically. The action was NOT performed; do not claim it succeeded, and do not retry it: this action, and anything else that requires approval, will be denied the same way for the rest of this session. Tell the user what was blocked and why you needed it, then continue with the parts of the task that do not require approval. What required approval: {what}"
    )
}

pub(crate) fn blocked_read(name: &str, path: &str, verb: &str, directories: &str) -> String {
    format!(
        "{name} in '{path}' was blocked. For security, Claude Code may only {verb} the allowed working directories for this session: {directories}."
    )
}

pub(crate) fn write_needs_approval(what: &str, inside: bool, directories: &str) -> String {
    match inside {
        true => format!(
            "{what} needs approval. The path is inside the working directories for this session ({directories}), and Claude Code asks before a shell command creates, changes or removes files there."
        ),
        false => format!(
            "{what} needs approval. The path is outside the working directories for this session ({directories}). Allowing runs the command as written."
        ),
    }
}

pub(crate) fn parts(texts: &[String]) -> String {
    let (noun, verb) = if texts.len() == 1 { ("part", "requires") } else { ("parts", "require") };
    format!(
        "This Bash command contains multiple operations. The following {noun} {verb} approval: {}",
        texts.join(", ")
    )
}

pub(crate) fn dangerous_removal(name: &str, path: &str, what: &str) -> String {
    format!(
        "Dangerous {name} operation detected: '{path}'\n\nThis command would remove {what}. This requires explicit approval and cannot be auto-allowed by permission rules."
    )
}

pub(crate) const REQUIRES_APPROVAL: &str = "This command requires approval";

pub(crate) fn doubt(doubt: Doubt) -> String {
    let unchecked = |what: &str| format!("{what} in this command can't be checked before it runs");
    match doubt {
        Doubt::NestedCommand => unchecked("A nested command"),
        Doubt::CommandAsFile => unchecked("A command used as a file"),
        Doubt::Group => unchecked("A group in braces or double parentheses"),
        Doubt::Variable => unchecked("A variable"),
        Doubt::Subshell => {
            "This command uses shell operators that require approval for safety".to_owned()
        }
        Doubt::Background => "This command uses the `&` background operator, which defers execution past approval-time safety checks. Approve only if you trust it.".to_owned(),
        Doubt::Heredoc => "Heredoc with unquoted delimiter undergoes shell expansion".to_owned(),
        Doubt::OddCharacters => unchecked("A control or invisible character"),
        Doubt::NotUnderstood => REQUIRES_APPROVAL.to_owned(),
    }
}

pub(crate) fn evaluates(name: &str) -> String {
    format!("'{name}' evaluates arguments as shell code")
}

pub(crate) fn find_executes(flag: &str) -> String {
    format!(
        "find with '{flag}' executes commands or modifies files — cannot be auto-allowed by a Bash(find:*) prefix rule"
    )
}

pub(crate) const AWK_SYSTEM: &str =
    "awk program contains system() which executes arbitrary commands";
